"""The tables of benchmarks/relevance.md, from the record. What stands above the mark is written by hand and kept."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean, stdev
from typing import Any

from nothing_set import plan

from relevance.data import SETS
from relevance.protocol import BANKS, STREAM_EVENTS

Line = dict[str, Any]
MARK = "<!-- tables: written by `python -m relevance page` -->\n"
MEASURES = {"second_half": ("damped", "full"), "held_out": ("damped", "full"), "whole": ("events", "guarded")}
TITLES = {
    "second_half": "Second half, weights from the first half",
    "held_out": "Held-out tenth, weights from the other nine",
    "whole": "Whole stream, weights at counts of rows",
}
HELPS, HURTS, SEEDS_ALIKE = 0.98, 1.02, 4


def ratios(lines: Iterable[Line], measure: str, arm: str) -> list[float]:
    """Error over that of `none`, seed by seed."""
    return [line[measure][arm] / line[measure]["none"] for line in lines if arm in line[measure]]


def verdict(of: list[float]) -> str:
    """As protocol.py defines it, for five seeds."""
    mean = fmean(of)
    if mean <= HELPS and sum(each < 1 for each in of) >= SEEDS_ALIKE:
        return "helps"
    if mean >= HURTS and sum(each > 1 for each in of) >= SEEDS_ALIKE:
        return "hurts"
    return "-"


def cell(of: list[float]) -> str:
    if not of:
        return "-"
    error = f" ± {stdev(of) / len(of) ** 0.5:.3f}" if len(of) > 1 else ""
    return f"{fmean(of):.3f}{error}"


def figure(value: float, task: str) -> str:
    return f"{100 * value:.2f} %" if task == "classes" else f"{value:.4g}"


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def of_measure(record: list[Line], bank: str, measure: str) -> str:
    arms = MEASURES[measure]
    head = ["set", "error of `none`"] + [each for arm in arms for each in (f"`{arm}` / `none`", "")]
    rows = []
    for of in SETS:
        mine = [line for line in record if (line["bank"], line["set"]) == (bank, of.name)]
        shuffled = [line for line in mine if line["seed"]]
        if not shuffled:
            continue
        errors = figure(fmean(line[measure]["none"] for line in shuffled), of.task)
        found = [ratios(shuffled, measure, arm) for arm in arms]
        rows.append([of.name, errors] + [each for some in found for each in (cell(some), verdict(some))])
        for line in (each for each in mine if not each["seed"] and each[measure]):
            found = [ratios([line], measure, arm) for arm in arms]
            error = figure(line[measure]["none"], of.task)
            rows.append(
                [f"{of.name}, in file order", error] + [each for some in found for each in (cell(some), "")]
            )
    return table(head, rows)


STREAM_ARMS = {
    "stream": ["events", "events, full", "guarded"],
    "follow": ["followed", "recent", "recent, followed"],
}


def of_streams(record: list[Line], bank: str, part: str = "stream") -> str:
    arms = STREAM_ARMS[part]
    rows, all_ratios = [], {arm: [] for arm in arms}
    for stream in plan.read().streams:
        mine = [line for line in record if (line["bank"], line["set"]) == (bank, f"{part} {stream.name}")]
        if mine:
            error = figure(fmean(line["whole"]["none"] for line in mine), stream.task)
            found = {arm: ratios(mine, "whole", arm) for arm in arms}
            rows.append([stream.name, str(len(mine)), error, *map(cell, found.values())])
            for arm in arms:
                all_ratios[arm].append(fmean(found[arm]))
    if not rows:
        return "Not run.\n"
    for name, of in (("geometric mean", geometric_mean), ("worst", max), ("best", min)):
        rows.append([f"**{name}**", "", "", *(f"{of(all_ratios[arm]):.3f}" for arm in arms)])
    return table(["stream", "seeds", "error of `none`", *(f"`{arm}` / `none`" for arm in arms)], rows)


def geometric_mean(of: list[float]) -> float:
    product = 1.0
    for each in of:
        product *= each
    return product ** (1 / len(of))


def costs(record: list[Line]) -> str:
    rows = []
    for of in SETS:
        mine = [
            line
            for line in record
            if line["set"] == of.name and line["seed"] and line["bank"] == next(iter(BANKS))
        ]
        if mine:
            seconds = {name: fmean(line["seconds"][name] for line in mine) for name in mine[0]["seconds"]}
            columns = len(mine[0]["m"])
            share = f"{100 * seconds['relevance'] / seconds['none']:.1f} %"
            times = f"{seconds['events'] / seconds['none']:.2f}"
            rows.append(
                [of.name, f"{mine[0]['rows']:,}", str(columns), f"{seconds['none']:.2f}", share, times]
            )
    head = ["set", "rows", "columns", "seconds of `none`", "one estimate of M", "`events` / `none`"]
    return table(head, rows)


def tables(record: list[Line]) -> str:
    parts = []
    for bank in BANKS:
        for measure, title in TITLES.items():
            parts.append(f"## {title} ({bank})\n\n{of_measure(record, bank, measure)}")
    counts = ", ".join(f"{count:,}" for count in STREAM_EVENTS)
    for bank in BANKS:
        parts.append(
            f"## The twenty streams, weights at {counts} rows ({bank})\n\n{of_streams(record, bank)}"
        )
    bank = next(iter(BANKS))
    parts.append(
        f"## The twenty streams, weights that follow ({bank})\n\n{of_streams(record, bank, 'follow')}"
    )
    parts.append(f"## Time ({next(iter(BANKS))})\n\n{costs(record)}")
    return "\n".join(parts)


def with_tables(text: str, record: list[Line]) -> str:
    return text[: text.index(MARK) + len(MARK)] + "\n" + tables(record)
