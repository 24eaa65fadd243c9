"""Weights of columns: the gradient of f in closed form, and how the protocol counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from relevance import gradient, protocol

okl = pytest.importorskip("okl")


def learned(kernel: str, classes: bool = False) -> tuple[gradient.Function, Any, Any]:
    """A learner of a function of the first of three columns, its function, and rows."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3)) * [1.0, 10.0, 0.1] + 5.0
    y = np.digitize(X[:, 0], [4.5, 5.5]) if classes else np.sin(2.0 * X[:, 0])
    learner = okl.Learner(kernel=kernel, loss="max_margin" if classes else "squared", offset=True)
    learner.learn(X, y)
    frozen = learner.freeze()
    return gradient.Function(frozen), frozen, X[:40]


@pytest.mark.parametrize("kernel", ["gaussian", "matern32"])
@pytest.mark.parametrize("classes", [False, True])
def test_the_function_is_the_one_that_the_frozen_learner_predicts_with(kernel: str, classes: bool) -> None:
    function, frozen, X = learned(kernel, classes)
    predicted = frozen.predict(X).reshape(len(X), -1)
    assert function.values(function.scaled(X)) == pytest.approx(predicted, abs=1e-4)


@pytest.mark.parametrize("kernel", ["gaussian", "matern32"])
@pytest.mark.parametrize("classes", [False, True])
def test_the_gradient_is_the_limit_of_finite_differences(kernel: str, classes: bool) -> None:
    function, _, X = learned(kernel, classes)
    rows, h = function.scaled(X), 1e-5
    exact = function.gradients(rows)
    for column, step in enumerate(h * np.eye(3)):
        differences = (function.values(rows + step) - function.values(rows - step)) / (2 * h)
        assert exact[:, :, column] == pytest.approx(differences, abs=1e-6 * np.abs(exact).max())


def test_the_column_that_matters_has_the_largest_weight() -> None:
    function, _, X = learned("gaussian")
    m = gradient.relevance(function, function.scaled(X))
    assert m[0] > 4 * max(m[1], m[2])


def test_weights_follow_power_and_floor() -> None:
    m = np.array([7.0, 1.0, 0.0, 0.0])  # the mean is 2
    assert gradient.weights(m, 1.0, 0.1) == pytest.approx([3.5**0.5, 0.5**0.5, 0.1, 0.1])
    assert gradient.weights(m, 0.5, 0.9) == pytest.approx([3.5**0.25, 0.9, 0.9, 0.9])
    assert gradient.weights(np.zeros(3), 0.5, 0.1).tolist() == [1.0, 1.0, 1.0]


def test_only_classes_that_occurred_before_can_be_predicted() -> None:
    y = np.array([0, 1, 1, 2])
    scores = np.array([[0.0, 9.0, 9.0], [0.0, 1.0, 9.0], [0.0, 1.0, 9.0], [0.0, 1.0, 9.0]])
    assert protocol.errors_of(scores, y, 0, numbers=False).tolist() == [1.0, 1.0, 0.0, 1.0]
    assert protocol.errors_of(scores[2:], y, 2, numbers=False).tolist() == [0.0, 1.0]


def test_the_guard_follows_the_arm_with_less_error_in_the_interval_before() -> None:
    none, events = np.zeros(9000), np.zeros(9000)
    none[:2048] = 1.0  # more errors than `events` before 2,048: rows 2,048 to 4,095 come from `events`
    events[2048:] = 2.0  # worse from then on: `none` again from 4,096 on
    errors = protocol.guarded(none, events, 2048)
    assert errors[:2048].min() == 1.0 and errors[2048:4096].min() == 2.0 and errors[4096:].max() == 0.0


def test_the_quick_guard_follows_the_smaller_discounted_error() -> None:
    none, other = np.array([1.0, 0.0, 1.0, 0.0, 0.0]), np.array([0.0, 0.0, 2.0, 1.0, 1.0])
    # Before rows 1 and 2 `other` is ahead by 1 and by 0.99; its error of 2 puts it behind by 0.0199.
    assert protocol.followed(none, other).tolist() == [1.0, 0.0, 2.0, 0.0, 0.0]


def test_without_weights_an_event_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "weights", lambda m, power, floor: np.ones_like(m))
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 2))
    trial = protocol.Trial(X, X[:, 0] ** 2, numbers=True, bank="nothing set")
    none = trial.weighted(1.0).to(600).errors
    assert np.array_equal(trial.events((300, 350)), none)
    monkeypatch.setattr(protocol, "STREAM_EVENTS", (300, 350, 999))
    monkeypatch.setattr(protocol, "EVERY", 400)
    assert np.array_equal(trial.recent(), none)  # the replay holds all rows so far
    monkeypatch.setattr(protocol, "REPLAY", 350)
    assert np.array_equal(trial.recent()[:400], none[:400])
    assert not np.array_equal(trial.recent()[400:], none[400:])


def test_a_learner_that_begins_later_meets_its_classes_in_another_order() -> None:
    rng = np.random.default_rng(2)
    y = np.concatenate([[0, 1, 2], rng.permutation(np.arange(700) % 3)])
    X = np.column_stack([y, rng.normal(size=len(y))]).astype(float)
    trial = protocol.Trial(X, y, numbers=False, bank="nothing set")
    first = next(row for row in range(3, len(y)) if y[row] == 2)
    late = trial.weighted(1.0, first).to(len(y) - first)
    assert late.learner.classes[0] == 2 and late.errors[300:].mean() < 0.05
