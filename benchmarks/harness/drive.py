"""Tunes every entry on the validation rows, then runs all in turn, several rounds, on the same rows."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from harness import data, processes
from harness.definitions import Entry, Experiment
from harness.processes import Outcome

VALIDATION = 0.2
"""The share of the training rows, the last ones, that settings are chosen on; of a stream, the first ones."""
MOST_VALIDATION = 5_000
"""No more rows than this are predicted in a try."""
SHARING = {"okl", "sklearn"}
"""Programs that share their work among threads, and are run once more with all cores."""


class Scope(NamedTuple):
    """How much is run."""

    size: str
    source: Path
    work: Path
    rounds: int
    enough: float
    """No more rounds of an entry once they have taken this many seconds."""
    seconds: float
    """The limit of one run."""
    rows: int
    """The most rows of a run."""
    long: int
    """The most rows of the long stream."""
    tries: int
    """The most tries of a grid."""
    sizes: int
    """The most sizes of an entry."""


SIZES: dict[str, dict[str, Any]] = {
    "quick": {
        "rounds": 1,
        "enough": 5.0,
        "seconds": 60.0,
        "rows": 1_500,
        "long": 20_000,
        "tries": 2,
        "sizes": 2,
    },
    "modest": {
        "rounds": 1,
        "enough": 5.0,
        "seconds": 300.0,
        "rows": 3_000,
        "long": 1_000_000,
        "tries": 6,
        "sizes": 3,
    },
    "full": {
        "rounds": 3,
        "enough": 20.0,
        "seconds": 300.0,
        "rows": 10**8,
        "long": 10**8,
        "tries": 12,
        "sizes": 9,
    },
}


class Job(NamedTuple):
    """One entry at one size on a number of threads, and what its runs gave."""

    entry: Entry
    size: Any
    settings: dict[str, Any]
    threads: int
    outcomes: list[Outcome]


def spread(values: list[Any], most: int) -> list[Any]:
    """So many of the values, evenly spaced, the first among them."""
    count = min(most, len(values))
    return [values[i * len(values) // count] for i in range(count)]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Driver:
    """One experiment in a scope: where its rows are, and how many."""

    def __init__(self, experiment: Experiment, scope: Scope) -> None:
        self.experiment, self.scope = experiment, scope
        self.folder = self.prepared(experiment.data) if experiment.data else scope.work
        self.tune_folder = self.prepared(experiment.tune_data) if experiment.tune_data else self.folder
        most = scope.long if experiment.kind == "growth" else scope.rows
        self.rows = min(experiment.rows or self.count("train_y") or most, most)

    def prepared(self, name: str) -> Path:
        return data.prepared(name, self.scope.source, self.scope.work)

    def count(self, array: str) -> int:
        file = self.folder / f"{array}.npy"
        return len(np.load(file)) if file.exists() else 0

    def spec(self, entry: Entry, settings: dict[str, Any], threads: int) -> dict[str, Any]:
        return {
            "kind": self.experiment.kind,
            "method": entry.method,
            "settings": settings,
            "data": str(self.folder),
            "rows": self.rows,
            "test": ["test", 0, min(self.count("test_y"), self.scope.rows)],
            "threads": threads,
            "seed": data.SEED,
            "course": self.experiment.course,
        }

    def trial(self, entry: Entry, settings: dict[str, Any]) -> dict[str, Any]:
        """The same run on the rows that settings are chosen on."""
        spec = self.spec(entry, settings, 1) | {"data": str(self.tune_folder)}
        if self.experiment.kind == "one_pass":
            learned = round(self.rows * (1 - VALIDATION))
            test = ["train", learned, min(self.rows, learned + MOST_VALIDATION)]
            return spec | {"rows": min(learned, entry.tune_rows), "test": test}
        if self.experiment.kind == "progressive":
            return spec | {"rows": min(round(self.rows * VALIDATION), entry.tune_rows)}
        return spec

    def tuned(self, entry: Entry, size: Any, settings: dict[str, Any]) -> dict[str, Any]:
        """The tries of the grid with their errors, and the best of them."""
        tries = spread(entry.tries(), self.scope.tries) if entry.grid else []
        specs = [self.trial(entry, settings | each) for each in tries]
        outcomes = processes.run(entry.program, specs, 1, 2 * self.scope.seconds) if tries else []
        errors = [outcome.get("error", math.inf) for outcome in outcomes]
        best = tries[int(np.argmin(errors))] if tries else {}
        say(f"  tuned {entry.name} {size or ''}: {best} {min(errors, default=math.nan):.4f}")
        return {
            "entry": entry.name,
            "size": size,
            "settings": best,
            "errors": [None if math.isinf(error) else error for error in errors],
            "failures": sorted({outcome["failed"] for outcome in outcomes if "failed" in outcome}),
        }

    def turn(self, job: Job) -> None:
        asked = self.spec(job.entry, job.settings, job.threads)
        job.outcomes.extend(processes.run(job.entry.program, [asked], job.threads, self.scope.seconds))
        say(f"  {job.entry.name} {job.size or ''} x{job.threads}: {brief(job.outcomes[-1])}")


def part(experiment: Experiment, names: list[str]) -> Experiment:
    """The experiment with these entries only."""
    return experiment._replace(entries=[entry for entry in experiment.entries if entry.name in names])


def drive(experiment: Experiment, scope: Scope) -> dict[str, Any]:
    """Everything of one experiment, as it goes into the record."""
    say(experiment.name)
    driver = Driver(experiment, scope)
    missing = {entry.program: processes.available(entry.program) for entry in experiment.entries}
    entries = [entry for entry in experiment.entries if not missing[entry.program]]
    cores = len(os.sched_getaffinity(0)) if experiment.kind == "one_pass" else 1
    choices, alone, together = [], [], []
    for entry in entries:
        for size, settings in spread(entry.each_size(), scope.sizes):
            choice = driver.tuned(entry, size, settings)
            choices.append(choice)
            settings = settings | choice["settings"]
            alone.append(Job(entry, size, settings, 1, []))
            if cores > 1 and entry.program in SHARING:
                together.append(Job(entry, size, settings, cores, []))
    for jobs in (alone, together):
        for _ in range(scope.rounds):
            for job in jobs:
                if sum(outcome.get("wall", math.inf) for outcome in job.outcomes) < scope.enough:
                    driver.turn(job)
    return {
        "title": experiment.title,
        "about": experiment.about,
        "kind": experiment.kind,
        "size": scope.size,
        "rows": driver.rows,
        "course": experiment.course,
        "missing": {program: why for program, why in missing.items() if why},
        "tuned": choices,
        "results": [result(job) for job in alone + together],
    }


def result(job: Job) -> dict[str, Any]:
    """The run that took the least processor time; errors do not differ between runs of one setting."""
    done = [outcome for outcome in job.outcomes if "failed" not in outcome]
    best = min(done, key=lambda outcome: outcome["processor"]) if done else job.outcomes[0]
    return {
        "entry": job.entry.name,
        "role": job.entry.role,
        "program": job.entry.program,
        "size": job.size,
        "threads": job.threads,
        "settings": job.settings,
        "runs": len(job.outcomes),
    } | best


def brief(outcome: Outcome) -> str:
    shown = ("error", "precision", "alert_rate", "processor", "wall", "p50", "p99", "memory")
    numbers = ", ".join(f"{key} {outcome[key]:.4g}" for key in shown if key in outcome)
    return str(outcome.get("failed", numbers))
