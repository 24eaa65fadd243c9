"""Checks of rows, targets and weights: which row and column, what was found, what to do."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data as sklearn_validate_data

from okl._columns import (
    AS_PARTS,
    FILL_MASKED,
    READ_TARGETS,
    SECONDS,
    check_collected,
    check_dates,
    check_unmasked,
    is_arrow,
    is_complex,
    is_missing,
    is_number,
    refusals,
    said_of,
)
from okl._own_kernel import refuse_own_kernel


def validate_data(estimator: Any, X: Any, y: Any = "no_validation", **more: Any) -> Any:
    """scikit-learn's checks of rows and targets, after checks of the kernel and for lazy frames and masked arrays."""
    refuse_own_kernel(estimator.kernel)
    if isinstance(estimator.learner_params, Mapping):
        refuse_own_kernel(estimator.learner_params.get("kernel"))
    for name, values in (("X", X), ("y", y)):
        check_collected(name, values)
        check_unmasked(name, values, FILL_MASKED if name == "y" else None)
    check_dates(X)
    check_no_dates(X)
    try:
        if not issparse(X) and estimator._fills():
            more["ensure_all_finite"] = "allow-nan"
        return sklearn_validate_data(estimator, X, y, accept_sparse="csr", **more)
    except (TypeError, ValueError) as error:
        for words in () if issparse(X) else refusals(X):
            reason = str(error).partition("\n")[0]  # as scikit-learn's own estimators have it
            raise type(error)(f"{words} ({reason})") from None
        check_targets(y, "y_numeric" in more)
        first = str(error).partition("\n")[
            0
        ]  # what follows is advice of scikit-learn to use another estimator
        if first == "Input X contains NaN.":
            advice = "Sparse matrices are not filled." if issparse(X) else "Give missing='mean', for example."
            raise ValueError(f"{first} {advice}") from None
        raise


class ScoresUnmasked:
    """`score` of scikit-learn, after a check for masked arrays, which its metrics take without their masks."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of correct labels of a classifier, the coefficient of determination R² of a regressor.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        check_unmasked("y", y, FILL_MASKED)
        check_unmasked("sample_weight", sample_weight)
        found: float = super().score(X, y, sample_weight=sample_weight)  # type: ignore[misc]
        return found


def check_no_dates(X: Any) -> None:
    """Refuses dates and time spans, which numpy would take for whole numbers in the unit that they happen to have."""
    if any(kind in "mM" for kind in kinds_of(X)):
        for words in refusals(X):
            raise TypeError(words)


def kinds_of(X: Any) -> list[str]:
    """numpy's letters of the types of a frame, an array, its objects, or the first value of nested lists."""
    if is_arrow(X):
        return [np.asarray(X).dtype.kind]
    while isinstance(X, (list, tuple)) and len(X) > 0:
        X = X[0]
    if isinstance(X, np.ndarray) and X.dtype == object:
        types = [getattr(value, "dtype", None) for value in X.flat]
    else:
        types = list(X.dtypes) if hasattr(X, "columns") else [getattr(X, "dtype", None)]
    return [getattr(kind, "kind", "O") for kind in types]


LARGEST_LABEL = 2**63 - 1
"""The largest whole number that names a class. The engine stores whole numbers in 64 bits with a sign."""


def check_labels(name: str, labels: np.ndarray) -> None:
    """Refuses numbers that are too large to name a class."""
    if labels.dtype.kind in "uf" and (beyond := np.flatnonzero(labels >= LARGEST_LABEL + 1)).size:
        where = f"row {beyond[0]} of y" if name == "y" else name
        raise ValueError(
            f"{where}: found the label {labels[beyond[0]]}, but the largest whole number that can be a label is {LARGEST_LABEL}: "
            f"give labels as text, for instance with {name}.astype(str)"
        )


def check_targets(y: Any, numeric: bool) -> None:
    """Refuses a target that is missing, of another type than the first, or text where numbers are expected."""
    values = np.asarray(y, dtype=object)
    for row, value in enumerate(values if values.ndim == 1 else ()):
        if is_missing(value) or (isinstance(value, float) and math.isnan(value)):
            raise ValueError(f"row {row} of y: found {value}, expected a target; leave the row out") from None
        if numeric and (words := said_of(value)) is not None and words[1] == SECONDS:
            raise ValueError(
                f"row {row} of y: found {value} ({words[0]}), expected a number; {SECONDS}"
            ) from None
        if numeric and isinstance(value, str):
            number = f"{READ_TARGETS}; " if is_number(value) else ""
            raise ValueError(
                f"row {row} of y: found {value!r} (text), expected a number; {number}KernelClassifier learns classes"
            ) from None
        if numeric and is_complex(value):
            raise ValueError(
                f"row {row} of y: found {value} (complex), expected a number; {AS_PARTS}"
            ) from None
        if isinstance(value, str) != isinstance(values[0], str):
            raise ValueError(
                f"row {row} of y: found {value!r} of type {type(value).__name__}, but row 0 has {values[0]!r} of "
                f"type {type(values[0]).__name__}: give labels of one type"
            ) from None


def check_class_weight(class_weight: Any) -> None:
    """Refuses a weight of a class that is no number from 0 on."""
    for label, weight in class_weight.items() if isinstance(class_weight, Mapping) else ():
        if not isinstance(weight, Real) or not 0 <= float(weight) < math.inf:
            raise ValueError(
                f"class_weight: class {label!r} has the weight {weight!r}, expected a number >= 0"
            )


def check_weights(sample_weight: Any, rows: int, some: bool = False) -> np.ndarray | None:
    """Example weights as an array; None (all weights 1) stays None. `some`: at least one weight must be above 0."""
    if sample_weight is None:
        return None
    check_collected("sample_weight", sample_weight)
    check_unmasked("sample_weight", sample_weight)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(rows, sample_weight)
    weights = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.shape != (rows,):
        raise ValueError(
            f"sample_weight must have one weight per row, shape ({rows},), found shape {weights.shape}"
        )
    if weights.min() < 0:
        raise ValueError(
            f"sample_weight must not be negative, found {weights.min()} in row {weights.argmin()}"
        )
    if some and not weights.any():
        raise ValueError("sample_weight is zero for every row: at least one weight must not be zero")
    return weights


def without_zeros(weights: np.ndarray | None, *arrays: np.ndarray) -> tuple[Any, ...]:
    """The weights and arrays without the rows of weight 0, which are not learned."""
    if weights is None or weights.all():
        return weights, *arrays
    kept = weights > 0
    return weights[kept], *(array[kept] for array in arrays)
