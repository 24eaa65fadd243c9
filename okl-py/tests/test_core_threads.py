"""Threads and signals: the interpreter is free while the engine works, and Ctrl-C leaves a usable model."""

from __future__ import annotations

import copy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import okl


def slow_learner(terms: int = 4000) -> okl.Learner:
    """Every row is a term, so that a row takes microseconds once the window is full."""
    return okl.Learner(
        loss="squared", kernel="gaussian:0.01", step="constant:0.01", budget="window", terms=terms
    )


def rows(count: int, features: int = 8) -> np.ndarray:
    """Rows that overlap in memory: many of them for little."""
    values = np.random.default_rng(3).normal(size=count + features)
    return np.lib.stride_tricks.sliding_window_view(values, features)[:count]


@pytest.mark.parametrize("call", ["learn", "predict", "learn_report"])
def test_other_threads_run_meanwhile(call: str) -> None:
    X = rows(100_000)
    m = slow_learner()
    m.learn(X[:5000], X[:5000, 0])
    work = {
        "learn": lambda: m.learn(X, X[:, 0]),
        "learn_report": lambda: m.learn_report(X, X[:, 0]),
        "predict": lambda: m.predict(X),
    }[call]
    ticks, over = [], threading.Event()

    def tick() -> None:
        while not over.wait(0.001):
            ticks.append(time.perf_counter())

    ticking = threading.Thread(target=tick)
    ticking.start()
    start = time.perf_counter()
    work()
    end = time.perf_counter()
    over.set()
    ticking.join()
    # Were the interpreter held, no tick could fall into the middle of the call.
    fifth = (end - start) / 5
    assert [t for t in ticks if start + fifth < t < end - fifth]


def in_threads(*works: Callable[[], None]) -> None:
    failed: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_two_threads_learn_one_after_the_other(regressor: okl.Learner) -> None:
    """Every row becomes a term: the centres tell the order. Calls are not torn, and their order explains the state."""
    X = np.arange(4000.0).reshape(-1, 1)
    y = 2.0 + np.sin(X[:, 0])

    def learn(first: int, last: int) -> Callable[[], None]:
        def work() -> None:
            for start in range(first, last, 100):
                regressor.learn(X[start : start + 100], y[start : start + 100])

        return work

    fresh = okl.Learner(regressor.config)
    in_threads(learn(0, 2000), learn(2000, 4000))
    order = regressor.centres[:, 0].astype(int)
    assert sorted(order) == list(range(4000))
    blocks = order.reshape(-1, 100)
    assert (np.diff(blocks, axis=1) == 1).all()
    fresh.learn(X[order], y[order])
    assert fresh.to_bytes() == regressor.to_bytes()


BLOCK = 256
"""Rows that are learned between two chances for readers."""


def test_readers_see_whole_blocks_only(regressor: okl.Learner) -> None:
    X = rows(6000, 3)
    y = X[:, 0]
    probe, states, counts = X[:50], set(), set()
    twin = copy.copy(regressor)
    for first in range(0, 6000, 300):
        for start, stop in ((first, first + BLOCK), (first + BLOCK, first + 300)):
            states.add(twin.predict(probe).tobytes())
            counts.add(twin.examples)
            twin.learn(X[start:stop], y[start:stop])
    states.add(twin.predict(probe).tobytes())
    counts.add(twin.examples)
    over = threading.Event()

    def write() -> None:
        for first in range(0, 6000, 300):
            regressor.learn(X[first : first + 300], y[first : first + 300])
        over.set()

    def read() -> None:
        while not over.is_set():
            assert regressor.predict(probe).tobytes() in states
            assert regressor.examples in counts
            assert okl.Learner.from_bytes(regressor.to_bytes()).predict(probe).tobytes() in states

    in_threads(write, read, read)
    assert regressor.to_bytes() == twin.to_bytes()


def test_readers_are_answered_while_one_call_learns() -> None:
    """Counted, not timed: answers that fall between the first and the last row of one call. Were the learner taken for
    the whole call, there would be none."""
    blocks = 200
    X = rows(blocks * BLOCK)
    m, seen, over = slow_learner(1000), set(), threading.Event()

    def write() -> None:
        m.learn(X, X[:, 0])
        over.set()

    def read() -> None:
        while not over.is_set():
            m.predict(X[:1])
            seen.add(m.examples)

    in_threads(write, read)
    during = {examples for examples in seen if 0 < examples < len(X)}
    assert all(examples % BLOCK == 0 for examples in during)
    assert len(during) >= 5, sorted(during)


def test_calls_that_learn_at_the_same_time_are_not_mixed(regressor: okl.Learner) -> None:
    """A call of many blocks: the rows of another call come before it or after it, though readers come between."""
    X = np.arange(4 * 10 * BLOCK, dtype=float).reshape(-1, 1)
    calls = np.split(np.arange(len(X)), 4)
    in_threads(*(lambda part=part: regressor.learn(X[part], 2.0 + np.sin(X[part, 0])) for part in calls))
    order = regressor.centres[:, 0].astype(int).reshape(4, -1)
    assert (np.diff(order, axis=1) == 1).all()
    assert sorted(order[:, 0]) == [part[0] for part in calls]


FORKED = """
import os, sys, time
import numpy as np, okl

X = np.random.default_rng(0).normal(size=(3000, 50))
y = np.sign(X[:, 0])
m = okl.Learner(loss="hinge", kernel="gaussian:0.1", step="constant:0.1", lam=1e-3, budget="unlimited")
m.threads = 2
m.learn(X, y)
child = os.fork()
if child == 0:
    twin = okl.Learner.from_bytes(m.to_bytes())  # one thread
    same = np.array_equal(m.predict(X), twin.predict(X))
    m.learn(X[:300], y[:300])
    twin.learn(X[:300], y[:300])
    os._exit(0 if same and m.to_bytes() == twin.to_bytes() else 1)
for _ in range(1200):
    done, status = os.waitpid(child, os.WNOHANG)
    if done:
        sys.exit(os.waitstatus_to_exitcode(status))
    time.sleep(0.1)
os.kill(child, 9)
sys.exit("the child hangs")
"""


def test_a_forked_process_has_threads_of_its_own() -> None:
    """In the child none of the parent's threads exist: work handed to them would never be done."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


INTERRUPTED = """
import sys, threading, time
import numpy as np, okl
sys.path.insert(0, {tests!r})
from test_core_threads import rows, slow_learner

X = rows(5_000_000)
y = np.zeros(len(X)) + X[:, 0]
m = slow_learner()
m.threads = {threads}

def say() -> None:
    while m.examples == 0:
        time.sleep(0.001)
    print("learning", flush=True)

threading.Thread(target=say).start()
try:
    m.learn(X, y)
except KeyboardInterrupt as stop:
    rows = stop.rows_learned
    assert 0 < rows < len(X) and rows == m.examples, (rows, m.examples)
    assert stop.__notes__ == [f"okl: the first {{rows}} of {{len(X)}} rows have been learned"]
    twin = slow_learner()
    twin.learn(X[:rows], y[:rows])
    assert twin.to_bytes() == m.to_bytes()
    m.learn(X[rows : rows + 100], y[rows : rows + 100])
    assert np.isfinite(m.predict(X[:1000])).all()
    print("interrupted")
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c(threads: int) -> None:
    program = INTERRUPTED.format(tests=str(__file__).rpartition("/")[0], threads=threads)
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "learning\n", child.communicate()[1]
        child.send_signal(signal.SIGINT)
        out, err = child.communicate()
    assert out == "interrupted\n", err


@pytest.mark.parametrize("call", ["learn", "predict"])
def test_a_signal_handler_cannot_use_the_learner_it_interrupts(call: str) -> None:
    """It is told so; to let it wait for the call that it interrupts would be to let it wait forever."""
    X = rows(1_000_000)
    m, other = slow_learner(), slow_learner()
    m.learn(X[:5000], X[:5000, 0])
    seen = []

    def handler(number: int, frame: object) -> None:
        seen.append(other.predict(X[:1])[0])
        seen.append(m.terms)

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(RuntimeError, match="this learner is in the middle of a call"):
            m.learn(X, X[:, 0]) if call == "learn" else m.predict(X)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert seen == [0.0]
    assert m.terms == 4000


FORKED_IN_USE = """
import os, sys, threading, time
import numpy as np, okl
sys.path.insert(0, {tests!r})
from test_core_threads import rows, slow_learner

X = rows(2_000_000)
m = slow_learner()
threading.Thread(target=m.learn, args=(X, X[:, 0]), daemon=True).start()
while m.examples == 0:
    time.sleep(0.01)
child = os.fork()
if child == 0:
    told = 0
    for use in (lambda: m.learn(X[:9], X[:9, 0]), lambda: m.predict(X[:9]), lambda: m.examples):
        try:
            use()
        except RuntimeError as error:
            told += "when this process was forked" in str(error)
    os._exit(told)
for _ in range(600):
    done, status = os.waitpid(child, os.WNOHANG)
    if done:
        code = os.waitstatus_to_exitcode(status)
        os._exit(0 if code == 3 else 10 + code)
    time.sleep(0.1)
os.kill(child, 9)
os._exit(1)
"""


def test_a_forked_process_is_told_that_the_learner_was_in_use() -> None:
    """The thread that has the lock does not exist in the child: to wait for it would be to wait for ever."""
    script = FORKED_IN_USE.format(tests=str(Path(__file__).parent))
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr)
