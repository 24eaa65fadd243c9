"""okl without Python: the Rust program `okl/examples/latency.rs`, built before the run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def program() -> Path:
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"), "release/examples/latency")


def answer(line: str) -> str:
    spec = json.loads(line)
    command = [str(program()), json.dumps(spec["settings"]), spec["data"], str(spec["rows"])]
    ran = subprocess.run(command, capture_output=True, check=False, text=True)
    return ran.stdout.strip() or json.dumps({"failed": ran.stderr.strip()})


if __name__ == "__main__":
    for line in sys.stdin:
        print(answer(line), flush=True)
