"""Warnings of the three interfaces: the name of the column, the user's line, words of the interface."""

import inspect
import re
import warnings

import numpy as np
import pytest

import okl

pd = pytest.importorskip("pandas")
clone = pytest.importorskip("sklearn.base").clone

RNG = np.random.default_rng(8)
WILD = np.r_[RNG.uniform(0, 1, 300), RNG.uniform(0, 50, 700)]
FRAME = pd.DataFrame({"calm": RNG.normal(size=1000), "wild": WILD})
Y = pd.Series(np.sin(WILD / 5))


def warning(call) -> tuple[str, str, str]:
    """The text of the one warning of a call, the file it points at and the source of the line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    [found] = [w for w in caught if w.category is okl.HealthWarning]
    with open(found.filename) as file:
        return str(found.message), found.filename, file.read().splitlines()[found.lineno - 1]


def check(call, health: str, advice: str) -> None:
    text, file, line = warning(call)
    assert text.startswith("column 'wild': ") and text.endswith(f"(see {health})")
    assert advice in text
    assert file == __file__ and line.strip() in inspect.getsource(call)


def test_of_the_learner() -> None:
    m = okl.Learner(loss="squared")
    check(lambda: m.learn(FRAME, Y), "health()", "differences from row to row in its place")
    assert m.health()["clipped_columns"][0]["name"] == "wild"
    assert m.health()["findings"][0].startswith("column 'wild'")
    unnamed = okl.Learner(loss="squared")
    assert warning(lambda: unnamed.learn(FRAME.to_numpy(), Y))[0].startswith("column 1: ")
    assert unnamed.health()["clipped_columns"][0]["name"] is None


def test_of_scikit_learns_estimators() -> None:
    pytest.importorskip("sklearn")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    model = okl.KernelRegressor()
    check(
        lambda: model.partial_fit(FRAME, Y), "learner_.health()", "differences from row to row in its place"
    )
    # Through a pipeline the line is still the user's.
    piped = make_pipeline(
        FunctionTransformer(),
        okl.KernelRegressor(max_iter=1, scale=None, gamma=1.0, learner_params={"anchor": "none"}),
    )
    far = FRAME.assign(wild=1e9 + WILD)  # digits are lost in single precision
    check(lambda: piped.fit(far, Y), "learner_.health()", "set scale='standard'")


def test_of_rivers_estimators() -> None:
    pytest.importorskip("river")
    from river import evaluate, metrics
    from river.stream import iter_pandas

    model = okl.river.KernelRegressor(scale="standard")
    check(
        lambda: model.learn_many(FRAME, Y),
        "learner.health()",
        "compare the error with that of a model without the column",
    )
    assert model.learner.feature_names == ["calm", "wild"]
    alone = okl.river.KernelRegressor()
    check(
        lambda: evaluate.progressive_val_score(iter_pandas(FRAME, Y), alone, metrics.MAE()),
        "learner.health()",
        "differences from row to row in its place",
    )


def test_of_ignored_features() -> None:
    pytest.importorskip("river")
    model = okl.river.KernelRegressor(max_features=1)
    with pytest.warns(UserWarning, match="feature 'b' is ignored") as caught:
        model.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    assert caught[0].filename == __file__


def test_of_a_learner_that_has_diverged() -> None:
    """A constant step far above 2 / |x|²: errors grow by a factor per row."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    settings = {"loss": "squared", "kernel": "linear", "lam": 0.0, "scale": "none"}
    stays, diverges = okl.Learner(settings, step="constant:0.01"), okl.Learner(settings, step="constant:3")
    stays.learn(X, X[:, 0])
    assert stays.health()["findings"] == []
    scores = [diverges.learn(X[:19], X[:19, 0])]
    assert np.abs(scores[0]).max() > 1e6 and diverges.health()["findings"] == []  # too few rows to judge
    said = warning(lambda: scores.append(diverges.learn(X[19:], X[19:, 0])))[0]
    error, largest = np.abs(np.concatenate(scores) - X[:, 0]).mean(), np.abs(X[:, 0]).max()
    assert f"no target exceeds {float(f'{largest:.3e}')} in size: the model has diverged" in said
    assert float(said.split()[7].rstrip(",")) == pytest.approx(error, rel=1e-3)
    assert said.startswith(diverges.health()["findings"][0])
    assert okl.Learner.from_bytes(diverges.to_bytes()).health() == diverges.health()


def test_of_a_class_weight_that_names_no_class() -> None:
    """A name that is misspelled does nothing but divide all weights by its own: a finding names it, after 100 examples."""
    X = np.random.default_rng(0).normal(size=(150, 2))
    labels = np.where(X[:, 0] > 0, "yes", "no")
    right, wrong = (okl.Learner(loss="hinge", class_weight={name: 5.0}) for name in ("yes", "yess"))
    right.learn(X, labels)
    assert right.health()["findings"] == []
    wrong.learn(X[:99], labels[:99])
    assert wrong.health()["findings"] == []  # it may be a class that is rare
    said = warning(lambda: wrong.learn(X[99:], labels[99:]))[0]
    assert "class_weight names yess, but none of 150 examples had this class" in said
    assert okl.Learner.from_bytes(wrong.to_bytes()).health() == wrong.health()


def test_targets_out_of_the_unit_of_an_adaptive_tube_are_reported():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = 40 + 2 * X[:, 0]
    for loss in ("nu_epsilon:nu=0.1", "nu_huber:nu=0.1"):
        model = okl.Learner(loss=loss, offset=True)
        with pytest.warns(
            okl.HealthWarning,
            match=f"the steps of {loss.partition(':')[0]} suit targets with a mean near 0.*set target_scale",
        ):
            before = np.abs(model.learn(X, y) - y)[300:].mean()
        scaled = {"fixed": {"shift": [float(y.mean())], "factor": [1 / float(y.std())]}}
        with warnings.catch_warnings():
            warnings.simplefilter("error", okl.HealthWarning)
            after = np.abs(okl.Learner(loss=loss, offset=True, target_scale=scaled).learn(X, y) - y)[
                300:
            ].mean()
        assert after < before / 4  # the advice helps


@pytest.mark.parametrize("loss", ["nu_epsilon", "nu_huber"])
def test_targets_out_of_unit_are_reported_as_long_as_a_constant_is_as_good(loss: str) -> None:
    """Whatever the cut: the errors of the last rows count, not only those of all rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4))
    y = 100 + 10 * (X[:, 0] * X[:, 1] + np.sin(X[:, 2])) + rng.normal(size=6000)
    found = []
    for rows in (6000, 1000, 37):
        model = okl.Learner(loss=loss, offset=True)
        with pytest.warns(okl.HealthWarning, match="suit targets with a mean near 0"):
            for first in range(0, 6000, rows):
                scores = model.learn(X[first : first + rows], y[first : first + rows])
        found.append(model.health()["findings"])
        last = np.abs(scores - y[-len(scores) :])[-1000:].mean()
    assert len(found[0]) == 1 and found[0] == found[1] == found[2]
    stated = re.search(
        r"the last 2,000 targets are (\S+) on average from the mean of up to 999 targets before them, and their mean error is (\S+):",
        found[0][0],
    )
    spread = np.abs(y[-2000:] - y[-2000:].mean()).mean()
    assert stated and float(stated[1]) == pytest.approx(spread, rel=0.01), found[0][0]
    assert last > 1.5 * np.abs(y - y.mean()).mean()
    assert okl.Learner.from_bytes(model.to_bytes()).health()["findings"] == found[0]
    scaled = {"fixed": {"shift": [float(y.mean())], "factor": [1 / float(y.std())]}}
    with warnings.catch_warnings():
        warnings.simplefilter("error", okl.HealthWarning)
        okl.Learner(loss=loss, offset=True, target_scale=scaled).learn(X, y)
    with pytest.warns(okl.HealthWarning, match=r"there are targets of \S+ and more; .* set target_scale"):
        okl.Learner(loss=loss).learn(
            X, 5 + (y - y.mean()) / y.std()
        )  # only the mean is far, and there is no offset


@pytest.mark.parametrize("loss", ["nu_epsilon", "nu_huber"])
def test_targets_in_unit_with_far_tails_need_no_other_unit(loss: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=3000)
    y = (y - y.mean()) / y.std()
    assert np.sort(np.abs(y))[-9] > 4  # enough of them for the finding about targets far from 0
    model = okl.Learner(loss=loss, offset=True)
    model.learn(X, y)
    assert not [said for said in model.health()["findings"] if "target_scale" in said]


def test_the_distance_of_targets_is_that_from_the_targets_before_them() -> None:
    """A level that moves counts within a window only, and a wide tube does not hide it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3))
    y = 0.01 * X[:, 0] * X[:, 1]
    y[5000:] += 5
    model = okl.Learner(loss="epsilon", offset=True)
    with pytest.warns(okl.HealthWarning):
        model.learn(X, y)
    (said,) = model.health()["findings"]
    windows = y[4000:].reshape(2, 1000)
    before = np.cumsum(windows, axis=1)[:, :-1] / np.arange(1, 1000)
    distance = np.abs(windows[:, 1:] - before).sum() / 2000
    stated = re.search(
        r"the last 2,000 targets are (\S+) on average from the mean of up to 999 targets before", said
    )
    assert stated and float(stated[1]) == pytest.approx(distance, rel=0.001), said
    assert "smaller differences are not learned" in said and "nothing is learned" not in said


@pytest.mark.parametrize("loss", ["absolute", "huber", "epsilon", "quantile"])
def test_targets_far_from_the_unit_of_a_bounded_gradient_are_reported(loss: str) -> None:
    """A row moves the model by at most a step. The advice is one that helps; targets of any size are learned with the squared loss."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    f = X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + X[:, 3]
    for size in (1.0, 1e5):
        y = 3 * size + size * (f + 0.1 * rng.normal(size=3000))
        scaled = {"fixed": {"shift": [float(y.mean())], "factor": [1 / float(y.std())]}}
        with warnings.catch_warnings():
            warnings.simplefilter("error", okl.HealthWarning)
            after = okl.Learner(loss=loss, offset=True, target_scale=scaled).learn(X, y)
            okl.Learner(loss="squared", offset=True).learn(X, y)
            if size == 1.0:
                okl.Learner(loss=loss, offset=True).learn(X, y)
                okl.Learner(loss=loss, offset=True).learn(X, rng.normal(size=3000))
        if size > 1.0:
            model = okl.Learner(loss=loss, offset=True)
            with pytest.warns(
                okl.HealthWarning, match=f"the steps of {loss} suit targets with a standard deviation near 1"
            ):
                before = model.learn(X, y)
            assert np.abs(after - y)[-1000:].mean() < 0.7 * np.abs(before - y)[-1000:].mean()
            assert okl.Learner.from_bytes(model.to_bytes()).health() == model.health()
            river = pytest.importorskip("okl.river").KernelRegressor(loss=loss)
            with pytest.warns(okl.HealthWarning, match="compare with target_scale"):
                river.learn_many(pd.DataFrame(X), pd.Series(y))


@pytest.mark.parametrize("loss", ["absolute", "huber", "quantile"])
def test_targets_with_heavy_tails_are_reported_too(loss: str) -> None:
    """Robust losses are chosen for such targets. Large ones hide in the standard deviation that all others are close to a constant."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    f = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    prices = np.exp(12 + 1.1 * (f / f.std() + 0.25 * rng.normal(size=4000)))
    outliers = 1000 * (f + 0.25 * rng.normal(size=4000)) + 1e5 * (rng.uniform(size=4000) < 0.01)
    for y in (prices, outliers):
        with pytest.warns(okl.HealthWarning, match="compare with target_scale") as warned:
            before = okl.Learner(loss=loss, offset=True).learn(X, y)
        assert "the distance between their quartiles, divided by 1.35" in str(warned[0].message)
        low, middle, high = np.quantile(y, [0.25, 0.5, 0.75])
        scaled = {"fixed": {"shift": [float(middle)], "factor": [1.35 / float(high - low)]}}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", okl.HealthWarning)
            after = okl.Learner(loss=loss, offset=True, target_scale=scaled).learn(X, y)
        late = slice(2000, None)
        assert np.abs(after - y)[late].mean() < 0.9 * np.abs(before - y)[late].mean()


def test_several_targets_far_from_the_unit_are_reported() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    Y = np.c_[np.sin(X[:, 0]) + X[:, 1], X[:, 1] * X[:, 2]]
    found = []
    for loss in ("absolute", "huber", "epsilon"):
        for rows in (3000, 77):
            model = okl.Learner(loss=loss, offset=True)
            with pytest.warns(
                okl.HealthWarning, match=f"the steps of {loss} suit targets with a standard deviation near 1"
            ):
                for first in range(0, 3000, rows):
                    model.learn(X[first : first + rows], 1e4 * Y[first : first + rows])
            found.append(model.health()["findings"])
            assert okl.Learner.from_bytes(model.to_bytes()).health() == model.health()
        assert found[-1] == found[-2]
        with warnings.catch_warnings():
            warnings.simplefilter("error", okl.HealthWarning)
            okl.Learner(loss=loss, offset=True).learn(X, Y)


def test_an_estimator_that_leaves_targets_as_they_are_says_so_where_they_are_large() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    poor = okl.KernelRegressor("absolute_error", normalize_y=False, random_state=0)
    with pytest.warns(
        UserWarning,
        match="normalize_y=False: the steps of loss='absolute_error' suit .* set normalize_y=True",
    ):
        poor.fit(X, 1e5 * y)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="normalize_y=False")
        warnings.simplefilter("error", okl.HealthWarning)
        good = okl.KernelRegressor("absolute_error", random_state=0).fit(X, 1e5 * y)
        okl.KernelRegressor("absolute_error", normalize_y=False, random_state=0).fit(X, y)
        okl.KernelRegressor(normalize_y=False, random_state=0).fit(X, 1e5 * y)
    assert good.score(X, 1e5 * y) > poor.score(X, 1e5 * y) + 0.3


def test_a_tube_that_is_wider_than_the_targets_vary_is_reported() -> None:
    """Said where little is learned, and not where most is."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    f = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    f /= f.std()

    def explained(model: okl.Learner, y: np.ndarray) -> float:
        residuals = (model.learn(X, y) - y)[1000:]
        return float(1 - residuals.var() / y[1000:].var())

    said = "the loss ignores errors up to epsilon = 0.1: smaller differences are not learned; set a smaller epsilon"
    with pytest.warns(okl.HealthWarning, match=said):
        assert explained(okl.Learner(loss="epsilon", offset=True), 0.02 * f) < 0.2
    with warnings.catch_warnings():
        warnings.simplefilter("error", okl.HealthWarning)
        assert explained(okl.Learner(loss="epsilon", offset=True), 0.08 * f) > 0.5
        okl.Learner(loss="epsilon:epsilon=0.001", offset=True).learn(X, 0.02 * f)
    # With a scale of the targets, epsilon is in scaled units: estimators have such a scale.
    scaled = okl.Learner(loss="epsilon:epsilon=5", target_scale={"fixed": {"shift": [0.0], "factor": [0.1]}})
    with pytest.warns(
        okl.HealthWarning, match="up to epsilon = 5 of the scaled targets, which is 50 of theirs"
    ):
        scaled.learn(X, 10 * f)
    for learn in ("fit", "partial_fit"):
        with pytest.warns(okl.HealthWarning, match="the loss ignores errors up to epsilon = 5"):
            getattr(okl.KernelRegressor("epsilon_insensitive", epsilon=5.0, random_state=0), learn)(
                X[:400], 70 * f[:400]
            )


def test_the_advice_against_divergence_helps():
    """Large targets: `smd` diverges at small steps too, and does not with a cap or scaled targets."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1500, 7))
    y = 50 + 15 * X[:, 0] + 5 * np.sin(3 * X[:, 1])
    given = {"loss": "squared", "offset": True, "scale": "standard", "kernel": "linear", "lam": 1e-6}
    scaled = {"fixed": {"shift": [float(y.mean())], "factor": [1 / float(y.std())]}}
    for more in ({"step": "smd:eta=0.001,cap=0.05"}, {"step": "smd:eta=0.001", "target_scale": scaled}):
        with warnings.catch_warnings():
            warnings.simplefilter("error", okl.HealthWarning)
            assert np.abs(okl.Learner(**given, **more).learn(X, y) - y).mean() < np.abs(y).mean() / 2
    with pytest.warns(
        okl.HealthWarning, match=r"has diverged.*for smd a cap, such as 0.05\), scale the targets"
    ):
        okl.Learner(**given, step="smd:eta=0.5").learn(100 * X, 1e6 * y)


@pytest.mark.parametrize(
    ("targets", "names"),
    [
        (np.array([-1, 1]), [-1, 1]),
        (np.array([-1.0, 1.0]), [-1, 1]),
        (np.array(["no", "yes"]), ["no", "yes"]),
        (np.array([0, 1]), [0, 1]),
        (np.array([False, True]), [False, True]),
    ],
    ids=["signs", "floats", "text", "numbers", "bools"],
)
def test_a_class_weight_that_is_applied_is_no_finding(targets, names) -> None:
    """Whatever targets are: where a weight changes the scores, no finding says that no example had its class."""
    X = np.random.default_rng(0).normal(size=(150, 2))
    rows = (X[:, 0] * X[:, 1] > 0).astype(int)
    given = {"loss": "hinge", "kernel": "gaussian:1", "step": "constant:1", "lam": 1e-3, "scale": "none"}
    # Numbers other than -1 and 1 are classes only where they are declared.
    number = targets.dtype == int and names[0] == 0
    classes = None if names[0] == -1 else names
    for declared in [classes] if number else [None, classes]:
        plain = okl.Learner(given, classes=declared).learn(X, targets[rows]) if declared else None
        for table in ({names[0]: 0.1}, {names[1]: 0.1}, {names[0]: 0.1, names[1]: 1.0}):
            m = okl.Learner(given, class_weight=table, classes=declared)
            scores = m.learn(X, targets[rows])
            assert m.health()["findings"] == [], (table, declared)
            assert plain is None or (scores != plain).any()
    if number:
        return
    wrong = okl.Learner(given, class_weight={names[0]: 0.1, "other": 0.5})
    assert "class_weight names other, but" in warning(lambda: wrong.learn(X, targets[rows]))[0]


@pytest.mark.parametrize("kernel", ["gaussian", "exponential", "manhattan", "matern32"])
def test_the_advice_for_values_that_the_kernel_hardly_sees_helps(kernel: str) -> None:
    """Without scaling there is no unit from the first rows: each of the three things that the finding names removes it."""
    X = np.random.default_rng(1).normal(size=(600, 2)) * 1e-6
    y = np.sign(X[:, 0])
    given = {"loss": "squared", "step": "constant:0.3", "lam": 1e-3}

    def findings(X: np.ndarray, gamma: float, scale: str) -> list[str]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            m = okl.Learner(given, kernel=kernel, gamma=gamma, scale=scale)
            m.learn(X, y)
        return m.health()["findings"]

    [said] = findings(X, 0.5, "none")
    assert "hardly sees them, and columns are not scaled" in said
    assert "unit" not in said and "set scale to none" not in said and "first" not in said
    for advice in ("set scale to standard", "multiply the columns by a number", "choose a larger gamma"):
        assert advice in said
    assert findings(X, 0.5, "standard") == []
    assert findings(1e6 * X, 0.5, "none") == []
    assert findings(X, 0.5e12 if kernel == "gaussian" else 0.5e6, "none") == []


def test_values_beyond_the_further_limit_of_a_weight_vector_are_said() -> None:
    """A weight vector that leads reads columns up to 64 deviations; a column that leaves them is clipped for it, too."""
    rng = np.random.default_rng(1)
    t, x = np.arange(6000), rng.normal(size=6000)
    X = np.c_[1000 + 3.7 * t + rng.normal(0, 2, 6000), x]
    y = 5 + 0.004 * t + 0.5 * x + rng.normal(0, 3, 6000)
    settings = {"loss": "squared", "kernel": "auto", "scale": "auto", "offset": True}
    near, far = okl.Learner(**settings), okl.Learner(**settings)
    with warnings.catch_warnings():
        warnings.simplefilter("error", okl.HealthWarning)
        near.learn(X[:3000], y[:3000])  # up to 42 deviations of the first 256 rows
    with pytest.warns(
        okl.HealthWarning, match="the weight vector that leads clips them at 64 standard deviations"
    ):
        far.learn(X, y)
    beyond = [[1000 + 3.7 * 5800, 0.0], [1000 + 3.7 * 9000, 0.0]]
    assert np.ptp(far.predict(beyond)) == 0, "both are clipped"
    assert okl.Learner.from_bytes(far.to_bytes()).health() == far.health()


def test_weights_far_from_one_are_said() -> None:
    """Weights that add up to 1 make all steps too short."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.sign(X[:, 0])
    for weight, words in (
        (
            1 / 300,
            "are at most 0.003333; a weight multiplies the step of its row, so the model hardly learns",
        ),
        (50.0, "compare with the weights divided by their mean"),
    ):
        m = okl.Learner(loss="hinge")
        said, *_ = warning(lambda m=m, weight=weight: m.learn(X, y, weights=np.full(300, weight)))
        assert words in said and words in m.health()["findings"][0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        okl.Learner(loss="hinge").learn(X, y, weights=rng.uniform(0, 2, 300))
        # Small weights of a common class are meant.
        okl.Learner(loss="hinge").learn(X, y, weights=np.where(np.arange(300) % 50 == 0, 1.0, 1 / 50))
        okl.KernelClassifier(random_state=0).fit(X, y, sample_weight=np.where(X[:, 0] > 1.9, 1.0, 1 / 32))


def test_weights_of_classes_are_no_weights_far_from_one() -> None:
    """The estimator divides the weights of the classes by the largest, so the advice to divide weights could not be followed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = X[:, 0] > 1.9
    few = np.full(2000, 1e-3)
    for of_class in ("balanced", {False: 1, True: 40}):
        for learn in ("fit", "partial_fit"):
            known = {"classes": [False, True]} if learn == "partial_fit" else {}
            model = okl.KernelClassifier(class_weight=of_class, max_iter=1, random_state=0)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                getattr(model, learn)(X, y, **known)
            # Weights of rows that are far from 1 are still said.
            with pytest.warns(okl.HealthWarning, match="a weight multiplies the step of its row"):
                getattr(clone(model), learn)(X, y, sample_weight=few, **known)
    with pytest.warns(okl.HealthWarning, match="a weight multiplies the step of its row"):
        okl.KernelClassifier(class_weight={False: 1e-3, True: 1e-3}).partial_fit(X, y, classes=[False, True])


def test_other_findings_stay_where_that_of_the_weights_is_taken_out() -> None:
    from okl._sklearn.classifier import WEIGHTS_FINDING

    weights = (
        "the weights of 8,192 learned rows are at most 9.19e-5; a weight multiplies the step of its row, so the model hardly learns: "
        "divide all weights by the largest one"
    )
    X = np.random.default_rng(0).normal(size=(300, 2))
    said, *_ = warning(
        lambda: okl.Learner(loss="hinge").learn(X, np.sign(X[:, 0]), weights=np.full(300, 0.01))
    )
    assert WEIGHTS_FINDING.search(str(said)), "these are the learner's words"
    for text, rest in (
        (weights, ""),
        (f"{weights}; b", "b"),
        (f"a; {weights}", "a"),
        (f"a; {weights}; b; c", "a; b; c"),
    ):
        assert WEIGHTS_FINDING.sub("", f"{text} (see health())") == f"{rest} (see health())"


def test_cells_before_the_first_value_of_a_column_are_said() -> None:
    rng = np.random.default_rng(0)
    X = np.c_[1000 + rng.normal(size=400), rng.normal(size=400)]
    y = np.sin(X[:, 0])
    X[:2, 0] = np.nan
    X[100, 1] = np.nan
    m = okl.Learner(loss="squared", missing="mean")
    said, *_ = warning(lambda: m.learn(X, y))
    assert "column 0: 2 cells without a value came before its first value and became 0;" in said
    assert "column 0: 2 cells" in " ".join(m.health()["findings"])
    assert okl.Learner.from_bytes(m.to_bytes()).health() == m.health()
    # Saved and loaded among these rows, and the same bits.
    part = okl.Learner(loss="squared", missing="mean")
    part.learn(X[:1], y[:1])
    part = okl.Learner.from_bytes(part.to_bytes())
    with pytest.warns(okl.HealthWarning, match="column 0: 2 cells"):
        part.learn(X[1:], y[1:])
    assert part.health() == m.health() and part.to_bytes() == m.to_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        okl.Learner(loss="squared", missing="mean").learn(X[2:], y[2:])


def test_rows_whose_steps_were_skipped_are_rows() -> None:
    """No sentence is about more rows than there are."""
    i = np.arange(3000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m = okl.Learner(loss="squared", scale="none", gamma=1e-6, step="constant:.5", lam=0.0, anchor="none")
        m.learn(1.7e9 + 60.0 * i[:, None], np.sin(i / 50))
    health = m.health()
    assert health["blurred"] > 0 and health["skipped"] > 0
    said = [re.match(r"([\d,]+) of ([\d,]+) rows lie so far", finding) for finding in health["findings"]]
    (found,) = [match for match in said if match]
    blurred, rows = (int(number.replace(",", "")) for number in found.groups())
    assert (blurred, rows) == (health["blurred"], health["examples"] + health["skipped"]) and blurred <= rows
