"""What a metric of `okl.ray.sweep` means, without a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import okl

pytest.importorskip("ray")
pytest.importorskip("pandas")

FIXED: dict[str, Any] = {"step": "constant:0.3", "lambda": 1e-3, "budget": "window:50"}


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks run in this process."""
    import ray

    class Task:
        def __init__(self, work: Any):
            self.work = work

        def options(self, **_: Any) -> Task:
            return self

        def remote(self, *given: Any) -> Any:
            return lambda: self.work(*given)

    monkeypatch.setattr(ray, "put", lambda value: value)
    monkeypatch.setattr(ray, "remote", Task)
    monkeypatch.setattr(ray, "wait", lambda refs: (refs[:1], refs[1:]))
    monkeypatch.setattr(ray, "get", lambda ref: ref())


def root_mean_square(scores: np.ndarray, y: np.ndarray) -> float:
    return float(np.sqrt(np.mean((scores - y) ** 2)))


METRICS: list[Any] = [
    root_mean_square,
    lambda scores, y: np.float32(np.max(np.abs(scores - y))),
    lambda scores, y: np.array(np.median(scores - y)),
    lambda scores, y: np.abs(scores - y),
    lambda scores, y: np.abs(scores - y) > 0.1,
]


@pytest.mark.parametrize("metric", METRICS, ids=["rms", "max", "median", "per row", "share"])
def test_one_number_is_taken_as_it_is_and_numbers_per_row_have_a_mean(here: None, metric: Any) -> None:
    """With halving, the figures are those of all rows that the settings have learned, and not of the last round."""
    X = np.random.default_rng(1).normal(size=(400, 2))
    y = np.sin(X[:, 0])
    configs = [{**FIXED, "loss": "squared", "kernel": f"gaussian:{gamma}"} for gamma in (0.1, 0.5, 5.0, 50.0)]
    for halving in (None, 2):
        found = okl.ray.sweep(configs, X, y, metric=metric, halving=halving, first_rows=100)
        assert sorted(found["rows"]) == ([400] * 4 if halving is None else [100, 100, 200, 400])
        for number, row in found.iterrows():
            last = row["rows"]
            scores = okl.Learner(configs[number]).learn(X[:last], y[:last])
            assert row["error"] == pytest.approx(float(np.mean(metric(scores, y[:last]))), rel=1e-12)


def test_a_metric_sees_the_scores_of_one_call(here: None) -> None:
    """Classes that appear in a later round have the score 0 before, as in one call of `learn`."""
    X = np.random.default_rng(2).normal(size=(400, 2))
    y = np.where(np.arange(400) < 150, "a", np.where(X[:, 0] > 0, "b", "c"))
    seen: list[np.ndarray] = []
    for loss in ("max_margin", "hinge"):
        labels, config = (
            (y if loss == "max_margin" else np.where(y == "c", "a", y)),
            {**FIXED, "kernel": "gaussian:1"},
        )
        okl.ray.sweep(
            [{**config, "loss": loss}],
            X,
            labels,
            metric=lambda scores, y: seen.append(scores) or 0.5,  # type: ignore[func-returns-value]
            halving=2,
            first_rows=100,
        )
        expected = okl.Learner({**config, "loss": loss}).learn(X, labels)
        assert len(seen[-1]) == 400
        np.testing.assert_array_equal(seen[-1], expected)


def test_metrics_that_are_refused_or_not_a_number(here: None) -> None:
    X = np.random.default_rng(3).normal(size=(50, 2))
    configs = [{**FIXED, "loss": "squared", "kernel": f"gaussian:{gamma}"} for gamma in (0.5, 5.0, 50.0)]
    for metric, words in (
        (lambda scores, y: [1.0, 2.0], r"metric: found an array of float64 with shape \(2,\), expected one"),
        (lambda scores, y: "low", "metric: found an array of <U3"),
        (lambda scores, y: None, "metric: found an array of object"),
    ):
        with pytest.raises(ValueError, match=words):
            okl.ray.sweep(configs, X, X[:, 0], metric=metric)
    errors = iter([2.0, np.nan, 1.0])  # A setting without an error is the last one.
    found = okl.ray.sweep(configs, X, X[:, 0], metric=lambda scores, y: next(errors))
    assert found.index.tolist() == [2, 0, 1]
