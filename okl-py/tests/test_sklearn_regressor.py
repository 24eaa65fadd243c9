"""KernelRegressor: one and several outputs, targets of any size."""

import subprocess

import numpy as np
import pandas as pd
import pytest

import okl

pytest.importorskip("sklearn")

from sklearn.datasets import make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.multioutput import MultiOutputRegressor

from okl.sklearn import KernelRegressor

RNG = np.random.default_rng(0)
X = RNG.uniform(-3, 3, size=(400, 2))
Y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * RNG.normal(size=400)
BOTH = np.column_stack([Y, np.cos(X[:, 1])])


@pytest.mark.parametrize("y", [Y, BOTH])
def test_predictions_are_the_kernel_sum_over_support_vectors(y):
    y = 300 + 40 * y
    model = KernelRegressor(gamma=0.3, random_state=0).fit(X, y)
    outputs = 1 if y.ndim == 1 else 2
    assert model.dual_coef_.shape == (outputs, model.learner_.terms)
    assert model.intercept_.shape == (outputs,)
    shift, factor = model.learner_.frame
    gram = rbf_kernel((X - shift) * factor, (model.support_vectors_ - shift) * factor, gamma=0.3)
    predicted = gram @ model.dual_coef_.T + model.intercept_
    assert np.allclose(
        model.predict(X).reshape(predicted.shape), predicted, atol=1e-4 * np.abs(model.dual_coef_).sum()
    )


def test_the_shape_of_predictions_is_that_of_targets():
    assert KernelRegressor().fit(X, Y).predict(X).shape == (400,)
    assert KernelRegressor().fit(X, Y[:, None]).predict(X).shape == (400, 1)
    assert KernelRegressor().partial_fit(X, BOTH).predict(X).shape == (400, 2)


@pytest.mark.parametrize("how", ["fit", "partial_fit"])
@pytest.mark.parametrize("loss", ["squared_error", "epsilon_insensitive", "nu_epsilon"])
def test_targets_of_any_size(how, loss):
    def predicted(y):
        return getattr(KernelRegressor(loss, gamma=1.0, random_state=0), how)(X, y).predict(X)

    # Exact powers of two, so that rounding is the same at every size.
    for scale in (2.0**-40, 2.0**40):
        assert np.allclose(predicted(scale * Y), scale * predicted(Y), rtol=1e-9, atol=1e-9 * scale)
    shifted = predicted(Y + 2.0**10)
    assert np.allclose(shifted - 2.0**10, predicted(Y), atol=1e-6)


def test_targets_may_be_left_as_they_are():
    model = KernelRegressor(normalize_y=False, gamma=1.0, random_state=0).fit(X, Y)
    assert np.array_equal(model.predict(X), model.learner_.predict(X))
    assert model.score(X, Y) > 0.9


@pytest.mark.parametrize("how", ["fit", "partial_fit"])
@pytest.mark.parametrize("y", [300 + 40 * Y, BOTH * [40.0, 0.001] + [300.0, -7.0]], ids=["one", "two"])
def test_the_learner_speaks_in_the_units_of_the_targets(how, y, tmp_path, command_line):
    model = getattr(KernelRegressor(random_state=0), how)(X, y)
    predicted = model.predict(X)
    assert min(r2_score(y, predicted, multioutput="raw_values")) > 0.9
    path, rows = tmp_path / "model.okl", tmp_path / "rows.csv"
    model.learner_.save(path)
    assert okl.load(path).predict(X).tobytes() == predicted.tobytes()
    np.savetxt(rows, X, delimiter=",", header="a,b", comments="", fmt="%.17g")
    said = subprocess.run([*command_line, "predict", path, rows], capture_output=True, text=True, check=True)
    scores = np.loadtxt(said.stdout.splitlines(), delimiter=",", skiprows=1, ndmin=2)
    np.testing.assert_array_equal(scores[:, -predicted[0].size :].reshape(predicted.shape), predicted)


def test_the_learner_goes_on_in_the_units_of_the_targets():
    stream = KernelRegressor(random_state=0).partial_fit(X[:300], 300 + 40 * Y[:300])
    alone = okl.Learner.from_bytes(stream.learner_.to_bytes())
    alone.learn(X[300:], 300 + 40 * Y[300:])
    assert alone.to_bytes() == stream.partial_fit(X[300:], 300 + 40 * Y[300:]).learner_.to_bytes()


def test_targets_are_learned_in_units_of_their_deviation():
    mean, deviation = Y.mean(), Y.std()
    config = KernelRegressor(random_state=0).fit(X, Y).learner_.config
    assert config["target_scale"] == {
        "fixed": {"shift": [pytest.approx(mean)], "factor": [pytest.approx(1 / deviation)]}
    }
    assert "target_scale" not in KernelRegressor(normalize_y=False).fit(X, Y).learner_.config


def test_targets_that_do_not_vary():
    for how in ("fit", "partial_fit"):
        model = getattr(KernelRegressor(random_state=0), how)(X, np.full(400, 7.5))
        assert np.allclose(model.predict(X), 7.5, atol=1e-9)


def test_several_outputs_are_learned_together():
    model = KernelRegressor(gamma=1.0, random_state=0).fit(X, BOTH)
    assert min(r2_score(BOTH, model.predict(X), multioutput="raw_values")) > 0.9
    with pytest.raises(ValueError, match="y has 1 outputs, but the model was fitted with 2"):
        model.partial_fit(X, Y)


def test_outputs_help_each_other_through_an_operator():
    rng = np.random.default_rng(1)
    rows = rng.uniform(-3, 3, size=(60, 1))
    truth = np.repeat(np.sin(2 * rows), 4, axis=1)
    noisy = truth + 0.7 * rng.normal(size=truth.shape)
    together = np.full((4, 4), 0.9) + 0.1 * np.eye(4)

    def error(**more):
        model = KernelRegressor(gamma=3.0, alpha=0.1, random_state=0, **more).fit(rows, noisy)
        return ((model.predict(rows) - truth) ** 2).mean()

    assert error(learner_params={"operator": together}) < 0.7 * error()


def test_a_quantile():
    rng = np.random.default_rng(2)
    rows = rng.uniform(-1, 1, size=(3000, 1))
    y = 100 + 20 * rng.normal(size=3000)
    for q in (0.1, 0.5, 0.9):
        model = KernelRegressor("quantile", quantile=q, gamma=0.1, alpha=1e-2, random_state=0).fit(rows, y)
        assert abs((y < model.predict(rows)).mean() - q) < 0.04
    with pytest.raises(ValueError):
        KernelRegressor("quantile").fit(X, BOTH)


def test_the_adaptive_tube_leaves_nu_outside():
    rng = np.random.default_rng(3)
    rows = rng.uniform(-1, 1, size=(4000, 1))
    y = 5 * rng.normal(size=4000)
    model = KernelRegressor("nu_epsilon", nu=0.2, gamma=0.1, learning_rate="constant", eta0=0.01).partial_fit(
        rows, y
    )
    rate = model.learner_.alert_rate
    assert abs(rate.rate - 0.2) <= rate.bound


def test_outliers_hurt_robust_losses_less():
    rng = np.random.default_rng(4)
    spoiled = Y.copy()
    spoiled[rng.choice(400, 30, replace=False)] += 60

    def error(loss):
        model = KernelRegressor(loss, gamma=0.3, alpha=1e-3, random_state=0).fit(X, spoiled)
        return np.median(np.abs(model.predict(X) - Y))

    for loss in ("absolute_error", "huber", "epsilon_insensitive"):
        assert error(loss) < 0.5 * error("squared_error")


def test_the_laplacian_is_of_the_euclidean_distance():
    one = np.array([[0.0], [1.5], [3.0]])
    model = KernelRegressor(kernel="laplacian", gamma=0.8, scale=None, random_state=0).fit(
        one, [1.0, 2.0, 0.0]
    )
    gram = laplacian_kernel(one, model.support_vectors_, gamma=0.8)  # in one dimension the distances agree
    assert np.allclose(gram @ model.dual_coef_.T + model.intercept_, model.predict(one)[:, None], atol=1e-5)


def test_unbounded_kernels_do_not_run_away():
    rows = 100 * RNG.normal(size=(120, 20))
    y = rows @ RNG.normal(size=20)
    for kernel in ("linear", "poly"):
        for scale in ("standard", None):
            model = KernelRegressor(kernel=kernel, degree=2, scale=scale, random_state=0).fit(rows, y)
            assert model.learner_.skipped == 0
            assert np.isfinite(model.predict(rows)).all()
    assert KernelRegressor(kernel="linear", random_state=0).fit(rows, y).score(rows, y) > 0.99


@pytest.mark.parametrize(("kernel", "budget"), [("laplacian", 100), ("linear", 30)])
def test_passes_with_a_full_budget_do_no_harm(kernel, budget):
    rows, y = make_friedman1(1000, noise=1.0, random_state=0)

    def r2(passes):
        model = KernelRegressor(kernel=kernel, budget=budget, max_iter=passes, tol=None, random_state=0)
        return model.fit(rows, y).score(rows, y)

    assert r2(20) > r2(1) - 0.05


def test_a_fit_in_the_middle_of_a_warm_up_goes_on():
    model = KernelRegressor(warm_start=True, random_state=0).partial_fit(X[:10], Y[:10])
    model.fit(X[10:], Y[10:])
    examples = model.learner_.examples
    assert model.partial_fit(X[:6], Y[:6]).learner_.examples == examples + 6


def test_nothing_is_known_before_fit():
    model = KernelRegressor()
    with pytest.raises(NotFittedError):
        model.predict(X)
    for attribute in ("support_vectors_", "dual_coef_", "intercept_"):
        assert not hasattr(model, attribute)
    assert not hasattr(model.fit(X, Y), "decision_function")


def test_times_since_1970_keep_their_digits():
    t = np.random.default_rng(0).uniform(0, 600, 500)
    for unit in (1.0, 1e3):
        rows, y = ((1.7e9 + t) * unit)[:, None], np.sin(t / 30)
        assert KernelRegressor(kernel="rbf", random_state=0).fit(rows, y).score(rows, y) > 0.999


@pytest.mark.parametrize(
    "y, words",
    [
        (np.array(["1"] * 6), r"row 0 of y: found '1' \(text\), expected a number"),
        (pd.date_range("2024-01-01", periods=6), "y has dtype datetime64.*seconds since a first date"),
        (list(pd.date_range("2024-01-01", periods=6)), r"row 0 of y: found 2024.*\(a date\).*seconds since"),
        (pd.timedelta_range("1h", periods=6), "y has dtype timedelta64.*seconds since a first date"),
    ],
)
def test_targets_that_are_not_numbers_are_refused(y, words):
    X = np.arange(12.0).reshape(6, 2)
    for learn in (KernelRegressor().fit, KernelRegressor().partial_fit):
        with pytest.raises((TypeError, ValueError), match=words):
            learn(X, y)


def test_quantiles_have_one_output():
    X = np.arange(12.0).reshape(6, 2)
    for loss in ("quantile", "quantile:0.3", {"quantile": {"q": 0.3}}):
        with pytest.raises(
            ValueError, match="'quantile' has one output, y has 2; learn one model per output"
        ):
            KernelRegressor(loss).partial_fit(X, X)
    advice = MultiOutputRegressor(KernelRegressor("quantile", random_state=0)).fit(X, X)
    assert advice.predict(X).shape == (6, 2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("size", "q", "normalize_y"), [(400, 0.9, True), (1200, 0.1, False)], ids=["three folds", "fifths"]
)
def test_fit_keeps_a_quantile_of_new_rows(size, q, normalize_y):
    """The noise is small beside the signal, so the rows that were learned say little of new ones. To four standard errors of the held-out and
    of the new rows, and 0.05 for the rows that the tries have less than the model."""
    random = np.random.default_rng(4)
    X = random.uniform(-2, 2, size=(size + 2000, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.02 * random.normal(size=len(X))
    learned, new = slice(0, size), slice(size, None)
    model = KernelRegressor("quantile", quantile=q, kernel="rbf", normalize_y=normalize_y, random_state=0)
    below = y[new] < model.fit(X[learned], y[learned]).predict(X[new])
    assert abs(below.mean() - q) < 0.05 + 4 * np.sqrt(q * (1 - q) * (1 / size + 1 / 2000))
    # The learner predicts the same, and goes on from there.
    before = model.predict(X)
    assert np.array_equal(model.learner_.predict(X), before)
    model.partial_fit(X[new][:1], y[new][:1])
    assert np.abs(model.predict(X) - before).max() < 0.1


def test_a_stream_keeps_a_quantile_with_the_learning_rate_that_is_advised():
    """The documentation advises "invscaling": 90 % of new rows are below the 0.9-quantile, to four standard errors and 1 %."""
    random = np.random.default_rng(1)
    X = random.uniform(-2, 2, size=(8000, 1))
    y = np.sin(X[:, 0]) + random.normal(size=8000) / 2
    model = KernelRegressor("quantile", quantile=0.9, learning_rate="invscaling", eta0=1.0)
    below = y[4000:] < model.partial_fit(X[:4000], y[:4000]).predict(X[4000:])
    assert abs(below.mean() - 0.9) < 0.03


def test_a_warning_of_fit_names_the_row_of_a_large_target():
    """The learner counts an example in every pass, and passes are in a random order. The caller knows rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = np.sin(X[:, 0])
    for rows, words in (
        ([7], "the target 1e+06 in row 7 of y is very large"),
        ([9, 4], "2 targets (the largest: 1e+06 in row 9 of y) are very large"),
    ):
        large = y.copy()
        large[rows] = [1e6, 9e5][: len(rows)]
        with pytest.warns(okl.HealthWarning) as caught:
            KernelRegressor(random_state=0).fit(X, large)
        said = " ".join(str(warning.message) for warning in caught)
        assert words in said and "example" not in said.split("very large")[1].split(";")[0], said


def test_a_stream_warns_once():
    """Each learner of the warm-up of the targets finds the same; the last one speaks for all rows so far."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    with pytest.warns(okl.HealthWarning) as caught:
        KernelRegressor().partial_fit(X, np.sin(X[:, 0]), sample_weight=np.full(600, 1e-3))
    assert [str(warning.message).split(" are at most")[0] for warning in caught] == [
        "the weights of 600 learned rows"
    ]
