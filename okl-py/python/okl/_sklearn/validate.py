"""Checks of rows, targets and weights: which row and column, what was found, what to do."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data as sklearn_validate_data

from okl._columns import SECONDS, check_collected, check_dates, is_arrow, is_missing, refusals, said_of
from okl._own_kernel import refuse_own_kernel


def validate_data(estimator: Any, X: Any, y: Any = "no_validation", **more: Any) -> Any:
    """scikit-learn's checks of rows and targets, after checks of the kernel and for lazy frames and masked arrays."""
    refuse_own_kernel(estimator.kernel)
    if isinstance(estimator.learner_params, Mapping):
        refuse_own_kernel(estimator.learner_params.get("kernel"))
    for name, values in (("X", X), ("y", y)):
        check_collected(name, values)
        check_unmasked(name, values)
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
        first, line, rest = str(error).partition("\n")
        if first == "Input X contains NaN." and not issparse(X):
            raise ValueError(f"{first} Give missing='mean', for example.{line}{rest}") from None
        raise


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


def check_targets(y: Any, numeric: bool) -> None:
    """Refuses a target that is missing, of another type than the first, or text where numbers are expected."""
    values = np.asarray(y, dtype=object)
    for row, value in enumerate(values if values.ndim == 1 else ()):
        if is_missing(value):
            raise ValueError(f"row {row} of y: found {value}, expected a target; leave the row out") from None
        if numeric and (words := said_of(value)) is not None and words[1] == SECONDS:
            raise ValueError(
                f"row {row} of y: found {value} ({words[0]}), expected a number; {SECONDS}"
            ) from None
        if numeric and isinstance(value, str):
            raise ValueError(
                f"row {row} of y: found {value!r} (text), expected a number; KernelClassifier learns classes"
            ) from None
        if isinstance(value, str) != isinstance(values[0], str):
            raise ValueError(
                f"row {row} of y: found {value!r} of type {type(value).__name__}, but row 0 has {values[0]!r} of "
                f"type {type(values[0]).__name__}: give labels of one type"
            ) from None


def check_unmasked(name: str, values: Any) -> None:
    """Refuses an array with masked values: the numbers under the mask are arbitrary."""
    if np.ma.is_masked(values):
        place = np.argwhere(np.ma.getmaskarray(values))[0].tolist()
        where = f"row {place[0]}" + (f", column {place[1]}" if len(place) > 1 else "")
        imputer = "sklearn.impute.SimpleImputer or " if name == "X" else ""
        raise ValueError(
            f"{name} has masked values, the first in {where}: fill them in first, for instance with "
            f"{imputer}numpy.ma.filled, or leave these rows out"
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
