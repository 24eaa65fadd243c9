"""What Python adds to the engine: `learn` against the same rows learned by Rust, and what a call and an import cost.

Run with the package installed, from the repository, on Linux: python okl-py/benches/overhead.py. It builds the Rust
example `in_memory` in the release profile. Competitors take turns within one run; every figure is the best of several
rounds. Processor time is what the learning thread used: the fairer figure on a machine that does other things too.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import okl

ROWS, FEATURES, TERMS = 100_000, 64, 1_000
SETTINGS = {
    "loss": "hinge",
    "kernel": "gaussian",
    "gamma": 3 / FEATURES,
    "step": "constant",
    "eta": 0.1,
    "lambda": 1e-3,
    "offset": True,
    "budget": "window",
    "terms": TERMS,
}

Seconds = tuple[float, float]
"""Of the processor, and on the wall."""


def data() -> tuple[np.ndarray, np.ndarray]:
    """The rows and targets of okl/examples/in_memory.rs."""
    places = np.arange(ROWS * FEATURES, dtype=np.uint32)
    X = (
        (places * np.uint32(2654435761) >> 8).astype(np.float32) / np.float32(2**24) - np.float32(0.5)
    ).reshape(ROWS, FEATURES)
    return X, np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)


class Engine:
    """The same learning in Rust, one round per call."""

    def __init__(self) -> None:
        build = [
            "cargo",
            "build",
            "--quiet",
            "--release",
            "-p",
            "okl",
            "--example",
            "in_memory",
            "--message-format",
            "json",
        ]
        built = [json.loads(line) for line in subprocess.check_output(build, text=True).splitlines()]
        program = next(m["executable"] for m in built if m.get("target", {}).get("name") == "in_memory")
        command = [program, json.dumps(SETTINGS), str(ROWS), str(FEATURES)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def processor(self) -> float:
        return int(Path(f"/proc/{self.process.pid}/schedstat").read_text().split()[0]) / 1e9

    def __call__(self) -> tuple[Seconds, float]:
        """Seconds, and the sum of the scores."""
        assert self.process.stdin is not None and self.process.stdout is not None
        before = self.processor()
        print(file=self.process.stdin, flush=True)
        wall, terms, total = self.process.stdout.readline().split()
        assert int(terms) == TERMS
        return (self.processor() - before, float(wall)), float(total)


def timed(work: Callable[[], np.ndarray]) -> tuple[Seconds, float]:
    processor, wall = time.thread_time(), time.perf_counter()
    scores = work()
    return (time.thread_time() - processor, time.perf_counter() - wall), float(scores.sum())


def best(times: list[Seconds]) -> Seconds:
    """The first round fills the window and is left out."""
    processor, wall = zip(*times[1:])
    return min(processor), min(wall)


def learning(rounds: int) -> dict[str, Seconds]:
    X, y = data()
    double = X.astype(np.float64)
    forms = {
        "float32": X,
        "float64": double,
        "float32, Fortran order": np.asfortranarray(X),
        "float64, Fortran order": np.asfortranarray(double),
    }
    engine, learners = Engine(), {name: okl.Learner(SETTINGS) for name in forms}
    times: dict[str, list[Seconds]] = {"Rust": [], **{name: [] for name in forms}}
    for _ in range(rounds + 1):
        taken, total = engine()
        times["Rust"].append(taken)
        for name, form in forms.items():
            taken, here = timed(lambda m=learners[name], form=form: m.learn(form, y))
            times[name].append(taken)
            # The scores are the same to the last bit; the last bits of their sum depend on its order.
            assert np.isclose(here, total, rtol=1e-9), "Python and Rust do not learn the same"
    return {name: best(taken) for name, taken in times.items()}


def importing(rounds: int) -> tuple[float, float]:
    """Milliseconds that okl adds to a process that has imported numpy: of the processor, and on the wall."""
    clocks = "time.process_time(), time.perf_counter()"
    program = f"import time, numpy; a, b = {clocks}; import okl; c, d = {clocks}; print(c - a, d - b)"
    times = [
        subprocess.check_output([sys.executable, "-c", program], text=True).split() for _ in range(rounds)
    ]
    processor, wall = zip(*times)
    return min(map(float, processor)) * 1e3, min(map(float, wall)) * 1e3


def one_row() -> tuple[float, float]:
    """Microseconds for a call with one row of weight 0, which leaves the engine nothing to do."""
    m, x, y, weight = (
        okl.Learner(loss="squared", kernel="linear"),
        np.zeros((1, FEATURES), np.float32),
        np.ones(1),
        np.zeros(1),
    )

    def each(call: Callable[[], object]) -> float:
        start = time.thread_time()
        for _ in range(1000):
            call()
        return (time.thread_time() - start) * 1e3

    learn = min(each(lambda: m.learn(x, y, weights=weight)) for _ in range(30))
    return learn, min(each(lambda: m.predict(x)) for _ in range(30))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    times = learning(rounds)
    rust = times["Rust"]
    print("| learn | processor, s | above Rust | wall, s | above Rust |\n|---|---|---|---|---|")
    for name, (processor, wall) in times.items():
        above = [f"{100 * (a / b - 1):+.1f} %" for a, b in zip((processor, wall), rust)]
        print(f"| {name} | {processor:.4f} | {above[0]} | {wall:.4f} | {above[1]} |")
    processor, wall = importing(rounds)
    print(f"\n`import okl` after numpy: {processor:.1f} ms of the processor, {wall:.1f} ms on the wall.")
    learn_us, predict_us = one_row()
    print(f"A call with one row: `learn` {learn_us:.1f} µs, `predict` {predict_us:.1f} µs.")


if __name__ == "__main__":
    main()
