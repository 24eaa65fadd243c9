"""What was asked for, and what the record says: every verdict comes with its figure, met or missed."""

from __future__ import annotations

from typing import Any, NamedTuple

Results = list[dict[str, Any]]
AGAINST_KSVM = ("usps", "usps_even_odd", "ijcnn1")
"""The experiments on which a multiple of its speed was asked for."""
PLAIN = "okl"
"""The tuned learner with plain settings."""


KSVM = "30 times the examples per second of --ksvm at equal or better error"


class Verdict(NamedTuple):
    target: str
    where: str
    met: bool
    figure: str


def single(experiment: dict[str, Any]) -> Results:
    return [r for r in experiment["results"] if r["threads"] == 1 and "failed" not in r]


def plain(results: Results) -> Results:
    return [r for r in results if r["entry"] == PLAIN]


def percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def named(result: dict[str, Any]) -> str:
    return f"{result['entry']} {result['size']}" if result["size"] else result["entry"]


def stated(result: dict[str, Any]) -> str:
    return f"{named(result)} ({percent(result['error'])}, {result['processor']:.3g} s)"


def undominated(name: str, results: Results) -> Verdict:
    """No online peer is both as fast and as accurate as okl, at any size that is shown."""
    lost = [
        f"{stated(peer)} against {stated(own)}"
        for own in plain(results)
        for peer in results
        if peer["role"] == "online"
        and peer["processor"] <= own["processor"]
        and peer["error"] <= own["error"]
    ]
    target = "no online peer is both as fast and as accurate as okl"
    return Verdict(target, name, not lost, "; ".join(lost) or "none is, at any size")


def faster_than_ksvm(name: str, results: Results) -> Verdict:
    peer = next((r for r in results if r["entry"].endswith("--ksvm")), None)
    if peer is None:
        return Verdict(KSVM, name, False, "--ksvm did not finish")
    as_good = [own for own in plain(results) if own["error"] <= peer["error"]]
    if not as_good:
        best = min(plain(results), key=lambda own: own["error"])
        ratio = peer["processor"] / best["processor"]
        errors = f"{percent(best['error'])} against {percent(peer['error'])}"
        figure = f"okl's best error is {errors}; {ratio:.0f} times as fast"
        return Verdict(KSVM, name, False, figure)
    own = min(as_good, key=lambda own: own["processor"])
    ratio = peer["processor"] / own["processor"]
    figure = f"{ratio:.0f} times, {percent(own['error'])} ({own['size']}) against {percent(peer['error'])}"
    return Verdict(KSVM, name, ratio >= 30, figure)


def near_libsvm(name: str, results: Results) -> Verdict | None:
    peer = next((r for r in results if r["role"] == "batch"), None)
    if peer is None:
        return None
    target = "within 0.5 points of LIBSVM in at most a fifth of its time"
    near = [own for own in plain(results) if own["error"] <= peer["error"] + 0.005]
    own = min(near or plain(results), key=lambda own: own["processor"] if near else own["error"])
    share = own["processor"] / peer["processor"]
    points = 100 * (own["error"] - peer["error"])
    figure = f"{points:+.2f} points ({own['size']}) in {share:.3f} of the time"
    return Verdict(target, name, bool(near) and share <= 0.2, figure)


def novelty(name: str, results: Results) -> Verdict:
    """At exactly the asked rate: the rows with the highest scores. Their own alerts are in the table."""
    own = max(plain(results), key=lambda r: r["ranked"])
    peer = max((r for r in results if r["role"] == "online"), key=lambda r: r["ranked"])
    figure = f"{percent(own['ranked'])} against {percent(peer['ranked'])} ({peer['entry']})"
    return Verdict("higher precision at the asked alert rate", name, own["ranked"] > peer["ranked"], figure)


def flat(name: str, result: dict[str, Any]) -> Verdict:
    """Once the budget is full: the dearest long segment against the cheapest."""
    costs = [cost for end, cost, _ in result["segments"] if end > 60_000]
    ratio = max(costs) / min(costs) if costs else float("nan")
    end = result["segments"][-1][0]
    trend = costs[-1] / costs[0] if costs else float("nan")
    figure = (
        f"{result['entry']}, to example {end:,}: last segment {trend:.2f} times the first after the "
        f"60,000th, dearest {ratio:.2f} times the cheapest"
    )
    return Verdict(
        "cost per example flat to the ten-millionth", name, ratio <= 1.25 and end >= 10_000_000, figure
    )


def verdicts(record: dict[str, Any]) -> list[Verdict]:
    found: list[Verdict | None] = []
    for name, experiment in record["experiments"].items():
        results = single(experiment)
        if experiment["kind"] in ("one_pass", "progressive") and plain(results):
            found += [undominated(name, results)]
            if experiment["kind"] == "one_pass":
                found.append(near_libsvm(name, results))
            if name in AGAINST_KSVM:
                found.append(faster_than_ksvm(name, results))
        if experiment["kind"] == "novelty" and plain(results):
            found.append(novelty(name, results))
        if experiment["kind"] == "growth":
            found += [flat(name, result) for result in results if result["role"] == "okl"]
    return [verdict for verdict in found if verdict]
