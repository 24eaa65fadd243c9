"""`KeyedLearners`: the driver's side."""

import hashlib
import itertools
import pickle
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import ray

import okl
from okl._columns import FILL_MASKED, check_unmasked, with_none
from okl._intervals import NUMBERS, name_of_loss
from okl._starts import start_bytes
from okl.ray._checks import check_nodes, seconds, whole_number
from okl.ray._folder import Folder
from okl.ray._keys import Key, all_key_bytes, key_bytes, key_text, shard_of
from okl.ray._readers import FileReader, KafkaReader, Reader, Rows, TargetKind, as_targets
from okl.ray._shard import Learned, Part
from okl.ray._store import INTERNAL, shown
from okl.ray._workers import Call, Lane, Plan, Worker, answers

LAST = (1 << 63) - 1
"""The last offset."""
POLL = 0.2
"""Seconds between two looks for more rows."""
LOOK = 2.0
"""Seconds between two looks for more partitions."""


@dataclass(frozen=True)
class Outputs:
    """The scores of rows before each was learned, with the place of each row in the stream."""

    partition: str
    """The name that was given or read. Rows that were given without a partition have ``no partition, driver NUMBER``."""
    offsets: np.ndarray
    """The offset of each row in the partition."""
    keys: list[Any]
    scores: np.ndarray
    """(rows,), or (rows, outputs) with NaN where the model of a key has fewer outputs."""
    duplicate: np.ndarray
    """Rows that had been learned before this call and were not learned again. Their scores are those of the first time, or NaN if the outputs had
    been delivered."""
    refused: np.ndarray
    """Rows that were refused in this call (with ``on_error="skip"``): not learned, recorded in `refused`. When such a row comes again, it is not refused
    again but marked in `duplicate`, with the score NaN."""


class Batch(NamedTuple):
    """Rows under way."""

    partition: str
    offsets: np.ndarray
    keys: list[Any]
    parts: dict[int, list[Part]]
    """For each worker, the parts of its shards."""
    rows: dict[int, list[np.ndarray]]
    """For each worker and each of its parts, the rows of the batch."""
    shared: dict[int, Any]
    """The parts as objects of Ray, if they are sent more than once."""
    calls: list[Call]
    """A call for each worker, in the order of `parts`."""


class Checked(NamedTuple):
    """Rows whose types, shapes and finiteness were checked."""

    keys: list[bytes]
    X: np.ndarray
    y: np.ndarray | None


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
    shards : int, optional
        The number of shards; it cannot be changed later. It limits the number of workers. Default: that of the folder, 64 for a new folder.
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
        shards: int | None = None,
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
        self._tickets = itertools.count(1)
        self._unconfirmed: tuple[int, bytes] | None = None
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
        for lane in self.lanes:
            lane.broken = False
        self._stale = False

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

        When it returns, everything is on the disk. If a model refuses a row, no row of the call is learned.

        Parameters
        ----------
        keys : iterable of str, bytes or int
        X, y : array-like
            As in `okl.Learner.learn`.
        partition, offset : str and int, optional
            The place of the first row in a stream. A row that was learned before, by this driver or an earlier one, is recognised by its place
            and not learned again. The first call of a partition may have any offset; after that, rows follow each other without a gap. Without
            partition and offset, rows are learned exactly once as long as this driver lives.
        on_error : "raise" or "skip"
            If a model refuses a row: raise an error (no row of this call is learned), or leave the row out and record it in `refused`.
        """
        if (partition is None) != (offset is None):
            raise ValueError("partition and offset: give both or neither")
        name = f"{INTERNAL}{self.generation}" if partition is None else check_partition(partition)
        skip, names = check_on_error(on_error), list(keys)
        rows = check_rows(all_key_bytes(names), X, y, self._fills, skip)
        if offset is None:
            first = self._first_own(rows)
        else:
            first = whole_number("offset", offset, 0, LAST - len(names))
            self.folder.check_offset(name, first)
        offsets = np.arange(first, first + len(names), dtype=np.int64)
        batch = self._cut(name, offsets, names, rows, skip, first, next(self._tickets))
        self._check(batch)
        if partition is None:
            self._own = max(self._own, first + len(names))
        elif len(names):
            self.folder.begin(name, first)
        outputs = self._confirmed(batch, rows)
        if partition is not None and len(names):
            self.folder.deliver(name, first + len(names))
        return outputs

    def _check(self, batch: Batch) -> None:
        """Refuses a batch if a model refuses a row of it. Shards learn in memory only, and commit later."""
        parts = [part for parts in batch.parts.values() for part in parts]
        begun = batch.partition.startswith(INTERNAL) or batch.partition in self.folder.positions
        # One shard learns all or nothing; a row that is left out is no error. A partition must not begin with rows that are refused.
        if not parts or parts[0].skip or (len(parts) == 1 and begun):
            return
        for number, mine in batch.parts.items():
            batch.shared[number] = ray.put(mine)
        answers([self.lanes[number].send("check", shared) for number, shared in batch.shared.items()])

    def _confirmed(self, batch: Batch, rows: Checked) -> Outputs:
        """Learns a batch. If there is no answer, the same rows in the next call are recognised."""
        try:
            self._send(batch)
            outputs = self._finish(batch)
        except BaseException:
            if batch.partition.startswith(INTERNAL) and len(batch.offsets):
                self._unconfirmed = int(batch.offsets[0]), digest_of(rows)
            raise
        self._unconfirmed = None
        return outputs

    def _first_own(self, rows: Checked) -> int:
        """The offset of rows that have none: the same one again if these are the rows of the last call, which were not confirmed."""
        if self._unconfirmed is not None and self._unconfirmed[1] == digest_of(rows):
            return self._unconfirmed[0]
        return self._own

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
        driver dies before that, the same outputs come again, marked as duplicates, with the same scores. If a model refuses a row, the other shards
        have learned their rows of the batch: correct the row, or leave it out with ``on_error="skip"``, and pull again.

        Parameters
        ----------
        rows : int
            The number of rows of a batch.
        partitions : iterable of str, optional
            Default: all of the reader.
        follow : bool
            Whether to wait for more rows and partitions when all rows are learned. `FileReader` finds new files, and lines that are added to CSV and NDJSON files.
        ahead : int
            The number of batches that are learned at the same time.
        """
        rows, ahead = whole_number("rows", rows, 1), whole_number("ahead", ahead, 1)
        skip = check_on_error(on_error)
        if isinstance(partitions, (str, bytes)):
            raise TypeError(f"partitions: found {partitions!r}, expected a list of names")
        if isinstance(reader, FileReader):
            reader.follow, reader.kind = follow, target_kind(self.folder.config)
        at: dict[str, int] = {}
        waiting: deque[Batch] = deque()
        open_: deque[str] = deque()
        self._add_partitions(reader, partitions, at, open_)
        idle, looked = 0, time.monotonic()
        try:
            while open_ or waiting:
                while open_ and len(waiting) < ahead:
                    name = open_.popleft()
                    found = reader.read(name, at[name], rows)
                    if len(found.keys):
                        batch = self._cut_rows(name, found, at[name], skip)
                        self.folder.begin(name, at[name])
                        self._send(batch)
                        waiting.append(batch)
                        at[name] = int(batch.offsets[-1]) + 1
                        open_.append(name)
                        idle = 0
                    elif follow:
                        open_.append(name)
                        idle += 1
                        break
                if not waiting and idle >= len(open_) > 0:
                    time.sleep(POLL)
                    if partitions is None and time.monotonic() > looked + LOOK:
                        self._add_partitions(reader, None, at, open_)
                        looked = time.monotonic()
                    idle = 0
                if waiting:
                    outputs = self._finish(waiting.popleft())
                    yield outputs
                    self.folder.deliver(outputs.partition, int(outputs.offsets[-1]) + 1)
        finally:
            self._drain()  # What is under way is learned; its outputs come again.

    def _add_partitions(
        self, reader: Reader, partitions: Iterable[str] | None, at: dict[str, int], open_: deque[str]
    ) -> None:
        """Adds the partitions that are new, with the positions where they continue."""
        names = list(reader.partitions() if partitions is None else partitions)
        if isinstance(reader, (FileReader, KafkaReader)):
            known = {*self.folder.positions, *(name for name, _ in self._sent)}
            names = reader.names_in(known, names)
        for name in names:
            if check_partition(name) not in at:
                if isinstance(reader, FileReader) and (count := reader.fixed_rows(name)) is not None:
                    self.folder.check_length(name, count)
                at[name] = self.folder.position(name)
                open_.append(name)

    def _cut_rows(self, partition: str, found: Rows, first: int, skip: bool) -> Batch:
        """Checks the rows of a reader, and cuts them into parts. An error names their place."""
        count = len(found.keys)
        try:
            offsets = check_offsets(found.offsets, first, count)
            rows = check_rows(all_key_bytes(found.keys), found.X, found.y, self._fills, skip)
        except (TypeError, ValueError) as error:
            where = f"partition {partition!r}, {count} rows from offset {first} on"
            raise type(error)(f"{where}: {error} (rows are counted from there)") from None
        wrong = dict(found.wrong or {})
        if wrong and not skip:
            row = min(wrong)
            raise ValueError(
                f"{partition}, row {offsets[row]}, {wrong[row]}. Correct the row in its place, or use "
                "on_error='skip', and pull again"
            )
        delivered = self.folder.position(partition)
        return self._cut(partition, offsets, list(found.keys), rows, skip, delivered, wrong=wrong)

    def _cut(
        self,
        partition: str,
        offsets: np.ndarray,
        names: list[Any],
        rows: Checked,
        skip: bool,
        delivered: int,
        ticket: int = 0,
        wrong: dict[int, str] | None = None,
    ) -> Batch:
        """Cuts rows into a part for each shard."""
        self._resync_if_needed()
        keys, matrix, targets = rows
        shards = np.array([shard_of(key, self.shards) for key in keys], dtype=np.int64)
        order = np.argsort(shards, kind="stable")
        starts = np.flatnonzero(np.diff(shards[order], prepend=-1))
        parts: dict[int, list[Part]] = {}
        places: dict[int, list[np.ndarray]] = {}
        for mine in np.split(order, starts[1:]) if len(order) else ():
            shard = int(shards[mine[0]])
            previous = self._sent.get((partition, shard), 0)
            its_keys, its_y = [keys[row] for row in mine.tolist()], None if targets is None else targets[mine]
            its_offsets, its_X = offsets[mine], matrix[mine]
            its_wrong = (
                {i: wrong[row] for i, row in enumerate(mine.tolist()) if row in wrong} if wrong else None
            )
            part = Part(
                shard,
                partition,
                its_offsets,
                its_keys,
                its_X,
                its_y,
                previous,
                delivered,
                skip,
                ticket,
                its_wrong,
            )
            parts.setdefault(shard % len(self.lanes), []).append(part)
            places.setdefault(shard % len(self.lanes), []).append(mine)
        return Batch(partition, offsets, names, parts, places, {}, [])

    def _send(self, batch: Batch) -> None:
        """Sends each part to the worker of its shard."""
        self._stale = True  # Until all parts are sent: Ctrl-C may come in between.
        for number, parts in batch.parts.items():
            batch.calls.append(self.lanes[number].send("learn", batch.shared.get(number, parts)))
            for part in parts:
                place = part.partition, part.shard
                self._sent[place] = max(self._sent.get(place, 0), int(part.offsets[-1]) + 1)
        self._stale = False

    def _finish(self, batch: Batch) -> Outputs:
        """Waits for the answers to a batch."""
        try:
            found = answers(batch.calls)
        except BaseException:
            self._stale = True
            raise
        pairs = [
            (rows, learned)
            for mine, answer in zip(batch.rows.values(), found)
            for rows, learned in zip(mine, answer)
        ]
        return gather(batch, pairs)

    def _resync_if_needed(self) -> None:
        """After an error, asks for the positions that shards have reached."""
        if self._stale:
            self._drain()
            self._resync()

    def _drain(self) -> None:
        """Waits for everything that is under way."""
        for lane in self.lanes:
            if lane.sent:
                lane.wait(lane.sent[-1])

    def predict(self, keys: Iterable[Key], X: Any) -> np.ndarray:
        """The scores of rows, without learning. A key that was not seen has the scores of a new model."""
        found = all_key_bytes(keys)
        matrix = check_rows(found, X, None, self._fills).X
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
        return sorted((shown(name), *row) for found in self._all("refused") for name, *row in found)

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
        self.folder.check_claim()
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


def target_kind(config: dict[str, Any]) -> TargetKind | None:
    """What the targets of models with these settings are; None if the loss reads no targets."""
    loss = name_of_loss(config["loss"])
    if loss in ("novelty", "nu_novelty", "density"):
        return None
    return "numbers" if loss in NUMBERS else "classes"


def check_partition(name: Any) -> str:
    if not isinstance(name, str) or name.startswith("\0"):
        raise ValueError(f"partition: found {name!r}, expected text")
    return name


def check_offsets(given: Any, first: int, count: int) -> np.ndarray:
    """The offsets of a reader's rows. Rows that are not in order would be taken for rows that were learned before."""
    if given is None:
        return np.arange(first, first + count, dtype=np.int64)
    offsets = np.asarray(given, dtype=np.int64)
    if offsets.shape != (count,):
        raise ValueError(f"offsets of the reader: found shape {offsets.shape}, expected ({count},)")
    wrong = np.flatnonzero(np.diff(offsets, prepend=first - 1) <= 0)
    if len(wrong):
        row = int(wrong[0])
        least = int(offsets[row - 1]) + 1 if row else first
        raise ValueError(
            f"offsets of the reader: found {offsets[row]} in row {row}, expected at least {least}: offsets ascend"
        )
    return offsets


def check_on_error(on_error: Any) -> bool:
    """Whether refused rows are left out."""
    if on_error not in ("raise", "skip"):
        raise ValueError(f"on_error: found {on_error!r}, expected 'raise' or 'skip'")
    return bool(on_error == "skip")


def check_rows(keys: list[bytes], X: Any, y: Any, fills: bool, skip: bool = False) -> Checked:
    """Rows and targets as arrays, a row per key, all finite: NaN in X only if the models fill it in, in y only if models may refuse rows (`skip`)."""
    y = with_none(y)
    check_unmasked("X", X, FILL_MASKED)
    check_unmasked("y", y, FILL_MASKED)
    count, matrix = len(keys), np.asarray(X)
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
    targets = None if y is None else as_targets(y)
    if targets is not None and (targets.ndim not in (1, 2) or len(targets) != count):
        raise ValueError(f"y: found shape {targets.shape}, expected {count} targets, one per key")
    if targets is not None and not skip:
        check_targets(targets)
    return Checked(keys, matrix, targets)


def check_targets(targets: np.ndarray) -> None:
    """Refuses targets that are not finite, before any shard learns. None is a row without a target."""
    if targets.dtype.kind == "O":
        wrong = [isinstance(value, (float, np.floating)) and not np.isfinite(value) for value in targets.flat]
        finite = ~np.array(wrong, bool).reshape(targets.shape)
    else:
        finite = np.isfinite(targets) if targets.dtype.kind in "fc" else np.ones(targets.shape, bool)
    if not finite.all():
        place = tuple(np.argwhere(~finite)[0].tolist())
        column = f", column {place[1]}" if targets.ndim == 2 else ""
        raise ValueError(
            f"y: found {targets[place]} in row {place[0]}{column}, expected a finite number; for a row without a target give None in a "
            "list. Nothing was learned"
        )


def digest_of(rows: Checked) -> bytes:
    """What a batch is recognised by."""
    digest = hashlib.sha256(pickle.dumps((rows.keys, rows.X.dtype.str, rows.X.shape)))
    digest.update(np.ascontiguousarray(rows.X).tobytes())
    digest.update(pickle.dumps(None if rows.y is None else (rows.y.dtype.str, rows.y.tolist())))
    return digest.digest()


def gather(batch: Batch, pairs: list[tuple[np.ndarray, Learned]]) -> Outputs:
    """The answers of the shards in the order of the rows."""
    count = len(batch.keys)
    duplicate, refused = np.zeros(count, bool), np.zeros(count, bool)
    for rows, learned in pairs:
        duplicate[rows], refused[rows] = learned.duplicate, learned.refused
    scores = join(count, [(rows, learned.scores) for rows, learned in pairs])
    return Outputs(shown(batch.partition), batch.offsets, batch.keys, scores, duplicate, refused)


def join(count: int, pairs: list[tuple[Any, np.ndarray]]) -> np.ndarray:
    """Scores of some rows each, as one array; NaN where a model has fewer outputs."""
    width = max((scores.shape[1] for _, scores in pairs if scores.ndim == 2), default=0)
    joined = np.full((count, max(width, 1)), np.nan)
    for rows, scores in pairs:
        matrix = scores.reshape(len(scores), -1)
        joined[rows, : matrix.shape[1]] = matrix
    return joined if width else joined[:, 0]
