"""Weights of columns from the gradient of f: runs what the record does not have yet, then writes the tables of relevance.md.

python -m relevance run --data DIR
python -m relevance page
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RECORD = HERE / "record.jsonl"
PAGE = HERE.parent / "relevance.md"
SEEDS = (1, 2, 3, 4, 5)


def record() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RECORD.read_text().splitlines()] if RECORD.exists() else []


def run(data: Path, only: list[str]) -> None:
    from relevance.data import SETS, rows_of
    from relevance.protocol import BANKS, Trial

    had = {(line["bank"], line["set"], line["seed"]) for line in record()}
    asked = [
        (bank, of, seed)
        for bank in BANKS
        for seed in (1, 0, *SEEDS[1:])
        for of in SETS
        if (seed or of.ordered) and (not only or of.name in only)
    ]
    for bank, of, seed in asked:
        if (bank, of.name, seed) in had:
            continue
        X, y = rows_of(of, seed, data)
        outcome = Trial(X, y, of.task == "numbers", bank).run(held_out=seed != 0)
        line = {"bank": bank, "set": of.name, "seed": seed} | outcome | {"date": time.strftime("%F")}
        with RECORD.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print(bank, of.name, seed, outcome["second_half"], outcome["held_out"], outcome["whole"], flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "page"])
    parser.add_argument("--data", type=Path, default=Path("."), help="the folder with the data sets")
    parser.add_argument("--only", action="append", default=[], help="the name of a set; may be repeated")
    given = parser.parse_args()
    if given.what == "run":
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        run(given.data, given.only)
    else:
        from relevance.page import with_tables

        PAGE.write_text(with_tables(PAGE.read_text(), record()))


if __name__ == "__main__":
    main()
