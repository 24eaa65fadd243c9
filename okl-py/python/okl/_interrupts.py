"""How many rows have been learned when Ctrl-C ends a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def rows_counted(of_caller: Callable[[int], int], rows: int) -> Iterator[None]:
    """Translates `rows_learned` of an interrupted call to the first `of_caller(rows_learned)` of the caller's `rows`."""
    try:
        yield
    except KeyboardInterrupt as stop:
        if (learned := getattr(stop, "rows_learned", None)) is not None:
            count(stop, of_caller(learned), rows)
        raise


@contextmanager
def nothing_learned(rows: int) -> Iterator[None]:
    """For a call whose rows are not kept if it is interrupted, because a copy of the model learns them."""
    with rows_counted(lambda _: 0, rows):
        yield


def count(stop: KeyboardInterrupt, learned: int, rows: int) -> None:
    """Sets the attribute `rows_learned` and the note, which the traceback shows."""
    stop.rows_learned = learned  # type: ignore[attr-defined]
    say(stop, f"okl: the first {learned} of {rows} rows have been learned")


def forget(stop: KeyboardInterrupt, note: str) -> None:
    """For a call of which nothing is kept."""
    stop.rows_learned = 0  # type: ignore[attr-defined]
    say(stop, note)


def say(stop: KeyboardInterrupt, note: str) -> None:
    """Replaces the note of the engine."""
    others = [note for note in getattr(stop, "__notes__", ()) if not note.startswith("okl: ")]
    stop.__notes__ = [*others, note]
