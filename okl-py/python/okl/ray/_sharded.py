"""`ShardedLearner`: one model whose terms are divided between Ray actors."""

import os
import shutil
import signal
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import ray

import okl
from okl._interrupts import count
from okl._okl import Shard
from okl._okl import ShardedLearner as Core
from okl.ray._checks import seconds, whole_number
from okl.ray._shard import Gap
from okl.ray._workers import Call, Lane, answers

ROWS = 512
"""Rows per request: enough to hide the round trip, few enough that the driver keeps few terms."""


class Holder:
    """A shard in a process of its own. It checks that it has what the driver has sent: a process that was started again has nothing."""

    def __init__(self, version: str):
        self.version = version
        self.shard: Shard | None = None

    def begin(self, config: str) -> None:
        if self.version != okl.__version__:
            raise RuntimeError(f"the driver has okl {self.version}, this worker has okl {okl.__version__}")
        self.shard = Shard(config)

    def keep(self, number: int, chunk: bytes) -> None:
        self._begun().keep(number, chunk)

    def rewrite(self, number: int, rewrite: bytes) -> None:
        shard = self._begun()
        if shard.rewrites < number:
            raise Gap("changes of coefficients are missing")
        shard.rewrite(number, rewrite)

    def forget(self, number: int) -> None:
        self._begun().forget(number)

    def totals(self, rows: np.ndarray, chunks: list[int], rewrites: int) -> np.ndarray:
        """The totals of rows over chunks, from a shard that has all changes."""
        shard = self._begun()
        if shard.rewrites != rewrites or not shard.has(chunks):
            raise Gap("this shard was started again and does not have all chunks and changes yet")
        return shard.totals(rows, chunks)

    def state(self) -> dict[str, Any]:
        held = 0 if self.shard is None else self.shard.bytes
        node = ray.get_runtime_context().get_node_id()
        return {"bytes": held, "process": os.getpid(), "node": node, "cpu_seconds": time.process_time()}

    def _begun(self) -> Shard:
        if self.shard is None:
            raise Gap("this shard was started again and has no chunks")
        return self.shard


class ShardLane(Lane):
    """Calls to one shard. A shard that was started again first gets the chunks and changes that its predecessor had confirmed."""

    def __init__(self, make: Any, number: int, patience: float, shards: "Shards"):
        super().__init__(make, number, patience)
        self.shards = shards

    def _restore(self) -> None:
        """Sends what was confirmed. The calls that were not confirmed follow."""
        waiting = [call for call in self.sent if call.method != "totals"]
        chunks = {call.arguments[0] for call in waiting if call.method == "keep"}
        changes = {call.arguments[0] for call in waiting if call.method == "rewrite"}
        if any(call.method == "begin" for call in waiting):
            return
        refs = [self.actor.begin.remote(self.shards.config)]
        for number, rewrite in enumerate(self.shards.rewrites):
            if number not in changes:
                refs.append(self.actor.rewrite.remote(number, rewrite))
        # Calls before one that was not confirmed may need the chunks that it removes.
        forgotten = {call.arguments[0] for call in waiting if call.method == "forget"}
        own = {number for number in self.shards.kept if self.shards.lane(number) is self}
        for number in sorted((own | forgotten) - chunks):
            refs.append(self.actor.keep.remote(number, self.shards.fetch(number)))
            if (
                len(refs) > 16
            ):  # A few at a time, so that the model does not pass through the driver's memory at once.
                ray.wait([refs.pop(0)], timeout=self.patience)


class Shards:
    """The chunks of a model: files of the driver, and copies in shards, which sum over them.

    Chunk i belongs to shard i mod n. It is on the driver's disk before it is sent. The file of a chunk that is not needed any more is removed when its
    shard has confirmed that.
    """

    def __init__(self) -> None:
        self.folder = Path()
        self.config = ""
        self.kept: set[int] = set()
        self.forgotten: list[int] = []
        self.rewrites: list[bytes] = []
        self.requests: deque[tuple[list[Call], list[int], list[int]]] = deque()
        self.interrupted: BaseException | None = None
        self.lanes: list[ShardLane] = []

    def open(self, folder: Path, make: Any, workers: int, patience: float) -> None:
        """Starts the shards."""
        self.folder = folder
        self.lanes = [ShardLane(make, number, patience, self) for number in range(workers)]

    def begin(self, config: str) -> None:
        self.config = config
        answers([lane.send("begin", config) for lane in self.lanes])

    def keep(self, number: int, chunk: bytes) -> None:
        write_through(self.path(number), chunk)
        self.kept.add(number)
        self.lane(number).send("keep", number, chunk)

    def forget(self, number: int) -> None:
        self.kept.discard(number)
        self.forgotten.append(number)
        self.lane(number).send("forget", number)

    def lane(self, number: int) -> ShardLane:
        """The shard of a chunk."""
        return self.lanes[number % len(self.lanes)]

    def rewrite(self, number: int, rewrite: bytes) -> None:
        self.rewrites.append(rewrite)
        for lane in self.lanes:
            lane.send("rewrite", number, rewrite)

    def start(self, rows: np.ndarray, chunks: list[int]) -> None:
        shared, count = ray.put(rows), len(self.lanes)
        calls = [
            lane.send("totals", shared, [c for c in chunks if c % count == lane.number], len(self.rewrites))
            for lane in self.lanes
        ]
        self.requests.append((calls, chunks, self.forgotten))
        self.forgotten = []

    def finish(self) -> np.ndarray:
        """The totals of all chunks in the order of the request."""
        calls, chunks, forgotten = self.requests.popleft()
        found, owner = self._wait(calls), np.array(chunks) % len(calls)
        totals = np.empty((len(chunks), sum(map(len, found)) // len(chunks)))
        for lane, own in enumerate(found):
            totals[owner == lane] = own.reshape(-1, totals.shape[1])
        for number in forgotten:  # These calls came after those that removed the chunks.
            self.path(number).unlink(missing_ok=True)
        return totals.reshape(-1)

    def _wait(self, calls: list[Call]) -> list[Any]:
        """The answers. The first Ctrl-C is raised after the rows under way have been learned: the learner would be lost here."""
        while True:
            try:
                return answers(calls)
            except KeyboardInterrupt as interrupt:
                if self.interrupted is not None:
                    raise
                self.interrupted = interrupt

    def fetch(self, number: int) -> bytes:
        return self.path(number).read_bytes()

    def path(self, number: int) -> Path:
        return self.folder / f"{number:08}.chunk"


class ShardedLearner:
    """One model whose terms are divided between Ray actors, with the bits of `okl.Learner` on one machine.

    The driver learns the rows and holds a few thousand terms. Whenever 1,024 terms are complete, they are written to the
    driver's disk, sent to a shard and removed from the driver's memory. The shards sum over their terms for the next rows, while the driver learns the
    rows before them. Under a budget, terms come back from the disk before they are overwritten or dropped. If a shard dies, Ray starts it again and the
    driver sends its terms from the disk.

    Parameters
    ----------
    config : dict, str, bytes or okl.Learner
        Settings as `okl.Learner` takes them, with the budget ``unlimited``, ``window``, ``age`` or ``olok``; or a learner, a model file or its bytes to
        continue.
    workers : int
        The number of shards, each a process.
    path : str, optional
        A folder on the disk of the driver for the terms; it must be empty. Default: a temporary folder, which `close` removes.
    worker_options : dict, optional
        Options of the Ray actors, for example ``{"num_cpus": 0.5}``.
    patience : float
        Seconds after which a shard that does not answer is an error. The learner cannot be used any more after it.
    """

    def __init__(
        self,
        config: dict[str, Any] | str | bytes | okl.Learner,
        workers: int = 2,
        *,
        path: str | Path | None = None,
        worker_options: dict[str, Any] | None = None,
        patience: float = 300.0,
    ):
        workers, patience = whole_number("workers", workers, 1), seconds("patience", patience)
        self._closed = False
        self._shards = Shards()
        self._core = Core(model_of(config), self._shards, ROWS)
        self._temporary = path is None
        self.folder = empty_folder(path)
        if not ray.is_initialized():
            ray.init()
        holder = ray.remote(Holder).options(**{"num_cpus": 1, "max_restarts": -1, **(worker_options or {})})
        self._shards.open(self.folder, lambda: holder.remote(okl.__version__), workers, patience)

    def learn(self, X: Any, y: Any = None, *, weights: Any = None, known: Any = None) -> np.ndarray:
        """Learns rows in order and returns their scores from before each update: those of `okl.Learner.learn`.

        The round trip to the shards is hidden if a call has some thousand rows. Ids are not supported. Ctrl-C is raised when all rows of the call have
        been learned. A second Ctrl-C is raised at once; the learner may not be usable after it.
        """
        self._check_open()
        scores = None
        try:
            with held_back():
                scores = self._core.learn(X, y, weights=weights, known=known)
                interrupt, self._shards.interrupted = self._shards.interrupted, None
                if interrupt is not None:
                    raise interrupt
        except KeyboardInterrupt as stop:
            if scores is not None:
                count(stop, len(scores), len(scores))
            raise
        return scores

    def predict(self, X: Any) -> np.ndarray:
        """The scores of rows, without learning."""
        self._check_open()
        with held_back():
            return self._core.predict(X)

    def save(self, path: str | Path) -> None:
        """Writes the model file: the bytes of `okl.Learner.to_bytes` on one machine. `okl.load` reads it."""
        self._check_open()
        with held_back():
            self._core.save(path)

    @property
    def terms(self) -> int:
        """The number of terms, in the driver and the shards."""
        return self._core.terms

    @property
    def examples(self) -> int:
        """The number of rows learned."""
        return self._core.examples

    @property
    def config(self) -> dict[str, Any]:
        """The settings; after the warm-up with the estimated values."""
        return self._core.config

    def workers(self) -> list[dict[str, Any]]:
        """Of each shard: the bytes of its terms, its process, node and CPU seconds, and how often calls were sent again."""
        self._check_open()
        found = answers([lane.send("state") for lane in self._shards.lanes])
        return [{**state, "restarts": lane.restarts} for lane, state in zip(self._shards.lanes, found)]

    def driver(self) -> dict[str, int]:
        """Of the driver: the terms that it holds, with the holes between them, and their bytes."""
        return {"terms": self._core.here, "bytes": self._core.bytes}

    def close(self) -> None:
        """Ends the shards and removes the files of the terms. Save the model before."""
        if self._closed:
            return
        self._closed = True
        for lane in self._shards.lanes:
            lane.close()
        for file in self.folder.glob("*.chunk"):
            file.unlink()
        if self._temporary:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError(
                "this learner was closed: its terms are gone; load the model that was saved last"
            )

    def __enter__(self) -> "ShardedLearner":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def held_back() -> Iterator[None]:
    """Holds the first Ctrl-C back until the end: an error while terms are on their way between driver and shards would cost the learner."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    pressed = []

    def hold(number: int, frame: Any) -> None:
        pressed.append(number)
        if len(pressed) > 1:
            before(number, frame)

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        before(signal.SIGINT, None)


def write_through(path: Path, data: bytes) -> None:
    """Writes a file and waits until it and its name are on the disk."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def empty_folder(path: str | Path | None) -> Path:
    """A folder for chunks; a temporary one if none is given."""
    if path is None:
        return Path(tempfile.mkdtemp(prefix="okl-shards-"))
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ValueError(f"path: {str(folder)!r} is not empty; the terms of another learner may be there")
    return folder


def model_of(config: Any) -> bytes:
    """The model file to start from."""
    if isinstance(config, bytes):
        return config
    if isinstance(config, (str, Path)):
        return Path(config).read_bytes()
    learner = config if isinstance(config, okl.Learner) else okl.Learner(config)
    if "missing" in learner.config:
        raise ValueError("missing: a sharded learner fills in no missing values, fill them in before")
    return learner.to_bytes()
