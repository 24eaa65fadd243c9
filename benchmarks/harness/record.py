"""The record of a run: what was measured, on which machine, with which versions, when."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = ("okl", "river", "scikit-learn", "vowpalwabbit", "libsvm-official", "numpy", "scipy")


def version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def kernlab() -> str | None:
    """The version of kernlab, where R has it."""
    ask = "cat(as.character(packageVersion('kernlab')))"
    try:
        answer = subprocess.run(["Rscript", "-e", ask], capture_output=True, check=False, text=True)
    except FileNotFoundError:
        return None
    return answer.stdout or None if answer.returncode == 0 else None


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def machine() -> dict[str, Any]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory": memory,
        "system": f"{platform.system()} {platform.release()}",
        "load": os.getloadavg()[0],
    }


def made(experiments: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    versions = {package: version(package) for package in PACKAGES} | {"kernlab": kernlab()}
    return {
        "format": 1,
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "versions": {"python": platform.python_version()} | {k: v for k, v in versions.items() if v},
        "notes": notes,
        "experiments": experiments,
    }


def merged(old: dict[str, Any], again: dict[str, Any]) -> dict[str, Any]:
    """The record of an experiment, of which some entries were run again.

    Their results, with the date, take the place of the old ones.
    """

    def key(row: dict[str, Any]) -> tuple[Any, ...]:
        return row["entry"], row["size"], row.get("threads")

    today = {"date": datetime.date.today().isoformat()}
    results = {key(row): row | today for row in again["results"]}
    return old | {"results": [results.get(key(row), row) for row in old["results"]]}


def text(record: dict[str, Any]) -> str:
    """JSON with a line for each result, so that a new record can be compared with the old one."""
    whole = json.dumps(record, indent=1)
    for experiment in record["experiments"].values():
        for row in experiment["results"] + experiment["tuned"]:
            whole = whole.replace(json.dumps(row, indent=1).replace("\n", "\n    "), json.dumps(row), 1)
    return whole + "\n"
