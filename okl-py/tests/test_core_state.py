"""What can be seen of a learner: attributes, certificates, configuration."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import okl


def gaussian(A: np.ndarray, B: np.ndarray, gamma: float) -> np.ndarray:
    return np.exp(-gamma * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))


@pytest.mark.parametrize("average", ["none", "uniform"])
def test_the_function_is_its_terms(average: str, rng: np.random.Generator) -> None:
    """f(x) = sum_i k(x, c_i) alpha_i + b, computed again in double precision."""
    X = rng.normal(size=(500, 3))
    Y = np.stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]], axis=1)
    m = okl.Learner(
        loss="squared",
        kernel="gaussian:0.3",
        step="inverse_sqrt:0.5",
        lam=1e-3,
        budget="merge:100",
        offset=True,
        average=average,
    )
    m.learn(X, Y)
    K = gaussian(X, m.centres, 0.3)
    np.testing.assert_allclose(K @ m.predicting_coefficients + m.predicting_offset, m.predict(X), atol=2e-5)
    assert m.centres.shape == (m.terms, 3) and m.centres.dtype == np.float64
    assert m.coefficients.shape == (m.terms, 2) and m.coefficients.dtype == np.float64
    same = (m.coefficients == m.predicting_coefficients).all() and (m.offset == m.predicting_offset).all()
    assert same == (average == "none")


def test_norm_and_frame(regressor: okl.Learner, rng: np.random.Generator) -> None:
    """|f|² = alpha^T K alpha while nothing was dropped; a Gaussian kernel subtracts the first row."""
    X = rng.normal(size=(50, 2))
    regressor.learn(X, X[:, 0])
    alpha, K = regressor.coefficients[:, 0], gaussian(regressor.centres, regressor.centres, 0.7)
    np.testing.assert_allclose(regressor.norm2, alpha @ K @ alpha, rtol=1e-5)
    assert regressor.truncation_error == 0.0
    shift, factor = regressor.frame
    assert (shift == X[0]).all() and (factor == 1.0).all()


def test_before_the_first_row() -> None:
    m = okl.Learner(loss="squared")
    assert (m.features, m.outputs, m.examples, m.skipped, m.terms) == (0, 1, 0, 0, 0)
    assert m.centres.shape == (0, 0) and m.coefficients.shape == (0, 1)
    assert m.offset == 0.0 and isinstance(m.offset, float)
    assert m.predict(np.ones((4, 9))).tolist() == [0.0] * 4
    assert m.warming_up and m.threshold is None and m.alert_rate is None
    assert okl.Learner(loss="softmax").predict(np.ones((4, 9))).shape == (4, 0)
    assert okl.Learner(loss="softmax").offset.shape == (0,)


def test_counts(circle: tuple[Any, Any]) -> None:
    X, y = circle
    m = okl.Learner(loss="hinge", kernel="gaussian:1", budget="window:10", step="constant:0.25", theta0=None)
    m.learn(X, y)
    assert (m.features, m.examples, m.terms, m.eta) == (2, len(X), 10, 0.25)
    assert m.bytes > 10 * (4 * 2 + 8) and m.truncation_error > 0.0


def test_warm_up(rng: np.random.Generator) -> None:
    """The frozen configuration has the values that were found, and needs no warm-up of its own."""
    X = rng.normal(size=(40, 2)) * [1.0, 100.0] + 5.0
    m = okl.Learner(loss="squared", scale="standard", warmup=32)
    m.learn(X[:31], X[:31, 0])
    assert m.warming_up and m.config["kernel"] == {"gaussian": {"gamma": "auto"}}
    m.learn(X[31:], X[31:, 0])
    assert not m.warming_up
    fixed = m.config["scale"]["fixed"]
    first = X[:32]
    np.testing.assert_allclose(fixed["shift"], first.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(fixed["factor"], 1.0 / first.std(axis=0), rtol=1e-9)
    assert not okl.Learner(m.config).warming_up


def test_widen(regressor: okl.Learner, rng: np.random.Generator) -> None:
    """Features that come later were zero before."""
    X = rng.normal(size=(80, 3))
    X[:40, 2] = 0.0
    whole = okl.Learner(regressor.config)
    whole.learn(X, X[:, 0])
    regressor.learn(X[:40, :2], X[:40, 0])
    regressor.widen(3)
    assert regressor.features == 3
    regressor.learn(X[40:], X[40:, 0])
    assert regressor.to_bytes() == whole.to_bytes()
    with pytest.raises(ValueError, match="features: expected at least 3, found 2"):
        regressor.widen(2)


def test_reset_trace(rng: np.random.Generator) -> None:
    """Only smd has something to forget."""
    X = rng.normal(size=(50, 2))
    for step, changes in [("smd", True), ("constant:0.1", False)]:
        m = okl.Learner(loss="squared", kernel="gaussian:1", step=step)
        m.learn(X, X[:, 0])
        before = m.to_bytes()
        m.reset_trace()
        assert (m.to_bytes() != before) == changes


def test_step_sizes(rng: np.random.Generator) -> None:
    """Every weight has its own, and the columns differ in scale; otherwise there is one step size and no range."""
    X = rng.normal(size=(200, 2)) * [3.0, 0.1]
    m = okl.Learner(
        loss="squared", kernel="linear", scale="none", lam=0, step="smd", eta=0.02, per="coordinate"
    )
    assert m.step_sizes is None
    m.learn(X, X[:, 0] + 5 * X[:, 1])
    assert m.step_sizes is not None
    least, median, largest = m.step_sizes
    assert 0 < least < largest and median == m.eta
    assert okl.Learner.from_bytes(m.to_bytes()).step_sizes == m.step_sizes
    assert okl.Learner(loss="squared", step="smd").step_sizes is None


def test_products(rng: np.random.Generator) -> None:
    """A polynomial kernel of degree 2 as weights: one per column, product of two columns and square, and a constant."""
    X = rng.normal(size=(100, 3))
    settings: dict[str, Any] = {
        "loss": "squared",
        "kernel": "polynomial:degree=2",
        "scale": "none",
        "step": "constant:0.01",
    }
    m = okl.Learner(**settings, lam=0.01, form="weights")
    terms = okl.Learner(**settings, lam=0.01, budget="unlimited")
    assert np.allclose(m.learn(X, X[:, 0] * X[:, 1]), terms.learn(X, X[:, 0] * X[:, 1]), atol=1e-5)
    assert m.weights is not None and m.weights.shape == (10, 1) and m.terms == 0


def test_alert_rate(rng: np.random.Generator) -> None:
    m = okl.Learner(loss="nu_novelty", nu=0.1, kernel="gaussian:1", step="constant:0.01", lam=1.0)
    m.learn(rng.normal(size=(4000, 1)))
    rate = m.alert_rate
    assert rate is not None and rate.nu == 0.1
    assert abs(rate.rate - rate.nu) <= rate.bound
    assert pickle.loads(pickle.dumps(rate)) == rate != okl.AlertRate(0.1, rate.rate, 0.0)
    assert repr(okl.AlertRate(0.1, 0.2, 0.3)) == "AlertRate(nu=0.1, rate=0.2, bound=0.3)"
    assert m.threshold == m.theta


def test_regret_bound(circle: tuple[Any, Any]) -> None:
    """Against f = 0, whose hinge loss is 1 at every row, the losses so far are within the bound."""
    m = okl.Learner(loss="hinge", kernel="gaussian:1", step="inverse_sqrt:0.5", lam=0.01)
    losses = m.learn_report(*circle)["loss"]
    bound = m.regret_bound(0.0)
    assert bound is not None and losses.sum() - len(losses) <= bound
    assert m.regret_bound(2.0, offset=1.0) >= bound
    assert m.regret_bound(float("inf")) == m.regret_bound(1.0, offset=float("inf")) == float("inf")
    assert okl.Learner(loss="nu_hinge", nu=0.5).regret_bound(1.0) is None


def test_config_rebuilds_the_learner(rng: np.random.Generator) -> None:
    X = rng.normal(size=(100, 2))
    J = np.array([[1.0, 0.25], [0.25, 2.0]])
    forms: list[dict[str, Any]] = [
        {"kernel": "gaussian", "gamma": 0.5, "budget": "window", "terms": 20, "lam": 1e-2, "operator": J},
        {"kernel": "gaussian:0.5", "budget": "window:20", "lambda": 1e-2, "operator": J.ravel().tolist()},
        {
            "kernel": {"gaussian": {"gamma": np.float64(0.5)}},
            "budget": {"window": {"terms": np.int32(20)}},
            "lam": 0.01,
            "operator": J.tolist(),
            "theta0": None,
            "classes": None,
        },
    ]
    states = set()
    for form in forms:
        m = okl.Learner(loss="squared", **form)
        assert okl.Learner(m.config).config == okl.Learner(**m.config).config == m.config
        assert okl.Learner({"loss": "absolute", **form}, loss="squared").config == m.config
        m.learn(X, X)
        states.add(m.to_bytes())
    assert len(states) == 1
    assert m.config["lambda"] == 0.01 and m.config["operator"] == [1.0, 0.25, 0.25, 2.0]


def test_config_is_a_copy() -> None:
    m = okl.Learner()
    m.config["lambda"] = 7.0
    assert m.config["lambda"] == "auto"


def test_repr(circle: tuple[Any, Any]) -> None:
    m = okl.Learner(loss="hinge", kernel="gaussian:1", step="decay", budget="window:10")
    m.learn(*circle)
    assert repr(m) == "<okl.Learner hinge, gaussian, decay, window, no offset: 10 terms after 400 examples>"


def test_the_repr_says_whether_an_offset_is_learned() -> None:
    said = [
        repr(okl.Learner(loss=loss, offset=offset)) for loss, offset in [("squared", None), ("squared", True)]
    ]
    assert ", no offset:" in said[0] and ", offset:" in said[1]
    assert "offset" not in repr(okl.Learner(loss="nu_novelty:0.1"))


def test_digits_that_single_precision_loses_are_counted_and_warned_of(rng: np.random.Generator) -> None:
    """Seconds since 1970: single precision has steps of 128 there, errors up to 64 in a range of 600."""
    t = rng.uniform(0, 600, 2200)
    X, y = np.c_[rng.normal(size=len(t)), 1.7e9 + t], np.sin(t / 30)
    settings: dict[str, Any] = {
        "loss": "squared", "step": "constant:0.1", "lam": 0.1, "scale": "none", "budget": "window:5"
    }  # fmt: skip
    raw = okl.Learner(kernel="gaussian:1e-3", anchor="none", **settings)
    with pytest.warns(okl.HealthWarning, match="column 1: rounding to single precision") as caught:
        raw.learn(X, y)
    [column] = raw.health()["rounded_columns"]
    assert (column["column"], column["values"], len(caught)) == (1, 2200, 1)
    error = np.abs(X[:, 1] - X[:, 1].astype(np.float32).astype(np.float64))
    windows = [slice(1000, 2000, 8), slice(2000, 2200, 8)]
    expected = max(error[part].max() / np.ptp(X[part, 1]) for part in windows)
    assert raw.health()["rounded_values"] == 2200 and column["recent_error"] == pytest.approx(expected)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        centred = okl.Learner(kernel="gaussian:1e-3", **settings)
        centred.learn(X, y)
        plain = okl.Learner(kernel="gaussian:1e-3", anchor="none", **settings)
        plain.learn(np.c_[X[:, 0], t], y)
    assert centred.health()["rounded_columns"] == plain.health()["rounded_columns"] == []


def test_a_bank_says_why_it_has_a_truncation_error_without_a_budget(circle: tuple[Any, Any]) -> None:
    """Members share terms, so updates of some are projected; a learner whose settings are given is exact."""
    bank = okl.Learner(loss="hinge", gamma=1.0, budget="unlimited")
    bank.learn(*circle)
    plain = okl.Learner(loss="hinge", gamma=1.0, budget="unlimited", step="constant:0.1", lam=0.01)
    plain.learn(*circle)
    assert bank.truncation_error > 0 and plain.truncation_error == 0
    said = okl.Learner.truncation_error.__doc__ or ""
    assert "unlimited" in said and "members" in said


def test_memory_beside_the_terms_is_stated(circle: tuple[Any, Any]) -> None:
    m = okl.Learner(loss="hinge")
    m.learn(*circle)
    # 256 kB, the rows of a block (2 features, 1 output), kernel values among 32 rows, 32 terms held ahead.
    rows, functions, widths = 256 * (16 * 2 + 8 + 32), len(m.members), 3
    unscaled = (
        8 * 2 * (256 + 2 * 256)
    )  # the rows of a block, of the warm-up and of the last look at the units
    assert m.bytes_beside_terms == 262_144 + rows + unscaled + 16_384 * widths + 4096 * functions
    assert "bytes_beside_terms" in (okl.terms_within.__doc__ or "")


def test_a_column_that_is_clipped_is_counted_and_warned_of_once(rng: np.random.Generator) -> None:
    """Quiet for 300 rows, then fifty times as far: `scale` is settled by the first 256 rows."""
    x = np.r_[rng.uniform(0, 1, 300), rng.uniform(0, 50, 2700)]
    X, y = np.c_[rng.normal(size=3000), x], np.sin(x / 5)
    m = okl.Learner(loss="squared", scale="standard")
    with pytest.warns(
        okl.HealthWarning, match=r"column 1: 9\d % of the last [\d,]+ values were at or beyond the limit of 8"
    ) as caught:
        m.learn(X, y)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m.learn(X, y)
        plain = okl.Learner(loss="squared", scale="none")
        plain.learn(X, y)
    health = m.health()
    shift, factor = m.frame
    expected = int((np.abs((x[256:] - shift[1]) * factor[1]) >= 8).sum())
    expected += int((np.abs((x - shift[1]) * factor[1]) >= 8).sum())
    assert health["clipped_values"] == health["clipped_rows"] == expected and health["watched"] == 6000 - 256
    assert [c["column"] for c in health["clipped_columns"]] == [1] and len(health["findings"]) == 1
    assert okl.Learner.from_bytes(m.to_bytes()).health() == health
    assert plain.health()["clipped_values"] == 0 and plain.health()["findings"] == []


def test_members_say_which_are_averages() -> None:
    """Of a bank over steps, each of the first two steps has an average beside its last hypothesis."""
    m = okl.Learner(loss="squared", kernel="gaussian:1", lam=0.01)
    averages = [member["average"] for member in m.members]
    assert averages == [
        "none",
        {"exponential": {"rate": 0.001}},
        "none",
        {"exponential": {"rate": 0.01}},
        "none",
    ]
    for member in okl.Learner(
        loss="squared", kernel="gaussian:1", average="uniform", step="constant:0.1"
    ).members:
        assert member["average"] == "uniform"
    for member in m.members:
        plain = okl.Learner(
            loss="squared", **{key: member[key] for key in ("kernel", "step", "lambda", "average")}
        )
        assert len(plain.members) == 1


@pytest.mark.parametrize("threshold", ["norma", "tracker"])
def test_the_alert_rate_counts_rows_by_their_weights(threshold: str, rng: np.random.Generator) -> None:
    X, weights = rng.normal(size=(1500, 2)), rng.choice([0.0, 0.5, 3.0], size=1500)
    m = okl.Learner(
        loss="nu_novelty",
        nu=0.1,
        kernel="gaussian:1",
        step="constant:0.01",
        lam=0.1,
        threshold=threshold,
        scale="none",
    )
    report = m.learn_report(X, weights=weights)
    weights[np.isnan(report["threshold"])] = 0.0
    rate = m.alert_rate
    assert rate is not None
    assert rate.rate == pytest.approx(np.average(report["outside"], weights=weights), rel=1e-12)
    assert rate.rate != pytest.approx(report["outside"].mean(), rel=1e-3)
    assert abs(rate.rate - rate.nu) <= rate.bound
    assert "by weight" in (okl.AlertRate.__doc__ or "")


def test_the_reason_of_lost_digits_is_true_of_tiny_values() -> None:
    X = np.linspace(-1e-60, 1e-60, 1200)[:, None]
    m = okl.Learner(loss="squared", kernel="gaussian:1", scale="none")
    with pytest.warns(okl.HealthWarning, match="column 0: rounding to single precision .* below 1e-38"):
        m.learn(X, X[:, 0])


def test_bytes_are_those_that_are_allocated_now():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(600, 3))
    m = okl.Learner(loss="squared")
    m.learn(X[:500], X[:500, 0])
    loaded = okl.Learner.from_bytes(m.to_bytes())
    assert loaded.bytes < m.bytes and "a model that was loaded" in " ".join(
        (okl.Learner.bytes.__doc__ or "").split()
    )
    loaded.learn(X[500:], X[500:, 0])
    m.learn(X[500:], X[500:, 0])
    assert 0.9 * m.bytes < loaded.bytes <= m.bytes


def test_the_configuration_says_whether_steps_are_proximal():
    """Settings that learn in parallel take proximal steps, whatever is given."""
    for given in ({}, {"implicit": False}, {"implicit": True}):
        bank = okl.Learner(loss="hinge", **given)
        assert bank.config["implicit"] is True
    step = {"step": "constant:0.1", "lam": 0.01}
    assert okl.Learner(loss="hinge", **step).config["implicit"] is False
    assert okl.Learner(loss="nu_hinge:0.1").config["implicit"] is False


def test_a_learner_made_from_a_configuration_has_the_same_bytes():
    for given in (
        {},
        {"implicit": False},
        {"implicit": True},
        {"step": "constant:0.1", "lam": 0.01, "implicit": True},
    ):
        learner = okl.Learner(loss="hinge", **given)
        assert okl.Learner(learner.config).to_bytes() == learner.to_bytes()


def test_the_norm_of_a_bank_is_an_upper_bound_and_says_so(tmp_path) -> None:
    """Updates of a bank that go to the nearest term make `norm2` a bound, without a budget, too; `okl inspect` states the same bound on
    their effect as `truncation_error`."""
    X = np.random.default_rng(2).normal(size=(300, 2))
    m = okl.Learner(loss="hinge", budget="unlimited")
    m.learn(X, np.sign(X[:, 0] * X[:, 1]))
    shift, factor = m.frame
    centres, a = (m.centres - shift) * factor, m.coefficients[:, 0]
    exact = a @ gaussian(centres, centres, m.members[0]["kernel"]["gaussian"]["gamma"]) @ a
    assert m.norm2 > 2 * exact  # the case is one where it matters
    assert m.freeze().norm2 >= exact
    said = okl.Learner.norm2.__doc__ or ""
    assert "upper bound" in said and "nearest term" in said and "unlimited" in said and "freeze" in said
    assert "exact until a term is dropped, an upper bound" not in " ".join(said.split())
    m.save(tmp_path / "m.okl")
    command = [sys.executable, "-m", "okl", "inspect", str(tmp_path / "m.okl")]
    shown = " ".join(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert "No term has been dropped or merged." in shown  # true: parts of updates were left out
    stated = shown.split("The bound on the change of a score is ")[1].split(";")[0]
    assert float(stated) == pytest.approx(m.truncation_error, rel=1e-3)
    words = "the bound on the norm of the last hypothesis of the leading setting is "
    bound = shown.split(words)[1].removesuffix(".")
    assert float(bound.split()[0].rstrip(".")) ** 2 == pytest.approx(m.norm2, rel=1e-2)


def test_no_regret_bound_after_a_skipped_step() -> None:
    X = np.random.default_rng(0).normal(size=(700, 2))
    t = np.sin(2 * X[:, 0])
    m = okl.Learner(
        loss="squared", kernel="gaussian:1", step="theorem2", lam=1e-3, budget="unlimited", scale="none"
    )
    m.learn(X[:5], t[:5])
    assert m.skipped == 0 and m.regret_bound(0.0) is not None
    m.learn(X[5:], t[5:])
    assert m.skipped > 0 and m.regret_bound(0.0) is None
    assert okl.Learner.from_bytes(m.to_bytes()).regret_bound(0.0) is None


@pytest.mark.parametrize("weights", [None, {"a": 0.01}, {"a": 1.0, "b": 100.0}, "balanced"])
def test_the_regret_bound_is_on_the_losses_that_its_docstring_names(weights: Any) -> None:
    rng = np.random.default_rng(4)
    X, labels, w = (
        rng.normal(size=(700, 2)),
        rng.choice(["a", "b"], 700, p=[0.8, 0.2]),
        rng.uniform(0.5, 2, 700),
    )
    m = okl.Learner(
        loss="hinge",
        kernel="gaussian:1",
        step="constant:1",
        lam=1e-3,
        scale="none",
        classes=["a", "b"],
        **({} if weights is None else {"class_weight": weights}),
    )
    loss = m.learn_report(X, labels, weights=w)["loss"]
    if weights == "balanced":
        so_far = np.stack([(labels == name).cumsum() for name in ("a", "b")])
        rarest = np.where(so_far.min(axis=0) > 0, so_far.min(axis=0), 1)
        c = rarest / so_far[(labels == "b").astype(int), np.arange(700)]
    else:
        table = weights or {}
        c = np.array([table.get(name, 1.0) for name in labels]) / max([1.0, *table.values()])
    bound = m.regret_bound(norm=0.0)
    assert bound is not None and (c * (loss - w)).sum() <= bound  # the zero function loses 1 per row
    said = okl.Learner.regret_bound.__doc__ or ""
    assert "class_weight" in said and "balanced" in said and "skipped" in said
    if isinstance(weights, dict):
        assert (loss - w).sum() > bound  # without the weights of the classes they are other losses


@pytest.mark.parametrize("scale", ["none", "standard", "auto", "log", "whiten"])
def test_the_input_of_the_kernels_is_as_the_frame_says(scale: str) -> None:
    """The rule of `Learner.frame`, in its order, gives the scores. Some values are beyond the limit."""
    X = np.random.default_rng(6).normal(size=(800, 3)) @ np.array([[1.0, 0.9, 0.0], [0, 0.3, 0], [0, 0, 2.0]])
    X = np.sign(X) * np.abs(X) ** (2.5 if scale == "log" else 1.0)
    X[700:710, 1] = 20 if scale == "none" else 1e4
    m = okl.Learner(
        loss="squared",
        kernel="gaussian",
        gamma="median" if scale == "auto" else 0.5,
        step="constant:0.3",
        lam=1e-3,
        budget="unlimited",
        scale=scale,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m.learn(X, np.tanh(X[:, 0]))
    shift, factor = m.frame
    fixed = m.config["scale"]["fixed"] if isinstance(m.config["scale"], dict) else {}
    assert ("log_units" in fixed, "whiten" in fixed) == (scale == "log", scale == "whiten")

    def seen(x: np.ndarray) -> np.ndarray:
        if "log_units" in fixed:
            x = np.sign(x) * np.log(1 + np.abs(x) / np.array(fixed["log_units"]))
        z = (x - shift) * factor
        if "limit" in fixed:
            z = np.clip(z, -fixed["limit"], fixed["limit"])
        if "whiten" in fixed:
            n = int(np.sqrt(2 * len(fixed["whiten"])))
            T = np.zeros((n, n))
            T[np.tril_indices(n)] = fixed["whiten"]
            z = np.c_[z[:, :n] @ T.T, z[:, n:]]
        return z

    found = m.config["kernel"]["gaussian"]["gamma"]
    by_hand = (
        gaussian(seen(X), seen(m.centres), found) @ m.predicting_coefficients[:, 0] + m.predicting_offset
    )
    np.testing.assert_allclose(by_hand, m.predict(X), atol=1e-4)
    said = okl.Learner.frame.__doc__ or ""
    assert all(part in said for part in ("log_units", "limit", "whiten", "shift", "factor"))


@pytest.mark.parametrize("columns", [4, 12])
@pytest.mark.parametrize("scale", ["auto", "standard", "whiten"])
def test_columns_of_any_size_are_learned(scale: str, columns: int) -> None:
    """Squares of such numbers are 0: of 1e-30 in single precision, of 1e-200 in double precision."""
    X = np.random.default_rng(0).normal(size=(1000, columns))
    y = np.sin(X[:, 0]) + X[:, 1]

    def error(size: float) -> float:
        m = okl.Learner(loss="squared", scale=scale)
        m.learn(X * size, y)
        return float(np.mean((m.predict(X * size) - y) ** 2))

    usual = error(1.0)
    assert usual < 0.2
    assert [error(size) for size in (1e-30, 1e-200)] == pytest.approx([usual, usual], rel=0.1)


def test_estimators_learn_columns_of_any_size() -> None:
    pytest.importorskip("sklearn")
    X = np.random.default_rng(0).normal(size=(400, 4))
    y = X[:, 0] > 0
    for scale in ("auto", "standard"):
        model = okl.KernelClassifier(random_state=0, max_iter=2, gamma="median", alpha=1e-3, scale=scale)
        assert model.fit(X * 1e-200, y).score(X * 1e-200, y) > 0.9


def test_targets_far_from_zero_without_an_offset_are_a_finding() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = 20_000 + np.sin(X[:, 0])
    without = okl.Learner(loss="squared")
    with pytest.warns(okl.HealthWarning, match="so a constant is better: .* set offset to true"):
        without.learn(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        okl.Learner(loss="squared", offset=True).learn(X, y)
        okl.Learner(loss="squared").learn(X, y - 20_000)
    found = without.health()["findings"]
    assert len(found) == 1
    assert okl.Learner.from_bytes(without.to_bytes()).health()["findings"] == found
