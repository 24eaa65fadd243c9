"""Runs a peer's program: its threads, its time limit, its answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from harness.definitions import PROGRAMS

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
Outcome = dict[str, Any]


def command(program: str) -> list[str]:
    script = PROGRAMS / f"{program}.R"
    return ["Rscript", str(script)] if script.exists() else [sys.executable, "-m", f"peers.{program}"]


def run(program: str, specs: list[dict[str, Any]], threads: int, seconds: float) -> list[Outcome]:
    """One process answers all specifications; those it did not reach in time, or died at, have failed.

    With one thread the process has one core, so that no reader or library has a second one.
    """
    cores = sorted(os.sched_getaffinity(0))
    cores = cores[-1:] if threads == 1 else cores
    process = subprocess.Popen(
        command(program),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=PROGRAMS.parent,
        env=os.environ | {name: str(threads) for name in THREADS},
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
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
    """None if the program can run here, else why not."""
    script = PROGRAMS / f"{program}.R"
    if script.exists():
        from shutil import which

        return None if which("Rscript") else "R is not installed"
    check = subprocess.run(
        [sys.executable, "-c", f"import peers.{program}"], capture_output=True, text=True, cwd=PROGRAMS.parent
    )
    return None if check.returncode == 0 else last_line(check.stderr)
