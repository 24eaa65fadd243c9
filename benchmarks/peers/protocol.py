"""What the driver and a peer's program say to each other, and how time and memory are measured.

The driver writes one specification per line, as JSON; the program answers each with one line. Only
`Model.learn`, `Model.progress` and `Model.watch` are timed: not the import, nor reading the rows, nor turning
them into what the peer takes. Processor time is that of all threads of the process.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


class Spec(NamedTuple):
    """One run, as the driver asks for it."""

    kind: str
    method: str
    settings: dict[str, Any]
    data: str
    """The folder with the arrays."""
    rows: int
    """The rows that are learned: the first of the training rows."""
    test: list[Any]
    """The rows to test on: "train" or "test", from, to."""
    threads: int
    seed: int
    course: dict[str, Any]
    """What the kind of run wants to know beside: the asked alert rate, the length of a segment, ..."""


class Model:
    """A peer's learner. `rows` is whatever `prepare` made of an array."""

    def prepare(self, X: Array, y: Array) -> Any:
        """Not timed."""
        return X, y

    def learn(self, rows: Any) -> None:
        raise NotImplementedError("cannot learn")

    def predict(self, X: Array) -> Array:
        """Not timed."""
        raise NotImplementedError("cannot predict")

    def progress(self, rows: Any) -> Array:
        """Learns, and gives the label that was predicted before each row was learned."""
        raise NotImplementedError("has no progressive predictions")

    def watch(self, rows: Any) -> tuple[Array, Array]:
        """Learns without targets; gives the score (higher: more novel) and alert from before each update."""
        raise NotImplementedError("is no detector")


Maker = Callable[[dict[str, Any], Spec, int], Model]
"""From settings, specification and the number of classes."""


def resident(field: str = "VmRSS") -> int:
    """Bytes of this process in memory: now, or at the most (VmHWM)."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split(field + ":")[1].split()[0])


@contextlib.contextmanager
def measured(outcome: dict[str, Any]) -> Iterator[None]:
    """Adds seconds on the wall, of the processor, and the growth of the peak memory meanwhile."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # what was freed before does not hide what is allocated now
        Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    before = resident()
    processor, wall = time.process_time(), time.perf_counter()
    yield
    outcome["wall"] = time.perf_counter() - wall
    outcome["processor"] = time.process_time() - processor
    outcome["memory"] = max(resident("VmHWM") - before, 0)
    outcome["peak"] = resident("VmHWM")


def arrays(spec: Spec) -> dict[str, Array]:
    return {file.stem: np.load(file) for file in Path(spec.data).glob("*.npy")}


def one_pass(make: Maker, spec: Spec) -> dict[str, Any]:
    """Learns the rows once, in order; the error is that on rows it has not seen."""
    data = arrays(spec)
    X, y = data["train_x"][: spec.rows], data["train_y"][: spec.rows]
    part, test = spec.test[0], slice(*spec.test[1:])
    model = make(spec.settings, spec, len(np.unique(data["train_y"])))
    outcome: dict[str, Any] = {}
    rows = model.prepare(X, y)
    with measured(outcome):
        model.learn(rows)
    outcome["error"] = float(np.mean(model.predict(data[f"{part}_x"][test]) != data[f"{part}_y"][test]))
    return outcome


def progressive(make: Maker, spec: Spec) -> dict[str, Any]:
    """Predicts every row before it is learned; the error is that of these predictions."""
    data = arrays(spec)
    X, y = data["train_x"][: spec.rows], data["train_y"][: spec.rows]
    model = make(spec.settings, spec, len(np.unique(data["train_y"])))
    outcome: dict[str, Any] = {}
    rows = model.prepare(X, y)
    with measured(outcome):
        predicted = model.progress(rows)
    outcome["error"] = float(np.mean(predicted != y))
    return outcome


def novelty(make: Maker, spec: Spec) -> dict[str, Any]:
    """Scores every row of several streams before it is learned; the detector does not know what is novel.

    Counted from row `warmup` of each stream on. Precision is that of the detector's own alerts; `ranked` that
    of the rows with the highest scores, as many as were asked for: at exactly the asked rate.
    """
    warmup, rate = int(spec.course["warmup"]), float(spec.course["rate"])
    data, outcome = arrays(spec), {"wall": 0.0, "processor": 0.0, "memory": 0}
    seen = alerts = hits = asked = ranked = novel = 0
    for number in range(len(data) // 2):
        X, y = data[f"stream_{number}_x"][: spec.rows], data[f"stream_{number}_y"][: spec.rows]
        model = make(spec.settings, spec, 1)
        rows = model.prepare(X, y)
        taken: dict[str, Any] = {}
        with measured(taken):
            scores, alerted = model.watch(rows)
        scores, alerted, y = scores[warmup:], alerted[warmup:], y[warmup:] > 0
        highest = np.argsort(-scores, kind="stable")[: max(round(rate * len(y)), 1)]
        seen, novel, asked = seen + len(y), novel + int(y.sum()), asked + len(highest)
        alerts, hits, ranked = (
            alerts + int(alerted.sum()),
            hits + int(y[alerted].sum()),
            ranked + int(y[highest].sum()),
        )
        outcome["wall"] += taken["wall"]
        outcome["processor"] += taken["processor"]
        outcome["memory"] = max(outcome["memory"], taken["memory"])
    return outcome | {
        "rows": seen,
        "alert_rate": alerts / seen,
        "precision": hits / max(alerts, 1),
        "recall": hits / max(novel, 1),
        "ranked": ranked / asked,
        "error": 1 - ranked / asked,
    }


def latency(make: Maker, spec: Spec) -> dict[str, Any]:
    """Learns rows one by one, each timed: predict, then learn, as a service would."""
    data = arrays(spec)
    X, y = data["train_x"][: spec.rows], data["train_y"][: spec.rows]
    model = make(spec.settings, spec, len(np.unique(data["train_y"])))
    seconds = np.empty(len(y))
    for i in range(len(y)):
        row = model.prepare(X[i : i + 1], y[i : i + 1])
        start = time.perf_counter()
        model.progress(row)
        seconds[i] = time.perf_counter() - start
    settled = seconds[len(y) // 2 :]  # the model has the size it will have
    p50, p99 = np.quantile(settled, [0.5, 0.99])
    return {
        "p50": float(p50),
        "p99": float(p99),
        "wall": float(seconds.sum()),
        "processor": float(seconds.sum()),
    }


def growth(make: Maker, spec: Spec) -> dict[str, Any]:
    """A long generated stream in segments, each timed: does an example cost more the later it comes?"""
    longest, features = int(spec.course["segment"]), int(spec.course["features"])
    random, deadline = np.random.default_rng(spec.seed), time.perf_counter() + float(spec.course["seconds"])
    model = make(spec.settings, spec, 2)
    segments: list[tuple[int, float, int]] = []
    outcome = {"wall": 0.0, "processor": 0.0}
    seen = 0
    while seen < spec.rows and time.perf_counter() < deadline:
        length = min(max(seen, 1000), longest, spec.rows - seen)
        rows = model.prepare(*generated(random, length, features))
        taken: dict[str, Any] = {}
        with measured(taken):
            model.learn(rows)
        seen += length
        outcome = {key: outcome[key] + taken[key] for key in outcome}
        segments.append((seen, taken["processor"] / length, resident()))
    return outcome | {"segments": segments}


def throughput(make: Maker, spec: Spec) -> dict[str, Any]:
    """Rows per second of processor time at several widths, after as many rows to fill the model."""
    rates, random, total = [], np.random.default_rng(spec.seed), 0.0
    for features in spec.course["features"]:
        model = make(spec.settings, spec, 2)
        taken: dict[str, Any] = {}
        model.learn(model.prepare(*generated(random, spec.rows, features)))
        rows = model.prepare(*generated(random, spec.rows, features))
        with measured(taken):
            model.learn(rows)
        rates.append([features, spec.rows / taken["processor"]])
        total += taken["processor"]
    return {"rates": rates, "processor": total, "wall": total}


def generated(random: np.random.Generator, rows: int, features: int) -> tuple[Array, Array]:
    """Points around the origin; the class is a checkerboard of two columns, with 5 % of the labels wrong."""
    X = random.standard_normal((rows, features), dtype=np.float32)
    y = np.where((np.sin(2 * X[:, 0]) * np.sin(2 * X[:, 1]) > 0) ^ (random.random(rows) < 0.05), 1.0, -1.0)
    return X, y


KINDS = {f.__name__: f for f in (one_pass, progressive, novelty, latency, growth, throughput)}


def serve(methods: dict[str, Maker]) -> None:
    """Answers specifications until there are no more."""
    for line in sys.stdin:
        spec = Spec(**json.loads(line))
        try:
            outcome = KINDS[spec.kind](methods[spec.method], spec)
        except Exception as error:  # a peer that fails is a result, and must not end the others' run
            outcome = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(outcome), flush=True)
