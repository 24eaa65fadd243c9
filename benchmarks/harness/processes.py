"""Runs a peer's program: its threads, its time limit, its answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from shutil import which
from typing import Any

from harness.definitions import PROGRAMS

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
PACKAGES = {"okl": "okl", "river": "river", "sklearn": "sklearn", "vw": "vowpalwabbit", "libsvm": "libsvm"}
"""What each program imports."""
Outcome = dict[str, Any]


def command(program: str) -> list[str]:
    script = PROGRAMS / f"{program}.R"
    return ["Rscript", str(script)] if script.exists() else [sys.executable, "-m", f"peers.{program}"]


def run(program: str, specs: list[dict[str, Any]], threads: int, seconds: float) -> list[Outcome]:
    """One process answers all specifications; those it did not reach in time, or died at, have failed."""
    process = subprocess.Popen(
        command(program),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=PROGRAMS.parent,
        env=os.environ | {name: str(threads) for name in THREADS},
    )
    lines = "".join(json.dumps(spec) + "\n" for spec in specs)
    try:
        out, err = process.communicate(lines, timeout=seconds)
        reason = f"ended with {process.returncode}: {last_line(err)}"
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        reason = f"not done after {seconds:.0f} s"
    answers = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    return answers + [{"failed": reason}] * (len(specs) - len(answers))


def last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1][:200]


def available(program: str) -> str | None:
    """None if what the program needs is installed, else what is not."""
    if (PROGRAMS / f"{program}.R").exists():
        installed = (
            subprocess.run(["Rscript", "-e", f"library({program})"], capture_output=True, check=False)
            if which("Rscript")
            else None
        )
        return None if installed and installed.returncode == 0 else f"R with {program} is not installed"
    package = PACKAGES.get(program)
    return f"{package} is not installed" if package and find_spec(package) is None else None
