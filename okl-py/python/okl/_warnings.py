"""Warnings at the line of the user's code, in the words of the interface that the user calls."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

PACKAGES = ("okl", "sklearn", "river", "joblib")
"""Frames of these packages lie between the user's line and the warning."""

WORDS = {
    "okl._sklearn": {
        "(see health())": "(see learner_.health())",
        "set scale to standard": "set scale='standard'",
        "choose a smaller step": "choose learning_rate='constant' with a smaller eta0",
    },
    "okl.river": {
        "(see health())": "(see learner.health())",
        "shuffle the rows if they are a fixed set, or compare": "compare",
        "set scale to standard": "set scale='standard'",
        "choose a smaller step": "choose step='constant' with a smaller eta",
    },
}
"""What the engine's advice is in the parameters of the estimators."""


Reworded = Callable[[str], str]
"""Nothing is said where the words are empty."""

REWORDED: ContextVar[Reworded | None] = ContextVar("REWORDED", default=None)


@contextmanager
def reworded(how: Reworded) -> Iterator[None]:
    """Rewords the warnings of the learner: a caller that learns rows several times knows more than the learner, which counts examples."""
    token = REWORDED.set(how)
    try:
        yield
    finally:
        REWORDED.reset(token)


def warn_of_health(text: str) -> None:
    """Warns with `okl.HealthWarning`."""
    from okl import HealthWarning

    how = REWORDED.get()
    if said := text if how is None else how(text):
        warn(said, HealthWarning)


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warns at the first line outside of okl and of the packages that call okl for the user."""
    words: dict[str, str] = {}
    level, frame = 1, sys._getframe(0)
    while is_inside(frame):
        words = WORDS.get(".".join(module(frame).split(".")[:2]), words)
        if frame.f_back is None:
            break
        level, frame = level + 1, frame.f_back
    for engine, estimator in words.items():
        text = text.replace(engine, estimator)
    warnings.warn(text, category, stacklevel=level)


def module(frame: FrameType) -> str:
    """The name of the module that the frame runs."""
    return str(frame.f_globals.get("__name__", ""))


def is_inside(frame: FrameType) -> bool:
    """Whether the frame runs a package that stands between the user and the engine."""
    return module(frame).partition(".")[0] in PACKAGES
