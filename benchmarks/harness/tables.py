"""The record as tables, one kind of experiment each: a row for each result, failures among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.targets import named, percent

Table = tuple[list[str], list[list[str]]]
Result = dict[str, Any]
Row = Callable[[dict[str, Any], Result], list[str]]


def seconds(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def chosen(experiment: dict[str, Any], result: Result) -> str:
    """The settings that the tries have found."""
    for choice in experiment["tuned"]:
        if choice["entry"] == result["entry"] and choice["size"] == result["size"]:
            return ", ".join(f"{key} {value}" for key, value in choice["settings"].items())
    return ""


def learned(experiment: dict[str, Any], r: Result) -> list[str]:
    time = f"{seconds(r['processor'])} ({seconds(r['wall'])})"
    rate = f"{experiment['rows'] / r['processor']:,.0f}"
    return [percent(r["error"]), time, rate, f"{r['memory'] / 1e6:.1f}", chosen(experiment, r)]


def novelty(experiment: dict[str, Any], r: Result) -> list[str]:
    figures = [percent(r[key]) for key in ("ranked", "alert_rate", "precision", "recall")]
    return [*figures, seconds(r["processor"]), chosen(experiment, r)]


def latency(experiment: dict[str, Any], r: Result) -> list[str]:
    return [f"{1e6 * r[key]:.1f}" for key in ("p50", "p99")]


def growth(experiment: dict[str, Any], r: Result) -> list[str]:
    ends = [end for end, _, _ in r["segments"]]
    near = min(range(len(ends)), key=lambda i: abs(ends[i] - 64_000))
    costs = [f"{1e6 * r['segments'][i][1]:.2f}" for i in (0, near, -1)]
    return [f"{ends[-1]:,}", *costs, f"{r['segments'][-1][2] / 1e6:.0f}"]


def throughput(experiment: dict[str, Any], r: Result) -> list[str]:
    return [f"{rate:,.0f}" for _, rate in r["rates"]]


LEARNED = ["error", "processor (wall), s", "examples/s", "memory, MB", "chosen settings"]
NOVELTY = ["precision at the asked rate", "own alerts", "their precision", "their recall", "processor, s"]
GROWTH = ["examples", "µs each in the first 1,000", "at 64,000", "at the end", "memory at the end, MB"]
TABLES: dict[str, tuple[list[str], Row]] = {
    "one_pass": (LEARNED, learned),
    "progressive": (LEARNED, learned),
    "novelty": ([*NOVELTY, "chosen settings"], novelty),
    "latency": (["p50, µs", "p99, µs"], latency),
    "growth": (GROWTH, growth),
}


def table(experiment: dict[str, Any]) -> Table:
    """The table of an experiment; a result that failed says why."""
    if experiment["kind"] == "throughput":
        head, row = (
            [f"examples/s at {width} columns" for width in experiment["course"]["features"]],
            throughput,
        )
    else:
        head, row = TABLES[experiment["kind"]]
    rows = []
    for r in experiment["results"]:
        name = named(r) if r["threads"] == 1 else f"{named(r)}, {r['threads']} threads"
        failed = [r["failed"], *[""] * (len(head) - 1)] if "failed" in r else None
        rows.append([name, *(failed or row(experiment, r))])
    return ["", *head], rows
