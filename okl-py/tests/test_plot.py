"""Pictures: what is drawn is what happened, and recording it changes nothing."""

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import okl
from okl import plot

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1000, 2))
SIGNS = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
NAMES = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
NUMBERS = np.sin(X[:, 0]) + X[:, 1]

LEARNERS = {
    "signs": ({"loss": "hinge", "step": "smd", "budget": "merge:100"}, SIGNS),
    "two names": ({"loss": "logistic"}, np.where(SIGNS > 0, "yes", "no")),
    "classes": ({"loss": "max_margin"}, NAMES),
    "numbers": ({"loss": "squared"}, NUMBERS),
    "two outputs": ({"loss": "nu_epsilon:0.2"}, np.column_stack([NUMBERS, -NUMBERS])),
    "novelty": ({"loss": "nu_novelty:0.05", "threshold": "tracker"}, None),
}


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def history(name, every=100):
    settings, y = LEARNERS[name]
    return plot.History(okl.Learner(kernel="gaussian", gamma=0.5, **settings), every).learn(X, y)


def one_by_one(name):
    """Scores before each row, from a learner that is given one row at a time."""
    settings, y = LEARNERS[name]
    learner = okl.Learner(kernel="gaussian", gamma=0.5, **settings)
    for i in range(len(X)):
        before = learner.predict(X[i : i + 1]) if i else None
        yield i, before, learner
        learner.learn(X[i : i + 1], None if y is None else y[i : i + 1])


@pytest.mark.parametrize("name", LEARNERS)
def test_recording_changes_nothing(name):
    settings, y = LEARNERS[name]
    whole = okl.Learner(kernel="gaussian", gamma=0.5, **settings)
    whole.learn(X, y)
    recorded = history(name, every=70)
    assert recorded.model.to_bytes() == whole.to_bytes()
    assert recorded.column("rows").tolist() == [*range(70, 1000, 70), 1000]
    in_two = plot.History(okl.Learner(kernel="gaussian", gamma=0.5, **settings), every=70)
    in_two.learn(X[:333], None if y is None else y[:333]).learn(X[333:], None if y is None else y[333:])
    assert np.array_equal(np.array(in_two.records), np.array(recorded.records), equal_nan=True)


def test_progressive_error_of_signs():
    wrong = [(score[0] > 0 if i else False) != (SIGNS[i] > 0) for i, score, _ in one_by_one("signs")]
    recorded = history("signs")
    assert recorded.column("error")[-1] == pytest.approx(np.mean(wrong))
    assert recorded.column("recent_error")[-1] == pytest.approx(np.mean(wrong[-100:]))


def test_progressive_error_of_classes():
    """Every row counts; the first one is a mistake, as no class is known before it."""
    wrong = [not m.classes or m.classes[z[0].argmax()] != NAMES[i] for i, z, m in one_by_one("classes")]
    assert wrong[0]
    assert history("classes").column("error")[-1] == pytest.approx(np.mean(wrong))


@pytest.mark.parametrize("name", ["numbers", "two outputs"])
def test_progressive_error_of_numbers(name):
    y = LEARNERS[name][1]
    off = [np.abs(y[i] - (0 if score is None else score[0])).mean() for i, score, _ in one_by_one(name)]
    assert history(name).column("error")[-1] == pytest.approx(np.mean(off))


def test_alert_rate_is_the_certificates():
    recorded = history("novelty")
    certificate = recorded.model.alert_rate
    last = recorded.records[-1]
    assert (last.alert_rate, last.bound) == (certificate.rate, certificate.bound)
    assert np.isnan(recorded.records[0].alert_rate)
    counted = [44, *[100] * 7]
    assert np.dot(recorded.column("recent_alert_rate")[2:], counted) == pytest.approx(certificate.rate * 744)
    assert np.isnan(recorded.column("error")).all()


def test_rows_before_the_threshold_have_no_alert_rate():
    """The threshold comes after 256 rows; a record that spans them counts the rows after them."""
    first = history("novelty", every=500).records[0]
    assert first.alert_rate > 0 and first.recent_alert_rate == pytest.approx(first.alert_rate)


def test_terms_and_step_sizes_are_the_learners():
    recorded = history("signs")
    assert recorded.records[-1].terms == recorded.model.terms == 100
    assert recorded.records[-1].eta == recorded.model.eta
    terms, eta = {}, {}
    for i, _, learner in one_by_one("signs"):
        terms[i], eta[i] = learner.terms, learner.eta
    assert recorded.column("terms")[:-1].tolist() == [terms[i] for i in range(100, 1000, 100)]
    assert recorded.column("eta")[:-1].tolist() == [eta[i] for i in range(100, 1000, 100)]


def test_rows_without_a_target_do_not_count():
    y = NUMBERS.astype(object)
    y[::2] = None
    recorded = plot.History(okl.Learner(loss="squared", kernel="gaussian", gamma=0.5)).learn(X, y)
    known = plot.History(okl.Learner(loss="squared", kernel="gaussian", gamma=0.5)).learn(
        X, NUMBERS, known=np.arange(1000) % 2 == 1
    )
    assert recorded.column("error")[-1] == pytest.approx(known.column("error")[-1])
    assert recorded.model.examples == 500


def test_estimators():
    pytest.importorskip("sklearn")
    classifier = plot.History(okl.KernelClassifier()).learn(X, NAMES, classes=["a", "b", "c"])
    whole = okl.KernelClassifier().partial_fit(X, NAMES, classes=["a", "b", "c"])
    assert classifier.model.learner_.to_bytes() == whole.learner_.to_bytes()
    assert 0 < classifier.column("error")[-1] < 0.3
    regressor = plot.History(okl.KernelRegressor()).learn(X, 1000 + 50 * NUMBERS, sample_weight=np.ones(1000))
    assert regressor.column("recent_error")[-1] < 0.5 * np.abs(50 * NUMBERS).mean()
    detector = plot.History(okl.NoveltyDetector(0.1)).learn(X)
    assert detector.records[-1].alert_rate == detector.model.alert_rate_.rate


def test_rows_after_the_last_full_record_count_too():
    recorded, fine = history("numbers", every=300), history("numbers", every=100)
    assert recorded.column("rows").tolist() == [300, 600, 900, 1000]
    assert recorded.column("error")[-1] == pytest.approx(fine.column("error")[-1])
    assert recorded.column("recent_error")[-1] == pytest.approx(fine.column("recent_error")[-1])
    recorded.learn(X[:200], NUMBERS[:200])
    assert recorded.column("rows").tolist() == [300, 600, 900, 1200]


def test_river_models():
    pytest.importorskip("river")
    pd = pytest.importorskip("pandas")
    import okl.river

    frame = pd.DataFrame(X, columns=["a", "b"])

    def recorded(model, *y):
        twin, history = model.clone(), plot.History(model, every=300).learn(frame, *map(pd.Series, y))
        said = []
        for x, *target in zip(frame.to_dict("records"), *y):
            said.append(twin.is_novel_one(x) if not target else twin.predict_one(x))
            twin.learn_one(x, *target)
        assert model.learner.to_bytes() == twin.learner.to_bytes()
        assert history.column("rows").tolist() == [300, 600, 900, 1000]
        return history, np.array(said)

    for loss in ("max_margin", "softmax"):
        history, said = recorded(okl.river.KernelClassifier(loss), NAMES)
        assert history.column("error")[-1] == pytest.approx((said != NAMES).mean())
    history, said = recorded(okl.river.KernelClassifier("hinge"), SIGNS > 0)
    assert history.column("error")[-1] == pytest.approx((said != (SIGNS > 0)).mean())
    history, said = recorded(okl.river.KernelRegressor(), NUMBERS)
    assert history.column("error")[-1] == pytest.approx(np.abs(said - NUMBERS).mean())
    history, said = recorded(okl.river.NoveltyDetector(nu=0.1))
    assert history.column("alert_rate")[-1] == pytest.approx(said.sum() / (1000 - 256))
    assert history.column("recent_alert_rate")[-1] == pytest.approx(said[900:].mean())


def test_records_make_a_table():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(history("signs").records)
    assert table["rows"].tolist() == list(range(100, 1001, 100))


def test_progressive_error_drawn(pyplot):
    recorded = history("signs")
    ax = plot.progressive_error(recorded)
    drawn = {line.get_label(): line.get_ydata() for line in ax.lines}
    assert np.array_equal(drawn["so far"], recorded.column("error"))
    assert np.array_equal(drawn["last 100 rows"], recorded.column("recent_error"))
    assert ax.get_ylabel() == "wrong"
    assert plot.progressive_error(history("numbers")).get_ylabel() == "mean absolute error"


def test_step_size_and_terms_drawn(pyplot):
    recorded = history("signs")
    _, (left, right) = pyplot.subplots(1, 2)
    assert plot.step_size(recorded, left) is left
    assert np.array_equal(left.lines[0].get_ydata(), recorded.column("eta"))
    plot.terms(recorded, ax=right)
    assert np.array_equal(right.lines[0].get_ydata(), recorded.column("terms"))
    assert right.lines[1].get_label() == "budget (merge)"
    assert set(right.lines[1].get_ydata()) == {100}


def test_alert_rate_drawn(pyplot):
    recorded = history("novelty")
    ax = plot.alert_rate(recorded)
    drawn = {line.get_label(): line.get_ydata() for line in ax.lines}
    assert np.array_equal(drawn["so far"], recorded.column("alert_rate"), equal_nan=True)
    assert set(drawn["nu = 0.05"]) == {0.05}


def test_a_burst_of_alerts_is_cut_off_and_marked(pyplot):
    shifted = np.r_[X, X, X + 20.0, X + 20.0]
    learner = okl.Learner(kernel="gaussian", gamma=0.5, loss="nu_novelty:0.05", threshold="tracker")
    recorded = plot.History(learner).learn(shifted)
    ax = plot.alert_rate(recorded)
    beyond = recorded.column("rows")[recorded.column("recent_alert_rate") > ax.get_ylim()[1]]
    assert len(beyond) > 0
    marked = next(dots for dots in ax.collections if dots.get_label() == "more than shown")
    assert np.array_equal(marked.get_offsets()[:, 0], beyond)


def test_summary_draws_what_applies(pyplot):
    def titles(name):
        return [ax.get_title() for ax in plot.summary(history(name)).axes]

    assert titles("signs") == ["Progressive error", "Step size", "Terms"]
    assert titles("novelty") == ["Alert rate", "Step size", "Terms"]
    assert titles("two outputs") == [
        "Progressive error",
        "Share of rows outside the tube",
        "Step size",
        "Terms",
    ]


def colours(ax):
    """How many different colours the picture has in its middle."""
    figure = ax.figure
    figure.canvas.draw()
    return len(np.unique(np.asarray(figure.canvas.buffer_rgba()).reshape(-1, 4), axis=0))


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("with_targets", [True, False])
def test_decision_regions_of_learners(pyplot, name, with_targets):
    y = LEARNERS[name][1]
    learner = history(name).model
    ax = plot.decision_regions(learner, X, y if with_targets else None, resolution=40)
    assert ax.get_xlim()[0] < X[:, 0].min() and ax.get_ylim()[1] > X[:, 1].max()
    assert colours(ax) > 5
    if name == "classes":
        assert [text.get_text() for text in ax.get_legend().get_texts()] == learner.classes
    if name == "novelty":
        novel = next(dots for dots in ax.collections if dots.get_label() == "novel")
        assert len(novel.get_offsets()) == (learner.predict(X) < learner.threshold).sum()


def test_decision_regions_of_estimators(pyplot):
    pytest.importorskip("sklearn")
    pd = pytest.importorskip("pandas")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    table = pd.DataFrame(X, columns=["across", "up"])
    classifier = make_pipeline(StandardScaler(), okl.KernelClassifier(random_state=0)).fit(table, NAMES)
    ax = plot.decision_regions(classifier, table, NAMES, resolution=40)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("across", "up")
    shown = {
        dots.get_label(): len(dots.get_offsets()) for dots in ax.collections if dots.get_label() in "abc"
    }
    assert shown == {name: (name == NAMES).sum() for name in "abc"}
    detector = okl.NoveltyDetector(0.1, random_state=0).fit(X)
    ax = plot.decision_regions(detector, X, resolution=40)
    assert {len(dots.get_offsets()) for dots in ax.collections if dots.get_label() == "novel"} == {100}
    regressor = okl.KernelRegressor(random_state=0).fit(X, NUMBERS)
    assert colours(plot.decision_regions(regressor, X, NUMBERS, resolution=40)) > 5


def test_what_cannot_be_drawn_says_why(pyplot):
    with pytest.raises(ValueError, match=r"two features, found X of shape \(10, 3\)"):
        plot.decision_regions(history("signs").model, np.zeros((10, 3)))
    with pytest.raises(ValueError, match="nothing is recorded yet: call learn first"):
        plot.progressive_error(plot.History(okl.Learner()))
    with pytest.raises(ValueError, match="no alert rate to draw: only losses with nu"):
        plot.alert_rate(history("signs"))
    with pytest.raises(ValueError, match="no error to draw: the model has no targets"):
        plot.progressive_error(history("novelty"))
    with pytest.raises(ValueError, match="every must be at least 1 row, found 0"):
        history("signs", every=0)


def test_without_matplotlib_there_is_a_history_and_a_helpful_error():
    code = """
import sys
sys.modules["matplotlib"] = None
import numpy as np, okl
recorded = okl.plot.History(okl.Learner(loss="squared"), every=5).learn(np.zeros((10, 1)), np.ones(10))
assert len(recorded.records) == 2
try:
    okl.plot.terms(recorded)
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (
        done.stdout.strip()
        == "okl.plot draws with matplotlib, which is not installed: pip install matplotlib"
    )


@pytest.mark.parametrize(
    "model",
    [okl.Learner(loss="squared", gamma=1.0), okl.KernelRegressor(gamma=1.0), okl.NoveltyDetector(gamma=1.0)],
)
def test_a_refused_call_is_not_learned_in_part(model: Any) -> None:
    X = np.random.default_rng(0).normal(size=(600, 2))
    y = None if isinstance(model, okl.NoveltyDetector) else X[:, 0]
    bad = X.copy()
    bad[550, 0] = 1e300
    history = okl.plot.History(model, every=100)
    with pytest.raises(ValueError, match="^row 550, column 0"):
        history.learn(bad, y)
    assert history.records == []
    assert model.examples == 0 if isinstance(model, okl.Learner) else not hasattr(model, "learner_")
    assert history.learn(X, y).column("rows").tolist() == [100, 200, 300, 400, 500, 600]


def test_a_model_that_has_learned_nothing_is_refused_in_words(pyplot):
    pytest.importorskip("sklearn")
    from sklearn.exceptions import NotFittedError
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    with pytest.raises(ValueError, match=r"has not learned any row yet: call learn\(X, y\) first"):
        plot.decision_regions(okl.Learner(loss="hinge"), X)
    for model in (okl.KernelClassifier(), okl.KernelRegressor(), okl.NoveltyDetector()):
        for one in (model, make_pipeline(StandardScaler(), model)):
            with pytest.raises(NotFittedError, match="not fitted yet. Call 'fit'"):
                plot.decision_regions(one, X)


def test_regions_of_a_river_model_are_refused_in_words(pyplot):
    pytest.importorskip("river")
    with pytest.raises(TypeError, match=r"found okl.river.KernelClassifier; give the learner behind it"):
        plot.decision_regions(okl.river.KernelClassifier(), X)


def test_the_last_record_says_how_many_rows_it_has(pyplot):
    """Of 250 rows, records of 100 rows leave 50."""
    X = np.random.default_rng(0).normal(size=(250, 2))
    history = plot.History(okl.Learner(loss="squared", gamma=1.0), every=100).learn(X, X[:, 0])
    assert "last 100 rows (at the end 50)" in {
        line.get_label() for line in plot.progressive_error(history).lines
    }
    assert history.records[-1].recent_error == pytest.approx(
        np.abs(okl.Learner(loss="squared", gamma=1.0).learn(X, X[:, 0]) - X[:, 0])[200:].mean()
    )
    history.learn(X[:50], X[:50, 0])
    assert "last 100 rows" in {line.get_label() for line in plot.progressive_error(history).lines}


@pytest.mark.parametrize("rehearsal", [True, False])
def test_an_interrupted_history_says_how_many_rows_the_model_has_learned(monkeypatch, rehearsal):
    X = np.random.default_rng(0).normal(size=(2000, 2))
    model = okl.Learner(loss="squared", gamma=1.0)
    history = plot.History(model, every=500)

    def stops(learning):
        def learn(X, y):
            if (learning is not model) != rehearsal or (learning is model and model.examples < 500):
                return learning.learn_report(X, y)
            learning.learn(X[:256], y[:256])
            stop = KeyboardInterrupt()
            stop.rows_learned = 256
            raise stop

        return learn

    monkeypatch.setattr("okl._plot.history.learns", stops)
    with pytest.raises(KeyboardInterrupt) as stop:
        history.learn(X, X[:, 0])
    assert stop.value.rows_learned == model.examples == (0 if rehearsal else 756)
    monkeypatch.undo()
    history.learn(X[model.examples :], X[model.examples :, 0])
    assert [record.rows for record in history.records] == [500, 1000, 1500, 2000]


def test_a_history_is_of_models_that_learn_streams():
    pipeline = pytest.importorskip("sklearn.pipeline").make_pipeline(okl.KernelClassifier())
    with pytest.raises(TypeError, match="found Pipeline; transform the rows first and give the last step"):
        plot.History(pipeline)
    assert plot.History(pipeline[-1]).model is pipeline[-1]


@pytest.mark.parametrize("names", [["yes", "no"], ["no", "yes"], [True, False], [False, True]])
def test_the_error_of_two_classes_does_not_depend_on_the_records(names):
    """The second class appears late. Its first row is wrong; before, the only class is predicted."""
    y = np.where(X[:400, 0] > 0, *names)
    y[:90] = names[1]
    learner, wrong = okl.Learner(loss="hinge", gamma=0.5), []
    for i in range(400):
        classes, score = learner.classes, learner.predict(X[i : i + 1])[0] if i else 0.0
        positive = learner.positive_class
        other = [name for name in classes if name != positive]
        said = positive if score > 0 or not other else other[0]
        wrong.append(not classes or said != y[i])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            learner.learn(X[i : i + 1], y[i : i + 1])
    for every in (1, 100, 150, 400):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            recorded = plot.History(okl.Learner(loss="hinge", gamma=0.5), every).learn(X[:400], y)
        ends = recorded.column("rows")
        assert recorded.column("error") == pytest.approx(np.cumsum(wrong)[ends - 1] / ends)


def test_the_budget_is_drawn_as_it_was(pyplot):
    """The budget of a bank grows when the bank becomes smaller; the limit of a record is that of its time."""
    recorded = history("signs", every=500)
    limits = recorded.column("most_terms")
    assert limits.tolist() == [100, 100]
    first, last = recorded.records
    recorded._records = [first, last._replace(most_terms=200.0)]
    _, budget = plot.terms(recorded).lines
    assert budget.get_xydata().tolist() == [[0, 100], [500, 100], [1000, 200]]
    assert np.isnan(
        plot.History(okl.Learner(loss="squared", kernel="linear")).learn(X, NUMBERS).column("most_terms")
    ).all()


def test_margin_errors_are_not_called_alerts(pyplot):
    margins = plot.History(okl.Learner(loss="nu_hinge:0.2", gamma=0.5)).learn(X, SIGNS)
    assert plot.alert_rate(margins).get_title() == "Share of margin errors"
    assert plot.alert_rate(history("two outputs")).get_ylabel() == "rows outside the tube"
    assert plot.alert_rate(history("novelty")).get_title() == "Alert rate"


def test_a_field_that_records_do_not_have_is_refused():
    with pytest.raises(
        ValueError, match="records have no field 'erorr': use one of rows, error, recent_error"
    ):
        plot.History(okl.Learner(loss="squared")).column("erorr")


def test_rows_of_weight_zero_do_not_count():
    """Every second row has weight 0 and a target of its own: the errors are those of the others, in every kind of model."""
    pd, _river = pytest.importorskip("pandas"), pytest.importorskip("river")
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(300, 2)), np.arange(300) % 2.0
    y = np.where(weights > 0, np.sin(X[:, 0]), 1000.0)
    frame = pd.DataFrame(X, columns=["a", "b"])
    classes = pd.Series(np.where(weights > 0, np.where(X[:, 0] > 0, "p", "n"), "other"))
    learned = [
        plot.History(okl.Learner(loss="squared", offset=True)).learn(X, y, weights=weights),
        plot.History(okl.KernelRegressor()).learn(X, y, sample_weight=weights),
        plot.History(okl.river.KernelRegressor()).learn(frame, pd.Series(y), w=pd.Series(weights)),
        plot.History(okl.river.KernelClassifier()).learn(frame, classes, w=pd.Series(weights)),
    ]
    assert max(history.records[-1].error for history in learned) < 0.5
    detector = okl.Learner(loss="density", nu=0.2, warmup=20)
    rates = plot.History(detector, every=300).learn(X, weights=weights).records[-1]
    assert rates.recent_alert_rate == pytest.approx(rates.alert_rate)
