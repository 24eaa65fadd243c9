"""The record as charts, one kind of experiment each."""

from __future__ import annotations

from typing import Any

from harness.svg import Series, chart, short
from harness.targets import single

OWN = ("#c2255c", "#e8590c", "#862e9c")
OTHERS = ("#1971c2", "#2f9e44", "#0c8599", "#5f3dc4", "#f08c00", "#495057", "#66a80f", "#a5673f")


def colours(results: list[dict[str, Any]]) -> dict[str, str]:
    """okl's entries are warm, the others are not."""
    own = list(dict.fromkeys(r["entry"] for r in results if r["role"] == "okl"))
    others = list(dict.fromkeys(r["entry"] for r in results if r["role"] != "okl"))
    return dict(zip(own, OWN)) | {name: OTHERS[i % len(OTHERS)] for i, name in enumerate(others)}


def grouped(results: list[dict[str, Any]], x: str, y: str) -> list[Series]:
    colour = colours(results)
    groups: dict[str, list[tuple[float, float, str]]] = {}
    for r in results:
        groups.setdefault(r["entry"], []).append(
            (r[x], r[y], f"{r['size'] or ''}: {short(r[x])}, {short(r[y])}")
        )
    return [
        Series(name, colour[name], [(a, b) for a, b, _ in found], [label for _, _, label in found])
        for name, found in groups.items()
    ]


def learned_charts(experiment: dict[str, Any]) -> list[str]:
    results = [
        r | {"percent": 100 * r["error"], "mb": max(r["memory"], 1e4) / 1e6} for r in single(experiment)
    ]
    learners = [r for r in results if r["role"] != "baseline"]
    return [
        chart(
            "Error against time", "processor time, s", "error, %", grouped(learners, "processor", "percent")
        ),
        chart(
            "Error against memory",
            "memory that learning took, MB",
            "error, %",
            grouped(learners, "mb", "percent"),
        ),
    ]


def novelty_charts(experiment: dict[str, Any]) -> list[str]:
    results = [r | {"p": 100 * r["precision"], "rate": 100 * r["alert_rate"]} for r in single(experiment)]
    asked = f"share of rows that were alerts, %; {100 * experiment['course']['rate']:g} were asked for"
    return [
        chart("Precision of the alerts", asked, "precision, %", grouped(results, "rate", "p"), False, False)
    ]


def growth_charts(experiment: dict[str, Any]) -> list[str]:
    results = single(experiment)
    colour = colours(results)
    series = [
        Series(
            r["entry"],
            colour[r["entry"]],
            [(end, 1e6 * cost) for end, cost, _ in r["segments"]],
            [f"{short(end)}: {1e6 * cost:.2f} µs" for end, cost, _ in r["segments"]],
        )
        for r in results
    ]
    return [chart("Cost of an example along the stream", "examples so far", "µs of processor time", series)]


def throughput_charts(experiment: dict[str, Any]) -> list[str]:
    """Against the number of terms at one width, and against the width at one number of terms."""
    results, colour = single(experiment), colours(experiment["results"])
    widths = experiment["course"]["features"]
    at = len(widths) // 2
    by_entry: dict[str, list[dict[str, Any]]] = {}
    for r in results:
        by_entry.setdefault(r["entry"], []).append(r)

    def terms(r: dict[str, Any]) -> float:
        return float(str(r["size"]).split(":")[-1])

    against_terms = [
        Series(
            name,
            colour[name],
            [(terms(r), r["rates"][at][1]) for r in found],
            [short(r["rates"][at][1]) for r in found],
        )
        for name, found in by_entry.items()
    ]
    middle = {name: found[len(found) // 2] for name, found in by_entry.items()}
    against_width = [
        Series(
            name, colour[name], [(w, rate) for w, rate in r["rates"]], [short(rate) for _, rate in r["rates"]]
        )
        for name, r in middle.items()
    ]
    some = short(terms(next(iter(middle.values()))))
    return [
        chart(f"Throughput at {widths[at]} columns", "terms or random features", "examples/s", against_terms),
        chart(f"Throughput at {some} terms", "columns", "examples/s", against_width),
    ]


def latency_charts(experiment: dict[str, Any]) -> list[str]:
    results = [r | {"a": 1e6 * r["p50"], "b": 1e6 * r["p99"]} for r in single(experiment)]
    return [chart("Latency of one example", "p50, µs", "p99, µs", grouped(results, "a", "b"))]


CHARTS = {
    "one_pass": learned_charts,
    "progressive": learned_charts,
    "novelty": novelty_charts,
    "latency": latency_charts,
    "growth": growth_charts,
    "throughput": throughput_charts,
}
