"""The batch reference of `okl-papers budgets`: LIBSVM, C and gamma chosen on a fifth of the training set.

    pip install libsvm-official
    python benchmarks/libsvm_reference.py DIR [usps|ijcnn1|a9a ...]

DIR has the files that `okl-papers budgets` names. The rows held out for the choice are those that okl holds out in its first
turn. Settings that are equally good there are all tried on the test set; the record takes the best of them, in LIBSVM's favour.
One line per run, with the seconds of learning.
"""

import csv
import gzip
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from libsvm.svmutil import svm_predict, svm_problem, svm_train

Rows = tuple[list[float], list[dict[int, float]]]

FILES = {
    "usps": ("usps_train.csv", "usps_test.csv"),
    "ijcnn1": ("ijcnn1", "ijcnn1.t"),
    "a9a": ("a9a", "a9a.t"),
}
GRIDS: dict[str, tuple[list[float], list[float]]] = {
    "usps": ([1, 10, 100], [0.005, 0.0078125, 0.01, 0.02]),
    "ijcnn1": ([10, 32, 100], [1, 2, 4, 8]),
    "a9a": ([1, 10], [0.003, 0.01, 0.03, 0.1]),
}
HELD_OUT_SEED = 2012
BITS = (1 << 64) - 1


def splitmix64(state: int) -> Iterator[int]:
    while True:
        state = (state + 0x9E3779B97F4A7C15) & BITS
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & BITS
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & BITS
        yield z ^ (z >> 31)


def below(random: Iterator[int], n: int) -> int:
    while True:
        product = next(random) * n
        if product & BITS >= (1 << 64) % n:
            return product >> 64


def order(rows: int, seed: int) -> list[int]:
    """The first shuffle of `okl learn --shuffle SEED`."""
    random = splitmix64(next(splitmix64(seed)))
    shuffled = list(range(rows))
    for last in range(rows - 1, 0, -1):
        other = below(random, last + 1)
        shuffled[last], shuffled[other] = shuffled[other], shuffled[last]
    return shuffled


def read(folder: Path, name: str) -> Rows:
    path = folder / name
    with path.open("rt") if path.is_file() else gzip.open(folder / f"{name}.gz", "rt") as file:
        if name.endswith(".csv"):
            table = csv.DictReader(file)
            pixels = [column for column in table.fieldnames or [] if column != "digit"]
            both = [(float(row["digit"]), {i + 1: float(row[p]) for i, p in enumerate(pixels)}) for row in table]
        else:
            cells = [line.split() for line in file]
            both = [(float(row[0]), {int(i): float(v) for i, v in (c.split(":") for c in row[1:])}) for row in cells]
    return [y for y, _ in both], [x for _, x in both]


def gather(rows: Rows, chosen: list[int]) -> Rows:
    return [rows[0][i] for i in chosen], [rows[1][i] for i in chosen]


def measure(name: str, train: Rows, test: Rows, c: float, gamma: float, what: str) -> float:
    problem = svm_problem(*train)
    start = time.perf_counter()
    model = svm_train(problem, f"-s 0 -t 2 -c {c} -g {gamma} -m 1000 -q")
    seconds = time.perf_counter() - start
    said = svm_predict(*test, model, "-q")[0]
    accuracy = 100 * sum(a == b for a, b in zip(said, test[0], strict=True)) / len(said)
    vectors = model.get_nr_sv()
    print(f"{name}, {what}: C={c} gamma={gamma} {accuracy:.2f} %, {vectors} support vectors, {seconds:.1f} s", flush=True)
    return accuracy


def reference(folder: Path, name: str) -> None:
    train = read(folder, FILES[name][0])
    shuffled = order(len(train[0]), HELD_OUT_SEED)
    learned = len(shuffled) * 4 // 5
    part, held_out = gather(train, shuffled[:learned]), gather(train, shuffled[learned:])
    pairs = [(c, gamma) for c in GRIDS[name][0] for gamma in GRIDS[name][1]]
    found = [(measure(name, part, held_out, c, gamma, "held out"), c, gamma) for c, gamma in pairs]
    best, test = max(found)[0], read(folder, FILES[name][1])
    for _, c, gamma in [result for result in found if result[0] == best]:
        measure(name, train, test, c, gamma, "test set")


if __name__ == "__main__":
    for chosen in sys.argv[2:] or GRIDS:
        reference(Path(sys.argv[1]), chosen)
