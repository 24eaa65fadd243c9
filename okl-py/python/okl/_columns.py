"""Rows that numpy does not see as numbers: which column and which row, what was found, what to do."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Complex, Real
from typing import Any

import numpy as np

ENCODE = "encode it first, for instance with pandas.get_dummies or sklearn.preprocessing.OneHotEncoder"
SECONDS = "convert it to numbers first, for instance to seconds since a first date"
AS_PARTS = "give the real and the imaginary part as columns of their own, or absolute values"
READ_TARGETS = "convert y to numbers first, for instance with y.astype(float)"
READ = "convert it first, for instance with X.astype(float)"
FILL = "fill it in first, or leave the row out"


def check_collected(name: str, values: Any) -> None:
    """Refuses polars' LazyFrame, which has no rows until it is collected."""
    if type(values).__name__ == "LazyFrame":
        raise TypeError(f"{name} is a LazyFrame, which has no rows yet: use {name}.collect()")


FILL_MASKED = "fill them in first, or leave these rows out"
MASKED = {
    "X": "fill them in first, for instance with X.filled(numpy.nan) and missing='mean', or leave these rows out",
    "y": "leave these rows out, or give known=~numpy.ma.getmaskarray(y)",
}
"""What `Learner` advises for arguments with masked values."""


def check_unmasked(name: str, values: Any, advice: str | None = None) -> None:
    """Refuses masked values: a plain array would have the arbitrary numbers under the mask."""
    if (place := first_masked(values)) is not None:
        where = ", ".join(f"{axis} {at}" for axis, at in zip(("row", "column"), place, strict=False))
        advice = MASKED.get(name, FILL_MASKED) if advice is None else advice
        raise ValueError(f"{name} has masked values, the first in {where}: {advice}")


def first_masked(values: Any) -> list[int] | None:
    """Row and column of the first masked value of an array, or of a list of arrays; None if there is none."""
    if np.ma.is_masked(values):
        place: list[int] = np.argwhere(np.ma.getmaskarray(values))[0].tolist()
        return place
    for row, value in enumerate(values if isinstance(values, (list, tuple)) else ()):
        if isinstance(value, np.ma.MaskedArray) and (place_in_row := first_masked(value)) is not None:
            return [row, *place_in_row]
    return None


def numbers(X: Any, fills: bool = False) -> np.ndarray:
    """A matrix of objects that are numbers, as float64. With `fills`, a value that is missing is NaN.

    Raises
    ------
    TypeError
        If a value is not a number, with its column and row.
    ValueError
        If a whole number is too large for a float, with its column and row.
    """
    for words in refusals(X, fills):
        raise TypeError(words)
    try:
        return as_matrix(X, fills)
    except OverflowError:
        raise ValueError(said_of_the_first_beyond(X)) from None


def as_matrix(X: Any, fills: bool) -> np.ndarray:
    """A matrix of objects that are all numbers, as float64."""
    if fills:
        found = [[np.nan if is_missing(value) else value for value in values] for _, values in columns(X)]
        return np.column_stack([np.asarray(values, dtype=np.float64) for values in found])
    if is_arrow(X):
        return np.column_stack([np.asarray(values, dtype=np.float64) for _, values in columns(X)])
    return np.asarray(np.asarray(X, dtype=object), dtype=np.float64)


def as_numbers(X: Any) -> Any:
    """A table of pyarrow as a matrix; any other frame as it is.

    Raises
    ------
    TypeError
        If a column is not numbers: of any table of pyarrow, and the dates of polars, which numpy would take for numbers.
    """
    check_dates(X)
    if not is_arrow(X):
        return X
    matrices = [np.asarray(column) for column in X.columns]
    if all(values.dtype.kind in "fiub" for values in matrices):
        return np.column_stack(matrices) if matrices else np.empty((X.num_rows, 0))
    return numbers(X)


def check_dates(X: Any) -> None:
    """Refuses dates, times and time spans of polars, which numpy takes for numbers beside a column of numbers."""
    types = getattr(X, "dtypes", None) if type(X).__module__.startswith("polars.") else None
    if types is not None and any(kind.is_temporal() for kind in types):
        for words in refusals(X):
            raise TypeError(words)


def with_none(y: Any, known: list[bool] | None = None) -> Any:
    """The targets as they are, or, if some are missing in a column that can say so, a list with None in their places.

    numpy has NaN for the nulls of polars, of pyarrow and of the extension types of pandas. A masked array is a plain one if `known` says of
    every row with a masked value that it has no target.
    """
    if known is not None and isinstance(y, np.ma.MaskedArray) and len(known) == len(y):
        masked = np.ma.getmaskarray(y).reshape(len(y), -1).any(axis=1)
        return y if np.logical_and(masked, known).any() else y.data
    package, kind = type(y).__module__.partition(".")[0], type(y).__name__
    if package == "polars" and kind == "Series" and y.null_count():
        return as_objects(y.to_list())
    if package == "pyarrow" and getattr(y, "null_count", False):
        return as_objects(y.to_pylist())
    dtype = getattr(y, "dtype", None)
    extension = package == "pandas" and dtype is not None and not isinstance(dtype, np.dtype)
    if extension and np.any(y.isna()):
        return as_objects([None if missing else value for value, missing in zip(y, y.isna(), strict=True)])
    return y


def is_arrow(X: Any) -> bool:
    """Whether X is a table of pyarrow, whose attribute `columns` has the columns and not their names."""
    return type(X).__module__.startswith("pyarrow.") and hasattr(X, "column_names")


def as_objects(values: list[Any]) -> np.ndarray:
    """A list as an array of objects of one dimension."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def refusals(X: Any, fills: bool = False) -> Iterator[str]:
    """What is said of each column that is not numbers: its first such value. With `fills`, it may be missing."""
    for name, values in columns(X):
        for row, value in enumerate(values):
            if fills and is_missing(value):
                continue
            if (words := said_of(value)) is not None:
                kind, advice = words
                found = repr(value) if isinstance(value, (str, bytes)) else str(value)
                yield f"column {name!r}: found {found} ({kind}) in row {row}, expected numbers; {advice}"
                break


def columns(X: Any) -> Iterator[tuple[Any, list[Any]]]:
    """The columns with their names, or numbers; their values as Python's own objects."""
    if is_arrow(X):
        yield from ((name, objects(column)) for name, column in zip(X.column_names, X.columns, strict=True))
        return
    names = getattr(X, "columns", None)
    if names is not None and hasattr(X, "__getitem__") and len(set(names)) == len(list(names)):
        for name in names:
            yield name, objects(X[name])
        return
    matrix = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
    for number, column in enumerate(matrix.T if matrix.ndim == 2 else ()):
        yield number, objects(column)


def said_of_the_first_beyond(X: Any) -> str:
    """Column and row of the first number that is too large for a float. Its digits may be too many to show."""
    places = (
        (name, row) for name, values in columns(X) for row, value in enumerate(values) if is_beyond(value)
    )
    where = next(
        (f"column {name!r}: found a whole number {BEYOND} in row {row}" for name, row in places), None
    )
    return (
        f"{where or f'X has a whole number {BEYOND}'}, expected a finite number below 1e15; rescale it first"
    )


BEYOND = "beyond 1e308"
"""What is said of a whole number that no float holds."""


def is_beyond(value: Any) -> bool:
    """Whether the value is a number that is too large for a float."""
    try:
        float(value)
    except OverflowError:
        return True
    except (TypeError, ValueError):
        pass
    return False


def objects(column: Any) -> list[Any]:
    """A column as a list; numpy's dates stay dates."""
    values = np.asarray(column)
    return list(values) if values.dtype.kind in "mM" else values.astype(object).tolist()


def said_of(value: Any) -> tuple[str, str] | None:
    """What a value is that is not a number, and what to do about it; None for a number."""
    if isinstance(value, np.timedelta64) or hasattr(value, "total_seconds"):
        return "a time span", SECONDS
    if isinstance(value, (Real, np.bool_)):
        return None
    if isinstance(value, (str, bytes)):
        return "text", READ if is_number(value) else ENCODE
    if is_missing(value):
        return "missing", FILL
    if isinstance(value, np.datetime64) or hasattr(value, "isoformat") or hasattr(value, "to_timestamp"):
        return "a date", SECONDS
    if is_complex(value):
        return "complex", AS_PARTS
    return None if is_number(value) else (f"of type {type(value).__name__}", ENCODE)


def is_complex(value: Any) -> bool:
    """Whether the value is a complex number, also one whose imaginary part is 0."""
    return isinstance(value, Complex) and not isinstance(value, Real)


def is_missing(value: Any) -> bool:
    """Whether the value says that there is none: None, or what pandas has for it."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def is_number(value: Any) -> bool:
    """Whether Python can read the value as a number."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    except OverflowError:
        return True
    return True
