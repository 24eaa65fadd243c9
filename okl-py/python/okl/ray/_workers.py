"""Workers: Ray actors that hold shards, and the lane that a driver sends rows to each of them on.

Ray starts a worker again when its process or its node dies. A new worker claims the stores of its shards (see `_store`). The driver sends the rows
that were not confirmed again, in their order; shards recognise the rows that had been committed.
"""

import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import ray
from ray.exceptions import ActorDiedError, GetTimeoutError, RayError, RayTaskError

import okl
from okl.ray._folder import CLOSED
from okl.ray._shard import Gap, Learned, Part, Shard
from okl.ray._store import Fenced, Store


class Plan(NamedTuple):
    """What a worker is made of."""

    folder: str
    config: dict[str, Any]
    start: bytes | None
    shards: tuple[int, ...]
    generation: int
    hot_bytes: int
    version: str


def store_path(folder: str | Path, shard: int) -> Path:
    return Path(folder) / f"shard-{shard:05}.sqlite"


class Worker:
    """Some shards, in a process of their own."""

    def __init__(self, plan: Plan):
        self.failure: Exception | None = None
        self.shards: dict[int, Shard] = {}
        try:
            if plan.version != okl.__version__:
                raise RuntimeError(
                    f"the driver has okl {plan.version}, this worker has okl {okl.__version__}"
                )
            for shard in plan.shards:
                store = Store(store_path(plan.folder, shard), plan.generation)
                hot_bytes = plan.hot_bytes // len(plan.shards)
                self.shards[shard] = Shard(store, plan.config, plan.start, hot_bytes)
        except sqlite3.OperationalError as error:
            if is_locked(error):
                os._exit(
                    1
                )  # A process that does not go on holds the lock: Ray starts this worker again, which waits again.
            self.failure = error
        except Exception as error:  # A constructor that fails would hide the reason: each call reports it.
            self.failure = error

    def check(self, parts: list[Part]) -> None:
        """Learns parts in memory, without a commit: an error says that a model refuses a row. The commit finds out whether the shards are still claimed."""
        self._check_started()
        try:
            for part in parts:
                self.shards[part.shard].check(part)
        except BaseException:
            for part in parts:
                self.shards[part.shard].staged = None
            raise

    def learn(self, parts: list[Part]) -> list[Learned]:
        self._check_started()
        with leaving():
            return [self.shards[part.shard].learn(part) for part in parts]

    def predict(self, asked: list[tuple[int, list[bytes], Any]]) -> list[Any]:
        shards = self._claimed(shard for shard, _, _ in asked)
        return [shards[shard].predict(keys, X) for shard, keys, X in asked]

    def positions(self) -> dict[int, dict[str, int]]:
        return {number: shard.store.positions() for number, shard in self._claimed().items()}

    def model(self, shard: int, key: bytes) -> bytes | None:
        return self._claimed([shard])[shard].model(key)

    def inspect(self, shard: int, key: bytes) -> dict[str, Any] | None:
        found = self._claimed([shard])[shard].inspect(key)
        node = ray.get_runtime_context().get_node_id()
        return found and {**found, "shard": shard, "node": node, "process": os.getpid()}

    def digests(self) -> dict[bytes, str]:
        return {key: digest for shard in self._claimed().values() for key, digest in shard.digests()}

    def refused(self) -> list[tuple[str, int, bytes, str]]:
        return [row for shard in self._claimed().values() for row in shard.store.refused()]

    def state(self) -> dict[str, Any]:
        shards = self._claimed().values()
        return {
            "keys": sum(shard.store.count() for shard in shards),
            "in_memory": sum(len(shard.hot) for shard in shards),
            "held_bytes": sum(shard.held for shard in shards),
            "process": os.getpid(),
            "node": ray.get_runtime_context().get_node_id(),
        }

    def _claimed(self, numbers: Iterable[int] | None = None) -> dict[int, Shard]:
        """Some shards, or all; an error if another process has taken over one of them."""
        self._check_started()
        shards = self.shards if numbers is None else {number: self.shards[number] for number in numbers}
        with leaving():
            for shard in shards.values():
                shard.store.check_claim()
        return shards

    def _check_started(self) -> None:
        if self.failure is not None:
            raise self.failure


@contextmanager
def leaving() -> Iterator[None]:
    """Ends this process if another worker of the same driver has taken over its shards."""
    try:
        yield
    except Fenced as error:
        if not error.by_another_driver:
            leave_soon()
        raise


def is_locked(error: object) -> bool:
    """Whether another process held a database for longer than a transaction waits."""
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


def leave_soon() -> None:
    """Ends this process after its answer has left, so that Ray starts the worker again with a new epoch."""
    threading.Timer(0.1, os._exit, (1,)).start()


class Call:
    """A call to a worker and, when it has come, the answer or the error."""

    def __init__(self, lane: "Lane", method: str, arguments: tuple[Any, ...]):
        self.lane, self.method, self.arguments = lane, method, arguments
        self.ref: Any = None
        self.done = False
        self.answer: Any = None
        self.error: Exception | None = None

    def finish(self, answer: Any, error: Exception | None = None) -> None:
        self.done, self.answer, self.error = True, answer, error


class Lane:
    """Calls to one worker, answered in their order. Calls that a dead worker did not answer are sent again."""

    def __init__(self, make: Callable[[], Any], number: int, patience: float):
        self.make = make
        self.number = number
        self.patience = patience
        self.actor = make()
        self.sent: deque[Call] = deque()
        self.restarts = 0
        self.closed = False
        self.broken = False
        """Whether a call has failed: shards lack its rows, so that calls after it, which continue these rows, fail too."""

    def send(self, method: str, *arguments: Any) -> Call:
        if self.closed:  # Ray would say that the worker is dead, and it would be made again.
            raise ValueError(CLOSED)
        call = Call(self, method, arguments)
        self._start(call)
        self.sent.append(call)
        return call

    def wait(self, call: Call) -> None:
        """Waits for a call, and for all that were sent before it."""
        deadline = time.monotonic() + self.patience
        while not call.done:
            first = self.sent[0]
            try:
                first.finish(ray.get(first.ref, timeout=max(0.0, deadline - time.monotonic())))
            except GetTimeoutError:
                self._fail(first, TimeoutError(self._silent()))
            except RayError as error:
                if (cause := own_error(error, self.broken)) is None:
                    self._send_again(error)
                    continue
                self._fail(first, cause)
            self.sent.popleft()

    def _fail(self, call: Call, error: Exception) -> None:
        call.finish(None, error)
        self.broken |= call.method == "learn"

    def _send_again(self, error: RayError) -> None:
        """After an error of the cluster all unanswered calls are sent again."""
        if isinstance(error, ActorDiedError) and not self._answers():
            self.actor = self.make()
        self.restarts += 1
        time.sleep(0.05)
        self._restore()
        for call in self.sent:
            self._start(call)

    def _restore(self) -> None:
        """Gives a worker that was started again what it needs before the calls. Shards of `KeyedLearners` have it on the disk."""

    def _answers(self) -> bool:
        """Whether Ray has started the worker again, or will."""
        try:
            ray.get(self.actor.__ray_ready__.remote(), timeout=self.patience)
        except ActorDiedError:
            return False
        except RayError:
            return True
        return True

    def _start(self, call: Call) -> None:
        call.ref = getattr(self.actor, call.method).remote(*call.arguments)

    def _silent(self) -> str:
        return (
            f"worker {self.number} did not answer for {self.patience:.0f} s. If a node was lost, the rest of the cluster may lack the "
            "CPUs to start the worker again: see `ray status`; use fewer workers, or worker_options={'num_cpus': 0.5}"
        )

    def close(self) -> None:
        self.closed = True
        self.sent.clear()
        ray.kill(self.actor)


def own_error(error: RayError, broken: bool = False) -> Exception | None:
    """The error of the call itself; None for errors of the cluster, after which the call is made again.

    `broken`: an earlier call has failed, so that the rows that a gap lacks do not come."""
    if not isinstance(error, RayTaskError):
        return None
    cause = error.cause
    again = (
        (isinstance(cause, Gap) and not broken)
        or is_locked(cause)
        or (isinstance(cause, Fenced) and not cause.by_another_driver)
    )
    return None if again else cause if isinstance(cause, Exception) else error


def answers(calls: Iterable[Call]) -> list[Any]:
    """The answers to calls. All are waited for before the first error is raised."""
    calls = list(calls)
    for call in calls:
        call.lane.wait(call)
    for call in calls:
        if call.error is not None:
            raise call.error
    return [call.answer for call in calls]
