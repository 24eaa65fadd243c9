"""python -m harness --data DIR: runs the experiments and writes record.json, peers.md and peers.html."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from harness import definitions, drive, pages, record

HERE = Path(__file__).parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder with the data sets")
    parser.add_argument(
        "--work", type=Path, default=HERE.parent / "target/bench/data", help="for prepared rows"
    )
    parser.add_argument("--out", type=Path, default=HERE, help="the folder of record and pages")
    parser.add_argument(
        "--only", nargs="*", default=[], help="names of experiments; the others keep their record"
    )
    parser.add_argument(
        "--entry",
        nargs="*",
        default=[],
        help="names of entries; all others, and date and machine of the record, stay as they are",
    )
    parser.add_argument("--size", choices=drive.SIZES, default="full", help="quick is for trying the harness")
    parser.add_argument("--page", action="store_true", help="only write the pages again, from the record")
    parser.add_argument("--note", nargs="*", default=[], help="remarks that go with the record")
    args = parser.parse_args()
    file = args.out / "record.json"
    args.out.mkdir(parents=True, exist_ok=True)
    if not args.page:
        scope = drive.Scope(size=args.size, source=args.data, work=args.work, **drive.SIZES[args.size])
        old = json.loads(file.read_text()) if (args.only or args.entry) and file.exists() else {}
        kept = old.get("experiments", {})
        for experiment in definitions.all_of(args.only):
            if args.entry:
                again = drive.drive(drive.part(experiment, args.entry), scope)
                kept[experiment.name] = record.merged(kept[experiment.name], again)
                made = old | {"experiments": kept, "notes": old["notes"] + args.note}
            else:
                kept[experiment.name] = drive.drive(experiment, scope)
                made = record.made(kept, args.note)
            file.write_text(record.text(made))
    made = json.loads(file.read_text())
    (args.out / "peers.md").write_text(pages.markdown(made))
    (args.out / "peers.html").write_text(pages.html(made))


if __name__ == "__main__":
    main()
