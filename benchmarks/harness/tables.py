"""The record as tables, one kind of experiment each."""

from __future__ import annotations

from typing import Any

from harness.targets import named, percent, single

Table = tuple[list[str], list[list[str]]]


def seconds(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def learned_table(experiment: dict[str, Any]) -> Table:
    rows = []
    for r in experiment["results"]:
        name = named(r) if r["threads"] == 1 else f"{named(r)}, {r['threads']} threads"
        if "failed" in r:
            rows.append([name, "", "", "", "", r["failed"]])
            continue
        settings = ", ".join(f"{key} {value}" for key, value in tuned(experiment, r).items())
        rate = experiment["rows"] / r["processor"]
        rows.append(
            [
                name,
                percent(r["error"]),
                f"{seconds(r['processor'])} ({seconds(r['wall'])})",
                f"{rate:,.0f}",
                f"{r['memory'] / 1e6:.1f}",
                settings,
            ]
        )
    return ["", "error", "processor (wall), s", "examples/s", "memory, MB", "chosen settings"], rows


def tuned(experiment: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    for choice in experiment["tuned"]:
        if choice["entry"] == result["entry"] and choice["size"] == result["size"]:
            return dict(choice["settings"])
    return {}


def novelty_table(experiment: dict[str, Any]) -> Table:
    head = [
        "",
        "precision at the asked rate",
        "own alerts",
        "their precision",
        "their recall",
        "processor, s",
        "settings",
    ]
    rows = []
    for r in experiment["results"]:
        if "failed" in r:
            rows.append([r["entry"], r["failed"], "", "", "", "", ""])
            continue
        figures = [percent(r[key]) for key in ("ranked", "alert_rate", "precision", "recall")]
        settings = ", ".join(f"{key} {value}" for key, value in tuned(experiment, r).items())
        rows.append([r["entry"], *figures, seconds(r["processor"]), settings])
    return head, rows


def latency_table(experiment: dict[str, Any]) -> Table:
    return ["", "p50, µs", "p99, µs"], [
        [r["entry"], *(r.get("failed", f"{1e6 * r.get(key, 0):.1f}") for key in ("p50", "p99"))]
        for r in experiment["results"]
    ]


def growth_table(experiment: dict[str, Any]) -> Table:
    head = [
        "",
        "examples",
        "µs each in the first 1,000",
        "µs each at 64,000",
        "µs each at the end",
        "memory at the end, MB",
    ]
    rows = []
    for r in single(experiment):
        ends = [segment[0] for segment in r["segments"]]
        near = min(range(len(ends)), key=lambda i: abs(ends[i] - 64_000))
        costs = [f"{1e6 * r['segments'][i][1]:.2f}" for i in (0, near, -1)]
        rows.append([r["entry"], f"{ends[-1]:,}", *costs, f"{r['segments'][-1][2] / 1e6:.0f}"])
    return head, rows


def throughput_table(experiment: dict[str, Any]) -> Table:
    widths = [str(width) for width in experiment["course"]["features"]]
    rows = [[named(r), *(f"{rate:,.0f}" for _, rate in r["rates"])] for r in single(experiment)]
    return ["examples/s of processor time", *(f"{width} columns" for width in widths)], rows


TABLES = {
    "one_pass": learned_table,
    "progressive": learned_table,
    "novelty": novelty_table,
    "latency": latency_table,
    "growth": growth_table,
    "throughput": throughput_table,
}
