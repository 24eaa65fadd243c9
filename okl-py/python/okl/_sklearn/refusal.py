"""What is refused changes nothing, and the message names the row of X as it was given."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

Self = TypeVar("Self")
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Method = Callable[Concatenate[Self, Arguments], Result]


def restoring(*errors: type[BaseException]) -> Callable[[Method[Self, Arguments, Result]], Any]:
    """A method after which, if it raises one of these errors, the attributes are what they were before it."""

    def restored(method: Method[Self, Arguments, Result]) -> Method[Self, Arguments, Result]:
        @wraps(method)
        def call(self: Self, /, *args: Arguments.args, **more: Arguments.kwargs) -> Result:
            before = dict(vars(self))
            try:
                return method(self, *args, **more)
            except errors:
                vars(self).clear()
                vars(self).update(before)
                raise

        return call

    return restored


@contextmanager
def rows_named(places: Any) -> Iterator[None]:
    """Errors name rows of the caller's: what is row i inside is row `places[i]` outside."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(with_places(str(error), places)) from None


def with_places(message: str, places: Any) -> str:
    """The message with row `places[i]` for row i."""

    def placed(found: re.Match[str]) -> str:
        row = int(found[1])
        return f"row {places[row]}" if row < len(places) else found[0]

    return re.sub(r"\brow (\d+)", placed, message)


def kept_rows(weights: np.ndarray | None, rows: int) -> np.ndarray:
    """The places of the rows that `without_zeros` keeps."""
    return np.arange(rows) if weights is None else np.flatnonzero(weights)
