"""What a model says of rows, as columns (`okl.ray.score`, `okl.spark.score`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import okl
from okl._scoring import Scorer


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
