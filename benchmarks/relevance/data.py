"""The rows of a set: a table of floats and the targets."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from nothing_set.streams import Example, as_numbers, by_appearance, of_frame
from numpy.typing import NDArray

Array = NDArray[Any]


class Set(NamedTuple):
    name: str
    task: str
    rows: int
    """At most; the first of them after shuffling."""
    ordered: bool = False
    """Whether the file's order is a stream of its own, run as seed 0."""
    file: str = ""
    target: str = ""
    without: tuple[str, ...] = ()
    generator: str = ""
    noise: int = 0
    """Columns of uniform noise in [0, 1] appended to what the generator gives."""


SETS = [
    Set("parkinsons", "numbers", 5875, file="parkinsons", target="total_UPDRS", without=("motor_UPDRS",)),
    Set(
        "parkinsons without the subject",
        "numbers",
        5875,
        file="parkinsons",
        target="total_UPDRS",
        without=("motor_UPDRS", "subject#"),
    ),
    Set("wine_white", "numbers", 4898, file="wine_white", target="quality"),
    Set("covtype", "classes", 20000, file="covtype", target="Cover_Type"),
    Set("weather", "classes", 18159, ordered=True, file="weather", target="target"),
    Set("elec2", "classes", 20000, ordered=True, file="elec2", target="class"),
    Set("ijcnn1", "classes", 20000, file="ijcnn1"),
    Set("a9a", "classes", 10000, file="a9a"),
    Set("Friedman, 5 of 10 matter", "numbers", 10000, generator="Friedman"),
    Set("SEA, 2 of 10 matter", "classes", 10000, generator="SEA", noise=7),
    Set("Hyperplane, 10 of 20 matter", "classes", 10000, generator="Hyperplane", noise=10),
    Set("LED, 7 of 24 matter", "classes", 10000, generator="LED"),
]

GENERATORS: dict[str, dict[str, Any]] = {
    "Friedman": {},
    "SEA": {"variant": 0, "noise": 0.1},
    "Hyperplane": {"n_features": 10, "noise_percentage": 0.05},
    "LED": {"noise_percentage": 0.1, "irrelevant_features": True},
}


def rows_of(of: Set, seed: int, folder: Path) -> tuple[Array, Array]:
    """Seed 0: the file's order. Other seeds shuffle a file, or are the generator's seed."""
    if of.generator:
        X, y = as_numbers(generated(of, seed))
        noise = np.random.default_rng(seed).uniform(size=(len(X), of.noise))
        X = np.hstack([X, noise])
    else:
        X, y = read(of, folder)
        if seed:
            order = np.random.default_rng(seed).permutation(len(X))
            X, y = X[order], y[order]
    X, y = X[: of.rows], y[: of.rows]
    return X, (by_appearance(y.tolist()) if of.task == "classes" else y.astype(np.float64))


def generated(of: Set, seed: int) -> Iterable[Example]:
    from river.datasets import synth

    make = getattr(synth, of.generator)
    return itertools.islice(make(seed=seed, **GENERATORS[of.generator]), of.rows)


def read(of: Set, folder: Path) -> tuple[Array, Array]:
    import pandas

    if not of.target:
        return libsvm(folder / f"{of.file}.gz")
    frame = pandas.read_csv(folder / f"{of.file}.csv.gz").drop(columns=list(of.without))
    last = [name for name in frame.columns if name != of.target] + [of.target]
    return as_numbers(of_frame(frame[last]))


def libsvm(file: Path) -> tuple[Array, Array]:
    from sklearn.datasets import load_svmlight_file

    with gzip.open(file) as text:
        X, y = load_svmlight_file(text)
    return X.toarray(), y
