"""The store of a shard: models, positions in the stream and recent outputs in one SQLite database.

One transaction commits them together, so models and positions always agree. An *epoch* is the pair (generation of the driver, start of
the worker). A store that is opened claims the next epoch; each transaction checks it. A worker that was replaced but still runs,
for instance on a machine that lost its connection, has a lower epoch, and its transactions are refused.

The database has a rollback journal, no write-ahead log: the log needs memory shared by all readers, which no network file system has.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

WAIT = 60.0
"""Seconds that a transaction waits for another process."""

INTERNAL = "\0driver "
"""Partitions of rows that were learned without an offset begin with this."""


def shown(partition: str) -> str:
    """The name of a partition for users, without the NUL byte."""
    own = partition.startswith(INTERNAL)
    return f"no partition, driver {partition.removeprefix(INTERNAL)}" if own else partition


SCHEMA = """
CREATE TABLE IF NOT EXISTS epoch (one INTEGER PRIMARY KEY CHECK (one = 1), generation INTEGER NOT NULL, start INTEGER NOT NULL);
INSERT OR IGNORE INTO epoch VALUES (1, 0, 0);
CREATE TABLE IF NOT EXISTS positions (partition TEXT PRIMARY KEY, next INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS models (key BLOB NOT NULL UNIQUE, model BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS outputs (partition TEXT NOT NULL, last INTEGER NOT NULL, width INTEGER NOT NULL, offsets BLOB NOT NULL, scores BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS refused (partition TEXT NOT NULL, offset INTEGER NOT NULL, key BLOB NOT NULL, reason TEXT NOT NULL);
"""


class Fenced(RuntimeError):
    """Another process has taken over the store: nothing was written."""

    def __init__(self, path: str, mine: tuple[int, int], found: tuple[int, int]):
        super().__init__(path, mine, found)
        self.path, self.mine, self.found = path, mine, found

    @property
    def by_another_driver(self) -> bool:
        """Whether a later driver has taken over, and not only a later worker of the same driver."""
        return self.found[0] > self.mine[0]

    def __str__(self) -> str:
        if self.by_another_driver:
            return (
                f"{self.path}: another driver has opened this folder since (generation {self.found[0]}, this one is {self.mine[0]}); "
                "nothing was written. Only the last driver that opens a folder can learn and predict: close this one."
            )
        return f"{self.path}: another worker has taken over (start {self.found[1]}, this one is {self.mine[1]}); nothing was written"


class Refused(NamedTuple):
    """A row that a model refused."""

    offset: int
    key: bytes
    reason: str


class Commit(NamedTuple):
    """What one transaction writes: the rows of one partition that one shard has learned."""

    partition: str
    next: int
    models: Mapping[bytes, bytes]
    offsets: np.ndarray
    scores: np.ndarray
    refused: list[Refused]
    delivered: int
    """Outputs of rows below this offset are not needed any more."""


def connect(path: Path) -> sqlite3.Connection:
    """A connection without implicit transactions; a commit is on the disk."""
    base = sqlite3.connect(path, timeout=WAIT, isolation_level=None, check_same_thread=False)
    base.execute("PRAGMA page_size = 8192")
    base.execute("PRAGMA journal_mode = TRUNCATE")
    base.execute("PRAGMA synchronous = FULL")
    return base


@contextmanager
def transaction(base: sqlite3.Connection) -> Iterator[None]:
    """Everything inside is committed, or nothing is."""
    base.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        base.execute("ROLLBACK")
        raise
    base.execute("COMMIT")


class Store:
    """The database of a shard, claimed by this process."""

    def __init__(self, path: str | Path, generation: int):
        self.path = str(path)
        self.base = connect(Path(path))
        with transaction(self.base):
            for statement in SCHEMA.strip().split(";\n"):
                self.base.execute(statement)
            found = self._epoch()
            if found[0] > generation:
                raise Fenced(self.path, (generation, 0), found)
            self.epoch = (generation, found[1] + 1 if found[0] == generation else 1)
            self.base.execute("UPDATE epoch SET generation = ?, start = ?", self.epoch)
            self._forget_other_drivers(generation)

    def check_claim(self) -> None:
        """Raises an error if another process has claimed the store since: models in the memory of this process may be old."""
        if (found := self._epoch()) != self.epoch:
            raise Fenced(self.path, self.epoch, found)

    def _epoch(self) -> tuple[int, int]:
        generation, start = self.base.execute("SELECT generation, start FROM epoch").fetchone()
        return generation, start

    def _forget_other_drivers(self, generation: int) -> None:
        """Rows that an earlier driver learned without offsets cannot be sent again."""
        mine = f"{INTERNAL}{generation}"
        for table in ("positions", "outputs"):
            where = "substr(partition, 1, ?) = ? AND partition <> ?"
            self.base.execute(f"DELETE FROM {table} WHERE {where}", (len(INTERNAL), INTERNAL, mine))

    def position(self, partition: str) -> int:
        """The rows of the partition below this offset that belong to this shard are learned."""
        row = self.base.execute("SELECT next FROM positions WHERE partition = ?", (partition,)).fetchone()
        return row[0] if row else 0

    def positions(self) -> dict[str, int]:
        return dict(self.base.execute("SELECT partition, next FROM positions"))

    def model(self, key: bytes) -> bytes | None:
        row = self.base.execute("SELECT model FROM models WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    def models(self) -> Iterator[tuple[bytes, bytes]]:
        """All keys with their models, in the order of the keys."""
        return iter(self.base.execute("SELECT key, model FROM models ORDER BY key"))

    def count(self) -> int:
        return int(self.base.execute("SELECT count(*) FROM models").fetchone()[0])

    def outputs(self, partition: str, first: int) -> dict[int, np.ndarray]:
        """The scores that are kept of the rows of a partition from an offset on."""
        kept: dict[int, np.ndarray] = {}
        select = "SELECT width, offsets, scores FROM outputs WHERE partition = ? AND last >= ?"
        for width, offsets, scores in self.base.execute(select, (partition, first)):
            rows = np.frombuffer(scores).reshape(-1, width)
            kept.update(zip(np.frombuffer(offsets, np.int64).tolist(), rows))
        return kept

    def refused(self) -> list[tuple[str, int, bytes, str]]:
        return list(
            self.base.execute("SELECT partition, offset, key, reason FROM refused ORDER BY partition, offset")
        )

    def commit(self, what: Commit) -> None:
        """Writes models, position, outputs and refused rows, if the store is still claimed by this process."""
        with transaction(self.base):
            self.check_claim()
            run, many = self.base.execute, self.base.executemany
            upsert = "INSERT INTO models VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET model = excluded.model"
            many(upsert, what.models.items())
            run("INSERT OR REPLACE INTO positions VALUES (?, ?)", (what.partition, what.next))
            run("DELETE FROM outputs WHERE partition = ? AND last < ?", (what.partition, what.delivered))
            if len(what.offsets):
                width = what.scores.shape[1] if what.scores.ndim == 2 else 1
                last = int(what.offsets[-1])
                row = (what.partition, last, width, what.offsets.tobytes(), what.scores.tobytes())
                run("INSERT INTO outputs VALUES (?, ?, ?, ?, ?)", row)
            many(
                "INSERT INTO refused VALUES (?, ?, ?, ?)",
                ((what.partition, *refused) for refused in what.refused),
            )

    def close(self) -> None:
        self.base.close()
