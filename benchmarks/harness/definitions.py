"""The definition files: what is measured, and with which settings each peer is tried."""

from __future__ import annotations

import itertools
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent.parent / "definitions"
PROGRAMS = FOLDER.parent / "peers"
KINDS = ("one_pass", "progressive", "novelty", "latency", "growth", "throughput")
ROLES = ("okl", "online", "batch", "baseline")


class Entry(NamedTuple):
    """One way of learning: a peer's program, a method of it, and settings."""

    name: str
    program: str
    method: str
    role: str
    settings: dict[str, Any]
    grid: dict[str, list[Any]]
    """Every combination is tried on the validation rows; none for what has no settings."""
    sizes: dict[str, list[Any]]
    """At most one setting that is shown rather than tuned: the budget, the number of random features, ...

    The grid is tried at each."""
    tune_rows: int
    """The most rows to learn in a try; for what would take too long otherwise."""

    def tries(self) -> list[dict[str, Any]]:
        return [dict(zip(self.grid, values)) for values in itertools.product(*self.grid.values())]

    def each_size(self) -> list[tuple[Any, dict[str, Any]]]:
        """Every size with the settings before tuning; one without a size where there are none."""
        if not self.sizes:
            return [(None, self.settings)]
        [(key, values)] = self.sizes.items()
        return [(value, self.settings | {key: value}) for value in values]


class Experiment(NamedTuple):
    name: str
    title: str
    about: str
    kind: str
    data: str
    tune_data: str
    tries: int
    rows: int
    course: dict[str, Any]
    entries: list[Entry]


def entry(table: dict[str, Any]) -> Entry:
    made = Entry(
        name=table.pop("name"),
        program=table.pop("program"),
        method=table.pop("method"),
        role=table.pop("role", "online"),
        settings=table.pop("settings", {}),
        grid=table.pop("grid", {}),
        sizes=table.pop("sizes", {}),
        tune_rows=table.pop("tune_rows", 1_000_000),
    )
    if table:
        raise ValueError(f"{made.name}: unknown keys {', '.join(table)}")
    if made.role not in ROLES:
        raise ValueError(f"{made.name}: the role is {made.role}, expected one of {', '.join(ROLES)}")
    return made


def read(file: Path) -> Experiment:
    """An experiment from its file; an error names the file and the entry."""
    table = tomllib.loads(file.read_text())
    try:
        entries = [entry(each) for each in table.pop("entry")]
        experiment = Experiment(
            name=file.stem,
            title=table.pop("title"),
            about=table.pop("about"),
            kind=table.pop("kind"),
            data=table.pop("data", ""),
            tune_data=table.pop("tune_data", ""),
            tries=table.pop("tries", 0),
            rows=table.pop("rows", 0),
            course=table.pop("course", {}),
            entries=entries,
        )
    except (KeyError, ValueError) as error:
        raise ValueError(f"{file.name}: {error}") from error
    if table or experiment.kind not in KINDS:
        raise ValueError(f"{file.name}: kind {experiment.kind!r}, unknown keys {list(table)}")
    for each in entries:
        if each.grid and len(each.tries()) != experiment.tries:
            raise ValueError(
                f"{file.name}: {each.name} has {len(each.tries())} tries, everyone has {experiment.tries}"
            )
    return experiment


def all_of(names: list[str]) -> list[Experiment]:
    """The named experiments, or all, in the order of their files."""
    return [read(file) for file in sorted(FOLDER.glob("*.toml")) if not names or file.stem in names]
