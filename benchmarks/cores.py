"""Learning and predicting beside this machine's single-precision matrix product (numpy), and what more threads gain.

    python benchmarks/cores.py one           # one core: rates of learning and predicting over that of the product of the same shapes
    python benchmarks/cores.py threads 200000  # speed-up with 1, 2, 4, ... threads, learning (nothing truncated) and product
    python benchmarks/cores.py small         # small models with 1, 2, 4, ... threads

Every figure is the best of several tries in one run. `one` counts processor time, the others wall time. The product writes into an array that exists.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

ROUNDS = 7


def one() -> None:
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    import copy

    import numpy as np
    import okl

    random = np.random.default_rng(1)
    print(
        "| columns | terms | rows | appended | product, GFLOP/s | learning / product | predicting / product |"
    )
    print("|---|---|---|---|---|---|---|")
    for columns, terms in [(784, 4000), (256, 1000), (54, 1000), (54, 4000), (16, 1000), (16, 4000)]:
        rows = max(1024, min(40_000, int(6e9 / (2 * columns * terms))))
        x = (random.normal(size=(terms + rows, columns)) / np.sqrt(columns)).astype(np.float32)
        y = np.sign(x[:, 0]).astype(float)
        filled = okl.Learner(
            loss="hinge",
            kernel="gaussian:1",
            scale="none",
            step="constant:0.1",
            lam=1e-4,
            budget=f"window:{terms}",
        )
        filled.learn(x[:terms], y[:terms])
        a, b, c = x[terms:], np.ascontiguousarray(x[:terms].T), np.zeros((rows, terms), np.float32)
        product, learning, predicting = [], [], []
        for _ in range(ROUNDS):
            learner = copy.copy(filled)
            product.append(timed(time.process_time, lambda: np.dot(a, b, out=c)))
            report: dict[str, np.ndarray] = {}
            learning.append(
                timed(time.process_time, lambda: report.update(learner.learn_report(a, y[terms:])))
            )
            predicting.append(timed(time.process_time, lambda: learner.predict(a)))
        appended = float(np.mean(report["loss"] > 0))
        rate = 2e-9 * columns * terms * rows / min(product)
        ratios = [min(product) / min(times) for times in (learning, predicting)]
        print(
            f"| {columns} | {terms} | {rows} | {appended:.0%} | {rate:.0f} | {ratios[0]:.2f} | {ratios[1]:.2f} |",
            flush=True,
        )


def timed(clock, work) -> float:
    begun = clock()
    work()
    return clock() - begun


def counts() -> list[int]:
    cores = len(os.sched_getaffinity(0))
    return [1 << k for k in range(cores.bit_length())] if cores > 1 else [1]


def threads(rows: int) -> None:
    """Each number of threads is a process of its own, because BLAS reads its number once."""
    found = {}
    for number in counts():
        environment = os.environ | {"OPENBLAS_NUM_THREADS": str(number)}
        command = [sys.executable, __file__, "with", str(number), str(rows)]
        out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        found[number] = [float(word) for word in out.split()]
        learning, product = [found[1][k] / found[number][k] for k in (0, 1)]
        print(
            f"| {number} | {found[number][0]:.2f} s | {learning:.2f} | {product:.2f} | {learning / product:.2f} |",
            flush=True,
        )


def with_threads(number: int, rows: int) -> None:
    import numpy as np
    import okl

    random = np.random.default_rng(2)
    x = (random.normal(size=(rows, 120)) / 11).astype(np.float32)
    y = np.sin(x[:, :16] * 3.0)
    learner = okl.Learner(
        loss="squared",
        kernel="gaussian:0.5",
        scale="none",
        step="constant:0.2",
        lam=1e-6,
        budget="unlimited",
        target_scale="none",
    )
    learner.threads = number
    learning = timed(time.perf_counter, lambda: learner.learn(x, y))
    a, b = x[:4096], np.ascontiguousarray(x[: min(rows, 50_000)].T)
    c = np.zeros((len(a), b.shape[1]), np.float32)
    product = min(timed(time.perf_counter, lambda: np.dot(a, b, out=c)) for _ in range(9))
    print(learning, product)


def small() -> None:
    import copy

    import numpy as np
    import okl

    random = np.random.default_rng(3)
    print("| columns | terms | rows per call |", " | ".join(f"{n} threads, rows/s" for n in counts()), "|")
    print("|---|---|---|" + "---|" * len(counts()))
    for columns, terms, cut in [
        (2, 50, 20_000),
        (8, 200, 20_000),
        (16, 500, 20_000),
        (54, 1000, 20_000),
        (16, 500, 100),
    ]:
        x = random.normal(size=(20_000, columns)).astype(np.float32)
        y = np.sign(x[:, 0] * x[:, 1])
        filled = okl.Learner(
            loss="hinge",
            kernel=f"gaussian:{1 / columns}",
            scale="none",
            step="constant:0.1",
            lam=1e-4,
            budget=f"window:{terms}",
        )
        filled.learn(x, y)
        best = {}
        for _ in range(5):
            for number in counts():
                learner = copy.copy(filled)
                learner.threads = number
                took = timed(
                    time.perf_counter,
                    lambda: [learner.learn(x[i : i + cut], y[i : i + cut]) for i in range(0, 20_000, cut)],
                )
                best[number] = min(best.get(number, 9e9), took)
        print(
            f"| {columns} | {terms} | {cut} |",
            " | ".join(f"{20_000 / best[n]:,.0f}" for n in counts()),
            "|",
            flush=True,
        )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["one"]:
            one()
        case ["threads", rows]:
            threads(int(rows))
        case ["with", number, rows]:
            with_threads(int(number), int(rows))
        case ["small"]:
            small()
        case _:
            sys.exit(__doc__)
