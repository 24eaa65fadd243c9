"""The comparison with nothing set: what is run, on which rows, and how it is counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nothing_set import learners, page, plan, streams
from nothing_set.__main__ import Workers
from nothing_set.plan import Run

DEFINITION = plan.read()
SMALL = {"name": "s", "source": "river", "rows": 100, "order": "file", "task": "classes", "seen": "new"}


class Counting:
    """Predicts from a list, and notes the order of the calls."""

    def __init__(self, predictions: list[Any]) -> None:
        self.predictions, self.calls = predictions, []

    def predict(self, row: int) -> Any:
        self.calls.append(("predict", row))
        return self.predictions[row]

    def learn(self, row: int) -> None:
        self.calls.append(("learn", row))


def test_twenty_streams_and_their_peers() -> None:
    assert len(DEFINITION.streams) == 20
    for stream in DEFINITION.streams:
        peers = [peer for peer in DEFINITION.peers if peer.counts and stream.task in peer.learners]
        assert len(peers) >= 6 and all(peer.tuned for peer in peers), stream.name


def test_defaults_with_the_first_seed_come_first_and_every_run_once() -> None:
    asked = plan.runs(DEFINITION)
    assert len(set(asked)) == len(asked)
    phases = [(run.seed != 1, run.attempt > 0) for run in asked]
    first = [phases.index(phase) for phase in ((False, False), (False, True), (True, False), (True, True))]
    assert first == sorted(first) and phases[: first[1]] == [(False, False)] * first[1]
    in_order = {stream.name for stream in DEFINITION.streams if stream.order in ("file", "time")}
    assert {run.seed for run in asked if run.stream in in_order} == {1}


def test_what_the_record_has_is_not_run_again_even_if_it_failed() -> None:
    asked = [Run("s", 1, "p", 0), Run("s", 1, "p", 1), Run("s", 2, "p", 0)]
    record = [{"stream": "s", "seed": 1, "peer": "p", "try": 1, "failed": "no"}]
    assert plan.waiting(asked, record) == [asked[0], asked[2]]


def test_the_default_is_the_first_try_and_keeps_common_settings() -> None:
    peer = plan.peer_of(
        {"name": "p", "program": "river", "classes": "C", "settings": {"scale": True}, "tuned": [{"k": 1}]}
    )
    assert peer.tries() == [{"scale": True}, {"scale": True, "k": 1}]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"task": "ranks"}, "s: task is 'ranks', expected one of classes, numbers"),
        ({"parts": [{"from": 0}, {"from": 100}]}, r"s: parts begin at \[0, 100\]"),
        ({"parts": [{"from": 5}]}, r"s: parts begin at \[5\]"),
    ],
)
def test_a_wrong_stream_is_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        plan.stream_of(SMALL | change)


def test_an_unknown_key_of_a_peer_is_named() -> None:
    with pytest.raises(ValueError, match=r"p: program 'river', unknown keys \['tunned'\]"):
        plan.peer_of({"name": "p", "program": "river", "classes": "C", "tunned": []})


def test_text_becomes_its_order_of_appearance() -> None:
    X, y = streams.as_numbers(
        [({"a": "x", "b": 2}, "no"), ({"a": "y", "b": 0.5}, "yes"), ({"a": "x", "b": 1}, "no")]
    )
    assert X.tolist() == [[0.0, 2.0], [1.0, 0.5], [0.0, 1.0]]
    assert streams.by_appearance(y.tolist()).tolist() == [0, 1, 0]


def test_fewer_rows_than_defined_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(streams.SOURCES, "river", lambda *_: [({"a": 1.0}, 0)] * 99)
    with pytest.raises(ValueError, match="s has 99 rows, the definition says 100"):
        streams.rows_of(plan.stream_of(SMALL), 1, Path())


def test_a_shuffle_keeps_rows_and_labels_together_and_follows_the_seed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(streams.SOURCES, "river", lambda *_: [({"a": i}, 7.0 * i) for i in range(100)])
    shuffled = plan.stream_of(SMALL | {"order": "shuffled", "task": "numbers"})
    (X, y), (other, _) = (streams.rows_of(shuffled, seed, Path()) for seed in (1, 2))
    assert np.array_equal(y, 7.0 * X[:, 0]) and sorted(X[:, 0]) == list(range(100))
    assert not np.array_equal(X, other)


def test_a_generated_stream_changes_where_a_part_begins() -> None:
    pytest.importorskip("river")
    parts = [{"from": 0, "variant": 0}, {"from": 60, "variant": 3}]
    more = {"source": "generator", "order": "generated", "generator": "SEA", "settings": {}, "parts": parts}
    X, y = streams.rows_of(plan.stream_of(SMALL | more), 1, Path())
    above = [X[:60, :2].sum(1) > 8, X[60:, :2].sum(1) > 9.5]  # the thresholds of SEA's variants 0 and 3
    labels = np.concatenate(above) == (y == y[np.argmax(np.concatenate(above))])
    assert labels.all()


def test_every_row_is_predicted_before_it_is_learned_and_none_is_a_mistake() -> None:
    learner = Counting([None, 1, 0])
    assert learners.progressive(learner, np.array([0, 1, 1]), numbers=False) == {"error": 2 / 3}
    assert learner.calls == [(call, row) for row in range(3) for call in ("predict", "learn")]


def test_numbers_have_squared_and_absolute_errors_and_no_prediction_is_zero() -> None:
    error = learners.progressive(Counting([None, 1.0]), np.array([3.0, 2.0]), numbers=True)
    assert error == {"error": (9 + 1) / 2, "absolute": (3 + 1) / 2}


def test_a_run_past_its_deadline_ends_with_the_row_that_it_reached() -> None:
    with pytest.raises(TimeoutError, match="0 of 3 rows"):
        learners.progressive(Counting([0, 0, 0]), np.array([0, 1, 1]), numbers=False, deadline=-1.0)


def test_a_run_that_fails_is_a_result_and_the_next_one_runs(tmp_path: Path) -> None:
    (tmp_path / "weather.csv.gz").write_bytes(b"not a table")
    spec = {"stream": "weather", "seed": 1, "data": str(tmp_path), "limit": 9, "program": "baseline"}
    workers = Workers()
    first = workers.run(spec | {"learner": "LastLabel", "settings": {}})
    second = workers.run(spec | {"stream": "none of these"})
    assert "failed" in first and "ValueError" in second["failed"]
    assert len(workers.running) == 1 and workers.running["baseline"].poll() is None
    workers.running["baseline"].communicate()


def line(peer: str, seed: int, error: float, attempt: int = 0, stream: str = "s") -> dict[str, Any]:
    return {"stream": stream, "seed": seed, "peer": peer, "try": attempt, "error": error}


def test_a_ratio_is_over_the_seeds_that_both_have() -> None:
    assert page.ratio({1: 0.2, 2: 0.4, 3: 9.0}, {1: 0.1, 2: 0.3}) == pytest.approx(0.3 / 0.2)
    assert page.ratio({1: 0.2}, {2: 0.1}) is None
    assert page.ratio({1: 0.0}, {1: 0.0}) == 1.0


def test_the_best_peer_is_the_one_okl_compares_worst_with_and_failures_have_no_figure() -> None:
    peers = [plan.peer_of({"name": n, "program": "river", "classes": "C", "tuned": [{"k": 1}]}) for n in "ab"]
    failed = {"stream": "s", "seed": 1, "peer": "b", "try": 0, "failed": "no"}
    record = [line("a", 1, 0.25), line("a", 1, 0.5, attempt=1), failed, line("b", 1, 0.1, attempt=1)]
    stream = plan.stream_of(SMALL)
    assert page.best(record, stream, peers, {1: 0.2}, tuned=False) == ("a", 0, 0.25, pytest.approx(0.8), 1)
    assert page.best(record, stream, peers, {1: 0.2}, tuned=True) == ("b", 1, 0.1, pytest.approx(2.0), 1)
    assert page.best([], stream, peers, {1: 0.2}, tuned=False) is None
    assert page.best(record[:1], stream, peers, {1: 0.2}, tuned=True) is None  # only defaults were run


def test_the_summary_counts_what_was_asked_for() -> None:
    assert page.verdict("x", [0.5, 1.0, 1.2, 0.8]) == ["x", "3 of 4", "1.20", "1", "0.832"]  # 0.48 ** (1 / 4)


def test_a_column_with_settings_is_shown_but_not_judged() -> None:
    tried = line("okl tried", 1, 0.1) | {"settings": {"kernel": "auto"}}
    assert page.judged([line("okl before", 1, 0.3), line("okl today", 1, 0.2), tried]) == "okl today"
    assert page.labels([line("okl today", 1, 0.2), tried]) == ["okl today", "okl tried"]


def test_the_page_shows_both_columns_of_okl_and_compares_the_last() -> None:
    record = [
        line(label, 1, error, stream="Phishing") for label, error in (("okl before", 0.3), ("okl today", 0.1))
    ]
    record.append(
        line("River linear", 1, 0.2, stream="Phishing") | {"version": "river 1", "rows": 10, "processor": 2}
    )
    [row] = [
        row for row in page.page(DEFINITION, record).splitlines() if row.startswith("| Phishing | 1,250")
    ]
    assert "| 30.00 % | 10.00 % | 20.00 % | River linear | 0.50 |" in row


def test_only_the_first_column_has_streams_that_were_not_looked_at() -> None:
    record = [line(label, 1, 0.3, stream="Shuttle") for label in ("okl before", "okl today")]
    record.append(
        line("River linear", 1, 0.2, stream="Shuttle") | {"version": "river 1", "rows": 10, "processor": 2}
    )
    text = page.page(DEFINITION, record)
    said = [row for row in text.splitlines() if "not looked at before" in row]
    assert len(said) == 1 and said[0].startswith("| okl before, peers with defaults, not looked at before |")
    assert "| seen before `okl before` |" in text
    assert "For every later column all twenty streams are in-sample" in text
