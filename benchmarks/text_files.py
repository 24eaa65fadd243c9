"""Linear weights from a file to a model: okl on LIBSVM and VW text, Vowpal Wabbit on VW text; a part of sparse.md.

    python benchmarks/text_files.py path/to/okl --rows 100000

Needs numpy and vowpalwabbit. Rows are like those of a text: 70 columns a row with Zipf frequencies (exponent 1.1), values from 0.1 to 6; okl/examples/sparse_speed.rs
draws the same distribution. Both programs read text and write a model. They run in turn, and ratios are within one run of this script: of the processor time that each
took (all threads), which other programs on the machine change less, and of the elapsed time, which is what a user waits for. The time of a file of one row (start of the
program, and of Python for Vowpal Wabbit) is subtracted from both.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

OKL = "--kernel linear --loss logistic --step constant:0.01 --lambda 1e-6 --scale none --offset true --task classes --quiet -o"
VW = "--loss_function logistic --bit_precision 20 --quiet -f"


def write(folder: Path, rows: int, features: int) -> None:
    """The same rows as LIBSVM text and as VW text; and the first row alone."""
    random = np.random.default_rng(7)
    top = features**-0.1
    with open(folder / "rows.svm", "w") as svm, open(folder / "rows.vw", "w") as vw:
        for _ in range(rows):
            drawn = (1.0 - random.random(70) * (1.0 - top)) ** -10.0 - 1.0
            columns = np.unique(np.minimum(drawn.astype(np.int64), features - 1))
            label = 1 if (columns % 7 - 3).sum() > 0 else -1
            words = " ".join(f"{f + 1}:{0.1 + f % 17 * 0.37:.2f}" for f in columns)
            svm.write(f"{label} {words}\n")
            vw.write(f"{label} | {words}\n")
    for kind in ("svm", "vw"):
        with open(folder / f"rows.{kind}") as file:
            (folder / f"one.{kind}").write_text(file.readline())


def seconds(command: list[str]) -> np.ndarray:
    """The processor time and the elapsed time of a command."""

    def used() -> np.ndarray:
        times = resource.getrusage(resource.RUSAGE_CHILDREN)
        return np.array([times.ru_utime + times.ru_stime, time.perf_counter()])

    before = used()
    subprocess.run(command, check=True, capture_output=True)
    return used() - before


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("okl")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    print(
        "| columns | program | file | examples per second of processor time | ratio | examples per second | ratio |"
    )
    print("|---|---|---|---|---|---|---|")
    for features in (50_000, 1_000_000):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write(folder, args.rows, features)
            vw = [sys.executable, "-m", "vowpalwabbit", *VW.split(), str(folder / "model.vw"), "-d"]
            okl = [args.okl, "learn", *OKL.split(), str(folder / "model.okl")]
            programs = [
                ("Vowpal Wabbit", "vw", vw),
                ("okl", "svm", okl),
                ("okl", "vw", okl),
                ("okl --hash-bits 18", "vw", [*okl, "--hash-bits", "18"]),
                ("okl --hash-bits 20", "vw", [*okl, "--hash-bits", "20"]),
            ]
            times = {program[:2]: [] for program in programs}
            for _ in range(args.runs):
                for label, kind, command in programs:
                    whole, start = (
                        seconds([*command, str(folder / f"{part}.{kind}")]) for part in ("rows", "one")
                    )
                    times[label, kind].append(whole - start)
            of_vw = np.array(times["Vowpal Wabbit", "vw"])
            for (label, kind), taken in times.items():
                ratio = np.median(of_vw / np.array(taken), axis=0)
                speed = args.rows / np.median(taken, axis=0)
                figures = " | ".join(f"{speed[i]:,.0f} | {ratio[i]:.2f}" for i in range(2))
                print(f"| {features:,} | {label} | {kind} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
