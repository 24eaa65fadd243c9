"""`KeyedLearners`: the driver's side."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import ray

import okl
from okl._columns import FILL_MASKED, check_unmasked
from okl._starts import start_bytes
from okl.ray._checks import check_nodes, seconds, whole_number
from okl.ray._folder import Folder
from okl.ray._keys import Key, all_key_bytes, key_bytes, key_text, shard_of
from okl.ray._readers import Reader
from okl.ray._shard import Learned, Part
from okl.ray._store import INTERNAL
from okl.ray._workers import Call, Lane, Plan, Worker, answers

LAST = (1 << 63) - 1
"""The last offset."""


@dataclass(frozen=True)
class Outputs:
    """The scores of rows before each was learned, with the place of each row in the stream."""

    partition: str
    offsets: np.ndarray
    """The offset of each row in the partition."""
    keys: list[Any]
    scores: np.ndarray
    """(rows,), or (rows, outputs) with NaN where the model of a key has fewer outputs."""
    duplicate: np.ndarray
    """Rows that had been learned before this call and were not learned again. Their scores are those of the first time, or NaN if the outputs had
    been delivered."""
    refused: np.ndarray
    """Rows that their model refused (with ``on_error="skip"``): not learned, recorded in `refused`."""


class Batch(NamedTuple):
    """Rows under way."""

    partition: str
    offsets: np.ndarray
    keys: list[Any]
    calls: list[Call]
    rows: list[list[np.ndarray]]
    """For each call and each of its parts, the rows of the batch."""


class KeyedLearners:
    """A model per key on a Ray cluster, for any number of keys. Every row is learned exactly once.

    A key belongs to a shard (see `okl.ray.shard_of`). The models of a shard are in one database in `path`, together with the positions in the
    stream; recently used models are in memory. A worker, a Ray actor, holds some shards and learns their rows in the order of each partition.
    If a worker, a node or the driver dies, the rows that were not committed are learned again from the last commit. So each model is
    the model that one machine learns from the rows of its key, to the last bit.

    Parameters
    ----------
    config : dict, optional
        Settings of each model, as `okl.Learner` takes them. Not needed if `path` has models.
    path : str
        A folder that every node sees.
    shards : int
        The number of shards; it cannot be changed later. It limits the number of workers.
    workers : int, optional
        The number of processes. It may be different each time. Default: one less than the CPUs of the cluster, at least 1.
    start : bytes or okl.Learner, optional
        The model that a new key starts from. Default: a new learner.
    hot_bytes : int
        The memory for recently used models in each worker.
    worker_options : dict, optional
        Options of the Ray actors, for example ``{"num_cpus": 0.5}``.
    patience : float
        Seconds after which a worker that does not answer is an error.
    """

    def __init__(
        self,
        config: dict[str, Any] | None = None,
        path: str | Path = "",
        shards: int = 64,
        *,
        workers: int | None = None,
        start: bytes | okl.Learner | None = None,
        hot_bytes: int = 256 << 20,
        worker_options: dict[str, Any] | None = None,
        patience: float = 300.0,
    ):
        if not path:
            raise ValueError("path: expected a folder that every node of the cluster sees")
        count = None if workers is None else whole_number("workers", workers, 1)
        hot_bytes, patience = whole_number("hot_bytes", hot_bytes, 0), seconds("patience", patience)
        self.folder = Folder(Path(path).absolute(), config, shards, start_bytes(start))
        self._fills = "missing" in self.folder.config
        if not ray.is_initialized():
            ray.init()
        check_nodes(self.folder.path)
        self.generation = self.folder.claim()
        self.shards = self.folder.shards
        self.lanes = self._start(count or default_workers(), hot_bytes, worker_options or {}, patience)
        self._sent: dict[tuple[str, int], int] = {}
        self._own = 0
        self._resync()

    def _start(self, workers: int, hot_bytes: int, options: dict[str, Any], patience: float) -> list[Lane]:
        count = min(workers, self.shards)
        actor = ray.remote(Worker).options(max_restarts=-1, scheduling_strategy="SPREAD", **options)
        lanes = []
        for number in range(count):
            mine = tuple(range(number, self.shards, count))
            folder = self.folder
            plan = Plan(
                str(folder.path),
                folder.config,
                folder.start,
                mine,
                self.generation,
                hot_bytes,
                okl.__version__,
            )
            lanes.append(Lane(lambda plan=plan: actor.remote(plan), number, patience))  # type: ignore[misc]
        return lanes

    def _resync(self) -> None:
        """Asks all shards for their positions."""
        found = {number: at for answer in self._all("positions") for number, at in answer.items()}
        self._sent = {
            (partition, shard): at for shard, all_at in found.items() for partition, at in all_at.items()
        }

    def learn(
        self,
        keys: Iterable[Key],
        X: Any,
        y: Any = None,
        *,
        partition: str | None = None,
        offset: int | None = None,
        on_error: Literal["raise", "skip"] = "raise",
    ) -> Outputs:
        """Learns rows, each with the model of its key, and returns the scores from before each update.

        When it returns, everything is on the disk.

        Parameters
        ----------
        keys : iterable of str, bytes or int
        X, y : array-like
            As in `okl.Learner.learn`.
        partition, offset : str and int, optional
            The place of the first row in a stream. A row that was learned before, by this driver or an earlier one, is recognised by its place
            and not learned again. Without them, rows are learned exactly once as long as this driver lives.
        on_error : "raise" or "skip"
            If a model refuses a row: raise an error (its shard learns nothing of this call; send the rows again with the same
            offset), or leave the row out and record it in `refused`.
        """
        if (partition is None) != (offset is None):
            raise ValueError("partition and offset: give both or neither")
        name = f"{INTERNAL}{self.generation}" if partition is None else check_partition(partition)
        skip, names = check_on_error(on_error), list(keys)
        first = self._own if offset is None else whole_number("offset", offset, 0, LAST - len(names))
        offsets = np.arange(first, first + len(names), dtype=np.int64)
        if partition is None:
            self._own += len(names)
        batch = self._send(name, offsets, names, X, y, skip, first)
        outputs = self._finish(batch)
        if partition is not None and len(offsets):
            self.folder.deliver(name, int(offsets[-1]) + 1)
        return outputs

    def pull(
        self,
        reader: Reader,
        *,
        rows: int = 8192,
        partitions: Iterable[str] | None = None,
        on_error: Literal["raise", "skip"] = "raise",
        follow: bool = False,
        ahead: int = 3,
    ) -> Iterator[Outputs]:
        """Learns the rows of a reader and yields their outputs, batch by batch.

        Each partition begins where its outputs were last taken. A batch counts as taken when the next one is asked for: if the
        driver dies before that, the same outputs come again, marked as duplicates, with the same scores.

        Parameters
        ----------
        rows : int
            The number of rows of a batch.
        partitions : iterable of str, optional
            Default: all of the reader.
        follow : bool
            Whether to wait for more rows at the end of all partitions.
        ahead : int
            The number of batches that are learned at the same time.
        """
        rows, ahead = whole_number("rows", rows, 1), whole_number("ahead", ahead, 1)
        skip = check_on_error(on_error)
        if isinstance(partitions, (str, bytes)):
            raise TypeError(f"partitions: found {partitions!r}, expected a list of names")
        names = [
            check_partition(name) for name in (reader.partitions() if partitions is None else partitions)
        ]
        at = {name: self.folder.position(name) for name in names}
        waiting: deque[Batch] = deque()
        open_ = deque(names)
        try:
            while open_ or waiting:
                while open_ and len(waiting) < ahead:
                    name = open_.popleft()
                    found = reader.read(name, at[name], rows)
                    if len(found.keys):
                        first = np.arange(at[name], at[name] + len(found.keys), dtype=np.int64)
                        offsets = (
                            first if found.offsets is None else np.asarray(found.offsets, dtype=np.int64)
                        )
                        delivered = self.folder.position(name)
                        try:
                            batch = self._send(
                                name, offsets, list(found.keys), found.X, found.y, skip, delivered
                            )
                        except (TypeError, ValueError) as error:
                            where = f"partition {name!r}, {len(offsets)} rows from offset {offsets[0]} on"
                            raise type(error)(f"{where}: {error} (rows are counted from there)") from None
                        waiting.append(batch)
                        at[name] = int(offsets[-1]) + 1
                        open_.append(name)
                    elif follow:
                        open_.append(name)
                        break
                if waiting:
                    outputs = self._finish(waiting.popleft())
                    yield outputs
                    self.folder.deliver(outputs.partition, int(outputs.offsets[-1]) + 1)
        finally:
            self._drain()  # What is under way is learned; its outputs come again.

    def _send(
        self,
        partition: str,
        offsets: np.ndarray,
        names: list[Any],
        X: Any,
        y: Any,
        skip: bool,
        delivered: int,
    ) -> Batch:
        """Sends each row to the worker of its shard."""
        keys = all_key_bytes(names)
        matrix, targets = check_rows(len(keys), X, y, self._fills)
        shards = np.array([shard_of(key, self.shards) for key in keys], dtype=np.int64)
        order = np.argsort(shards, kind="stable")
        starts = np.flatnonzero(np.diff(shards[order], prepend=-1))
        parts: dict[int, list[Part]] = {}
        rows: dict[int, list[np.ndarray]] = {}
        for mine in np.split(order, starts[1:]) if len(order) else ():
            shard = int(shards[mine[0]])
            previous = self._sent.get((partition, shard), 0)
            its_keys, its_y = [keys[row] for row in mine.tolist()], None if targets is None else targets[mine]
            part = Part(
                shard, partition, offsets[mine], its_keys, matrix[mine], its_y, previous, delivered, skip
            )
            self._sent[partition, shard] = max(previous, int(offsets[mine[-1]]) + 1)
            parts.setdefault(shard % len(self.lanes), []).append(part)
            rows.setdefault(shard % len(self.lanes), []).append(mine)
        calls = [self.lanes[number].send("learn", its_parts) for number, its_parts in parts.items()]
        return Batch(partition, offsets, names, calls, list(rows.values()))

    def _finish(self, batch: Batch) -> Outputs:
        """Waits for the answers to a batch."""
        try:
            found = answers(batch.calls)
        except Exception:
            self._drain()
            self._resync()
            raise
        pairs = [
            (rows, learned) for mine, answer in zip(batch.rows, found) for rows, learned in zip(mine, answer)
        ]
        return gather(batch, pairs)

    def _drain(self) -> None:
        """Waits for everything that is under way."""
        for lane in self.lanes:
            if lane.sent:
                lane.wait(lane.sent[-1])

    def predict(self, keys: Iterable[Key], X: Any) -> np.ndarray:
        """The scores of rows, without learning. A key that was not seen has the scores of a new model."""
        found = all_key_bytes(keys)
        matrix, _ = check_rows(len(found), X, None, self._fills)
        rows: dict[int, list[int]] = {}
        for row, key in enumerate(found):
            rows.setdefault(shard_of(key, self.shards), []).append(row)
        asked: dict[int, list[int]] = {}
        for shard in rows:
            asked.setdefault(shard % len(self.lanes), []).append(shard)
        calls = [
            self.lanes[number].send(
                "predict", [(s, [found[i] for i in rows[s]], matrix[rows[s]]) for s in its]
            )
            for number, its in asked.items()
        ]
        scores = [score for answer in answers(calls) for score in answer]
        return join(len(found), list(zip((rows[s] for its in asked.values() for s in its), scores)))

    def export(self, key: Key, path: str | Path | None = None) -> bytes | None:
        """The model file of a key: as bytes for `okl.Learner.from_bytes`, or written to a path."""
        data: bytes = self._of(key, "model")
        if path is None:
            return data
        okl.Learner.from_bytes(data).save(path)
        return None

    def inspect(self, key: Key) -> dict[str, Any]:
        """What is known of the model of a key: examples, terms, truncation error, health, SHA-256, shard, node."""
        found: dict[str, Any] = self._of(key, "inspect")
        return found

    def _of(self, key: Key, method: str) -> Any:
        data = key_bytes(key)
        shard = shard_of(data, self.shards)
        (found,) = answers([self.lanes[shard % len(self.lanes)].send(method, shard, data)])
        if found is None:
            raise KeyError(f"key {key_text(data)} has not been seen")
        return found

    def digests(self) -> dict[bytes, str]:
        """The SHA-256 of every model file, by key (as bytes)."""
        return {key: digest for found in self._all("digests") for key, digest in found.items()}

    def refused(self) -> list[tuple[str, int, bytes, str]]:
        """The rows that were refused and left out: partition, offset, key, reason."""
        return sorted(row for found in self._all("refused") for row in found)

    def workers(self) -> list[dict[str, Any]]:
        """Of each worker: the numbers of keys and of models in memory, its process and node, and how often calls were sent again."""
        return [{**found, "restarts": lane.restarts} for lane, found in zip(self.lanes, self._all("state"))]

    def _all(self, method: str) -> list[Any]:
        return answers([lane.send(method) for lane in self.lanes])

    def __len__(self) -> int:
        """The number of keys that were seen."""
        return sum(found["keys"] for found in self._all("state"))

    def position(self, partition: str) -> int:
        """The offset of a partition from which rows have to be sent: outputs of all rows before it were delivered."""
        return self.folder.position(partition)

    def close(self) -> None:
        """Ends the workers. Everything that was confirmed is on the disk."""
        for lane in self.lanes:
            lane.close()
        self.folder.close()

    def __enter__(self) -> "KeyedLearners":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def default_workers() -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)) - 1)


def check_partition(name: Any) -> str:
    if not isinstance(name, str) or name.startswith("\0"):
        raise ValueError(f"partition: found {name!r}, expected text")
    return name


def check_on_error(on_error: Any) -> bool:
    """Whether refused rows are left out."""
    if on_error not in ("raise", "skip"):
        raise ValueError(f"on_error: found {on_error!r}, expected 'raise' or 'skip'")
    return bool(on_error == "skip")


def check_rows(count: int, X: Any, y: Any, fills: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """Rows and targets as arrays of `count` rows, all finite; NaN only if the models fill it in."""
    check_unmasked("X", X, FILL_MASKED)
    check_unmasked("y", y, FILL_MASKED)
    matrix = np.asarray(X)
    if matrix.dtype.kind not in "fiub":
        raise TypeError(f"X: found an array of {matrix.dtype}, expected numbers")
    if matrix.ndim != 2 or len(matrix) != count:
        raise ValueError(f"X: found shape {matrix.shape}, expected ({count}, features): one row per key")
    finite = ~np.isinf(matrix) if fills else np.isfinite(matrix)
    if not finite.all():
        row, column = np.argwhere(~finite)[0].tolist()
        raise ValueError(
            f"X: found {matrix[row, column]} in row {row}, column {column}, expected a finite number; nothing was learned"
        )
    targets = None if y is None else np.asarray(y)
    if targets is not None and (targets.ndim == 0 or len(targets) != count):
        raise ValueError(f"y: found shape {targets.shape}, expected {count} targets, one per key")
    return matrix, targets


def gather(batch: Batch, pairs: list[tuple[np.ndarray, Learned]]) -> Outputs:
    """The answers of the shards in the order of the rows."""
    count = len(batch.keys)
    duplicate, refused = np.zeros(count, bool), np.zeros(count, bool)
    for rows, learned in pairs:
        duplicate[rows], refused[rows] = learned.duplicate, learned.refused
    scores = join(count, [(rows, learned.scores) for rows, learned in pairs])
    return Outputs(batch.partition, batch.offsets, batch.keys, scores, duplicate, refused)


def join(count: int, pairs: list[tuple[Any, np.ndarray]]) -> np.ndarray:
    """Scores of some rows each, as one array; NaN where a model has fewer outputs."""
    width = max((scores.shape[1] for _, scores in pairs if scores.ndim == 2), default=0)
    joined = np.full((count, max(width, 1)), np.nan)
    for rows, scores in pairs:
        matrix = scores.reshape(len(scores), -1)
        joined[rows, : matrix.shape[1]] = matrix
    return joined if width else joined[:, 0]
