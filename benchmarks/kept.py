"""Files longer than the sample of `--save-model auto`: prints one line of JSON per file. benchmarks/kept.md has the results.

python benchmarks/kept.py DATA FOLDER [okl]     # writes CSV files to FOLDER; DATA has ijcnn1.gz and ijcnn1.t.gz

The definition was fixed before the first run. Both files are in the order of their classes, and every tenth row is held out.

groups: 300,000 rows of ten columns. Each of 40 centres is normal with deviation 2; it has one of five classes and its own share of the
rows; a row is its centre plus normal noise of deviation 1. ijcnn1: the rows of the training file and of the test file together, 141,691.

Measured: the share of mistakes on the held-out rows, of the model that `okl learn` saves and of the one that it saves with `--shuffle 1`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from harness.data import SEED, Array, libsvm


def groups() -> tuple[Array, Array]:
    random = np.random.default_rng(SEED)
    centres, classes = 2 * random.normal(size=(40, 10)), np.arange(40) % 5
    group = random.choice(40, 300_000, p=random.dirichlet(np.full(40, 3.0)))
    return centres[group] + random.normal(size=(300_000, 10)), classes[group]


def ijcnn1(data: Path) -> tuple[Array, Array]:
    X, y = zip(libsvm(data / "ijcnn1.gz", 22), libsvm(data / "ijcnn1.t.gz", 22))
    return np.vstack(X), np.concatenate(y).astype(int)


def write(file: Path, X: Array, y: Array) -> None:
    names = ",".join([*(f"x{j}" for j in range(X.shape[1])), "class"])
    np.savetxt(file, np.column_stack([X, y]), fmt="%.6g", delimiter=",", header=names, comments="")


def mistakes(okl: str, train: Path, test: Path, model: Path, *more: str) -> None:
    began = time.perf_counter()
    command = [okl, "learn", str(train), "--task", "classes", "--target", "class", "-o", str(model), *more]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - began
    of_test = [okl, "evaluate", str(model), str(test)]
    found = subprocess.run(of_test, capture_output=True, text=True, check=True)
    line = {"file": train.stem, "more": more, "seconds": round(seconds, 1)}
    print(json.dumps(line | {"learn": said.stdout + said.stderr, "test": found.stdout}), flush=True)


def main(data: Path, folder: Path, okl: str = "okl") -> None:
    for name, (X, y) in {"groups": groups(), "ijcnn1": ijcnn1(data)}.items():
        order = np.argsort(y, kind="stable")
        held = np.arange(len(y)) % 10 == 9
        for part, rows in [("train", order[~held]), ("test", order[held])]:
            write(folder / f"{name}_{part}.csv", X[rows], y[rows])
        files = [folder / f"{name}_{part}.csv" for part in ("train", "test")]
        for more in ([], ["--save-model", "recent"], ["--shuffle", "1"]):
            mistakes(okl, *files, folder / "m.okl", *more)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
