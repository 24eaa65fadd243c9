"""The estimators' words, in the engine's; parameters are looked at in fit, not before."""

import ast
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import okl
from okl import _docs
from okl._sklearn import words
from okl.sklearn import KernelClassifier, KernelRegressor, NoveltyDetector

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4)) * [1.0, 2.0, 3.0, 4.0]
TWO = (X[:, 0] > 0).astype(int)
THREE = np.digitize(X[:, 0], [-0.5, 0.5])
NUMBERS = X[:, 0] + X[:, 1]


def config(estimator, y=TWO):
    return estimator.fit(X, *(() if isinstance(estimator, NoveltyDetector) else (y,))).learner_.config


def stream_config(**parameters):
    return KernelClassifier(**parameters).partial_fit(X, TWO, classes=[0, 1]).learner_.config


@pytest.mark.parametrize(
    ("name", "okl_name"),
    [("rbf", "gaussian"), ("gaussian", "gaussian"), ("laplacian", "exponential"), ("matern32", "matern32")],
)
def test_kernels_by_name(name, okl_name):
    assert config(KernelClassifier(kernel=name, gamma=0.3))["kernel"] == {okl_name: {"gamma": 0.3}}


def test_kernels_of_dot_products():
    assert config(KernelClassifier(kernel="linear"))["kernel"] == {"linear": {}}
    kernel = config(KernelClassifier(kernel="poly", gamma=0.5, degree=2, coef0=3))["kernel"]
    assert kernel == {"polynomial": {"gamma": 0.5, "degree": 2, "coef0": 3.0}}
    assert config(KernelClassifier(kernel="poly"))["kernel"]["polynomial"]["gamma"] == 1 / 4


def test_kernels_in_the_engines_own_spelling():
    assert config(KernelClassifier(kernel="gaussian:0.5"))["kernel"] == {"gaussian": {"gamma": 0.5}}
    kernel = config(KernelClassifier(kernel={"sum": ["linear", "gaussian:0.5"]}))["kernel"]
    assert kernel == {"sum": [{"linear": {}}, {"gaussian": {"gamma": 0.5}}]}


def test_gamma_median_is_the_median_heuristic():
    rows = (X - X.mean(axis=0)) / X.std(axis=0)
    distances = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)[np.triu_indices(60, 1)]
    assert config(KernelClassifier(gamma="median", scale="standard"))["kernel"]["gaussian"][
        "gamma"
    ] == pytest.approx(0.5 / np.median(distances), rel=0.01)
    of_r = config(KernelClassifier(kernel="laplacian", gamma="median", scale="standard"))["kernel"]
    assert of_r["exponential"]["gamma"] == pytest.approx(np.median(distances) ** -0.5, rel=0.01)
    # "auto" chooses among powers of two times that width.
    found = config(KernelClassifier(kernel="rbf", scale="standard"))["kernel"]["gaussian"]["gamma"]
    power = np.log2(found * 2 * np.median(distances))
    assert power == pytest.approx(np.round(power), abs=0.02) and abs(power) <= 10


def test_gamma_scale_is_scikit_learns_formula():
    def gamma(**parameters):
        return next(iter(config(KernelClassifier(gamma="scale", **parameters))["kernel"].values()))["gamma"]

    raw = 1 / (4 * X.var())
    assert gamma(scale=None) == pytest.approx(raw, rel=1e-6)
    assert gamma(scale=None, kernel="poly") == pytest.approx(raw, rel=1e-6)
    assert gamma(scale=None, kernel="matern52") == pytest.approx(raw**0.5, rel=1e-6)
    assert gamma() == pytest.approx(1 / 4, rel=0.02)  # of the scaled columns
    assert gamma(scale="standard") == pytest.approx(1 / 4)
    constant = np.column_stack([X, np.ones(60)])
    model = KernelClassifier(gamma="scale", scale="standard").fit(constant, TWO)
    standardised = (constant - constant.mean(axis=0)) / np.where(
        constant.std(axis=0) > 0, constant.std(axis=0), 1
    )
    assert model.learner_.config["kernel"]["gaussian"]["gamma"] == pytest.approx(1 / (5 * standardised.var()))


@pytest.mark.parametrize("how", ["fit", "partial_fit"])
def test_gamma_scale_is_of_the_columns_as_they_are_scaled(how):
    """The width is a word, so the columns are scaled, unless many share one range: then they only move. 60 rows of a stream are scaled by the
    first 32 of them."""
    near = 1e-3 if how == "fit" else 0.2
    shared = np.random.default_rng(3).uniform(0, 16, size=(60, 12))
    for rows, scaled in ((X * [1.0, 1e4, 1e-3, 50.0], True), (shared, False)):
        model = getattr(KernelClassifier(kernel="rbf", gamma="scale", random_state=0), how)(rows, TWO)
        shift, factor = model.learner_.frame
        moved = (rows - shift) * factor
        found = model.learner_.config["kernel"]["gaussian"]["gamma"]
        assert found == pytest.approx(1 / (rows.shape[1] * moved.var()), rel=near)
        assert np.allclose(moved.std(axis=0), 1 if scaled else rows.std(axis=0), rtol=max(near, 0.05))


def test_gamma_scale_of_a_stream_is_that_of_the_first_call():
    model = KernelClassifier(gamma="scale", scale=None).partial_fit(X[:30], TWO[:30], classes=[0, 1])
    model.partial_fit(100 * X[30:], TWO[30:])
    assert model.learner_.config["kernel"]["gaussian"]["gamma"] == pytest.approx(
        1 / (4 * X[:30].var()), rel=1e-6
    )


@pytest.mark.parametrize(
    ("rate", "step"),
    [
        ("constant", {"constant": {"eta": 0.25}}),
        ("invscaling", {"inverse_sqrt": {"eta": 0.25}}),
        ("inverse_sqrt", {"inverse_sqrt": {"eta": 0.25}}),
        ("decay", {"decay": {"eta": 0.25, "tau": 1000.0}}),
        ("normalised", {"normalised": {"eta": 0.25}}),
        ("optimal", {"pegasos": {"t0": 400.0}}),
        ("adaptive", {"smd": {"eta": 0.25, "mu": 0.05, "decay": 0.9}}),
        ("pegasos:2000", {"pegasos": {"t0": 2000.0}}),
        ({"decay": {"eta": 0.1, "tau": 10}}, {"decay": {"eta": 0.1, "tau": 10.0}}),
    ],
)
def test_learning_rates(rate, step):
    assert stream_config(learning_rate=rate, eta0=0.25, alpha=0.01)["step"] == step


def test_steps_suit_the_size_of_the_kernel():
    assert stream_config(kernel="linear", learning_rate="constant", eta0=0.5)["step"] == {
        "constant": {"eta": 0.5 / 4}
    }
    poly = {"kernel": "poly", "learning_rate": "constant", "eta0": 0.5, "coef0": 2, "degree": 2}
    assert stream_config(**poly)["step"] == {"constant": {"eta": 0.5 / 3**2}}
    assert stream_config(**poly, gamma=0.5)["step"] == {"constant": {"eta": 0.5 / 4**2}}
    assert stream_config(kernel="linear", learning_rate="constant:0.5")["step"] == {"constant": {"eta": 0.5}}


@pytest.mark.parametrize(("eta0", "alpha"), [(0.25, 0.01), (0.5, 1.0), (1.0, 0.5), (4.0, 1.0)])
def test_the_steps_of_optimal_are_those_of_the_docstring(eta0, alpha):
    model = KernelClassifier(learning_rate="optimal", eta0=eta0, alpha=alpha)
    t0 = max(1, 1 / (alpha * eta0))
    for t in (1, 2, 3):
        model.partial_fit(X[t - 1 : t], TWO[t - 1 : t], classes=[0, 1])
        assert model.learner_.eta == pytest.approx(1 / (alpha * (t + t0)))


def test_optimal_needs_alpha():
    with pytest.raises(ValueError, match="divides by alpha"):
        KernelClassifier(learning_rate="optimal", alpha=0).fit(X, TWO)


@pytest.mark.parametrize(
    ("budget", "kernel", "rule"),
    [
        (50, "rbf", {"merge": {"terms": 50}}),
        (50, "laplacian", {"merge": {"terms": 50}}),
        (50, "linear", {"transfer": {"terms": 50}}),
        (np.int64(7), "rbf", {"merge": {"terms": 7}}),
        (None, "rbf", {"unlimited": {}}),
        ("window:500", "rbf", {"window": {"terms": 500}}),
        ({"age": {"steps": 30}}, "rbf", {"age": {"steps": 30}}),
    ],
)
def test_budgets(budget, kernel, rule):
    assert stream_config(budget=budget, kernel=kernel)["budget"] == rule


OPERATORS = [
    {"kernel": "gaussian:0.5", "operator": [1, 0, 0, 1]},
    {"kernel": "linear", "operator": [1, 1, 1, 1]},
]


def test_a_budget_for_a_sum_of_operator_kernels():
    model = KernelRegressor(budget=20, learner_params={"operator": OPERATORS, "implicit": False})
    assert model.fit(X, X[:, :2]).learner_.config["budget"] == {"window": {"terms": 20}}


@pytest.mark.parametrize("seed", [6, 56, 73])
def test_a_search_tries_no_regulariser_that_a_step_refuses(seed):
    """Without proximal steps eta lambda must be below 1. With these seeds the search climbs to that limit."""
    given = {"operator": OPERATORS, "implicit": False}
    model = KernelRegressor(budget=20, random_state=seed, learner_params=given).fit(X, X[:, :2])
    eta = model.learner_.config["step"]["decay"]["eta"]
    tried = [line["alpha"] for line in model.search_]
    assert 1 / 3 < 3 * eta * max(tried) and eta * max(tried) < 1


def test_averages():
    assert stream_config()["average"] == "auto"
    assert stream_config(average=True)["average"] == {"exponential": {"rate": 0.001}}
    assert stream_config(average="uniform")["average"] == "uniform"
    # Steps that fall to zero need no mean.
    assert config(KernelClassifier())["average"] == "none"
    assert config(KernelClassifier(average=True))["average"] == {"exponential": {"rate": 1 / 60}}
    assert config(KernelClassifier(learner_params={"average": "uniform"}))["average"] == "uniform"

    def of_passes(**parameters):
        return config(KernelClassifier(learning_rate="decay", max_iter=3, **parameters))["average"]

    assert of_passes() == {"exponential": {"rate": 1 / 60}}
    assert of_passes(average=False) == of_passes(learner_params={"average": "none"}) == "none"
    # What is carried over to another term or dropped takes the memory of the mean along.
    assert of_passes(kernel="linear", budget=59) == "none"
    assert of_passes(kernel="linear", budget=60) == {"exponential": {"rate": 1 / 60}}
    assert of_passes(kernel="linear", budget=None) == {"exponential": {"rate": 1 / 60}}
    assert of_passes(kernel="rbf", budget=20) == {"exponential": {"rate": 1 / 60}}
    assert of_passes(kernel="rbf", budget="age:50") == "none"
    assert config(KernelClassifier(average="exponential:0.25"))["average"] == {"exponential": {"rate": 0.25}}


@pytest.mark.parametrize(
    ("loss", "two", "three"),
    [
        ("hinge", "hinge", "max_margin"),
        ("log_loss", "logistic", "softmax"),
        ("logistic", "logistic", "softmax"),
        ("softmax", "softmax", "softmax"),
        ("max_margin", "max_margin", "max_margin"),
    ],
)
def test_losses_of_classes(loss, two, three):
    assert list(config(KernelClassifier(loss))["loss"]) == [two]
    assert list(config(KernelClassifier(loss), THREE)["loss"]) == [three]


def test_losses_of_numbers():
    def loss(name, **parameters):
        return config(KernelRegressor(name, **parameters), NUMBERS)["loss"]

    assert loss("squared_error") == {"squared": {}}
    assert loss("absolute_error") == {"absolute": {}}
    assert loss("epsilon_insensitive", epsilon=0.3) == loss("epsilon:0.3") == {"epsilon": {"epsilon": 0.3}}
    assert loss("huber", epsilon=1.35) == {"huber": {"sigma": 1.35}}
    assert loss("nu_epsilon", nu=0.3) == {"nu_epsilon": {"nu": 0.3}}
    assert loss("nu_huber", nu=0.3)["nu_huber"]["nu"] == 0.3
    assert loss("quantile", quantile=0.9) == {"quantile": {"q": 0.9}}


def test_steps_are_proximal_where_they_can_be():
    assert config(KernelClassifier())["implicit"]
    assert config(KernelRegressor(), NUMBERS)["implicit"]
    assert not config(KernelClassifier(learning_rate="adaptive"))["implicit"]
    assert not config(KernelClassifier("perceptron"))["implicit"]
    assert not config(NoveltyDetector())["implicit"]
    plain = {"alpha": 1e-4, "learning_rate": "decay", "gamma": 1.0}
    explicit = KernelClassifier(**plain, learner_params={"implicit": False}, budget=None).fit(X, TWO).learner_
    assert explicit.regret_bound(1.0) is not None


def test_the_other_words():
    found = config(KernelClassifier(alpha=0.01, fit_intercept=False, scale=None))
    assert (found["lambda"], found["offset"], found["scale"]) == (0.01, False, "none")
    assert config(KernelClassifier("nu_hinge", nu=0.3))["loss"] == {"nu_hinge": {"nu": 0.3}}
    detector = config(NoveltyDetector(nu=0.3, threshold="tracker:0.1"))
    assert detector["loss"] == {"density": {"nu": 0.3}}
    assert detector["threshold"] == {"tracker": {"speed": 0.1}}
    assert config(NoveltyDetector(nu=0.3, threshold="norma"))["loss"] == {"nu_novelty": {"nu": 0.3}}


def test_every_setting_of_the_engine_can_be_reached():
    found = stream_config(
        learning_rate="decay",
        learner_params={"tau": 300, "lam": 0.5, "warmup": 30, "regulariser": "norm", "anchor": "none"},
    )
    assert found["step"]["decay"]["tau"] == 300
    assert (found["lambda"], found["warmup"], found["regulariser"], found["anchor"]) == (
        0.5,
        30,
        "norm",
        "none",
    )
    assert stream_config(learner_params={"budget": "window:9"})["budget"] == {"window": {"terms": 9}}


def test_the_scale_is_that_of_all_rows_in_fit():
    model = KernelClassifier(scale="standard", learner_params={"warmup": 10})
    shift, factor = model.fit(X, TWO).learner_.frame
    assert np.allclose(shift, X.mean(axis=0), atol=1e-6)
    assert np.allclose(factor, 1 / X.std(axis=0), rtol=1e-6)
    shift, _ = clone(model).partial_fit(X, TWO, classes=[0, 1]).learner_.frame
    assert np.allclose(shift, X[:10].mean(axis=0), atol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "error", "words"),
    [
        ({"alpha": -1}, ValueError, "alpha == -1, must be >= 0"),
        ({"alpha": "much"}, ValueError, "alpha must be a number >= 0 or 'auto', found 'much'"),
        ({"alpha": None}, TypeError, "alpha must be an instance of"),
        ({"eta0": 0, "learning_rate": "decay"}, ValueError, "eta0 == 0, must be > 0"),
        ({"gamma": 0}, ValueError, "gamma == 0, must be > 0"),
        (
            {"gamma": "wide"},
            ValueError,
            "gamma must be a number > 0, 'auto', 'median' or 'scale', found 'wide'",
        ),
        (
            {"kernel": "rfb"},
            ValueError,
            "kernel='rfb' is not known. Did you mean 'rbf'\\? Expected one of 'rbf', 'linear'",
        ),
        ({"kernel": {"gausian": {}}}, ValueError, "is not known. Did you mean 'gaussian'"),
        (
            {"gamma": {"a": 1}},
            TypeError,
            "gamma must be a number > 0, 'auto', 'median' or 'scale', found {'a': 1}",
        ),
        ({"kernel": 3}, TypeError, "kernel must be a name or a dict"),
        ({"kernel": len}, ValueError, "kernel: found a function.*use okl.Learner"),
        ({"kernel": "poly", "degree": 0}, ValueError, "degree == 0, must be >= 1"),
        (
            {"loss": "log"},
            ValueError,
            "loss='log' is not known. Did you mean 'log_loss'\\? Expected one of 'hinge', 'log_loss'",
        ),
        ({"loss": "squared_error"}, ValueError, "loss='squared_error' is not known. Expected one of 'hinge'"),
        ({"loss": None}, TypeError, "loss must be a name or a dict"),
        ({"nu": 1.0}, ValueError, "nu == 1.0, must be < 1"),
        (
            {"learning_rate": "optmal"},
            ValueError,
            "learning_rate='optmal' is not known. Did you mean 'optimal'",
        ),
        (
            {"learning_rate": "fast"},
            ValueError,
            "learning_rate='fast' is not known. Expected one of 'auto', 'decay'",
        ),
        ({"budget": "windw:100"}, ValueError, "budget='windw:100' is not known. Did you mean 'window'"),
        (
            {"average": "exponental"},
            ValueError,
            "average='exponental' is not known. Did you mean 'exponential'",
        ),
        ({"learner_params": {"tua": 3}}, ValueError, "tua: no such setting; did you mean `tau`"),
        ({"learning_rate": 0.1}, TypeError, "learning_rate must be a name"),
        ({"budget": 0}, ValueError, "budget == 0, must be >= 1"),
        ({"budget": 1.5}, TypeError, "budget must be an instance of"),
        ({"average": 10}, TypeError, "average must be a name"),
        ({"scale": "minmax"}, ValueError, "scale='minmax' is not known. Expected one of 'auto', 'standard'"),
        ({"max_iter": 0}, ValueError, "max_iter == 0, must be >= 1"),
        ({"max_iter": "many"}, TypeError, "max_iter must be an instance of"),
        ({"tol": -1.0}, ValueError, "tol == -1.0, must be >= 0"),
        ({"n_iter_no_change": 0}, ValueError, "n_iter_no_change == 0, must be >= 1"),
        (
            {"learner_params": [1]},
            TypeError,
            "learner_params must be a dict of okl.Learner's settings, found list",
        ),
        ({"learner_params": {"colour": 1}}, ValueError, "colour"),
        (
            {"alpha": 0.9, "eta0": 2.0, "learning_rate": "decay", "learner_params": {"implicit": False}},
            ValueError,
            "eta lambda",
        ),
    ],
)
def test_bad_parameters_are_refused_in_fit(parameters, error, words):
    model = clone(KernelClassifier(**parameters))
    with pytest.raises(error, match=words):
        model.fit(X, TWO)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_bad_parameters_of_the_others():
    for parameters in ({"epsilon": 0}, {"quantile": 1}, {"nu": 0}, {"loss": "hinge"}, {"loss": "mse"}):
        with pytest.raises(ValueError, match=next(iter(parameters))):
            KernelRegressor(**parameters).fit(X, NUMBERS)
    for parameters in ({"nu": 0}, {"threshold": "fixed"}, {"max_iter": -1}):
        with pytest.raises(ValueError, match=next(iter(parameters))):
            NoveltyDetector(**parameters).fit(X)


@pytest.mark.parametrize("outputs", [1, 3])
def test_a_budget_in_bytes_is_what_the_terms_take(outputs):
    """Beside the terms there is a workspace that does not grow with them: twice the budget is so many bytes more."""
    rows = np.random.default_rng(0).normal(size=(3000, 4))
    y = np.floor(outputs * rows[:, 0]).clip(0, 2) if outputs > 1 else rows[:, 0] > 0
    held = []
    for size in (150_000, 300_000):
        model = KernelClassifier(budget=f"{size}B").partial_fit(rows, y, classes=np.unique(y))
        terms = model.learner_.config["budget"]["merge"]["terms"]
        assert model.learner_.terms == terms
        assert (
            okl.terms_within(
                f"{size}B", 4, outputs, ids=True, loss=model.learner_.config["loss"], offset=True
            )
            == terms
        )
        held.append(model.learner_.bytes)
    assert 0.85 * 150_000 < held[1] - held[0] < 1.15 * 150_000
    with pytest.raises(ValueError, match="64MB"):
        KernelClassifier(budget="60 zebras").fit(rows, y)


def test_numbers_as_text_and_complex_numbers_are_refused_with_what_helps():
    of_y = "row 0 of y: found '{}' (text), expected a number; {}KernelClassifier learns classes"
    convert = "convert y to numbers first, for instance with y.astype(float); "
    for y, said in (
        (["0.116"] * len(X), of_y.format("0.116", convert)),
        (["a"] * len(X), of_y.format("a", "")),
        (np.full(len(X), 2j), "row 0 of y: found 2j (complex), expected a number; give the real and"),
    ):
        with pytest.raises(ValueError, match=re.escape(said)):
            KernelRegressor().fit(X, y)
    said = r"column 0: found .*j \(complex\) in row 0, expected numbers; give the real and the imaginary part as columns"
    for rows in (X * 1j, (X * 1j).astype(object)):
        with pytest.raises((TypeError, ValueError), match=said):
            KernelClassifier().fit(rows, TWO)


MASKED = np.ma.array(X, mask=False)
MASKED[7, 1] = np.ma.masked


def test_masked_values_are_refused():
    """Under a mask are numbers that nobody has measured."""
    words = "X has masked values, the first in row 7, column 1: fill them in first"
    for model, y in ((KernelClassifier(), TWO), (KernelRegressor(), NUMBERS), (NoveltyDetector(), None)):
        with pytest.raises(ValueError, match=words):
            model.fit(MASKED, y)
        fitted = model.fit(X, y)
        with pytest.raises(ValueError, match=words):
            fitted.predict(MASKED)
        fitted.predict(np.ma.array(X, mask=False))
    with pytest.raises(ValueError, match="y has masked values, the first in row 3:"):
        KernelRegressor().fit(X, np.ma.array(NUMBERS, mask=np.arange(len(X)) == 3))
    with pytest.raises(ValueError, match="sample_weight has masked values, the first in row 3:"):
        KernelRegressor().fit(X, NUMBERS, np.ma.array(NUMBERS, mask=np.arange(len(X)) == 3))
    model = KernelRegressor(max_iter=1, tol=None).fit(X, NUMBERS)
    for y_and_weights, name in (((MASKED[:, 1],), "y"), ((NUMBERS, MASKED[:, 1]), "sample_weight")):
        with pytest.raises(
            ValueError, match=f"{name} has masked values, the first in row 7: fill them in first"
        ):
            model.score(X, *y_and_weights)
    with pytest.raises(ValueError, match="X has masked values, the first in row 7, column 1"):
        model.partial_fit(list(MASKED), NUMBERS)


def test_every_budget_of_the_engine_has_its_name_here():
    with pytest.raises(ValueError, match="choose one of ") as refused:
        okl.Learner(budget="?")
    names = set(str(refused.value).partition("choose one of ")[2].split(", "))
    # The estimators have a number of terms unless another budget is given, so "auto" is not a choice there.
    assert names - {"auto"} == set(words.BUDGET_NAMES)


def test_a_budget_in_bytes_counts_ids():
    """Bytes per term as `terms_within` has them (centre, place, coefficient, kernel values, totals, what merging
    compares), 40 for the id of a row that comes again, and a thirty-second of all."""
    plain = {"gamma": 1.0, "alpha": 1e-4, "learning_rate": "constant", "average": False, "scale": None}
    model = KernelClassifier(budget="4MB", **plain).partial_fit([[0.0, 1.0]], [1], classes=[0, 1])
    each = (4 * 2 + 24 + 8 + 128 + 1 + 36 + 40) * 33 / 32
    [terms] = model.learner_.config["budget"]["merge"].values()
    assert 0.99 * 4_000_000 < terms * each <= 4_000_000
    with pytest.raises(ValueError, match="one term of 2 features takes .* bytes, there are 100"):
        KernelClassifier(budget="100B", **plain).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])


def test_a_budget_in_bytes_bounds_the_model():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 3))
    y = np.digitize(X[:, 0], [-1, 0, 1])
    for model in (
        KernelClassifier(budget="200kB", max_iter=1, random_state=0).fit(X, y),
        KernelClassifier(budget="200kB").partial_fit(X, y, classes=[0, 1, 2, 3]),
    ):
        learner = model.learner_
        assert learner.terms == learner.config["budget"]["merge"]["terms"]
        assert learner.bytes <= 200_000 + learner.bytes_beside_terms


def test_a_budget_in_bytes_needs_the_classes():
    """Classes that come later would take memory of their own, and the cut of a stream would decide how much."""
    model = KernelClassifier(budget="1MB")
    with pytest.raises(ValueError, match=r"budget='1MB' is a size.*number of classes: pass partial_fit"):
        model.partial_fit([[0.0], [1.0]], ["a", "b"])
    assert not hasattr(model, "learner_")
    model.partial_fit([[0.0], [1.0]], ["a", "b"], classes=["a", "b"])


@pytest.mark.parametrize("estimator", [KernelClassifier, KernelRegressor, NoveltyDetector])
def test_examples_of_learner_params_are_accepted(estimator):
    """The settings that the docstring gives as examples work with all other parameters at their defaults."""
    text = estimator.__doc__.partition("learner_params :")[2].partition("Attributes")[0]
    examples = re.findall(r"``(\{.*?\})``", text)
    X = np.random.default_rng(0).normal(size=(40, 2))
    for example in examples:
        for method in ("fit", "partial_fit"):
            getattr(estimator(learner_params=ast.literal_eval(example)), method)(X, np.arange(40) % 2)
    assert examples


def test_the_rows_that_a_scale_comes_from():
    """As documented: "standard" has the mean of all rows in fit, "auto" that of the first `warmup` rows of the first pass."""
    X = np.random.default_rng(0).normal(size=(600, 3)) * [1, 10, 100]
    auto = KernelRegressor(shuffle=False, max_iter=2).fit(X, X[:, 0])
    np.testing.assert_allclose(auto.learner_.frame[0], X[:256].mean(axis=0), rtol=1e-9)
    standard = KernelRegressor(scale="standard", shuffle=False, max_iter=2).fit(X, X[:, 0])
    np.testing.assert_allclose(standard.learner_.frame[0], X.mean(axis=0), rtol=1e-9)


def test_scores_are_recomputed_from_the_frame_and_its_limit():
    """As documented: the input of the kernel is (x - shift) * factor, clipped to the limit of the scale."""
    X = np.random.default_rng(0).normal(size=(300, 2))
    X[7] = [30.0, -40.0]
    model = KernelRegressor(kernel="rbf", gamma=0.5, scale="standard", max_iter=3, random_state=0)
    learner = model.fit(X, X[:, 0]).learner_
    (shift, factor), limit = learner.frame, learner.config["scale"]["fixed"].get("limit", np.inf)
    units = [np.clip((rows - shift) * factor, -limit, limit) for rows in (X, model.support_vectors_)]
    kernel = np.exp(-0.5 * ((units[0][:, None] - units[1]) ** 2).sum(axis=2))
    np.testing.assert_allclose(kernel @ model.dual_coef_[0] + model.intercept_, model.predict(X), atol=1e-4)


def test_messages_name_every_learning_rate_that_is_documented():
    documented = re.findall(r'"(\w+)"(?: or "\w+")?:', re.sub(r"\s+", " ", _docs.SHARED["rates"]))
    assert set(documented) == set(words.RATE_NAMES) - {"auto"}
    with pytest.raises(ValueError, match="'constant', 'optimal', 'normalised', 'adaptive', with"):
        KernelRegressor(learning_rate="fast").fit(X, NUMBERS)


def test_every_shared_text_of_the_docstrings_is_used():
    texts = [path.read_text("utf-8") for path in Path(okl.__file__).parent.rglob("*.py")]
    assert set(_docs.SHARED) == set(re.findall(r"^ *<([a-z ]+)>$", "\n".join(texts), re.MULTILINE))


@pytest.mark.parametrize("given", [{}, {"alpha": 1e-3, "gamma": 1.0}])
def test_a_budget_in_bytes_of_fit_is_that_of_a_plain_learner(given):
    """`fit` learns one setting after another, so a term takes the memory of one."""
    model = KernelClassifier(budget="20kB", random_state=0, max_iter=2, **given).fit(X, TWO)
    config = model.learner_.config
    terms = okl.terms_within(
        "20kB", X.shape[1], ids=True, **{k: v for k, v in config.items() if k != "budget"}
    )
    assert config["budget"] == {"merge": {"terms": terms}}


@pytest.mark.parametrize("budget", ["auto", None])
@pytest.mark.parametrize("step", ["smd:eta=0.05,per=coordinate", {"smd": {"eta": 0.05, "per": "coordinate"}}])
def test_a_step_size_per_coordinate_needs_no_form(step, budget):
    """Such steps need a weight vector, which has no budget."""
    parameters = {"kernel": "linear", "learning_rate": step, "alpha": 0.0, "budget": budget}
    assert stream_config(**parameters)["form"] == "weights"
    assert config(KernelClassifier(**parameters))["form"] == "weights"
    with pytest.raises(ValueError, match="coordinate"):
        stream_config(**parameters | {"budget": 10})


def test_no_step_is_said_to_calibrate_probabilities():
    """Measured on six streams: with a decaying step, probabilities were closer on one and farther off on others."""
    import okl.river

    for text in (
        okl.KernelClassifier.__doc__,
        okl.KernelClassifier.predict_proba.__doc__,
        okl.river.KernelClassifier.__doc__,
        okl.river.KernelClassifier.predict_proba_one.__doc__,
    ):
        flat = " ".join((text or "").split())
        assert not re.search(r"decay\W+(they are|is) calibrated|calibrated in a stream with", flat)


@pytest.mark.parametrize("order", [["a", "b"], ["b", "a"]])
def test_classes_among_the_settings_of_the_learner_are_refused(order):
    """Classes in another order turned the sign of the scores, and `predict` returned the other class."""
    model = KernelClassifier(learner_params={"classes": order})
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=r"cannot have 'classes'.*partial_fit\(X, y, classes=\[...\]\)"):
            learn(X, np.where(TWO == TWO[0], "a", "b"))


def scaled(learner, rows):
    shift, factor = learner.frame
    return (rows - shift) * factor


def test_gamma_scale_is_that_of_the_rows_that_set_the_units():
    """Rows whose spread is ten times as large after the first 256."""
    rows = np.random.default_rng(0).normal(size=(3000, 2))
    rows[256:] *= 10
    plain = {"gamma": "scale", "kernel": "rbf", "alpha": 1e-3}

    def gamma(model):
        return model.learner_.config["kernel"]["gaussian"]["gamma"]

    for scale in ("standard", "auto"):
        model = KernelRegressor(**plain, scale=scale, learner_params={"warmup": 200})
        model.partial_fit(rows, rows[:, 0])
        first = KernelRegressor(**plain, scale=scale, learner_params={"warmup": 200})
        first.partial_fit(rows[:200], rows[:200, 0])
        assert gamma(model) == pytest.approx(1 / (2 * scaled(first.learner_, rows[:200]).var()), rel=1e-6)
    # In `fit` the rows are shuffled: the first rows of the pass are a sample of all.
    for shuffle, expected in (
        (True, rows[np.random.RandomState(3).permutation(3000)[:256]]),
        (False, rows[:256]),
    ):
        model = KernelRegressor(**plain, random_state=3, shuffle=shuffle, max_iter=1, tol=None).fit(
            rows, rows[:, 0]
        )
        probe = KernelRegressor(**plain).partial_fit(expected, expected[:, 0])
        assert gamma(model) == pytest.approx(1 / (2 * scaled(probe.learner_, expected).var()), rel=1e-6)
    model = KernelRegressor(**plain, scale="standard", random_state=3, max_iter=1, tol=None).fit(
        rows, rows[:, 0]
    )
    assert gamma(model) == pytest.approx(1 / (2 * scaled(model.learner_, rows).var()), rel=1e-6)
    model = KernelRegressor(**plain, scale=None, max_iter=1, tol=None).fit(rows, rows[:, 0])
    assert gamma(model) == pytest.approx(1 / (2 * rows.var()), rel=1e-6)


def test_gamma_scale_of_fit_hardly_depends_on_the_order_of_the_rows():
    """The first 256 of these sorted rows are all close to 0 in one column."""
    rows = np.random.default_rng(0).exponential(size=(4000, 3)) ** 2 * [1.0, 10.0, 100.0]
    gammas = []
    for order in (np.arange(4000), np.argsort(rows[:, 0]), np.argsort(-rows[:, 2])):
        model = KernelRegressor(gamma="scale", kernel="rbf", alpha=1e-3, random_state=0, max_iter=1, tol=None)
        model.fit(rows[order], rows[order, 0])
        gammas.append(model.learner_.config["kernel"]["gaussian"]["gamma"])
    assert max(gammas) < 1.2 * min(gammas), gammas


@pytest.mark.parametrize("kernel", ["rbf", "matern32", "rational_quadratic", "manhattan"])
def test_gamma_scale_leaves_columns_scaled_where_everything_else_is_given(kernel):
    rows = np.random.default_rng(0).normal(size=(600, 3)) * [1.0, 100.0, 1e4]
    given = {"kernel": kernel, "gamma": "scale", "alpha": 1e-3, "learning_rate": "constant", "eta0": 0.1}
    for model in (
        KernelRegressor(**given).partial_fit(rows, rows[:, 0]),
        KernelRegressor(**given).fit(rows, rows[:, 0]),
    ):
        _, factor = model.learner_.frame
        np.testing.assert_allclose(factor * [1.0, 100.0, 1e4], 1.0, rtol=0.2)
    detector = NoveltyDetector(
        kernel=kernel, gamma="scale", alpha=1.0, learning_rate="constant", random_state=0
    )
    assert (
        detector.fit(rows).predict(np.random.default_rng(1).normal(size=(600, 3)) * [1, 100, 1e4]) < 0
    ).mean() < 0.12
    # Columns that share one range are not scaled, and gamma is that of the rows as they are.
    shared = np.random.default_rng(0).random((600, 12))
    model = KernelRegressor(**{**given, "kernel": "rbf"}).partial_fit(shared, shared[:, 0])
    assert model.learner_.frame is None or (model.learner_.frame[1] == 1).all()
    gamma = model.learner_.config["kernel"]["gaussian"]["gamma"]
    assert gamma == pytest.approx(1 / (12 * shared.var()), rel=1e-6)


def test_gamma_scale_of_a_short_first_call_is_warned_of():
    with pytest.warns(UserWarning, match="first call of partial_fit, which has only 20"):
        KernelRegressor(gamma="scale", kernel="rbf", alpha=1e-3).partial_fit(X[:20], NUMBERS[:20])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelRegressor(gamma="median", kernel="rbf", alpha=1e-3).partial_fit(X[:20], NUMBERS[:20])
        rows = np.random.default_rng(0).normal(size=(256, 2))
        KernelRegressor(gamma="scale", kernel="rbf", alpha=1e-3).partial_fit(rows, rows[:, 0])
        KernelRegressor(gamma="scale", kernel="rbf", alpha=1e-3, scale=None).partial_fit(
            rows[:9], rows[:9, 0]
        )


@pytest.mark.parametrize("estimator", [KernelClassifier, KernelRegressor])
def test_a_median_width_of_a_polynomial_is_refused_in_the_users_words(estimator):
    with pytest.raises(ValueError, match="gamma='median' is for kernels of distance: with kernel='poly'"):
        estimator(kernel="poly", gamma="median").fit(X, TWO)


@pytest.mark.parametrize("estimator", [KernelClassifier, KernelRegressor, NoveltyDetector])
@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ({}, {"learner_params": {"anchor": "none"}}),
        ({"kernel": "linear"}, {"learner_params": {"anchor": "none"}}),
        ({"scale": "standard"}, {"scale": None, "learner_params": {"anchor": "none"}}),
    ],
    ids=str,
)
def test_advice_for_sparse_rows_with_many_columns_can_be_followed(estimator, given, advice):
    """Rows of scikit-learn's HashingVectorizer, whose default of 2^20 columns takes longer."""
    from sklearn.feature_extraction.text import HashingVectorizer

    words = RNG.choice(["good", "fine", "poor", "sad"], size=(40, 5))
    rows = HashingVectorizer(n_features=70_000).transform([" ".join(line) for line in words])
    y = np.isin(words[:, 0], ["good", "fine"]).astype(int)
    parameters = {"random_state": 0, **given} | ({} if estimator is NoveltyDetector else {"max_iter": 2})
    expected = " and ".join(f"{name}={value}" for name, value in advice.items())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match=re.escape(f": give {expected}, found 70000")):
            estimator(**parameters).fit(rows, y)
        estimator(**(parameters | advice)).fit(rows, y)


@pytest.mark.parametrize("weight", [-1, float("nan"), "2"])
def test_a_weight_of_a_class_that_is_none_is_refused(weight):
    for learn in (KernelClassifier.fit, KernelClassifier.partial_fit):
        with pytest.raises(
            ValueError, match=r"class_weight: class 0 has the weight .*, expected a number >= 0"
        ):
            learn(KernelClassifier(class_weight={0: weight, 1: 1}), X, TWO)


def test_whole_numbers_that_are_too_large_for_a_label_are_refused():
    large = np.where(TWO == TWO[0], 2**63 + 5, 1).astype(np.uint64)
    said = "row 0 of y: found the label 9223372036854775813, but the largest .* is 9223372036854775807: give labels as text"
    with pytest.raises(ValueError, match=said):
        KernelClassifier().fit(X, large)
    with pytest.raises(ValueError, match=said):
        KernelClassifier().partial_fit(X, large)
    with pytest.raises(ValueError, match="^classes: found the label 9223372036854775813, but the largest"):
        KernelClassifier().partial_fit(X[:1], [1], classes=np.unique(large))
    with pytest.raises(ValueError, match="row 0 of y: found the label 9.22.*e.18, but the largest"):
        KernelClassifier().fit(X, [float(label) for label in large])
    KernelClassifier().partial_fit(X, large.astype(str))
    with pytest.raises(
        ValueError,
        match="row 0: class 9223372036854775813, but whole numbers that name .* 9223372036854775807;",
    ):
        okl.Learner(loss="max_margin").learn(X[:1], [2**63 + 5])
