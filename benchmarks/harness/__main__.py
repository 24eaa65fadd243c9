"""python -m harness --data DIR: runs the experiments and writes record.json, peers.md and peers.html."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from harness import definitions, drive, record

HERE = Path(__file__).parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the data sets")
    parser.add_argument("--work", type=Path, default=HERE.parent / "target/bench/data", help="for prepared rows")
    parser.add_argument("--out", type=Path, default=HERE, help="the folder of record and pages")
    parser.add_argument("--only", nargs="*", default=[], help="names of experiments; the others keep their record")
    parser.add_argument("--quick", action="store_true", help="a small run for trying")
    args = parser.parse_args()
    size = drive.QUICK if args.quick else drive.FULL
    scope = drive.Scope(source=args.data, work=args.work, **size)
    file = args.out / "record.json"
    kept = json.loads(file.read_text())["experiments"] if args.only and file.exists() else {}
    for experiment in definitions.all_of(args.only):
        kept[experiment.name] = drive.drive(experiment, scope)
    made = record.made(kept, quick=args.quick)
    args.out.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
