"""What River's interface adds to the engine, per row of 20 features.

The same rows are learned as dictionaries by `learn_one`, and as ready lists by the function of the extension
module that it calls:

    idle      weight 0 and no terms: the engine has next to nothing to do. What `learn_one` takes here, the
              engine's fixed cost included, is an upper bound on what the interface adds.
    working   1000 terms, and every row adds one and merges two: what a row costs in earnest.

Microseconds per row, the best of several interleaved runs. With the package installed:

    python okl-py/benches/river_overhead.py
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable

import okl.river
from okl._okl import learn_row

FEATURES, TERMS = 20, 1000


def stream(rows: int) -> list[tuple[dict[str, float], bool]]:
    rng = random.Random(1)
    points = [[rng.gauss(0, 1) for _ in range(FEATURES)] for _ in range(rows)]
    return [({f"feature_{i:02}": v for i, v in enumerate(x)}, x[0] * x[1] > 0) for x in points]


def seconds(run: Callable[[], None]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=50)
    args = parser.parse_args()
    data = stream(args.rows)
    lists = [(list(x.values()), y) for x, y in data]
    model = okl.river.KernelClassifier(loss="softmax", gamma=0.02, scale="none", terms=TERMS)
    model.learn_one(*data[0])
    learner = model.learner

    def through_river() -> None:
        for x, y in data:
            model.learn_one(x, y, weight)

    def from_lists() -> None:
        for x, y in lists:
            learn_row(learner, x, y, weight)

    print("            terms   learn_one   from a list")
    for name, weight in [("idle", 0.0), ("working", 1.0)]:
        while weight and learner.terms < TERMS:
            through_river()
        times = [(seconds(through_river), seconds(from_lists)) for _ in range(args.repeats)]
        river, ready = (1e6 * min(column) / args.rows for column in zip(*times, strict=True))
        print(f"{name:<9} {learner.terms:>7} {river:>11.2f} {ready:>13.2f}")


if __name__ == "__main__":
    main()
