"""Columns with heavy tails: wrong classes of the last half of a stream, with `scale` auto and log, beside gradient boosting.

python benchmarks/heavy_tails.py            # prints the table of docs/tables.md
"""

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

import okl

ROWS = 8000


def streams(random: np.random.Generator):
    z = random.standard_normal((ROWS, 8))
    noise = 0.15 * random.standard_normal(ROWS)
    yield "log-normal, deviation 2: product of two columns, with noise", np.exp(2 * z), z[:, 0] + z[:, 1] + noise > 0
    z = random.standard_normal((ROWS, 4))
    x = np.exp(3 * z + np.array([0, 5, -8, 12]))
    yield "log-normal, deviation 3, other units: product of powers", x, z[:, 0] + 0.5 * z[:, 2] > 0
    yield (
        "log-normal, deviation 3, other units: one column or the other above its median",
        x,
        (z[:, 0] > 0) ^ (z[:, 1] > 0),
    )
    z = random.standard_normal((ROWS, 4))
    yield (
        "two normal and two log-normal columns: sign of a product",
        np.c_[z[:, :2], np.exp(3 * z[:, 2:])],
        z[:, 0] * z[:, 2] > 0,
    )
    x = random.standard_cauchy((ROWS, 4))
    yield "Cauchy: sum of two angles", x, np.arctan(x[:, 0]) + np.arctan(x[:, 1]) > 0
    z = random.standard_normal((ROWS, 4))
    yield "normal: a circle", z, z[:, 0] ** 2 + z[:, 1] ** 2 > 1.4


def wrong(scale: str, x: np.ndarray, y: np.ndarray) -> float:
    scores = okl.Learner(loss="hinge", scale=scale).learn(x, np.where(y, 1, -1))
    return float(np.mean((scores[ROWS // 2 :] > 0) != y[ROWS // 2 :]))


print("| columns and classes | auto | log | gradient boosting |\n|---|---|---|---|")
for name, x, y in streams(np.random.default_rng(7)):
    half = ROWS // 2
    trees = HistGradientBoostingClassifier().fit(x[:half], y[:half])
    errors = [wrong("auto", x, y), wrong("log", x, y), 1 - trees.score(x[half:], y[half:])]
    print(f"| {name} | " + " | ".join(f"{100 * error:.1f} %" for error in errors) + " |")
