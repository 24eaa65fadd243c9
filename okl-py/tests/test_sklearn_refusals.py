"""A call that is refused leaves an estimator as it was, and says which row of X is to blame."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from okl import KernelClassifier, KernelRegressor, Learner, NoveltyDetector

X = np.random.default_rng(3).normal(size=(200, 2))
LABELS = np.where(X[:, 0] > 0, "a", "b")
ESTIMATORS = {
    "classifier": (KernelClassifier, LABELS),
    "regressor": (KernelRegressor, X[:, 0]),
    "detector": (NoveltyDetector, None),
}


def changed(values: np.ndarray, place: Any, value: Any) -> np.ndarray:
    values = values.copy()
    values[place] = value
    return values


def with_label(y: Any, row: int, value: Any) -> np.ndarray:
    """Targets of which one cannot be learned; others than before, so that a trace would be seen."""
    objects = np.array(["c" if label == "a" else "d" for label in y], dtype=object)
    objects[row] = value
    return objects


REFUSED = {
    "nan": lambda y: (changed(X, (3, 1), np.nan), y),
    "huge": lambda y: (changed(X, (3, 1), 1e300), y),
    "huge and wider": lambda y: (np.column_stack([changed(X, (3, 1), 1e300), X[:, 0]]), y),
    "too few targets": lambda y: (X, y[:-1]),
    "one class": lambda y: (X, np.full(len(X), "a")),
    "bad label": lambda y: (X, with_label(y, 3, None)),
    "infinite target": lambda y: (X, changed(y, 3, np.inf)),
}
"""Ways to be refused, as rows and targets."""

WAYS = {
    "classifier": ("nan", "huge", "huge and wider", "too few targets", "one class", "bad label"),
    "regressor": ("nan", "huge", "huge and wider", "too few targets", "infinite target"),
    "detector": ("nan", "huge", "huge and wider"),
}
CASES = [(name, way) for name, ways in WAYS.items() for way in ways]


def state(estimator: Any) -> dict[str, Any]:
    """All attributes in a form that can be compared; a warm-up by what it has gathered."""
    found = {}
    for name, value in vars(estimator).items():
        if isinstance(value, Learner):
            value = value.to_bytes()
        elif hasattr(value, "parts"):
            value = (value.count, len(value.parts))
        found[name] = value.tolist() if isinstance(value, np.ndarray) else value
    return found


@pytest.mark.parametrize(("name", "way"), CASES)
@pytest.mark.parametrize("warm_start", [False, True])
def test_a_refused_fit_changes_nothing(name: str, way: str, warm_start: bool) -> None:
    if (way, warm_start) == ("one class", True):
        pytest.skip("a fit that goes on has both classes already")
    kind, y = ESTIMATORS[name]
    estimator = kind(max_iter=1, gamma=1.0, learning_rate="constant", alpha=1e-3, warm_start=warm_start)
    estimator.fit(X, y)
    before, predicted = state(estimator), estimator.predict(X)
    rows, targets = REFUSED[way](y)
    with pytest.raises((TypeError, ValueError)):
        estimator.fit(rows, targets)
    assert state(estimator) == before
    assert np.array_equal(estimator.predict(X), predicted)


@pytest.mark.parametrize(("name", "way"), CASES)
@pytest.mark.parametrize("learned", [0, 50])
def test_a_refused_partial_fit_changes_nothing(name: str, way: str, learned: int) -> None:
    if way == "one class":
        pytest.skip("a stream may begin with one class")
    kind, y = ESTIMATORS[name]
    estimator = kind(gamma=1.0, learning_rate="constant", alpha=1e-3)
    if learned:
        estimator.partial_fit(X[:learned], None if y is None else y[:learned])
    before = state(estimator)
    rows, targets = REFUSED[way](y)
    with pytest.raises((TypeError, ValueError)):
        estimator.partial_fit(rows, targets)
    assert state(estimator) == before


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("settings", [{}, {"gamma": 1.0, "learning_rate": "constant", "alpha": 1e-3}])
def test_a_refusal_names_the_row_of_x(name: str, settings: dict[str, Any]) -> None:
    kind, y = ESTIMATORS[name]
    weights = changed(np.ones(len(X)), [0, 1], 0.0)  # two rows before it are left out
    for weights_given in (None, weights):
        with pytest.raises(ValueError, match="^row 3, column 1: found 1e300"):
            kind(random_state=0, **settings).fit(changed(X, (3, 1), 1e300), y, sample_weight=weights_given)


def test_text_in_x_is_named_by_its_column() -> None:
    frame = pd.DataFrame({"size": [1.0, 2.0, 3.0], "city": [1, "Rome", "Oslo"]})
    for learn in (KernelClassifier().fit, KernelRegressor().partial_fit, NoveltyDetector().fit):
        with pytest.raises(ValueError, match=r"^column 'city': found 'Rome' \(text\) in row 1"):
            learn(frame, [0, 1, 0])
        with pytest.raises(ValueError, match=r"^column 1: found 'Rome' \(text\) in row 1"):
            learn(frame.to_numpy(), [0, 1, 0])


def test_targets_that_cannot_be_learned_are_named_by_their_row():
    X = np.arange(4.0)[:, None]
    for y, words in {
        ("a", "b", None, "a"): "row 2 of y: found None, expected a target; leave the row out",
        ("a", "b", 3, "a"): "row 2 of y: found 3 of type int, but row 0 has 'a' of type str",
    }.items():
        with pytest.raises(ValueError, match=words):
            KernelClassifier().fit(X, np.array(y, dtype=object))
        with pytest.raises(ValueError, match=words):
            KernelClassifier().partial_fit(X, np.array(y, dtype=object))
    for y in (["a", None, "b", "a"], [None, "a", "b", "a"]):
        with pytest.raises(
            ValueError, match=f"row {y.index(None)} of y: found nan, expected a target; leave the row out"
        ):
            KernelClassifier().partial_fit(X, pd.Series(y, dtype="category"))
    for y, words in {
        (
            "low",
            "high",
            "low",
            "low",
        ): r"row 0 of y: found 'low' \(text\), expected a number; KernelClassifier",
        (1.0, 2.0, 3.0, None): "row 3 of y: found no finite number, expected a target",
    }.items():
        with pytest.raises(ValueError, match=words):
            KernelRegressor().fit(X, np.array(y, dtype=object))


def test_columns_that_are_not_numbers_are_named():
    frame = pd.DataFrame({"x": [0.0, 1.0], "more": [1.0, 2.0]})
    for column, words in (
        (["1.5", "red"], "found '1.5' \\(text\\) in row 0.*astype"),
        ([1.5, "red"], "found 'red' \\(text\\) in row 1"),
        (pd.to_timedelta([1, 2], unit="D"), "found .* \\(a time span\\) in row 0"),
        (pd.to_datetime(["2026-01-01", "2026-01-02"]), "found 2026-01-01.* \\(a date\\) in row 0"),
        (pd.period_range("2026", periods=2, freq="D"), "found 2026-01-01 \\(a date\\) in row 0"),
    ):
        for learn in (KernelRegressor().fit, Learner(loss="squared").learn):
            with pytest.raises((TypeError, ValueError), match=f"column 'more': {words}"):
                learn(frame.assign(more=column), [1.0, 2.0])


DATES = np.arange("2020-01-01", "2020-02-10", dtype="datetime64[D]")[:, None]
OBJECTS = np.empty((40, 1), dtype=object)
OBJECTS[:, 0] = list(DATES[:, 0])


@pytest.mark.parametrize("method", ["fit", "partial_fit", "predict"])
@pytest.mark.parametrize(
    "dates",
    [
        DATES,
        DATES - DATES[0],
        DATES.astype("M8[s]"),
        list(DATES),
        OBJECTS,
        pd.DataFrame({"when": DATES[:, 0]}),
    ],
    ids=["dates", "spans", "seconds", "list", "objects", "frame"],
)
def test_dates_are_refused(dates, method):
    """numpy takes them for whole numbers in whatever unit they have."""
    model = KernelClassifier().partial_fit(np.eye(4)[:, :1], [0, 1, 0, 1])
    targets = () if method == "predict" else (np.arange(40) % 2,)
    with pytest.raises(TypeError, match=r"column .*: found .* \(a (date|time span)\) in row 0, expected num"):
        getattr(model, method)(dates, *targets)


@pytest.mark.parametrize(
    ("first", "then"),
    [([1, 2], ["a"]), ([1, 2], np.array(["a"], dtype=object)), (["a", "b"], [3]), (["a", "b"], [True])],
)
def test_labels_of_another_type_are_refused(first, then):
    model = KernelClassifier().partial_fit(np.eye(2), first)
    before = model.learner_.to_bytes()
    with pytest.raises(
        ValueError, match=r"row 0 of y: found .*, but the classes so far are .*: give labels of"
    ):
        model.partial_fit(np.eye(2)[:1], then)
    assert model.learner_.to_bytes() == before and model.classes_.tolist() == first


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    "given",
    [
        {"nu": 0.3},
        {"loss": {"density": {"nu": 0.3}}},
        {"loss": "nu_novelty:0.3"},
        {"loss": "density", "nu": 0.3},
    ],
)
def test_a_second_nu_of_a_detector_is_refused(given, method):
    """`fit` took the quantile of one nu, and the learner tracked the other."""
    with pytest.raises(ValueError, match=r"has nu = 0\.3, but the nu of the detector is 0\.1"):
        getattr(NoveltyDetector(nu=0.1, learner_params=given), method)(X)
    detector = getattr(NoveltyDetector(nu=0.3, learner_params=given), method)(X)
    (found,) = detector.learner_.config["loss"].values()
    assert found["nu"] == 0.3
