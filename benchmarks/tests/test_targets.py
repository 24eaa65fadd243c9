"""Verdicts on records whose answer is plain."""

from __future__ import annotations

from typing import Any

from harness.targets import Verdict, verdicts


def result(entry: str, role: str, error: float, processor: float, **more: Any) -> dict[str, Any]:
    plain = {"entry": entry, "role": role, "error": error, "processor": processor, "size": None, "threads": 1}
    return plain | more


def judged(kind: str, *results: dict[str, Any]) -> dict[str, Verdict]:
    record = {"experiments": {"ijcnn1": {"kind": kind, "results": list(results)}}}
    return {verdict.target: verdict for verdict in verdicts(record)}


DOMINATED = "no online peer is both as fast and as accurate as okl"
KSVM = "30 times the examples per second of --ksvm at equal or better error"
LIBSVM = "within 0.5 points of LIBSVM in at most a fifth of its time"
FLAT = "cost per example flat to the ten-millionth"


def test_a_peer_that_is_faster_or_better_but_not_both_is_no_loss() -> None:
    found = judged(
        "progressive",
        result("okl", "okl", 0.10, 1.0),
        result("fast", "online", 0.20, 0.1),
        result("good", "online", 0.05, 9.0),
    )
    assert found[DOMINATED].met


def test_a_peer_that_is_both_is_named_with_its_figures() -> None:
    found = judged("progressive", result("okl", "okl", 0.10, 1.0), result("best", "online", 0.10, 0.9))
    assert not found[DOMINATED].met and "best (10.00 %, 0.9 s)" in found[DOMINATED].figure


def test_batch_learners_and_more_threads_do_not_count_as_online() -> None:
    found = judged(
        "progressive",
        result("okl", "okl", 0.10, 1.0),
        result("batch", "batch", 0.01, 0.1),
        result("peer", "online", 0.01, 0.1, threads=2),
    )
    assert found[DOMINATED].met


def test_speed_counts_only_at_equal_or_better_error() -> None:
    peer = result("Vowpal Wabbit --ksvm", "online", 0.05, 60.0)
    fast, good = result("okl", "okl", 0.06, 0.1), result("okl", "okl", 0.05, 1.0)
    assert not judged("one_pass", fast, peer)[KSVM].met
    both = judged("one_pass", fast, good, peer)[KSVM]
    assert both.met and both.figure.startswith("60 times")
    assert not judged("one_pass", good | {"processor": 2.1}, peer)[KSVM].met
    assert judged("one_pass", good)[KSVM].figure == "--ksvm did not finish"


def test_libsvm_is_met_within_half_a_point_and_a_fifth_of_its_time() -> None:
    peer = result("LIBSVM", "batch", 0.04, 10.0)
    assert judged("one_pass", result("okl", "okl", 0.0449, 1.9), peer)[LIBSVM].met
    assert not judged("one_pass", result("okl", "okl", 0.0451, 0.1), peer)[LIBSVM].met
    assert not judged("one_pass", result("okl", "okl", 0.0400, 2.1), peer)[LIBSVM].met


def test_flat_means_flat_and_to_the_end() -> None:
    def growing(costs: list[float], end: int = 10_000_000) -> Verdict:
        segments = [[end * (i + 1) // len(costs), cost, 0] for i, cost in enumerate(costs)]
        return judged("growth", result("okl", "okl", 0, 1.0, segments=segments))[FLAT]

    assert growing([1.0, 1.1, 1.0]).met
    assert not growing([1.0, 1.1, 1.5]).met
    assert not growing([1.0, 1.0, 1.0], end=1_000_000).met


def test_novelty_is_judged_at_the_asked_rate() -> None:
    own, peer = result("okl", "okl", 0, 1, ranked=0.5), result("trees", "online", 0, 1, ranked=0.6)
    [found] = judged("novelty", own, peer).values()
    assert not found.met and "50.00 % against 60.00 % (trees)" in found.figure
