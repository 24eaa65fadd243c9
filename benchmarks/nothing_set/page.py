"""From the record to benchmarks/nothing_set.md."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import fmean
from typing import Any, NamedTuple

from nothing_set.plan import SEEN, Definition, Peer, Stream

Line = dict[str, Any]
Errors = dict[int, float]
"""By seed."""
PEERS = {"default": "peers with defaults", "tuned": "peers tuned"}


class Best(NamedTuple):
    """The peer, or the try of a peer, that okl compares worst with."""

    name: str
    attempt: int
    error: float
    ratio: float
    """okl's mean error over the peer's, on the seeds that both have."""
    seeds: int


def errors(record: Iterable[Line], stream: str, peer: str, attempt: int = 0) -> Errors:
    return {
        line["seed"]: line["error"]
        for line in record
        if (line["stream"], line["peer"], line["try"]) == (stream, peer, attempt) and "error" in line
    }


def ratio(ours: Errors, theirs: Errors) -> float | None:
    """Over the seeds that both have; none without any."""
    shared = sorted(ours.keys() & theirs.keys())
    if not shared:
        return None
    mine, other = (fmean(each[seed] for seed in shared) for each in (ours, theirs))
    return mine / other if other > 0 else (1.0 if mine == 0 else math.inf)


def best(record: list[Line], stream: Stream, peers: list[Peer], ours: Errors, tuned: bool) -> Best | None:
    """Among defaults, or among all tries once there are others than defaults."""
    found = []
    for peer in peers:
        for attempt in range(len(peer.tries()) if tuned else 1):
            theirs = errors(record, stream.name, peer.name, attempt)
            against = ratio(ours, theirs)
            if against is not None:
                found.append(Best(peer.name, attempt, fmean(theirs.values()), against, len(theirs)))
    if tuned and not any(each.attempt for each in found):
        return None  # nobody was tuned on this stream yet
    return max(found, key=lambda each: each.ratio, default=None)


def figure(value: float, stream: Stream) -> str:
    return f"{100 * value:.2f} %" if stream.task == "classes" else f"{value:.4g}"


def mean_figure(of: Errors, stream: Stream) -> str:
    return figure(fmean(of.values()), stream) if of else "-"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def labels(record: list[Line]) -> list[str]:
    """okl's columns, in the order in which they came into the record."""
    return list(dict.fromkeys(line["peer"] for line in record if line["peer"].startswith("okl ")))


class Compared(NamedTuple):
    stream: Stream
    okl: Errors
    default: Best | None
    tuned: Best | None


def compared(definition: Definition, record: list[Line], label: str) -> list[Compared]:
    """One of okl's columns beside the peers, stream by stream."""
    counted = [peer for peer in definition.peers if peer.counts]
    rows = []
    for stream in definition.streams:
        peers = [peer for peer in counted if stream.task in peer.learners]
        ours = errors(record, stream.name, label)
        both = [best(record, stream, peers, ours, tuned) for tuned in (False, True)]
        rows.append(Compared(stream, ours, *both))
    return rows


def first_column(record: list[Line]) -> str:
    """okl's column that ran before the figures of these streams were known. For the later ones all streams are in-sample."""
    return next(iter(labels(record)), "")


def streams_among(label: str, record: list[Line]) -> list[tuple[str, tuple[str, ...]]]:
    """The groups of streams over which a column is summed up."""
    unseen = [("not looked at before", ("family", "new"))] if label == first_column(record) else []
    return [("all streams", SEEN), *unseen]


def summary(definition: Definition, record: list[Line]) -> str:
    lines = []
    for label in labels(record):
        rows = compared(definition, record, label)
        for which in ("default", "tuned"):
            for among, seen in streams_among(label, record):
                found = [(getattr(row, which), row.stream.seen in seen) for row in rows]
                ratios = [each.ratio for each, counts in found if each and counts]
                if ratios:
                    lines.append(verdict(f"{label}, {PEERS[which]}, {among}", ratios))
    return table(
        ["", "at or below the best peer", "worst ratio", "above 1.1", "geometric mean of ratios"], lines
    )


def verdict(name: str, ratios: list[float]) -> list[str]:
    below = sum(each <= 1 for each in ratios)
    worst = max(ratios)
    above = sum(each > 1.1 for each in ratios)
    mean = math.exp(fmean(map(math.log, ratios))) if min(ratios) > 0 else 0.0
    return [name, f"{below} of {len(ratios)}", f"{worst:.2f}", str(above), f"{mean:.3f}"]


def beside(best: Best | None, stream: Stream) -> list[str]:
    if best is None:
        return ["-", "-", "-"]
    return [figure(best.error, stream), best.name, f"{best.ratio:.2f}"]


def main_table(rows: list[Compared], record: list[Line]) -> str:
    names = labels(record)
    head = [
        "stream",
        "rows",
        f"seen before `{first_column(record)}`",
        *names,
        "best peer, defaults",
        "which",
        "ratio",
        "best peer, tuned",
    ]
    head += ["which", "ratio", "the last label"]
    lines = []
    for row in rows:
        stream = row.stream
        lines.append(
            [stream.name, f"{stream.rows:,}", stream.seen]
            + [mean_figure(errors(record, stream.name, name), stream) for name in names]
            + beside(row.default, stream)
            + beside(row.tuned, stream)
            + [mean_figure(errors(record, stream.name, "the last label"), stream)]
        )
    return table(head, lines)


def coverage(definition: Definition, record: list[Line]) -> str:
    """How much of what the definition asks for has been run."""
    lines = []
    for peer in definition.peers:
        mine = [line for line in record if line["peer"] == peer.name]
        streams = [stream for stream in definition.streams if stream.task in peer.learners]
        asked = sum(len(definition.seeds_of(stream)) for stream in streams)
        cells = []
        for first, attempts in ((True, {0}), (True, None), (False, {0}), (False, None)):
            some = [
                line
                for line in mine
                if (line["seed"] == definition.seeds[0]) == first
                and (line["try"] in (attempts or range(1, 99)))
            ]
            tries = 1 if attempts else len(peer.tuned)
            whole = (len(streams) if first else asked - len(streams)) * tries
            cells.append(f"{sum('error' in line for line in some)} of {whole}")
        versions = ", ".join(sorted({line["version"] for line in mine}))
        lines.append([peer.name, *cells, versions])
    head = [
        "peer",
        "defaults, seed 1",
        "tuned, seed 1",
        "defaults, other seeds",
        "tuned, other seeds",
        "version",
    ]
    return table(head, lines)


def speed(line: Line | None) -> str:
    return f"{line['rows'] / line['processor']:,.0f}" if line and line.get("processor") else "-"


def speeds(definition: Definition, record: list[Line], rows: list[Compared]) -> str:
    """Rows per second of processor time, and what the bank costs."""
    first = {
        (line["stream"], line["peer"], line["try"]): line
        for line in record
        if line["seed"] == definition.seeds[0] and "error" in line
    }
    lines = []
    for row in rows:
        own = first.get((row.stream.name, judged(record), 0))
        other = first.get((row.stream.name, row.default.name, 0)) if row.default else None
        taken = {key: str((own or {}).get(key, "-")) for key in ("terms", "cost", "plain_terms")}
        name = row.default.name if row.default else "-"
        lines.append([row.stream.name, speed(own), *taken.values(), speed(other), name])
    head = [
        "stream",
        "okl, rows/s",
        "terms",
        "cost",
        "terms of the plain learner",
        "best peer, rows/s",
        "which",
    ]
    return table(head, lines)


def failures(definition: Definition, record: list[Line]) -> str:
    lines = [
        f"- {line['stream']}, seed {line['seed']}, {line['peer']}, {line['settings']}: {line['failed']}"
        for line in record
        if "failed" in line
    ]
    return "\n".join(lines) + "\n" if lines else "None.\n"


def judged(record: list[Line]) -> str:
    """The last of okl's columns with nothing set: the one whose ratios are shown stream by stream."""
    given = {line["peer"] for line in record if line.get("settings")}
    return next((label for label in reversed(labels(record)) if label not in given), "")


def columns(definition: Definition, record: list[Line]) -> str:
    """Where okl's columns come from, in words."""
    tasks = {stream.name: stream.task for stream in definition.streams}
    words = {}
    for line in record:
        if "commit" in line:
            given, task = line.get("settings"), tasks[line["stream"]]
            setting = f"{given} for {task}" if given else "nothing set"
            words[line["peer"], setting] = f"- `{line['peer']}`: commit {line['commit']}, {setting}."
    return "\n".join(words.values())


def runs_with_defaults(definition: Definition, record: list[Line]) -> str:
    """How many of the peers' runs with defaults and the first seed the record has."""
    peers = {peer.name: peer for peer in definition.peers if peer.counts}
    asked = sum(stream.task in peer.learners for peer in peers.values() for stream in definition.streams)
    first = (0, definition.seeds[0])
    had = sum(line["peer"] in peers and (line["try"], line["seed"]) == first for line in record)
    return f"{had} of {asked}"


def page(definition: Definition, record: list[Line]) -> str:
    rows = compared(definition, record, judged(record))
    return TEXT.format(
        title=definition.title,
        columns=columns(definition, record),
        had=runs_with_defaults(definition, record),
        judged=judged(record),
        first=first_column(record),
        summary=summary(definition, record),
        main=main_table(rows, record),
        coverage=coverage(definition, record),
        speeds=speeds(definition, record, rows),
        failures=failures(definition, record),
    )


TEXT = """# {title}

Written by `python -m nothing_set page` from `nothing_set/record.jsonl`; `nothing_set/definition.toml` says what was run, and was
committed before these runs. Before that, the peers had been tried for speed on the first 3,000 rows of weather, which showed their errors
there too. Changed since then: the order of the runs; okl gets the rows of seeds 2 to 5 in one call. A column of okl with settings was added
when figures were known, and is not judged.

{columns}

**The record has {had} of the peers' runs with defaults and seed 1**; "What was run" has the rest. What is missing may be better than the best
peer shown.

    make nothing-set-peers DATA=DIR             # the peers' runs that the record does not have yet; many hours of one core
    make nothing-set DATA=DIR LABEL=today       # okl on all streams and seeds, then this page

- Progressive error: every row is predicted before it is learned, and every row counts. Mistakes, or the mean squared error.
- **okl** has nothing set. It predicts and learns one row at a time with seed 1, and is checked to make the same error when the rows are
  given in one call; with the other seeds they are given in one call.
- **Defaults**: the peer with the least error among all with their packages' defaults, chosen in hindsight on the stream. **Tuned**: the
  same among all tries of all peers, where some were run. "What was run" says how much of the definition the record has.
- Ratio: the error of `{judged}` over the peer's, means over the seeds that both have. The figures beside it are means over the seeds that each has.
- Seen before `{first}`, for that column alone: "in sample", its defaults were chosen on the stream; "looked at", figures of the stream
  were known while okl was built; "family", the generator was looked at with other parameters; "new", neither.
- For every later column all twenty streams are in-sample: their figures were known when its defaults were chosen. Those of the last
  columns were chosen on the twenty streams in about forty tries ([relevance.md](relevance.md)).
- Asked for: at or below the best peer on at least 17 of 20 streams, never above 1.1 of it.

{summary}
{main}
The last label predicts what came last; it does not count as a peer.

## Time

Rows per second of processor time, one row at a time, seed 1, on a busy machine with two cores. Cost: the time of the bank over that of one
plain learner with the settings that the bank settled on, the same rows in one call (asked for: at most 2.5 with as many terms). The
warm-up is included. Why some of these ratios are large has not been looked into; the machine was busy.

{speeds}
## What was run

{coverage}
River's kNN draws random numbers without a seed: its error differs a little from run to run.

Runs without a figure:

{failures}"""
