"""What a model says of rows, as columns (`okl.ray.score`, `okl.spark.score`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import okl
from okl._intervals import half_widths
from okl._scoring import Scorer, check_new


def rows(n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(3).normal(size=(n, 2))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "same", "other")


def test_columns_of_each_kind_of_model() -> None:
    X, y = rows()
    config: dict[str, Any] = {"kernel": "gaussian:0.5", "step": "constant:0.3", "lambda": 1e-3}
    softmax = okl.Learner(config, loss="softmax")
    softmax.learn(X, y)
    found = Scorer(softmax).columns(X)
    assert list(found) == [
        f"{kind}_{name}" for kind in ("score", "probability") for name in softmax.classes
    ] + ["label"]
    shares = np.column_stack([found[f"probability_{name}"] for name in softmax.classes])
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    expected = [softmax.classes[i] for i in shares.argmax(axis=1)]
    assert found["label"].tolist() == expected and np.mean(np.array(expected) == y) > 0.8
    novelty = okl.Learner(config, loss="nu_novelty:0.1")
    novelty.learn(X)
    assert Scorer(novelty).columns(X)["alert"].tolist() == (novelty.predict(X) < novelty.threshold).tolist()
    two = okl.Learner(config, loss="squared")
    two.learn(X, X)
    np.testing.assert_array_equal(Scorer(two).columns(X)["score_1"], two.predict(X)[:, 1])
    estimator = okl.KernelClassifier("log_loss").fit(X, y)
    found = Scorer(estimator).columns(X)
    np.testing.assert_array_equal(found["probability_same"], estimator.predict_proba(X)[:, 1])
    assert found["prediction"].tolist() == estimator.predict(X).tolist()
    with pytest.raises(TypeError, match="model: found int, expected a learner"):
        Scorer(5)
    with pytest.raises(
        ValueError, match="features: name the columns of the features, in order; there are 'a', 'b'"
    ):
        Scorer(softmax).matrix({"a": X[:, 0], "b": X[:, 1]})


def test_columns_of_the_input_are_not_replaced() -> None:
    pytest.importorskip("ray")
    from okl.ray._score import score_batch

    X, y = rows(60)
    learner = okl.Learner(loss="logistic", kernel="gaussian:0.5", step="constant:0.3", lam=1e-3)
    learner.learn(X, y)
    scorer, batch = Scorer(learner, ["a", "b"]), {"a": X[:, 0], "b": X[:, 1], "label": y}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("okl.ray._score._OPEN", {("m", ("a", "b"), ""): scorer})
        with pytest.raises(
            ValueError, match="the model adds a column 'label', but the input has a column 'label': ren"
        ):
            score_batch(None, "m", ["a", "b"], "", batch)
        named = Scorer(learner, ["a", "b"], prefix="okl_")
        patch.setattr("okl.ray._score._OPEN", {("m", ("a", "b"), "okl_"): named})
        found = score_batch(None, "m", ["a", "b"], "okl_", batch)
    assert list(found) == ["a", "b", "label", "okl_score", "okl_probability", "okl_label"]
    assert found["label"] is y and list(scorer.columns(X)) == ["score", "probability", "label"]
    check_new(["label"], ["Label"])
    with pytest.raises(ValueError, match="adds a column 'label', but the input has a column 'Label'"):
        check_new(["label"], ["Label"], ignore_case=True)


def test_an_interval_from_rows_that_were_not_learned() -> None:
    """A model without rows predicts 0, so that the residuals are the targets: 1 to 19 in any order, with either sign."""
    X = np.random.default_rng(4).normal(size=(19, 2))
    y = np.random.default_rng(5).permutation(np.arange(1.0, 20)) * np.where(X[:, 0] > 0, 1, -1)
    empty = okl.Learner(loss="squared", kernel="gaussian:0.5", step="constant:0.3", lam=1e-3)
    for level, expected in [(0.9, 18), (0.91, 19), (0.5, 10), (0.04, 1)]:
        assert half_widths(empty, level, (X, y)) == [expected]
    found = Scorer(empty, widths=half_widths(empty, 0.9, (X, y))).columns(X)
    assert list(found) == ["score", "lower", "upper"]
    assert np.mean((found["lower"] <= y) & (y <= found["upper"])) == 18 / 19
    two = okl.Learner(loss="squared", kernel="gaussian:0.5", step="constant:0.3", lam=1e-3)
    two.learn(X, np.zeros((19, 2)))
    found = Scorer(two, widths=half_widths(two, 0.9, (X, np.column_stack([y, 2 * y])))).columns(X)
    assert (found["upper_0"] == 18).all() and (found["lower_1"] == -36).all()
    estimator = okl.KernelRegressor().fit(X, y)
    found = Scorer(estimator, widths=half_widths(estimator, 0.5, (X, y))).columns(X)
    middle = estimator.predict(X)
    width = np.sort(np.abs(y - middle))[9]
    np.testing.assert_array_equal(found["upper"], middle + width)
    np.testing.assert_array_equal(found["lower"], middle - width)


@pytest.mark.parametrize("loss", ["nu_epsilon:0.1", "nu_huber:nu=0.1"])
def test_an_interval_from_the_tube(loss: str) -> None:
    """A target is outside the interval where the loss says so, and targets in other units have an interval in these units."""
    X = np.random.default_rng(4).normal(size=(900, 2))
    y = np.sin(X[:, 0]) + np.random.default_rng(5).normal(size=900)
    settings: dict[str, Any] = {
        "loss": loss,
        "kernel": "gaussian:0.5",
        "step": "inverse_sqrt:0.5",
        "lambda": 1e-3,
    }
    plain = okl.Learner(settings)
    scaled = okl.Learner(settings, target_scale={"fixed": {"shift": [0.0], "factor": [0.125]}})
    for learner, unit in [(plain, 1), (scaled, 8)]:
        learner.learn(X[:500], unit * y[:500])
        outside = []
        for row in range(500, 900):
            widths = half_widths(learner, 0.9, None)
            found = Scorer(learner, widths=widths).columns(X[row : row + 1])
            target = unit * y[row : row + 1]
            outside.append(not found["lower"][0] <= target[0] <= found["upper"][0])
            assert learner.learn_report(X[row : row + 1], target)["outside"].tolist() == [outside[-1]]
        assert 0.05 < np.mean(outside) < 0.15
    np.testing.assert_allclose(half_widths(scaled, 0.9, None), 8 * half_widths(plain, 0.9, None))


def test_intervals_that_are_refused() -> None:
    X, y = rows(60)
    settings: dict[str, Any] = {"kernel": "gaussian:0.5", "step": "constant:0.3", "lambda": 1e-3}
    squared, tube = okl.Learner(settings, loss="squared"), okl.Learner(settings, loss="nu_epsilon:0.2")
    numbers = np.zeros(60)
    for model, level, calibration, message in [
        (squared, 1.0, (X, numbers), "interval: found 1.0, expected a share between 0 and 1"),
        (squared, None, (X, numbers), "calibration: give interval too"),
        (
            squared,
            0.9,
            None,
            "only the losses nu_epsilon and nu_huber have an interval of their own; give cal",
        ),
        (tube, 0.9, None, r"interval: found 0.9; the tube of this model covers a share of 0.8 \(nu = 0.2\)"),
        (okl.Learner(settings, loss="nu_epsilon:0.2", average="uniform"), 0.8, None, "without an average"),
        (okl.Learner(settings, loss="hinge"), 0.9, (X, numbers), "the loss hinge has no numbers as targets"),
        (okl.KernelClassifier().fit(X, y), 0.9, (X, numbers), "KernelClassifier is no regressor"),
        (squared, 0.99, (X, numbers), "calibration: found 60 rows, expected at least 99 for interval = 0.99"),
        (
            squared,
            0.9,
            (X, np.ma.array(numbers, mask=np.arange(60) == 7)),
            "calibration: y has masked values, the first in row 7",
        ),
        (squared, 0.9, (X, numbers[1:]), r"calibration: y has the shape \(59,\)"),
        (squared, 0.9, (X, np.where(np.arange(60) == 7, np.nan, 0)), "calibration: row 7 has no finite tar"),
    ]:
        with pytest.raises(ValueError, match=message):
            half_widths(model, level, calibration)
