"""Units that follow the stream: prints one line of JSON per measurement. benchmarks/units.md has the results.

PYTHONPATH=benchmarks python benchmarks/units.py DATA   # three minutes of one core; DATA has elec2.csv.gz and others
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from nothing_set import learners, plan, streams

import okl
import okl.river

AUTO = {"classes": "KernelClassifier", "numbers": "KernelRegressor"}
SKIPPED = ["flights", "letter", "magic", "Shuttle"]  # of packages that need not be there


def say(name: str, **figures: Any) -> None:
    print(json.dumps({"what": name} | figures), flush=True)


def scores(learner: Any, X: Any, y: Any) -> Any:
    """What every row scores before it is learned."""
    return np.asarray(learner.learn(X, y)).reshape(len(y), -1)[:, 0]


def changes(learner: Any) -> Any:
    return learner.health().get("unit_changes", {})


def quiet_column() -> None:
    """A column that is quiet in the first 300 rows; R² of the rows from 3,000 on."""
    for growth in [5, 10, 50]:
        r = np.random.default_rng(0)
        x = np.r_[r.uniform(0, 1, 300), r.uniform(0, growth, 5700)]
        X, y = np.c_[x, r.normal(size=6000)], np.sin(x / growth * 10)
        for scale in ["auto", "standard"]:
            learner = okl.Learner(loss="squared", scale=scale)
            z = scores(learner, X, y)[3000:]
            r2 = 1 - np.mean((z - y[3000:]) ** 2) / np.var(y[3000:])
            say("quiet column", growth=growth, scale=scale, r2=round(float(r2), 4), changes=changes(learner))


def other_units() -> None:
    """The first column times 1,000 (or divided by it) from row 2,000 on: rows until the error of 100 rows is below twice the old one."""
    for times in [1000.0, 0.001]:
        r = np.random.default_rng(1)
        a, b = r.uniform(0, 4, 5000), r.normal(size=5000)
        y = np.sin(2 * a) + 0.2 * r.normal(size=5000)
        X = np.c_[np.where(np.arange(5000) < 2000, a, times * a), b]
        for scale in ["auto", "standard"]:
            learner = okl.Learner(loss="squared", scale=scale)
            e = (scores(learner, X, y) - y) ** 2
            old = float(np.mean(e[1500:2000]))
            means = np.convolve(e[2000:], np.ones(100) / 100, "valid")
            below = np.flatnonzero(means < 2 * old)
            back = int(below[0]) if len(below) else None
            late = [
                round(float(np.mean(e[2000 + at : 2100 + at])) / old, 2) for at in (0, 400, 500, 900, 2900)
            ]
            say(
                "other units",
                times=times,
                scale=scale,
                old=round(old, 4),
                back_after=back,
                ratios=late,
                changes=changes(learner),
            )


def odd_cell() -> None:
    """One value of 1e9 among the first 256 rows."""
    r = np.random.default_rng(2)
    X = r.normal(size=(4000, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    for odd in [False, True]:
        rows = X.copy()
        rows[100, 0] = 1e9 if odd else rows[100, 0]
        for scale in ["auto", "standard"]:
            z = scores(okl.Learner(loss="squared", scale=scale), rows, y)[2000:]
            say("odd cell", odd=odd, scale=scale, mse=round(float(np.mean((z - y[2000:]) ** 2)), 5))


def errors(data: Path) -> None:
    """Progressive errors with nothing set, as River's estimators have it."""
    import pandas

    elec2 = pandas.read_csv(data / "elec2.csv.gz")
    y = streams.by_appearance(elec2["class"])
    for name, columns in [("with its date", elec2.columns[:-1]), ("without", elec2.columns[1:-1])]:
        model = okl.river.KernelClassifier()
        say(
            f"elec2 {name}",
            **learners.in_one_call(model, elec2[columns].to_numpy(float), y, False),
            changes=changes(model.learner),
        )
    for stream in plan.read().streams:
        if stream.name in SKIPPED:
            continue
        X, y = streams.rows_of(stream, 1, data)
        model = getattr(okl.river, AUTO[stream.task])()
        outcome = learners.in_one_call(model, X, y, stream.task == "numbers")
        say(stream.name, **outcome, changes=changes(model.learner))


if __name__ == "__main__":
    quiet_column()
    other_units()
    odd_cell()
    errors(Path(sys.argv[1]))
