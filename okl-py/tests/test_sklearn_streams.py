"""partial_fit: the model is a function of the stream alone, not of how it is cut."""

import pickle

import numpy as np
import pytest

import okl

pytest.importorskip("sklearn")

from sklearn.datasets import load_diabetes, load_wine

from okl.sklearn import KernelClassifier, KernelRegressor, NoveltyDetector

ROWS = 700


def stream(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, 3)) * [1.0, 20.0, 0.1] + [0.0, 500.0, 0.0]
    return rng, X


def classes(kinds):
    rng, X = stream()
    y = np.array(["cat", "dog", "eel"])[
        np.digitize(X[:, 0] + 0.3 * rng.normal(size=ROWS), [0.0, 0.8][: kinds - 1])
    ]
    return X, y, {"classes": ["cat", "dog", "eel"][:kinds]}


def numbers(outputs):
    rng, X = stream()
    y = (
        1000
        + 50 * np.column_stack([np.sin(X[:, 0] + k) for k in range(outputs)])
        + rng.normal(size=(ROWS, outputs))
    )
    return X, y if outputs > 1 else y[:, 0], {}


CASES = {
    "two classes": (lambda: KernelClassifier(budget=40), *classes(2)),
    "three classes": (lambda: KernelClassifier(loss="log_loss", average=True), *classes(3)),
    "three classes, adaptive": (
        lambda: KernelClassifier(learning_rate="adaptive", budget="window:60"),
        *classes(3),
    ),
    "one output": (lambda: KernelRegressor(), *numbers(1)),
    "two outputs": (lambda: KernelRegressor(loss="huber", kernel="laplacian", budget=50), *numbers(2)),
    "no scales": (lambda: KernelRegressor(scale=None, normalize_y=False, gamma=1e-3), *numbers(1)),
    "long warm-up": (lambda: KernelRegressor(learner_params={"warmup": 600}), *numbers(1)),
    "novelty": (lambda: NoveltyDetector(nu=0.1, budget=30), stream()[1], None, {}),
}

CUTS = {
    "one by one": list(range(1, ROWS)),
    "tens": list(range(10, ROWS, 10)),
    "around the warm-up": [1, 3, 255, 256, 257, 300],
    "anywhere": sorted(np.random.default_rng(7).choice(np.arange(1, ROWS), 12, replace=False).tolist()),
}


def learned(case, cuts, weights=None, between=lambda model: model):
    make, X, y, more = CASES[case]
    model = make()
    for first, last in zip([0, *cuts], [*cuts, ROWS]):
        part = () if y is None else (y[first:last],)
        weight = None if weights is None else weights[first:last]
        model = between(model.partial_fit(X[first:last], *part, sample_weight=weight, **more))
    return model


def same(a, b, case):
    X = CASES[case][1]
    assert a.learner_.to_bytes() == b.learner_.to_bytes()
    score = "predict" if isinstance(a, KernelRegressor) else "decision_function"
    assert np.array_equal(getattr(a, score)(X), getattr(b, score)(X))


@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("case", CASES)
def test_the_cut_does_not_matter(case, cuts):
    same(learned(case, CUTS[cuts]), learned(case, []), case)


@pytest.mark.parametrize("case", CASES)
def test_nor_does_a_pickle_in_between(case):
    through = learned(case, CUTS["anywhere"], between=lambda model: pickle.loads(pickle.dumps(model)))
    same(through, learned(case, []), case)


@pytest.mark.parametrize("case", CASES)
def test_weights_go_with_their_rows(case):
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], ROWS)
    whole = learned(case, [], weights)
    same(learned(case, CUTS["anywhere"], weights), whole, case)
    assert whole.learner_.to_bytes() != learned(case, []).learner_.to_bytes()


def test_a_call_without_weight_teaches_nothing():
    _, X, y, _ = CASES["one output"]
    model = KernelRegressor().partial_fit(X[:5], y[:5], sample_weight=np.zeros(5))
    assert model.learner_.examples == 0
    assert np.array_equal(model.predict(X[:2]), [0.0, 0.0])


def test_a_refused_first_call_leaves_no_model_behind():
    _, X, y, _ = CASES["one output"]
    for model, targets, more in [
        (KernelClassifier(), y > 1000, {"classes": [False, True]}),
        (KernelRegressor(), y, {}),
        (NoveltyDetector(), None, {}),
    ]:
        far = X.copy()
        far[300, 1] = 1e20
        with pytest.raises(ValueError, match="300"):
            model.partial_fit(far, targets, **more)
        assert not hasattr(model, "learner_")


def test_a_refused_call_in_the_warm_up_changes_nothing():
    _, X, y, _ = CASES["one output"]
    model = KernelRegressor().partial_fit(X[:20], y[:20])
    before = model.learner_.to_bytes()
    far = X.copy()
    far[100, 0] = 1e20
    with pytest.raises(ValueError, match="100"):
        model.partial_fit(far, y)
    assert model.learner_.to_bytes() == before
    assert (
        model.partial_fit(X[20:], y[20:]).learner_.to_bytes() == learned("one output", []).learner_.to_bytes()
    )


def test_threads_do_not_matter():
    for case in CASES:
        make, X, y, more = CASES[case]
        model = make().set_params(n_jobs=2)
        model.partial_fit(X, *(() if y is None else (y,)), **more)
        assert model.learner_.threads == 2
        same(model, learned(case, []), case)


def test_clipped_columns_are_warned_of_once():
    """Quiet for 300 rows, then fifty times as far: the scale is settled by the first 256 rows."""
    rng = np.random.default_rng(8)
    x = np.r_[rng.uniform(0, 1, 300), rng.uniform(0, 50, 2700)]
    X = np.c_[rng.normal(size=3000), x]
    model = KernelRegressor(scale="standard")
    with pytest.warns(
        okl.HealthWarning, match=r"column 1: 9\d % of the last [\d,]+ values were at or beyond the limit of 8"
    ) as caught:
        model.partial_fit(X[:2000], np.sin(x[:2000] / 5))
        model.partial_fit(X[2000:], np.sin(x[2000:] / 5))
    assert [w.category for w in caught] == [okl.HealthWarning]


def interrupted(rows_learned: int, rows: int) -> KeyboardInterrupt:
    """What the engine raises on Ctrl-C."""
    stop = KeyboardInterrupt()
    stop.rows_learned = rows_learned
    stop.add_note(f"okl: the first {rows_learned} of {rows} rows have been learned")
    return stop


@pytest.mark.parametrize("before", [0, 100])
def test_an_interrupted_regressor_says_how_many_rows_it_has_learned(monkeypatch, before):
    """Learning that goes on at `rows_learned` is learning that was never interrupted. Rows of weight 0 count as rows."""
    X = np.random.default_rng(3).normal(size=(1500, 2))
    y, weights = 100 + X[:, 0], (np.arange(1500) % 5 > 0).astype(float)
    uninterrupted = KernelRegressor().partial_fit(X, y, weights)
    model = KernelRegressor()
    if before:
        model.partial_fit(X[:before], y[:before], weights[:before])
    learn_part = model._learn_part

    def stops_in_a_long_part(rows, y, weights):
        if len(rows) <= 512:
            return learn_part(rows, y, weights)
        learn_part(rows[:512], y[:512], weights[:512])
        raise interrupted(512, len(rows))

    monkeypatch.setattr(model, "_learn_part", stops_in_a_long_part)
    with pytest.raises(KeyboardInterrupt) as stop:
        model.partial_fit(X[before:], y[before:], weights[before:])
    learned = stop.value.rows_learned
    assert np.count_nonzero(weights[: before + learned]) == model.learner_.examples
    assert stop.value.__notes__ == [f"okl: the first {learned} of {1500 - before} rows have been learned"]
    monkeypatch.undo()
    goes_on = before + learned
    model.partial_fit(X[goes_on:], y[goes_on:], weights[goes_on:])
    assert model.learner_.to_bytes() == uninterrupted.learner_.to_bytes()


@pytest.mark.parametrize("estimator", [KernelClassifier, KernelRegressor])
def test_an_interrupted_fit_has_learned_nothing(monkeypatch, estimator):
    X = np.random.default_rng(3).normal(size=(300, 2))
    y = (X[:, 0] > 0).astype(int)
    model = estimator(random_state=0).fit(X, y)
    before = model.learner_

    def stops(*_):
        raise interrupted(256, 300)

    monkeypatch.setattr(model, "_fit_set", stops)
    with pytest.raises(KeyboardInterrupt) as stop:
        model.fit(X, 1 - y)
    assert stop.value.rows_learned == 0 and model.learner_ is before
    assert stop.value.__notes__ == ["okl: fit was interrupted, and the estimator is as it was before"]


@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize("method", ["partial_fit", "partial_fit_predict"])
def test_an_interrupted_detector_can_be_used(monkeypatch, fitted, method):
    """The rows before Ctrl-C are learned, and the threshold is that of the stream."""
    X = np.random.default_rng(3).normal(size=(1500, 2))
    detector = NoveltyDetector(nu=0.1, random_state=0)
    if fitted:
        detector.fit(X[:300])
    learn_report = okl.Learner.learn_report

    class Stops:
        """A learner that is interrupted after 1,000 rows."""

        def __init__(self, learner):
            self._learner = learner

        def __getattr__(self, name):
            return getattr(self._learner, name)

        def learn_report(self, rows, y, weights):
            learn_report(self._learner, rows[:1000], y, weights=weights)
            raise interrupted(1000, len(rows))

    threaded = detector._threaded
    monkeypatch.setattr(detector, "_threaded", lambda learner: Stops(threaded(learner)))
    with pytest.raises(KeyboardInterrupt):
        getattr(detector, method)(X)
    monkeypatch.undo()
    assert detector.offset_ == detector.learner_.threshold > 0
    scores = detector.learner_.predict(X)
    assert np.array_equal(detector.predict(X), np.where(scores < detector.learner_.threshold, -1, 1))
    assert detector.learner_.examples >= 1000 and len(detector.to_onnx()) > 0


def test_a_detector_that_was_interrupted_before_the_first_row_keeps_its_threshold(monkeypatch):
    X = np.random.default_rng(3).normal(size=(300, 2))
    detector = NoveltyDetector(nu=0.1, random_state=0).fit(X)
    before = detector.offset_

    def stops(*_):
        raise interrupted(0, 300)

    monkeypatch.setattr(detector, "_learn_stream", stops)
    with pytest.raises(KeyboardInterrupt):
        detector.partial_fit(X)
    assert detector.offset_ == before != detector.learner_.threshold


def test_rows_after_a_fit_leave_a_good_model_good():
    """More rows of the same kind, with as much noise as signal: long steps lowered R² from 0.52 to 0.09 within ten rows."""
    for seed in (2, 3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(3000, 4))
        y = X[:, 0] + rng.normal(size=3000)
        model = KernelRegressor(random_state=0).fit(X[:1000], y[:1000])
        before = model.score(X[2000:], y[2000:])
        for first in range(1000, 1100, 10):
            model.partial_fit(X[first : first + 10], y[first : first + 10])
            assert model.score(X[2000:], y[2000:]) > before - 0.05


@pytest.mark.parametrize(
    ("load", "estimator"), [(load_diabetes, KernelRegressor), (load_wine, KernelClassifier)]
)
def test_a_warm_start_fits_the_new_rows(load, estimator):
    """The second fit predicts its rows better than the model before it, and about as well as a first fit of these rows."""
    X, y = load(return_X_y=True)
    for seed in (0, 5, 7):
        order = np.random.default_rng(seed).permutation(len(X))
        first, second = np.array_split(order, 2)
        model = estimator(random_state=0, warm_start=True).fit(X[first], y[first])
        before = model.score(X[second], y[second])
        after = model.fit(X[second], y[second]).score(X[second], y[second])
        fresh = estimator(random_state=0).fit(X[second], y[second]).score(X[second], y[second])
        assert after > before and after > fresh - 0.1


def test_a_window_learns_a_fixed_set():
    """With steps that fall to zero, a window would keep the terms with the shortest steps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=3000)
    model = KernelRegressor(budget="window:500", random_state=0).fit(X[:2000], y[:2000])
    assert model.score(X[2000:], y[2000:]) > 0.6
