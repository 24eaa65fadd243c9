"""The rows of each experiment, written once as arrays that every peer reads.

Training rows are shuffled once with a fixed seed, except those of a stream that is learned in time order.
Binary labels are -1 and 1, classes 0, 1, 2, ...
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]
SEED = 20261115


def libsvm(file: Path, features: int) -> tuple[Array, Array]:
    rows, labels = [], []
    with gzip.open(file, "rt") as lines:
        for line in lines:
            label, *pairs = line.split()
            row = np.zeros(features, np.float32)
            for pair in pairs:
                column, value = pair.split(":")
                row[int(column) - 1] = float(value)
            rows.append(row)
            labels.append(float(label))
    return np.array(rows), np.sign(labels)


def table(file: Path, drop: tuple[str, ...] = ()) -> tuple[Array, Array]:
    """A CSV file whose last column is the label."""
    with gzip.open(file, "rt", newline="") as lines:
        reader = csv.reader(lines)
        header = next(reader)
        values = np.array(list(reader), np.float64)
    kept = [i for i, name in enumerate(header[:-1]) if name not in drop]
    return values[:, kept].astype(np.float32), values[:, -1]


def split(train: tuple[Array, Array], test: tuple[Array, Array], test_rows: int = 20_000) -> Arrays:
    order = np.random.default_rng(SEED).permutation(len(train[1]))
    some = np.random.default_rng(SEED + 1).permutation(len(test[1]))[:test_rows]
    return {
        "train_x": train[0][order],
        "train_y": train[1][order],
        "test_x": test[0][some],
        "test_y": test[1][some],
    }


def usps(folder: Path) -> Arrays:
    return split(table(folder / "usps_train.csv.gz"), table(folder / "usps_test.csv.gz"))


def usps_even_odd(folder: Path) -> Arrays:
    arrays = usps(folder)
    for key in ("train_y", "test_y"):
        arrays[key] = np.where(arrays[key] % 2 == 0, 1.0, -1.0)
    return arrays


def ijcnn1(folder: Path) -> Arrays:
    return split(libsvm(folder / "ijcnn1.gz", 22), libsvm(folder / "ijcnn1.t.gz", 22))


def a9a(folder: Path) -> Arrays:
    return split(libsvm(folder / "a9a.gz", 123), libsvm(folder / "a9a.t.gz", 123))


def elec2(folder: Path) -> Arrays:
    """Time order; without the date, which only ever grows."""
    X, y = table(folder / "elec2.csv.gz", drop=("date",))
    return {"train_x": X, "train_y": np.where(y > 0, 1.0, -1.0)}


def checkerboard(folder: Path) -> Arrays:
    """Generated, so that the harness can be tried without data."""
    from peers.protocol import generated

    random = np.random.default_rng(SEED)
    return split(generated(random, 4_000, 4), generated(random, 1_000, 4))


def novel_digits(X: Array, y: Array, normal: list[int], share: float) -> Arrays:
    """One stream per normal digit; other digits come in at random places."""
    random = np.random.default_rng(SEED)
    streams: Arrays = {}
    for number, digit in enumerate(normal):
        own, others = X[y == digit], X[y != digit]
        count = round(len(own) * share / (1 - share))
        rows = np.concatenate([own, others[random.permutation(len(others))[:count]]])
        order = random.permutation(len(rows))
        streams[f"stream_{number}_x"] = rows[order]
        streams[f"stream_{number}_y"] = (order >= len(own)).astype(np.float64)
    return streams


def all_digits(folder: Path) -> tuple[Array, Array]:
    arrays = usps(folder)
    X, y = (np.concatenate([arrays[f"train_{key}"], arrays[f"test_{key}"]]) for key in "xy")
    return X, y


def novelty_usps(folder: Path) -> Arrays:
    return novel_digits(*all_digits(folder), [0, 2, 3, 4, 6, 7, 8, 9], 0.05)


def novelty_usps_tune(folder: Path) -> Arrays:
    return novel_digits(*all_digits(folder), [1, 5], 0.05)


def sensors(random: np.random.Generator, rows: int) -> tuple[Array, Array]:
    """Eight sensors see two slow cycles through curved responses that drift.

    In 1 % of the rows two of them show another time: each value is one that its sensor has at times.
    """
    time = np.arange(rows)
    phases = np.stack([2 * np.pi * time / 480, 2 * np.pi * time / 1337 + 1], axis=1)
    latent = np.concatenate([np.sin(phases), np.cos(phases)], axis=1)
    mixing = random.normal(size=(4, 8))
    drift = np.linspace(0, 1, rows)[:, None] * random.normal(size=(1, 8))
    X = np.tanh(latent @ mixing + drift) + 0.05 * random.normal(size=(rows, 8))
    novel = random.random(rows) < 0.01
    for row in np.flatnonzero(novel):
        pair = random.choice(8, 2, replace=False)
        X[row, pair] = X[(row + random.integers(100, 380)) % rows, pair]
    return X.astype(np.float32), novel.astype(np.float64)


def sensor_streams(seeds: list[int], rows: int) -> Arrays:
    streams: Arrays = {}
    for number, seed in enumerate(seeds):
        X, y = sensors(np.random.default_rng(SEED + seed), rows)
        streams |= {f"stream_{number}_x": X, f"stream_{number}_y": y}
    return streams


def novelty_sensors(folder: Path) -> Arrays:
    return sensor_streams([1, 2], 20_000)


def novelty_sensors_tune(folder: Path) -> Arrays:
    return sensor_streams([3], 6_000)


DATA: dict[str, Callable[[Path], Arrays]] = {
    f.__name__: f
    for f in (
        usps,
        usps_even_odd,
        ijcnn1,
        a9a,
        elec2,
        checkerboard,
        novelty_usps,
        novelty_usps_tune,
        novelty_sensors,
        novelty_sensors_tune,
    )
}


def prepared(name: str, source: Path, target: Path) -> Path:
    """The folder with the arrays of a data set, made if it is not there yet."""
    folder = target / name
    if not (folder / "ready").exists():
        folder.mkdir(parents=True, exist_ok=True)
        for key, array in DATA[name](source).items():
            np.save(folder / f"{key}.npy", array)
        (folder / "ready").touch()
    return folder
