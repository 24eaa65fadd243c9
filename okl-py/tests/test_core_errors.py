"""What is wrong is refused in Python's own words, and nothing has changed."""

from __future__ import annotations

import re
import typing
from typing import Any

import numpy as np
import pandas as pd
import pytest

import okl
from okl._settings import Settings

GOOD = np.linspace(0.0, 1.0, 20).reshape(10, 2)
Y = np.arange(10.0)


def trained(loss: str = "squared", y: Any = Y, **more: Any) -> okl.Learner:
    m = okl.Learner(loss=loss, kernel="gaussian:1", **more)
    m.learn(GOOD, y)
    return m


def with_value(value: float, dtype: Any = np.float64) -> np.ndarray:
    X = GOOD.astype(dtype)
    X[7, 1] = value
    return X


BAD_ROWS: dict[str, tuple[Any, type[Exception], str]] = {
    "nan": (with_value(np.nan), ValueError, "row 7, column 1: found NaN, expected a finite number"),
    "nan, single": (with_value(np.nan, np.float32), ValueError, "row 7, column 1: found NaN"),
    "nan, fortran": (np.asfortranarray(with_value(np.nan)), ValueError, "row 7, column 1: found NaN"),
    "inf": (with_value(-np.inf), ValueError, "row 7, column 1: found -inf, expected a finite number"),
    "huge": (
        with_value(1e300),
        ValueError,
        "row 7, column 1: found 1e300, expected a finite number below 1e15; rescale",
    ),
    "large": (
        with_value(2e15, np.float32),
        ValueError,
        "row 7, column 1: found 1.9.*e15, expected a finite number below 1e15",
    ),
    "large ints": (np.full((10, 2), 2**60), ValueError, "row 0, column 0: found 1.15.*e18, expected"),
    "no dimension": (np.float64(1.0), ValueError, r"X has 0 dimension\(s\), expected 2"),
    "one dimension": (GOOD[0], ValueError, r"X has 1 dimension\(s\), expected 2.*X.reshape\(1, -1\)"),
    "three dimensions": (GOOD[None], ValueError, r"X has 3 dimension\(s\), expected 2"),
    "no features": (GOOD[:, :0], ValueError, "features: expected at least 1, found 0"),
    "neither": (np.empty((0, 0)), ValueError, "features: expected at least 1, found 0"),
    "other features": (GOOD[:, :1], ValueError, "features: expected 2, found 1"),
    "other features, no rows": (np.empty((0, 3)), ValueError, "features: expected 2, found 3"),
    "empty list": ([], ValueError, r"X has 1 dimension\(s\), expected 2"),
    "objects": (
        np.array([[1.0, 2.0]] * 9 + [[3.0, None]], dtype=object),
        TypeError,
        r"column 1: found None \(missing\) in row 9, expected numbers; fill it in",
    ),
    "text among objects": (
        [[1.0, 2.0]] * 4 + [["red", 2.0]] * 6,
        TypeError,
        r"column 0: found 'red' \(text\) in row 4",  # numpy alone would see text everywhere
    ),
    "mixed frame": (
        pd.DataFrame({"a": [1.0] * 10, "b": [1.0] * 3 + ["x"] * 7}),
        TypeError,
        r"column 'b': found 'x' \(text\) in row 3, expected numbers; encode it first",
    ),
    "categories": (
        pd.DataFrame({"a": [1.0] * 10, "b": pd.Categorical(["x"] * 10)}),
        TypeError,
        r"column 'b': found 'x' \(text\) in row 0",
    ),
    "dates in a frame": (
        pd.DataFrame({"a": [1.0] * 10, "when": pd.date_range("2026-01-01", periods=10)}),
        TypeError,
        r"column 'when': found 2026-01-01.* \(a date\) in row 0, expected numbers; convert it to numbers",
    ),
    "numbers as text": (GOOD.astype(str), TypeError, r"column 0: .*\(text\) in row 0.*X.astype\(float\)"),
    "nan in a frame": (
        pd.DataFrame({"a": [1.0] * 10, "b": [1.0] * 9 + [np.nan]}),
        ValueError,
        "row 9, column 'b': found NaN, expected a finite number; set missing='mean', for example, fill it in first, or leave the row out",
    ),
    "complex": (GOOD.astype(complex), TypeError, "X is a ndarray of complex128"),
    "dates": (
        GOOD.astype(int).astype("datetime64[s]"),
        TypeError,
        r"column 0: found 19.* \(a date\) in row 0, expected numbers",
    ),
    "records": (np.zeros((10, 2), dtype=[("a", "f8")]), TypeError, "expected a matrix of real numbers"),
    "none": (None, TypeError, "X is a NoneType of object"),
    "a string": ("rows", TypeError, "X is a str of <U4"),
    "a dict": ({"a": 1}, TypeError, "X is a dict of object"),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_rows(case: str) -> None:
    X, error, words = BAD_ROWS[case]
    m = trained()
    before = m.to_bytes()
    with pytest.raises(error, match=words):
        m.learn(X, Y[:0] if np.size(X) == 0 and np.shape(X)[:1] == (0,) else Y)
    with pytest.raises(error, match=words):
        m.predict(X)
    assert m.to_bytes() == before


BAD_CALLS: dict[str, tuple[str, dict[str, Any], type[Exception], str]] = {
    "no y": ("squared", {}, ValueError, r"this loss reads a target: give y, or use predict\(X\)"),
    "y for a detector": ("novelty", {"y": Y}, ValueError, "this loss reads no target: leave y out"),
    "short y": ("squared", {"y": Y[:9]}, ValueError, "y has 9 rows, X has 10"),
    "long y": ("squared", {"y": np.arange(20.0)}, ValueError, "y has 20 rows, X has 10"),
    "scalar y": (
        "squared",
        {"y": 1.0},
        ValueError,
        "y has 0 dimensions, expected 1, or 2 for several outputs",
    ),
    "deep y": ("squared", {"y": np.zeros((10, 1, 1))}, ValueError, "y has 3 dimensions"),
    "other outputs": (
        "squared",
        {"y": np.zeros((10, 3))},
        ValueError,
        "targets: expected 10, 1 per row, found 30",
    ),
    "no outputs": (
        "squared",
        {"y": np.zeros((10, 0))},
        ValueError,
        "targets: expected 10, 1 per row, found 0",
    ),
    "nan y": (
        "squared",
        {"y": np.where(Y == 3, np.nan, Y)},
        ValueError,
        "row 3 of y: found NaN, expected a finite number; for a row without a target give None in a list, or known=False",
    ),
    "complex y": ("squared", {"y": Y + 1j}, TypeError, "y has dtype complex128, expected numbers"),
    "text y": ("squared", {"y": Y.astype(str)}, TypeError, "y has dtype <U32, expected numbers"),
    "object y": (
        "squared",
        {"y": [*Y[:9], object()]},
        TypeError,
        "row 9: target <object .* of type object, expected numbers",
    ),
    "half a target": (
        "squared",
        {"y": [[1.0, None]] * 10},
        ValueError,
        "row 0: some of its targets are None",
    ),
    "0 and 1": (
        "hinge",
        {"y": Y % 2},
        ValueError,
        r"row 0: target 0, expected -1 or \+1, or .*classes=\[first, second\]",
    ),
    "bytes": (
        "hinge",
        {"y": np.array([b"a"] * 10)},
        TypeError,
        r"y has dtype \|S1, expected -1 and \+1, or classes",
    ),
    "text and signs": ("hinge", {"y": ["a", 1] * 5}, TypeError, "row 1: target 1 of type int, expected"),
    "signs and text": (
        "hinge",
        {"y": np.array([1, "a"] * 5, object)},
        TypeError,
        "row 1: target a of type str, expected",
    ),
    "three of two": (
        "hinge",
        {"y": list("abcabcabca")},
        ValueError,
        r"row 2: target c, expected one of two classes \(a, b\); use max_margin or softmax for more",
    ),
    "half a class": ("softmax", {"y": Y + 0.5}, ValueError, "row 0: target 0.5, expected a class"),
    "nan class": ("softmax", {"y": [1.0, np.nan] * 5}, ValueError, "row 1: target NaN, expected a class"),
    "large class": (
        "softmax",
        {"y": np.full(10, 2**63, np.uint64)},
        ValueError,
        "row 0: class 9223372036854775808, but whole numbers that name classes are from",
    ),
    "larger class": ("softmax", {"y": [10**30] * 10}, ValueError, "row 0: class 10{30}, but whole numbers"),
    "list class": (
        "softmax",
        {"y": np.array([[], *range(9)], object)},
        TypeError,
        "row 0: target .* of type list",
    ),
    "wide classes": (
        "softmax",
        {"y": np.zeros((10, 2), int)},
        ValueError,
        "labels: expected 10, one per row, found 20",
    ),
    "short weights": (
        "squared",
        {"y": Y, "weights": Y[:9]},
        ValueError,
        "weights: expected 10, one per row, found 9",
    ),
    "deep weights": (
        "squared",
        {"y": Y, "weights": Y[:, None]},
        ValueError,
        r"weights has 2 dimension\(s\), expected 1",
    ),
    "negative weight": (
        "squared",
        {"y": Y, "weights": Y - 1},
        ValueError,
        "row 0: weight -1, expected a number from 0 to 1e15",
    ),
    "nan weight": ("squared", {"y": Y, "weights": Y * np.nan}, ValueError, "row 0: weight NaN"),
    "text weights": (
        "squared",
        {"y": Y, "weights": Y.astype(str)},
        TypeError,
        "weights has dtype <U32, expected real",
    ),
    "short ids": ("squared", {"y": Y, "ids": [1, 2]}, ValueError, "ids: expected 10, one per row, found 2"),
    "negative id": (
        "squared",
        {"y": Y, "ids": np.arange(10) - 4},
        ValueError,
        "row 0: id -4, expected a whole number from 0",
    ),
    "float ids": (
        "squared",
        {"y": Y, "ids": Y},
        TypeError,
        "ids has dtype float64, expected whole numbers from 0",
    ),
    "large ids": ("squared", {"y": Y, "ids": [2**70] * 10}, TypeError, "ids has dtype object"),
    "the last id": (
        "squared",
        {"y": Y, "ids": np.full(10, 2**64 - 1, np.uint64)},
        ValueError,
        "row 0: id 18446744073709551615 is reserved",
    ),
    "short known": (
        "squared",
        {"y": Y, "known": [True]},
        ValueError,
        "known: expected 10, one per row, found 1",
    ),
    "short known, None": (
        "squared",
        {"y": [None, *Y[1:]], "known": [True]},
        ValueError,
        "known: expected 10, .* found 1",
    ),
    "int known": (
        "squared",
        {"y": Y, "known": np.ones(10, int)},
        TypeError,
        "known has dtype int64, expected booleans",
    ),
    "unknown": (
        "squared",
        {"y": Y, "sample_weight": Y},
        TypeError,
        "unexpected keyword argument 'sample_weight'",
    ),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_calls(case: str) -> None:
    loss, given, error, words = BAD_CALLS[case]
    m = okl.Learner(loss=loss, kernel="gaussian:1")
    if loss == "squared":
        m.learn(GOOD, Y)
    before = m.to_bytes()
    with pytest.raises(error, match=words):
        m.learn(GOOD, **given)
    with pytest.raises(error, match=words):
        m.learn_report(GOOD, **given)
    assert m.to_bytes() == before
    assert m.learn(GOOD[:1], **({} if loss == "novelty" else {"y": [1.0]})).shape[0] == 1


def recursive() -> dict[str, Any]:
    kernel: dict[str, Any] = {"scaled": {"weight": 1.0}}
    kernel["scaled"]["of"] = kernel
    return kernel


BAD_SETTINGS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"colour": "red"}, ValueError, "colour: no such setting; there are kernel, loss"),
    ({"colour": "red"}, ValueError, "relevance, missing and the parameters of these$"),
    (
        {"loss": "hinges"},
        ValueError,
        'loss: unknown name "hinges"; did you mean hinge\\? choose one of hinge',
    ),
    ({"loss": 3}, ValueError, "loss: expected a name or a table, found 3"),
    ({"loss": object()}, TypeError, "loss: cannot read a object as a setting"),
    ({"loss": b"hinge"}, TypeError, "loss: cannot read a bytes as a setting"),
    (
        {"eta": 0.5},
        ValueError,
        "eta: belongs to `step`, which is not given; say for instance step = constant:eta=0.5",
    ),
    ({"budget": "window", "terms": 1.5}, ValueError, "budget: .*1.5"),
    ({"budget": "window", "terms": 0}, ValueError, "budget: terms must be > 0, found 0"),
    ({"budget": "window", "terms": -3}, ValueError, "budget: .*-3"),
    ({"budget": "window", "terms": 10**30}, ValueError, "terms: 10{30} is too large"),
    ({"lam": -1.0}, ValueError, "lambda: must be a finite number >= 0, found -1"),
    ({"lam": float("nan")}, ValueError, "lambda: expected a finite number, found nan"),
    ({"lam": np.inf}, ValueError, "lambda: expected a finite number, found inf"),
    ({"lam": "much"}, ValueError, "lambda: .*much"),
    ({"kernel": "gaussian", "gamma": 0.0}, ValueError, "kernel: gamma must be a finite number > 0, found 0"),
    ({"kernel": recursive()}, ValueError, "nested more than 32 deep"),
    (
        {"loss": "hinge", "classes": ["a"]},
        ValueError,
        "classes: the loss hinge separates exactly two classes, found 1$",
    ),
    (
        {"loss": "nu_hinge", "classes": ["a", "b", "c"]},
        ValueError,
        "classes: the loss nu_hinge separates exactly two classes, found 3; use max_margin or softmax for more",
    ),
    ({"step": "adaptve"}, ValueError, 'step: unknown name "adaptve"; did you mean smd\\? choose one of'),
    ({"learning_rate": "adaptve"}, ValueError, "learning_rate: no such setting; did you mean `step`\\?"),
    ({"loss": "softmax", "classes": ["a", "a"]}, ValueError, "classes: a class is named twice"),
    ({"loss": "softmax", "classes": [0.5, 1]}, ValueError, "classes: "),
    ({"loss": "squared", "operator": [[1.0, 2.0], [2.0, 1.0]]}, ValueError, "operator: "),
    ({"loss": "squared", "operator": np.zeros((2, 2, 2))}, ValueError, "operator: "),
    ({"loss": "novelty", "offset": True}, ValueError, "offset: a novelty loss cannot have an offset"),
    ({"step": "pegasos", "lam": 0}, ValueError, "step: theorem2 and pegasos divide by lambda"),
    ({"warmup": 10**9}, ValueError, "warmup: must be between 1 and 65536"),
]


@pytest.mark.parametrize("case", BAD_SETTINGS, ids=lambda case: re.sub(r"\W+", " ", str(case[0]))[:40])
def test_settings(case: tuple[dict[str, Any], type[Exception], str]) -> None:
    settings, error, words = case
    with pytest.raises(error, match=words):
        okl.Learner(**settings)
    with pytest.raises(error, match=words):
        okl.Learner(settings)


def test_other_arguments() -> None:
    m = trained()
    for config, found in (("hinge", "the text 'hinge'"), (3, "type int"), ([("loss", "hinge")], "type list")):
        with pytest.raises(TypeError, match=rf'settings by name, as in .*loss="hinge".*found .*{found}'):
            okl.Learner(config)
    two = okl.Learner(loss="squared", kernel="gaussian:1")
    with pytest.raises(ValueError, match="row 1, column 1 of y: found inf"):
        two.learn([[0.0], [1.0]], [[1.0, 2.0], [3.0, np.inf]])
    with pytest.raises(TypeError):
        okl.Learner({1: 2})
    with pytest.raises(TypeError, match="config"):
        okl.Learner({}, config={})
    for features in (-1, 2**40, 2**62):
        with pytest.raises(ValueError, match=f"features: expected 0 to 16777216, found {features}"):
            m.widen(features)
    for threads in (0, -1, 2**40):
        with pytest.raises(ValueError, match=f"threads: expected 1 to 1024, found {threads}"):
            m.threads = threads
    with pytest.raises(TypeError):
        m.widen("many")
    with pytest.raises(AttributeError):
        m.terms = 3
    with pytest.raises(TypeError):
        m.regret_bound("large")
    assert m.regret_bound(float("inf")) in (None, float("inf"))


def test_no_rows_change_nothing() -> None:
    m = trained()
    before = m.to_bytes()
    assert m.learn(GOOD[:0], Y[:0]).shape == (0,)
    assert m.predict(GOOD[:0]).shape == (0,)
    assert m.learn(GOOD[::-1][:0], []).shape == (0,)
    assert m.to_bytes() == before


def test_more_rows_than_memory() -> None:
    X = np.broadcast_to(np.float32(0.5), (10**13, 2))
    with pytest.raises(
        MemoryError, match="no room for the scores of 10000000000000 rows: give fewer at a time"
    ):
        trained().predict(X)
    with pytest.raises(MemoryError, match="no room"):
        okl.Learner(loss="novelty").learn(X)


NUMBERS: dict[str, dict[str, Any]] = {
    "lam": {}, "theta0": {"loss": "nu_hinge"}, "warmup": {}, "warmup_passes": {}, "memory": {}, "gamma": {},
    "offset_step": {"offset": True},
    "degree": {"kernel": "polynomial"}, "coef0": {"kernel": "polynomial"}, "alpha": {"kernel": "rational_quadratic"},
    "margin": {"loss": "hinge"}, "nu": {"loss": "nu_hinge"}, "epsilon": {"loss": "epsilon"},
    "sigma": {"loss": "huber"}, "q": {"loss": "quantile"}, "eta": {"step": "constant"}, "tau": {"step": "decay"},
    "mu": {"step": "smd"}, "decay": {"step": "smd"}, "floor": {"step": "smd"}, "cap": {"step": "smd"},
    "t0": {"step": "pegasos"}, "bound": {"step": "theorem1"}, "radius": {"step": "theorem1"},
    "horizon": {"step": "theorem1"}, "terms": {"budget": "merge"}, "steps": {"budget": "age"},
    "exponent": {"budget": "olok"}, "tolerance": {"budget": "weight"}, "error": {"budget": "certified"},
    "rate": {"average": "exponential"}, "speed": {"loss": "nu_novelty", "threshold": "tracker"},
    "power": {"regulariser": "power"},
}  # fmt: skip
WHOLE = ("warmup", "warmup_passes", "memory", "degree", "horizon", "terms", "steps")


def test_the_settings_that_are_numbers_are_known() -> None:
    """All that `Settings` types as a number; a new one has to join the test below."""
    hints = typing.get_type_hints(Settings).items()
    numbers = {key for key, type in hints if {int, float} & set(typing.get_args(type))}
    assert numbers - {"budget"} == set(NUMBERS)


@pytest.mark.parametrize("setting", NUMBERS)
def test_a_number_of_another_kind_is_refused_in_plain_words(setting: str) -> None:
    """A number that is negative, a fraction where it must be whole, text, a bool, a list, a dict."""
    wrong: list[Any] = ["many", True, [{}], {"a": 1}, float("nan")]
    wrong += [-1, 1.5, -2.5] if setting in WHOLE else [-1]
    for value in wrong:
        with pytest.raises(ValueError) as refused:
            okl.Learner(**{**NUMBERS[setting], setting: value})
        said = str(refused.value)
        assert not re.search(r"usize|u64|u32|f64|invalid|variant|sequence|untagged", said), said
        assert (setting if setting != "lam" else "lambda") in said or "needs horizon" in said, said


def test_a_size_is_answered_with_what_takes_one() -> None:
    for budget in ("merge:10MB", "10MB"):
        with pytest.raises(ValueError, match=r'found "10MB"; how many terms fit .* okl.terms_within'):
            okl.Learner(budget=budget)
    with pytest.raises(ValueError, match="terms must be a whole number of at least 1, found -1"):
        okl.Learner(budget="merge:-1")
    assert okl.Learner(terms=2e3).config["budget"] == {"merge": {"terms": 2000}}


def test_a_regret_bound_is_asked_for_a_norm_and_an_offset_of_at_least_zero() -> None:
    learner = okl.Learner(loss="hinge", kernel="gaussian:1", step="inverse_sqrt:0.5", lam=1e-3)
    learner.learn([[0.0], [1.0]], [1, -1])
    for wrong in (-3.0, float("nan")):
        with pytest.raises(ValueError, match="norm: expected a number >= 0, found"):
            learner.regret_bound(wrong)
        with pytest.raises(ValueError, match="offset: expected a number >= 0, found"):
            learner.regret_bound(1.0, offset=wrong)


def test_a_label_nan_is_named_by_its_own_row_also_if_it_is_the_first() -> None:
    with pytest.raises(TypeError, match="^row 0: target nan"):
        okl.Learner(loss="hinge").learn([[0.0], [1.0]], np.array([np.nan, "a"], dtype=object))


def test_a_label_beyond_double_precision_is_said_to_be_rounded() -> None:
    with pytest.raises(
        ValueError, match=r"target 9007199254740992 \(a number; beyond 2\^53 whole numbers are rounded\)"
    ):
        okl.Learner(loss="hinge").learn([[1.0], [2.0]], [2**53 + 1, 3])
    with pytest.raises(ValueError, match="target 3, expected"):
        okl.Learner(loss="hinge").learn([[1.0], [2.0]], [3, 1])
