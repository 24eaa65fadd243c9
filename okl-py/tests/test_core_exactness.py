"""Law 1: what a stream leaves behind depends neither on the cut, nor on threads, nor on copies made on the way."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import okl

ROWS = 700

SETTINGS: list[dict[str, Any]] = [
    {"loss": "hinge", "kernel": "gaussian:0.5", "budget": "window:50", "offset": True},
    {"loss": "nu_hinge", "nu": 0.3, "kernel": "matern32:0.7", "budget": "transfer:40"},
    {"loss": "logistic", "kernel": "gaussian", "budget": "merge:30", "scale": "standard", "warmup": 64},
    {
        "loss": "perceptron",
        "kernel": "exponential:0.5",
        "lam": 0.0,
        "step": "constant:1",
        "budget": "forgetron:40",
    },
    {"loss": "max_margin", "kernel": "gaussian:0.5", "budget": "merge:40", "average": "uniform"},
    {"loss": "softmax", "kernel": "rational_quadratic", "warmup": 300, "budget": "age:120", "offset": True},
    {"loss": "squared", "kernel": "linear", "step": "smd", "budget": "window:60", "offset": True},
    {
        "loss": "squared",
        "operator": [[1.0, 0.3], [0.3, 1.0]],
        "kernel": "gaussian:0.4",
        "budget": "unlimited",
    },
    {
        "loss": "huber",
        "kernel": {"sum": ["linear", "gaussian:1"]},
        "step": "decay:eta=0.2,tau=100",
        "budget": "weight:1e-3",
    },
    {
        "loss": "nu_epsilon",
        "nu": 0.2,
        "kernel": "exponential:0.5",
        "step": "theorem2",
        "budget": "certified:0.5",
    },
    {"loss": "quantile", "q": 0.9, "kernel": "matern52:0.5", "implicit": True, "budget": "window:30"},
    {
        "loss": "squared",
        "kernel": "gaussian:0.5",
        "budget": "olok",
        "exponent": 0.3,
        "step": "inverse_sqrt:0.3",
    },
    {"loss": "nu_novelty", "nu": 0.1, "kernel": "gaussian:0.5", "budget": "window:80"},
    {"loss": "nu_novelty", "nu": 0.1, "kernel": "gaussian", "threshold": "tracker", "warmup": 100},
]


def stream(config: dict[str, Any], seed: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Rows, and what is said of them row by row."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, 3))
    X[rng.integers(ROWS, size=60)] = X[rng.integers(ROWS, size=60)]
    more: dict[str, np.ndarray] = {
        "weights": rng.choice([0.0, 0.5, 1.0, 2.0], ROWS),
        "known": rng.random(ROWS) < 0.9,
    }
    if config["loss"] in ("hinge", "nu_hinge", "logistic", "perceptron"):
        more["y"] = np.where(X[:, 0] * X[:, 1] > 0, "yes", "no") if seed % 2 else np.sign(X[:, 0])
    elif config["loss"] in ("max_margin", "softmax"):
        # Some classes come late.
        more["y"] = (np.abs(X[:, 0]) * 2 + (np.arange(ROWS) > 500)).astype(int)
    elif "operator" in config:
        more["y"] = np.stack([np.sin(X[:, 0]), X[:, 1]], axis=1)
    elif config["loss"] != "nu_novelty":
        more["y"] = np.sin(2 * X[:, 0]) + X[:, 1]
    return X, more


def learn_in_parts(
    m: okl.Learner,
    X: Any,
    more: dict[str, np.ndarray],
    cuts: list[int],
    between: Callable[[okl.Learner], okl.Learner],
) -> tuple[okl.Learner, list[np.ndarray]]:
    ends = sorted({*cuts, len(X)})
    scores = []
    for first, last in zip([0, *ends], ends):
        scores.append(m.learn(X[first:last], **{name: values[first:last] for name, values in more.items()}))
        m = between(m)
    return m, scores


def assert_same_scores(parts: list[np.ndarray], whole: np.ndarray) -> None:
    """Bit for bit; a class that did not exist yet scored 0."""
    row = 0
    for part in parts:
        there = whole[row : row + len(part)]
        if whole.ndim == 2:
            assert not there[:, part.shape[1] :].any()
            there = there[:, : part.shape[1]]
        assert part.tobytes() == np.ascontiguousarray(there).tobytes()
        row += len(part)
    assert row == len(whole)


@settings(max_examples=120, deadline=None)
@given(
    config=st.sampled_from(SETTINGS),
    seed=st.integers(0, 50),
    cuts=st.lists(st.integers(1, ROWS - 1), max_size=12),
)
def test_any_split_gives_the_same_bits(config: dict[str, Any], seed: int, cuts: list[int]) -> None:
    X, more = stream(config, seed)
    whole = okl.Learner(config)
    scores = whole.learn(X, **more)
    parts, partial = learn_in_parts(okl.Learner(config), X, more, cuts, lambda m: m)
    assert parts.to_bytes() == whole.to_bytes()
    assert_same_scores(partial, scores)


@pytest.mark.parametrize("config", SETTINGS, ids=lambda config: config["loss"])
def test_row_by_row_gives_the_same_bits(config: dict[str, Any]) -> None:
    X, more = stream(config, 1)
    whole = okl.Learner(config)
    scores = whole.learn(X, **more)
    parts, partial = learn_in_parts(okl.Learner(config), X, more, list(range(ROWS)), lambda m: m)
    assert parts.to_bytes() == whole.to_bytes()
    assert_same_scores(partial[1:], scores)
    assert partial[0].shape[0] == 0


def reload(m: okl.Learner) -> okl.Learner:
    return okl.Learner.from_bytes(m.to_bytes())


def repickle(m: okl.Learner) -> okl.Learner:
    return pickle.loads(pickle.dumps(m))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, repickle, reload])
@pytest.mark.parametrize("config", SETTINGS, ids=lambda config: config["loss"])
def test_a_copy_goes_on_to_the_same_bits(
    config: dict[str, Any], copied: Callable[[okl.Learner], okl.Learner]
) -> None:
    X, more = stream(config, 2)
    whole = okl.Learner(config)
    scores = whole.learn(X, **more)
    m, partial = learn_in_parts(okl.Learner(config), X, more, [5, 33, 200, 540], copied)
    assert m.to_bytes() == whole.to_bytes()
    assert_same_scores(partial, scores)


def test_a_copy_is_apart(circle: tuple[Any, Any]) -> None:
    m = okl.Learner(loss="hinge", kernel="gaussian:1")
    m.learn(*circle)
    before = m.to_bytes()
    for other in (copy.copy(m), copy.deepcopy(m), repickle(m)):
        other.learn(*circle)
        assert other.to_bytes() != before
    assert m.to_bytes() == before


def test_scores_are_those_before_the_update(regressor: okl.Learner, rng: np.random.Generator) -> None:
    X = rng.normal(size=(60, 2))
    scores = copy.copy(regressor).learn(X, X[:, 0])
    for i in range(60):
        assert regressor.predict(X[i : i + 1])[0] == scores[i]
        regressor.learn(X[i : i + 1], X[i : i + 1, 0])


def test_threads_change_no_bit(rng: np.random.Generator) -> None:
    X, one = (
        rng.normal(size=(600, 200)),
        okl.Learner(loss="hinge", kernel="gaussian:0.01", budget="unlimited"),
    )
    y, two = np.sign(X[:, 0]), copy.copy(one)
    two.threads = 2
    assert one.learn(X, y).tobytes() == two.learn(X, y).tobytes()
    assert one.predict(X).tobytes() == two.predict(X).tobytes()
    assert one.to_bytes() == two.to_bytes()
    assert (one.threads, two.threads, copy.copy(two).threads) == (1, 2, 2)


@pytest.mark.parametrize("wild", [-9999.0, 1e6])
def test_one_wild_value_does_not_hide_its_column(wild: float, rng: np.random.Generator) -> None:
    """It is in the first rows, from which the unit of the column is estimated."""
    X = rng.normal(size=(1500, 2))
    y = np.where(X[:, 1] > 0, 1, -1)
    X[10, 1] = wild
    scores = okl.Learner(loss="hinge").learn(X, y)
    assert np.mean(np.sign(scores[500:]) != y[500:]) < 0.1
    alone = X[:, 1:].copy()
    scores = okl.Learner(loss="squared").learn(alone, np.sin(alone[:, 0]))
    assert np.abs(scores).max() < 10
