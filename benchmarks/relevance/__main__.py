"""Weights of columns from the gradient of f: runs what the record does not have yet, then writes the tables of relevance.md.

python -m relevance run --data DIR      # the sets of data.py
python -m relevance streams --data DIR  # the streams of nothing_set
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

    asked = [
        (bank, of, seed)
        for bank in BANKS
        for seed in (1, 0, *SEEDS[1:])
        for of in SETS
        if (seed or of.ordered) and (not only or of.name in only)
    ]
    for bank, of, seed in asked:
        if not had(bank, of.name, seed):
            X, y = rows_of(of, seed, data)
            outcome = Trial(X, y, of.task == "numbers", bank).run(held_out=seed != 0)
            append({"bank": bank, "set": of.name, "seed": seed} | outcome)


def streams(data: Path, only: list[str]) -> None:
    """The second part in both banks, then the third part."""
    from relevance.protocol import BANKS, Trial

    for bank in BANKS:
        on_streams(bank, "stream", Trial.on_stream, data, only)
    on_streams(next(iter(BANKS)), "follow", Trial.following, data, only)


def on_streams(bank: str, part: str, measure: Any, data: Path, only: list[str]) -> None:
    from nothing_set import plan
    from nothing_set.streams import rows_of

    from relevance.protocol import Trial

    definition = plan.read()
    asked = [
        (stream, seed)
        for seed in definition.seeds
        for stream in sorted(definition.streams, key=lambda each: each.rows)
        if seed in definition.seeds_of(stream) and (not only or stream.name in only)
    ]
    for stream, seed in asked:
        if not had(bank, f"{part} {stream.name}", seed):
            X, y = rows_of(stream, seed, data)
            outcome = measure(Trial(X, y, stream.task == "numbers", bank))
            append({"bank": bank, "set": f"{part} {stream.name}", "seed": seed} | outcome)


def had(*key: Any) -> bool:
    return any((line["bank"], line["set"], line["seed"]) == key for line in record())


def append(line: dict[str, Any]) -> None:
    with RECORD.open("a") as file:
        file.write(json.dumps(line | {"date": time.strftime("%F")}) + "\n")
    print(*line.values(), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "streams", "page"])
    parser.add_argument("--data", type=Path, default=Path("."), help="the folder with the data sets")
    parser.add_argument("--only", action="append", default=[], help="the name of a set; may be repeated")
    given = parser.parse_args()
    if given.what in ("run", "streams"):
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        (run if given.what == "run" else streams)(given.data, given.only)
    else:
        from relevance.page import with_tables

        PAGE.write_text(with_tables(PAGE.read_text(), record()))


if __name__ == "__main__":
    main()
