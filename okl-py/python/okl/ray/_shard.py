"""A shard: the models of the keys that hash to it. Nothing here needs Ray.

Rows come as `Part`s. The models that the rows touch learn in memory; then one transaction commits the models, the position and the outputs. Rows
below the committed position are not learned again: their outputs are looked up. A batch may have parts in several shards. `check` learns a part in
memory and commits nothing, so that the driver commits a batch only if no shard refuses a row.
"""

import hashlib
import sys
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import okl
from okl.ray._keys import key_text
from okl.ray._store import INTERNAL, Commit, Refused, Store


class Gap(RuntimeError):
    """Rows before these have not arrived yet; they have to be sent first."""


class Part(NamedTuple):
    """Rows of one partition that belong to one shard."""

    shard: int
    partition: str
    offsets: np.ndarray
    """The offset of each row, ascending."""
    keys: list[bytes]
    X: np.ndarray
    y: np.ndarray | None
    previous: int
    """The position of the shard before these rows."""
    delivered: int
    """Outputs below this offset are not needed any more."""
    skip: bool
    """Whether a row that its model refuses is left out and recorded, instead of an error for all rows."""
    ticket: int = 0
    """The number of a batch that is committed by all of its shards or by none; 0 if each shard commits by itself."""
    wrong: dict[int, str] | None = None
    """Rows that are left out and recorded without asking their models, each with the reason."""


class Learned(NamedTuple):
    """The outputs of a part, row by row."""

    scores: np.ndarray
    """(rows,), or (rows, outputs) with NaN where a model has fewer outputs."""
    duplicate: np.ndarray
    """Rows that had been learned before."""
    refused: np.ndarray
    """Rows that were refused and left out."""


class Staged(NamedTuple):
    """A part that was learned in memory and is not committed."""

    ticket: int
    learners: dict[bytes, okl.Learner]
    learned: Learned
    commit: Commit | None
    """What the database has to write; None if all rows were learned before."""


class Shard:
    """The models of one shard, the recently used ones in memory."""

    def __init__(self, store: Store, config: dict[str, Any], start: bytes | None, hot_bytes: int):
        self.store = store
        self.config = config
        self.start = start
        self.hot_bytes = hot_bytes
        self.hot: OrderedDict[bytes, okl.Learner] = OrderedDict()
        self.sizes: dict[bytes, int] = {}
        self.held = 0
        self.staged: Staged | None = None

    def check(self, part: Part) -> None:
        """Learns the rows that are new in memory, so that a row that a model refuses is found. `learn` commits them; any other part discards them."""
        self.staged = None
        self.staged = self._stage(part)

    def learn(self, part: Part) -> Learned:
        """Learns the rows that are new, all or none of them, and commits."""
        staged, self.staged = self.staged, None
        if staged is None or not part.ticket or staged.ticket != part.ticket:
            staged = self._stage(part)
        if staged.commit is not None:
            self.store.commit(staged.commit)
        self._keep(staged.learners)
        return staged.learned

    def _stage(self, part: Part) -> Staged:
        """Learns the rows that are new in memory. Models that have learned rows without a commit are not among the models in memory (`hot`)."""
        position = self.store.position(part.partition)
        if part.previous > position:
            raise Gap(
                f"shard {part.shard} has {part.partition!r} up to offset {position}, rows before {part.previous} are missing"
            )
        duplicate = part.offsets < position
        scores = Scores(len(part.keys))
        if duplicate.any():
            self._look_up(part, duplicate, scores)
        touched: dict[bytes, okl.Learner] = {}
        wrong = {row: reason for row, reason in (part.wrong or {}).items() if not duplicate[row]}
        refused = [Refused(int(part.offsets[row]), part.keys[row], reason) for row, reason in wrong.items()]
        use = ~duplicate
        use[list(wrong)] = False
        for key, rows in groups(part.keys, use):
            touched[key] = self.hot.get(key) or self._load(key)
            self._drop([key])
            self._learn_key(part, key, rows, touched[key], scores, refused)
        new, commit = ~duplicate, None
        if new.any():
            models = {key: learner.to_bytes() for key, learner in touched.items()}
            kept, last = scores.array()[new], int(part.offsets[-1])
            commit = Commit(
                part.partition, last + 1, models, part.offsets[new], kept, refused, part.delivered
            )
        left_out = np.isin(part.offsets, [row.offset for row in refused])
        return Staged(part.ticket, touched, Learned(scores.array(), duplicate, left_out), commit)

    def _learn_key(
        self,
        part: Part,
        key: bytes,
        rows: list[int],
        learner: okl.Learner,
        scores: "Scores",
        refused: list[Refused],
    ) -> None:
        try:
            scores.put(rows, learn(learner, part, rows))
            return
        except (ValueError, TypeError) as error:
            if not part.skip:
                raise type(error)(about(part, key, rows, error)) from None
        # Nothing was learned by the refused call. One row after the other gives the same model.
        for row in rows:
            try:
                scores.put([row], learn(learner, part, [row]))
            except (ValueError, TypeError) as error:
                refused.append(Refused(int(part.offsets[row]), key, str(error)))

    def _look_up(self, part: Part, duplicate: np.ndarray, scores: "Scores") -> None:
        """The scores of rows that were learned before, if they are still kept."""
        kept = self.store.outputs(part.partition, int(part.offsets[0]))
        for row in np.flatnonzero(duplicate).tolist():
            if (found := kept.get(int(part.offsets[row]))) is not None:
                scores.put([row], found.reshape(1, -1) if len(found) > 1 else found)

    def predict(self, keys: list[bytes], X: np.ndarray) -> np.ndarray:
        """The scores of rows; a key that was not seen yet has the scores of a new model."""
        scores, seen = Scores(len(keys)), {}
        for key, rows in groups(keys, np.ones(len(keys), bool)):
            learner = self.hot.get(key) or self._load(key)
            scores.put(rows, learner.predict(X[rows]))
            if key in self.hot or self.store.model(key) is not None:
                seen[key] = learner
        self._keep(seen)
        return scores.array()

    def model(self, key: bytes) -> bytes | None:
        """The committed model of a key."""
        return self.store.model(key)

    def inspect(self, key: bytes) -> dict[str, Any] | None:
        """What is known of a key's model; None if the key was not seen."""
        data = self.store.model(key)
        if data is None:
            return None
        learner = okl.Learner.from_bytes(data)
        return {
            "examples": learner.examples,
            "terms": learner.terms,
            "truncation_error": learner.truncation_error,
            "classes": learner.classes,
            "health": learner.health(),
            "config": learner.config,
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
            "in_memory": key in self.hot,
        }

    def digests(self) -> Iterator[tuple[bytes, str]]:
        """The SHA-256 of each model."""
        return ((key, hashlib.sha256(data).hexdigest()) for key, data in self.store.models())

    def _load(self, key: bytes) -> okl.Learner:
        data = self.store.model(key) or self.start
        return okl.Learner(self.config) if data is None else okl.Learner.from_bytes(data)

    def _drop(self, keys: Any) -> None:
        for key in keys:
            self.held -= self.sizes.pop(key, 0)
            self.hot.pop(key, None)

    def _keep(self, learners: dict[bytes, okl.Learner]) -> None:
        """Holds these models in memory, and lets go of those that were not used for longest."""
        self._drop(learners)
        for key, learner in learners.items():
            self.hot[key], self.sizes[key] = learner, sys.getsizeof(learner)
            self.held += self.sizes[key]
        while self.held > self.hot_bytes and self.hot:
            self._drop([next(iter(self.hot))])


class Scores:
    """Scores of rows whose models may have different numbers of outputs."""

    def __init__(self, rows: int):
        self.values = np.full((rows, 1), np.nan)
        self.columns = False

    def put(self, rows: list[int], scores: np.ndarray) -> None:
        matrix = scores.reshape(len(rows), -1)
        self.columns |= scores.ndim == 2
        if (more := matrix.shape[1] - self.values.shape[1]) > 0:
            self.values = np.pad(self.values, ((0, 0), (0, more)), constant_values=np.nan)
        self.values[rows, : matrix.shape[1]] = matrix

    def array(self) -> np.ndarray:
        return self.values if self.columns else self.values[:, 0]


def groups(keys: list[bytes], use: np.ndarray) -> Iterator[tuple[bytes, list[int]]]:
    """The rows of each key, in order."""
    rows: dict[bytes, list[int]] = {}
    for row in np.flatnonzero(use).tolist():
        rows.setdefault(keys[row], []).append(row)
    return iter(rows.items())


def learn(learner: okl.Learner, part: Part, rows: list[int]) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", okl.HealthWarning)  # `inspect` has the counts of each key.
        return learner.learn(part.X[rows], None if part.y is None else part.y[rows])


def about(part: Part, key: bytes, rows: list[int], error: Exception) -> str:
    """Which rows a message is about."""
    first, last = int(part.offsets[rows[0]]), int(part.offsets[rows[-1]])
    if part.partition.startswith(INTERNAL):  # The caller has not given offsets, and does not know these.
        where = f"key {key_text(key)}, its {len(rows)} rows"
    else:
        where = f"partition {part.partition!r}, key {key_text(key)}, its {len(rows)} rows from offset {first} to {last}"
    learned = (
        "No shard has learned a row of this batch: correct the row or leave it out, and send the batch again"
        if part.ticket
        else f"Shard {part.shard} has learned nothing of this batch, and the other shards learn no row twice: correct the row, or use "
        "on_error='skip', and pull again"
    )
    return f"{where}: {error} (rows are counted within these). {learned}."
