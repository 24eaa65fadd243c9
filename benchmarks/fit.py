"""`fit` with nothing set against support vector machines and trees: one line of JSON per run, tables from them.

    PYTHONPATH=benchmarks OMP_NUM_THREADS=1 python benchmarks/fit.py DATA peers   # an hour of one quiet core
    PYTHONPATH=benchmarks OMP_NUM_THREADS=1 python benchmarks/fit.py DATA okl
    PYTHONPATH=benchmarks python benchmarks/fit.py DATA page                       # the tables of fit.md

A run that the record (benchmarks/fit.jsonl) has is not made again. `--splits N` stops after N splits, `--only NAMES` takes
these sets, `--jobs N` makes N runs at a time. Every learner has one thread; its time is processor time of `fit`, the search of its settings included.

Splits. Split s draws at most 12,000 rows without replacement with the seed s (classes keep their shares) and holds out a
quarter of them. Sets with files for training and testing are drawn from both together. The published split of ijcnn1 and
a9a at full size, 20,000 test rows, is beside them as `ijcnn1_full` and `a9a_full`, without trees and with one split.

Peers. SVC and SVR see columns, and SVR targets, of mean 0 and deviation 1: with their defaults, with C = 10, and tuned: C in 0.1,
1, 10, 100 and gamma in 0.1, 0.3, 1, 3, 10 times scikit-learn's "scale", by the mean accuracy or R² of three folds. Trees
with their defaults: a random forest, and gradient boosting: GradientBoosting* up to 2,000 training rows, beyond
that HistGradientBoosting*, which takes a fraction of the time.
"""

from __future__ import annotations

import argparse
import functools
import json
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
from harness.data import libsvm, table
from sklearn import datasets
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

RECORD = Path(__file__).parent / "fit.jsonl"
Array = np.ndarray[Any, Any]
MOST_ROWS = 12_000
FEW_ROWS = 2_000
SPLITS = 10
COSTS = (0.1, 1.0, 10.0, 100.0)
WIDTHS = (0.1, 0.3, 1.0, 3.0, 10.0)

CLASSES = ("iris", "wine", "cancer", "digits", "moons", "usps", "a9a", "ijcnn1", "covtype", "weather")
NUMBERS = ("diabetes", "friedman", "wine_white", "parkinsons")
FULL = ("ijcnn1_full", "a9a_full")
PEERS = ("svm", "svm_10", "svm_tuned", "forest", "boosting")


def both(folder: Path, name: str) -> tuple[Array, Array]:
    """The rows of a training and a test file together."""
    if name == "usps":
        parts = [table(folder / f"usps_{part}.csv.gz") for part in ("train", "test")]
    else:
        features = {"a9a": 123, "ijcnn1": 22}[name]
        parts = [libsvm(folder / f"{name}{part}.gz", features) for part in ("", ".t")]
    return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])


def parkinsons(folder: Path) -> tuple[Array, Array]:
    """total_UPDRS from the other columns, without motor_UPDRS, which is the same figure in part."""
    return table(folder / "parkinsons.csv.gz", drop=("motor_UPDRS",))


SETS: dict[str, Callable[[Path], tuple[Array, Array]]] = {
    "iris": lambda _: datasets.load_iris(return_X_y=True),
    "wine": lambda _: datasets.load_wine(return_X_y=True),
    "cancer": lambda _: datasets.load_breast_cancer(return_X_y=True),
    "digits": lambda _: datasets.load_digits(return_X_y=True),
    "moons": lambda _: datasets.make_moons(1000, noise=0.25, random_state=0),
    "usps": lambda folder: both(folder, "usps"),
    "a9a": lambda folder: both(folder, "a9a"),
    "ijcnn1": lambda folder: both(folder, "ijcnn1"),
    "covtype": lambda folder: table(folder / "covtype.csv.gz"),
    "weather": lambda folder: table(folder / "weather.csv.gz"),
    "diabetes": lambda _: datasets.load_diabetes(return_X_y=True),
    "friedman": lambda _: datasets.make_friedman1(1000, noise=1.0, random_state=0),
    "wine_white": lambda folder: table(folder / "wine_white.csv.gz"),
    "parkinsons": parkinsons,
}


def published(folder: Path, name: str) -> tuple[Array, ...]:
    from harness import data

    arrays = {"ijcnn1_full": data.ijcnn1, "a9a_full": data.a9a}[name](folder)
    return arrays["train_x"], arrays["test_x"], arrays["train_y"], arrays["test_y"]


def split(X: Array, y: Array, seed: int, classes: bool) -> tuple[Array, ...]:
    """Training rows, test rows, training targets, test targets."""
    strata = y if classes else None
    if len(y) > MOST_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=MOST_ROWS, random_state=seed, stratify=strata)
        strata = y if classes else None
    return tuple(train_test_split(X, y, test_size=0.25, random_state=seed, stratify=strata))


def machine(classes: bool, **settings: Any) -> Any:
    """SVC or SVR on standardised columns and targets."""
    rows = make_pipeline(StandardScaler(), SVC(**settings) if classes else SVR(**settings))
    return rows if classes else TransformedTargetRegressor(rows, transformer=StandardScaler())


def tuned(classes: bool, X: Array, seed: int) -> Any:
    step = "svc" if classes else "regressor__svr"
    scaled = StandardScaler().fit_transform(X)
    scale = float(1 / (X.shape[1] * scaled.var()))
    grid = {f"{step}__C": COSTS, f"{step}__gamma": [width * scale for width in WIDTHS]}
    folds = (StratifiedKFold if classes else KFold)(3, shuffle=True, random_state=seed)
    return GridSearchCV(machine(classes), grid, cv=folds)


def peer(name: str, classes: bool, X: Array, seed: int) -> Any:
    if name == "svm_tuned":
        return tuned(classes, X, seed)
    if name.startswith("svm"):
        return machine(classes, C=10.0 if name == "svm_10" else 1.0)
    if name == "forest":
        return (RandomForestClassifier if classes else RandomForestRegressor)(random_state=seed)
    if len(X) > FEW_ROWS:
        return (HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor)(
            random_state=seed
        )
    return (GradientBoostingClassifier if classes else GradientBoostingRegressor)(random_state=seed)


def okl_run(classes: bool, arrays: tuple[Array, ...], seed: int) -> dict[str, Any]:
    from okl import KernelClassifier, KernelRegressor

    model = (KernelClassifier if classes else KernelRegressor)(random_state=seed, n_jobs=1)
    figures = measured(model, arrays)
    return figures | {
        "passes": model.n_iter_,
        "terms": model.learner_.terms,
        "MB": model.learner_.bytes / 1e6,
    }


def measured(model: Any, arrays: tuple[Array, ...]) -> dict[str, Any]:
    train_X, test_X, train_y, test_y = arrays
    begin = time.process_time()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(train_X, train_y)
    seconds = time.process_time() - begin
    best = getattr(model, "best_params_", None)
    more = {} if best is None else {"chosen": {key.rpartition("__")[2]: value for key, value in best.items()}}
    if said:
        more["warnings"] = sorted({str(warning.message)[:200] for warning in said})
    return {"score": float(model.score(test_X, test_y)), "seconds": seconds} | more


def runs(learners: tuple[str, ...], only: list[str], splits: int) -> list[tuple[int, str, str]]:
    """Split by split, so that a run that is stopped has the same number of splits of every set."""
    names = [name for name in (*CLASSES, *NUMBERS, *FULL) if not only or name in only]
    return [
        (seed, name, learner)
        for seed in range(splits)
        for name in names
        for learner in learners
        if name not in FULL or (seed == 0 and not learner.startswith(("forest", "boosting")))
    ]


def read() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RECORD.read_text().splitlines()] if RECORD.exists() else []


@functools.cache
def rows_of(folder: Path, name: str) -> tuple[Array, Array]:
    return SETS[name](folder)


def one(folder: Path, seed: int, name: str, learner: str, label: str) -> dict[str, Any]:
    """One run: a line of the record."""
    classes = name not in NUMBERS
    arrays = published(folder, name) if name in FULL else split(*rows_of(folder, name), seed, classes)
    if learner == "okl":
        figures = okl_run(classes, arrays, seed)
    else:
        figures = measured(peer(learner, classes, arrays[0], seed), arrays)
    entry = label if learner == "okl" else learner
    return {"set": name, "split": seed, "learner": entry, "rows": len(arrays[0])} | figures


def run(folder: Path, todo: list[tuple[int, str, str]], label: str, jobs: int) -> None:
    had = {(line["split"], line["set"], line["learner"]) for line in read()}
    left = [(s, name, of) for s, name, of in todo if (s, name, label if of == "okl" else of) not in had]
    if jobs > 1:
        # The longest runs first, so that no process is left with one of them at the end.
        left.sort(key=lambda of: of[2] != "svm_tuned")
    with ProcessPoolExecutor(jobs) as pool:
        for done in as_completed([pool.submit(one, folder, *of, label) for of in left]):
            text = json.dumps(done.result())
            with RECORD.open("a") as record:
                record.write(text + "\n")
            print(text, flush=True)


def page(label: str) -> None:
    """The tables of fit.md."""
    by: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    for line in read():
        by.setdefault((line["set"], line["learner"]), {})[line["split"]] = line
    print(
        "| set | rows | splits | okl | SVM | C = 10 | tuned | forest | boosting | below the best SVM | allowed | | okl, s | tuned, s |"
    )
    print("| --- " * 14 + "|")
    for name in (*CLASSES, *NUMBERS, *FULL):
        print(row_of_page(name, label, by))


def row_of_page(name: str, label: str, by: dict[tuple[str, str], dict[int, dict[str, Any]]]) -> str:
    own = by.get((name, label), {})
    others = {peer: by[name, peer] for peer in PEERS if (name, peer) in by}
    common = sorted(set(own).intersection(*others.values())) if own and others else []
    if not common:
        return f"| {name} | | 0 |" + " |" * 11
    unit = 1.0 if name in NUMBERS else 100.0
    score = {
        peer: unit * np.array([lines[s]["score"] for s in common])
        for peer, lines in {"okl": own, **others}.items()
    }
    best = max((peer for peer in score if peer.startswith("svm")), key=lambda peer: score[peer].mean())
    gap = score[best] - score["okl"]
    error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else 0.0
    allowed = max(0.01 if name in NUMBERS else 0.3, 2 * error)
    digits = 3 if name in NUMBERS else 2
    figures = [f"{score[peer].mean():.{digits}f}" if peer in score else "" for peer in ("okl", *PEERS)]
    timed = {"okl": own, **others}
    seconds = [
        f"{np.mean([timed[peer][s]['seconds'] for s in common]):.2f}" if peer in timed else ""
        for peer in ("okl", "svm_tuned")
    ]
    verdict = "**missed**" if gap.mean() > allowed else "met" if "svm_tuned" in others else "open: not tuned"
    judged = [
        f"{gap.mean():+.{digits}f}",
        f"{allowed:.{digits}f}",
        verdict,
    ]
    cells = [
        name,
        f"{own[common[0]]['rows']:,}",
        str(len(common)),
        *figures,
        *judged,
        *seconds,
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("what", choices=["peers", "okl", "all", "page"])
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--jobs", type=int, default=1, help="the number of processes")
    parser.add_argument("--label", default="okl", help="the name of these runs of okl in the record")
    options = parser.parse_args()
    if options.what == "page":
        page(options.label)
    else:
        learners = {"peers": PEERS, "okl": ("okl",), "all": ("okl", *PEERS)}[options.what]
        run(options.data, runs(learners, options.only, options.splits), options.label, options.jobs)


if __name__ == "__main__":
    main()
