"""After an error the estimator is unchanged, and the message has the row of X as the caller passed it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from okl._interrupts import forget

Self = TypeVar("Self")
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Method = Callable[Concatenate[Self, Arguments], Result]


def restoring(*errors: type[BaseException]) -> Callable[[Method[Self, Arguments, Result]], Any]:
    """Decorates a method so that the attributes are restored if it raises one of these errors."""

    def restored(method: Method[Self, Arguments, Result]) -> Method[Self, Arguments, Result]:
        @wraps(method)
        def call(self: Self, /, *args: Arguments.args, **more: Arguments.kwargs) -> Result:
            before = dict(vars(self))
            try:
                return method(self, *args, **more)
            except errors as error:
                vars(self).clear()
                vars(self).update(before)
                if isinstance(error, KeyboardInterrupt):
                    forget(
                        error,
                        f"okl: {method.__name__} was interrupted, and the estimator is as it was before",
                    )
                if type(error) is ValueError and (said := in_parameters(str(error))) != str(error):
                    raise ValueError(said) from None
                raise

        return call

    return restored


SETTINGS = {
    "set anchor = none": "give learner_params={'anchor': 'none'}",
    "set scale = none and anchor = none": "give scale=None and learner_params={'anchor': 'none'}",
    "set scale = none": "give scale=None",
}
"""What the engine's advice is in the parameters of the estimators."""


def in_parameters(message: str) -> str:
    """The message with the advice in the parameters of the estimators."""
    for advice in sorted(SETTINGS, key=len, reverse=True):
        if advice in message:
            return message.replace(advice, SETTINGS[advice])
    return message


@contextmanager
def rows_named(places: Any) -> Iterator[None]:
    """Translates row numbers in errors: row i of the engine is row `places[i]` of the caller."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(with_places(str(error), places)) from None


def with_places(message: str, places: Any) -> str:
    """The message with row i replaced by row `places[i]`."""

    def placed(found: re.Match[str]) -> str:
        row = int(found[1])
        return f"row {places[row]}" if row < len(places) else found[0]

    return re.sub(r"\brow (\d+)", placed, message)


def kept_rows(weights: np.ndarray | None, rows: int) -> np.ndarray:
    """The indices of the rows that `without_zeros` keeps."""
    return np.arange(rows) if weights is None else np.flatnonzero(weights)
