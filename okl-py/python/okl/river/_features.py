"""Converts River's dictionaries and frames to rows of numbers, with error messages."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Set
from sys import intern
from typing import TYPE_CHECKING, Any, cast

import narwhals.stable.v2 as nw
import numpy as np
from river.utils import dataframe
from scipy.sparse import csr_matrix

from okl import Learner
from okl._columns import BEYOND, check_collected, said_of, said_of_the_first_beyond
from okl._okl import hash_feature, learn_row, predict_row

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

LARGEST = 1e15
"""The largest feature that the engine takes."""


class Features:
    """The features so far, one column each, in order of appearance; new features of one row are sorted by name.

    There are at most `limit` features; further names are ignored. Rows from before the first feature have one column of
    zeros, which the first feature takes over. A feature that is absent from a row has the value `absent`: 0, or NaN where the
    model fills missing values.
    """

    def __init__(self, limit: int, absent: float = 0.0) -> None:
        self.limit = limit
        self.absent = absent
        self._columns: dict[Hashable, int] = {}

    @property
    def advice(self) -> Mapping[str, str]:
        """What to do about a value that is not a number, by what it is."""
        return ADVICE

    def __len__(self) -> int:
        return len(self._columns)

    def names(self) -> list[Hashable]:
        """The names of all features, in the order of the columns."""
        return list(self._columns)

    def unseen(self, names: Set[Hashable]) -> list[Hashable]:
        """The new names among `names` that would be added, in order; at most as many as `limit` allows."""
        room = self.limit - len(self)
        if room == 0 or names <= self._columns.keys():
            return []
        new: set[Any] = names - self._columns.keys()
        try:
            return sorted(new)[:room]
        except TypeError:  # names of different types cannot be sorted
            return sorted(new, key=lambda name: (type(name).__name__, repr(name)))[:room]

    def ignored(self, names: Set[Hashable]) -> Hashable | None:
        """One of `names` that is ignored because there are `limit` features; None if there is none."""
        if len(self) < self.limit or names <= self._columns.keys():
            return None
        return next(name for name in names if name not in self._columns)

    def with_new(self, names: list[Hashable]) -> Features:
        """These features and then `names`."""
        wider = Features(self.limit, self.absent)
        # Equal names are one object, so that the pickle of a model does not depend on where they came from.
        names = [intern(name) if type(name) is str else name for name in names]
        wider._columns = self._columns | {name: len(self) + i for i, name in enumerate(names)}
        return wider

    def learn(
        self, learner: Learner, x: Mapping[Hashable, Any], y: object = None, weight: float = 1.0
    ) -> None:
        """Learns a row."""
        learn_row(learner, self.row(x), y, weight)

    def predict(self, learner: Learner, x: Mapping[Hashable, Any]) -> list[float]:
        """The scores of a row."""
        return predict_row(learner, self.row(x))

    def row(self, x: Mapping[Hashable, Any]) -> list[Any]:
        """The values of `x` by column; an absent feature is `absent`."""
        get, absent = x.get, self.absent
        return [get(name, absent) for name in self._columns] or [0.0]

    def matrix(self, frame: nw.DataFrame[Any]) -> NDArray[np.float64]:
        """The values of a frame by column; an absent feature is `absent`."""
        names, values = frame.columns, numbers(frame, self.advice)
        if names and names == list(self._columns):
            return values
        matrix = np.full((len(values), max(len(self), 1)), self.absent if len(self) else 0.0)
        known = [i for i, name in enumerate(names) if name in self._columns]
        matrix[:, [self._columns[names[i]] for i in known]] = values[:, known]
        return matrix


class HashedFeatures(Features):
    """Features whose columns are hashes of their names, as those of `okl learn --hash-bits`: a fixed number of columns, whatever names
    occur. Features that share a column add up. Rows are sparse, and an absent feature is 0."""

    def __init__(self, bits: int) -> None:
        super().__init__(limit=0)
        hash_feature("", "", bits)  # refuses wrong numbers of bits
        self.bits = bits

    @property
    def advice(self) -> Mapping[str, str]:
        """What to do about a value that is not a number, by what it is."""
        return ADVICE | {"missing": f"{_FILL}, or {_LEAVE_OUT}"}

    def unseen(self, names: Set[Hashable]) -> list[Hashable]:
        """No name is new."""
        return []

    def ignored(self, names: Set[Hashable]) -> Hashable | None:
        """No name is ignored."""
        return None

    def learn(
        self, learner: Learner, x: Mapping[Hashable, Any], y: object = None, weight: float = 1.0
    ) -> None:
        """Learns a row."""
        values, columns = self._hashed(x)
        learn_row(learner, values, y, weight, (columns, 2**self.bits))

    def predict(self, learner: Learner, x: Mapping[Hashable, Any]) -> list[float]:
        """The scores of a row."""
        values, columns = self._hashed(x)
        return predict_row(learner, values, (columns, 2**self.bits))

    def matrix(self, frame: nw.DataFrame[Any]) -> Any:
        """The values of a frame as a sparse matrix."""
        names = frame.columns
        rows = [
            self._hashed(dict(zip(names, row, strict=True))) for row in numbers(frame, self.advice).tolist()
        ]
        starts = np.cumsum([0] + [len(values) for values, _ in rows])
        values = np.array([value for values, _ in rows for value in values], dtype=np.float64)
        columns = np.array([column for _, columns in rows for column in columns], dtype=np.int64)
        return csr_matrix((values, columns, starts), shape=(len(rows), 2**self.bits))

    def _hashed(self, x: Mapping[Hashable, Any]) -> tuple[list[Any], list[int]]:
        """The values of a row and their columns, which ascend."""
        row: dict[int, Any] = {}
        for name, value in x.items():
            column = hash_feature("", str(name), self.bits)
            row[column] = row[column] + value if column in row else value
        columns = sorted(row)
        return [row[column] for column in columns], columns


def numbers(frame: nw.DataFrame[Any], advice: Mapping[str, str]) -> NDArray[np.float64]:
    """The frame as a matrix of numbers, without reordering its columns."""
    for name, dtype in frame.schema.items():
        if dtype.is_temporal():  # would become a count of nanoseconds
            raise TypeError(f"column {name!r}: found {dtype}, expected numbers; {advice['a date']}")
    try:
        return dataframe.to_numpy(frame)
    except OverflowError:
        raise ValueError(said_of_the_first_beyond(frame.to_native())) from None
    except (TypeError, ValueError):
        for name in frame.columns:
            for row, value in enumerate(frame[name].to_list()):
                if (kind := kind_of(value)) is not None:
                    raise TypeError(
                        f"column {name!r}: found {value!r} in row {row}, expected numbers; {advice[kind]}"
                    ) from None
        raise


def kind_of(value: Any) -> str | None:
    """What a value is that is not a number, as `ADVICE` has it; None for a number."""
    said = said_of(value)
    return None if said is None else said[0] if said[0] in ADVICE else "text"


def check_row(x: Mapping[Hashable, Any], advice: Mapping[str, str]) -> None:
    """Refuses a value that is not a number; the message has the name of the feature."""
    for name, value in x.items():
        try:
            size = math.fabs(value)
        except TypeError:
            said = advice[kind_of(value) or "text"]
            raise TypeError(f"feature {name!r}: found {value!r}, expected a number; {said}") from None
        except OverflowError:  # its digits may be too many to show
            found = f"a whole number {BEYOND}"
            raise ValueError(f"feature {name!r}: found {found}, {expected(LARGEST, advice)}") from None
        if not size <= LARGEST:
            raise ValueError(f"feature {name!r}: found {value!r}, {expected(size, advice)}") from None


def check_frame(frame: nw.DataFrame[Any], advice: Mapping[str, str]) -> None:
    """Refuses a value that is not a number; the message has the row and the column."""
    values = numbers(frame, advice)
    bad = np.argwhere(~(np.abs(values) <= LARGEST))
    if len(bad):
        row, column = bad[0].tolist()
        found = values[row, column]
        raise ValueError(
            f"row {row}, column {frame.columns[column]!r}: found {found}, {expected(found, advice)}"
        ) from None


def expected(found: float, advice: Mapping[str, str]) -> str:
    """What is said of a number that is too large or not finite."""
    if math.isfinite(found):
        said = "rescale this feature"
    else:
        said = advice["missing"] if math.isnan(found) else f"replace it, or {_LEAVE_OUT}"
    return f"expected a finite number below 1e15; {said}"


_SPAN = "make a number of it first in a compose.FuncTransformer, for instance seconds since a first date"
_FILL = "fill it in first, for instance with preprocessing.StatImputer (which fills None and not NaN)"
_LEAVE_OUT = "leave the feature out: an absent feature is 0"
ADVICE = {
    "text": "encode it first, for instance with preprocessing.OneHotEncoder",
    "missing": f"{_FILL}, give missing='mean', or {_LEAVE_OUT}",
    "a date": _SPAN,
    "a time span": _SPAN,
}
"""What to do about a value that is not a number, by what it is."""


def as_frame(X: pd.DataFrame) -> nw.DataFrame[Any]:
    """A data frame of pandas or another library, with a common interface."""
    check_collected("X", X)
    return dataframe.into_frame(X)


def as_list(y: pd.Series[Any]) -> list[Any]:
    """A series as Python's own values."""
    check_collected("y", y)
    return dataframe.into_series(y).to_list()


def as_targets(y: pd.Series[Any], rows: int) -> list[Any]:
    """The targets as a list; their number must be `rows`. They are matched to the rows by position."""
    targets = as_list(y)
    if len(targets) != rows:
        raise ValueError(f"y has {len(targets)} values, X has {rows} rows")
    return targets


def as_number(target: Any) -> float:
    """Converts a target to a number; anything else is an error."""
    try:
        size = math.fabs(target)
    except TypeError:
        raise TypeError(f"target {target!r} is of type {type(target).__name__}, expected a number") from None
    except OverflowError:
        raise ValueError(
            f"the target is a whole number {BEYOND}, expected a finite number; rescale the targets"
        ) from None
    if not math.isfinite(size):
        raise ValueError(f"target {target!r}, expected a finite number; leave the row out")
    return float(target)


def as_weights(w: float | pd.Series[Any], rows: int) -> list[float]:
    """A weight for every row."""
    if isinstance(w, (int, float)):
        return [float(w)] * rows
    weights = as_list(w)
    if len(weights) != rows:
        raise ValueError(f"w has {len(weights)} values, X has {rows} rows")
    return weights


def as_series(values: list[Any], like: nw.DataFrame[Any]) -> pd.Series[Any]:
    """A series of the library of a frame, with its index."""
    return cast("pd.Series[Any]", dataframe.to_native_series(values, name=None, like=like))


def as_table(columns: Mapping[Any, list[Any]], like: nw.DataFrame[Any]) -> pd.DataFrame:
    """A frame of the library of another, with its index."""
    return cast("pd.DataFrame", dataframe.to_native_frame(columns, like=like))
