"""No settings against the best of 36 in hindsight, on small streams of River, scikit-learn and our own making.

    python benchmarks/other_streams.py                  # in the environment of `make bench`; three minutes of one core
    python benchmarks/other_streams.py broad            # the same for the bank of `kernel = auto` with these heads
    python benchmarks/other_streams.py mixed broad      # errors and times of two banks of `kernel = auto`, second over first

Columns are numbers; text becomes its order of appearance. Binary: hinge; classes: max_margin; numbers: squared. Everyone has an
offset and 500 terms. The grid is that of `okl-papers auto`, with explicit and with proximal steps.
"""

from __future__ import annotations

import itertools
import math
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import okl
from numpy.typing import NDArray
from river import datasets
from river.datasets import synth
from sklearn import datasets as bundled

Array = NDArray[Any]
Stream = tuple[str, Array, Array]

ROWS = 10_000
STEPS = ["constant:0.1", "constant:1", "inverse_sqrt:1", "decay:eta=1,tau=1000"]
LAMBDAS = [1e-6, 1e-4, 1e-2]
WIDTHS = [0.25, 1.0, 4.0]


def numbers(stream: Iterable[tuple[dict[str, Any], Any]]) -> tuple[Array, Array]:
    seen: dict[str, dict[str, int]] = {}

    def number(name: str, value: Any) -> float:
        names = seen.setdefault(name, {})
        return float(names.setdefault(value, len(names)) if isinstance(value, str) else value)

    def usable(value: Any) -> bool:
        return isinstance(value, (str, int, float, np.number))

    rows = list(itertools.islice(stream, ROWS))
    X = [[number(name, value) for name, value in x.items() if usable(value)] for x, _ in rows]
    return np.array(X, dtype=np.float32), np.array([y for _, y in rows])


def of_river() -> Iterator[Stream]:
    centroids = {"seed_model": 1, "seed_sample": 2, "n_classes": 4, "n_features": 10, "n_centroids": 30}
    sources = {
        "Bananas": datasets.Bananas(),
        "Phishing": datasets.Phishing(),
        "ImageSegments": datasets.ImageSegments(),
        "ChickWeights": datasets.ChickWeights(),
        "TrumpApproval": datasets.TrumpApproval(),
        "SEA": synth.SEA(seed=1).take(ROWS),
        "Agrawal 0": synth.Agrawal(seed=1).take(ROWS),
        "Agrawal 5": synth.Agrawal(classification_function=5, seed=1).take(ROWS),
        "Hyperplane, drifting": synth.Hyperplane(seed=1, n_drift_features=2, mag_change=0.01).take(ROWS),
        "LED": synth.LED(seed=1, noise_percentage=0.1).take(ROWS),
        "RandomRBF": synth.RandomRBF(**centroids).take(ROWS),
        "RandomRBF, drifting": synth.RandomRBFDrift(**centroids, change_speed=0.5, n_drift_centroids=20).take(
            ROWS
        ),
        "Waveform": synth.Waveform(seed=1, has_noise=True).take(ROWS),
        "Friedman": synth.Friedman(seed=1).take(ROWS),
        "Friedman, drifting": synth.FriedmanDrift("gra", position=(2000, 6000), seed=1).take(ROWS),
        "Mv": synth.Mv(seed=1).take(ROWS),
        "Planes2D": synth.Planes2D(seed=1).take(ROWS),
        "Sine": synth.Sine(seed=1).take(ROWS),
        "Mixed": synth.Mixed(seed=1).take(ROWS),
        "STAGGER": synth.STAGGER(seed=1).take(5000),
        "RandomTree": synth.RandomTree(seed_tree=1, seed_sample=2).take(ROWS),
        "SEA, sudden": itertools.chain(
            synth.SEA(seed=1, variant=0).take(5000), synth.SEA(seed=2, variant=3).take(5000)
        ),
    }
    for name, source in sources.items():
        yield (name, *numbers(source))


def of_scikit_learn(random: np.random.Generator) -> Iterator[Stream]:
    for name in ["digits", "breast_cancer", "wine", "iris", "diabetes"]:
        X, y = getattr(bundled, f"load_{name}")(return_X_y=True)
        order = random.permutation(len(X))
        yield name, X[order].astype(np.float32), y[order]


def made_up(random: np.random.Generator) -> Iterator[Stream]:
    def normal(rows: int, columns: int) -> Array:
        return random.standard_normal((rows, columns)).astype(np.float32)

    X = normal(8000, 5)
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    yield "wave", X, f + 0.1 * random.standard_normal(8000)
    yield "wave around 10,000", X, 1e4 + 500 * f
    yield "wave of 0.001", X, 1e-3 * f
    yield "wave, heavy tails", X, f + 0.3 * random.standard_t(1.5, 8000)
    X = normal(8000, 200)
    yield "200 columns, 5 count", X, X[:, :5].sum(1) > 0
    yield "noise", normal(5000, 10), random.integers(0, 2, 5000)
    X = normal(10_000, 4)
    yield "one in a hundred", X, X[:, 0] ** 2 + X[:, 1] ** 2 > 9
    a = np.zeros(9000)
    for t in range(2, 9000):
        a[t] = 0.6 * np.sin(3 * a[t - 1]) + 0.35 * a[t - 2] + 0.2 * random.standard_normal()
    yield "time series", np.stack([a[i : 8990 + i] for i in range(6)], 1).astype(np.float32), a[6:8996]
    X = np.exp(2 * normal(8000, 8))
    yield "lognormal columns", X, np.log(X[:, 0] * X[:, 1]) + 0.3 * random.standard_normal(8000) > 0
    group = random.integers(0, 8, 10_000)
    X = (3 * random.standard_normal((8, 6))[group] + random.standard_normal((10_000, 6))).astype(np.float32)
    yield "groups that change sides", X, (group + np.arange(10_000) // 1000 % 3) % 2
    X = (random.random((8000, 300)) < 0.03).astype(np.float32)
    yield "bag of words", X, X @ random.standard_normal(300) + 0.3 * random.standard_normal(8000) > 0
    X = random.random((10_000, 2)).astype(np.float32)
    yield "checkerboard", X, (np.floor(X[:, 0] * 4) + np.floor(X[:, 1] * 4)) % 2
    X, moved = normal(6000, 3), np.arange(6000) >= 3000
    X[moved] = 10 * X[moved] + 50
    yield "columns that move by 50", X, X[:, 0] > 50 * moved


def error(X: Array, y: Array, settings: dict[str, Any]) -> float:
    """Of predictions before learning: the share that is wrong, or the mean squared residual."""
    values = np.unique(y)
    common = {"offset": True, "budget": "merge:500"} | settings
    if y.dtype.kind in "if" and len(values) > 20:
        scores = okl.Learner(common | {"loss": "squared"}).learn(X, y.astype(np.float64))
        return float(np.mean((np.ravel(scores) - y) ** 2))
    if len(values) == 2:
        signs = np.where(y == values[1], 1.0, -1.0)
        scores = okl.Learner(common | {"loss": "hinge"}).learn(X, signs)
        return float(np.mean((np.ravel(scores) > 0) != (signs > 0)))
    place = np.searchsorted(values, y).astype(np.int64)
    learner = okl.Learner(common | {"loss": "max_margin", "classes": list(range(len(values)))})
    return float(np.mean(learner.learn(X, place).argmax(axis=1) != place))


def error_of_bank(X: Array, y: Array, heads: str, **given: Any) -> tuple[float, float]:
    """Of the bank that the command line and okl.river have with nothing set, and its processor time."""
    values = np.unique(y)
    common = {"kernel": "auto", "offset": True, "heads": heads} | (given or {"memory": "64MB"})
    start = time.process_time()
    if y.dtype.kind in "if" and len(values) > 20:
        scores = okl.Learner(common | {"loss": "squared"}).learn(X, y.astype(np.float64))
        return float(np.mean((np.ravel(scores) - y) ** 2)), time.process_time() - start
    place = np.searchsorted(values, y).astype(np.int64)
    learner = okl.Learner(common | {"loss": "max_margin,softmax", "classes": list(range(len(values)))})
    return float(np.mean(learner.learn(X, place).argmax(axis=1) != place)), time.process_time() - start


def compare(before: str, after: str) -> None:
    """Prints the errors of two banks; streams of River that are among the twenty of nothing_set are left out."""
    random = np.random.default_rng(0)
    ratios, times = [], [0.0, 0.0]
    for name, X, y in itertools.chain(of_river(), of_scikit_learn(random), made_up(random)):
        if name in ("Bananas", "Phishing", "ImageSegments", "ChickWeights", "TrumpApproval"):
            continue
        (first, first_time), (second, second_time) = error_of_bank(X, y, before), error_of_bank(X, y, after)
        times = [times[0] + first_time, times[1] + second_time]
        ratios.append(second / first if first > 0 else float(second > 0) + 1.0)
        print(f"{name:26}{len(X):7}{X.shape[1]:9}{first:13.4g}{second:13.4g}{ratios[-1]:7.2f}", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean of {len(ratios)} ratios {mean:.3f}, time {times[1] / times[0]:.2f}")


def median_gamma(X: Array) -> float:
    first = X[:256].astype(np.float64)
    spread = first.std(0)
    scaled = first / np.where(spread > 0, spread, 1.0)
    distances = ((scaled[:, None] - scaled[None]) ** 2).sum(2)
    return float(1 / np.median(distances[distances > 0]))


def main(heads: str | None = None) -> None:
    random = np.random.default_rng(0)
    ratios = []
    print(
        f"{'stream':26}{'rows':>7}{'columns':>9}{'no settings':>13}{'best of 36':>12}{'proximal':>10}{'ratio':>7}"
    )
    for name, X, y in itertools.chain(of_river(), of_scikit_learn(random), made_up(random)):
        gamma = median_gamma(X)
        grid = [
            {"scale": "standard", "gamma": width * gamma, "lambda": lam, "step": step}
            for width, lam, step in itertools.product(WIDTHS, LAMBDAS, STEPS)
        ]
        own = error_of_bank(X, y, heads, budget="merge:500")[0] if heads else error(X, y, {})
        best = [
            np.nanmin([error(X, y, each | {"implicit": implicit}) for each in grid])
            for implicit in (False, True)
        ]
        ratios.append(own / min(best))
        print(
            f"{name:26}{len(X):7}{X.shape[1]:9}{own:13.4g}{best[0]:12.4g}{best[1]:10.4g}{ratios[-1]:7.2f}",
            flush=True,
        )
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean of {len(ratios)} ratios {mean:.3f}, {sum(r > 1.15 for r in ratios)} above 1.15")


if __name__ == "__main__":
    compare(*sys.argv[1:]) if len(sys.argv) == 3 else main(*sys.argv[1:])
