"""The folder of `KeyedLearners`: its description, and the driver's database."""

import hashlib
import json
import os
import uuid
from pathlib import Path
from typing import Any

import okl
from okl._starts import settings_of
from okl.ray._checks import whole_number
from okl.ray._store import Fenced, connect, transaction

FORMAT = 1
MOST_SHARDS = 1 << 16
SHARDS = 64
"""The number of shards of a new folder, if none is given."""
CLOSED = "these learners were closed; what was confirmed is in their folder: open it again with KeyedLearners"

SCHEMA = """
CREATE TABLE IF NOT EXISTS driver (one INTEGER PRIMARY KEY CHECK (one = 1), generation INTEGER NOT NULL);
INSERT OR IGNORE INTO driver VALUES (1, 0);
CREATE TABLE IF NOT EXISTS positions (partition TEXT PRIMARY KEY, next INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS starts (partition TEXT PRIMARY KEY, first INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS lengths (partition TEXT PRIMARY KEY, rows INTEGER NOT NULL)"""


class Folder:
    """A folder with models. The description (`keyed.json`) never changes.

    The driver's database has the number of the last driver (its generation) and, per partition, its first offset, the position up to which
    outputs were delivered, and for a Parquet file its number of rows. A position that is too low costs time only: shards recognise the rows that they have learned.
    """

    def __init__(self, path: Path, config: dict[str, Any] | None, shards: int | None, start: bytes | None):
        if shards is not None:
            shards = whole_number("shards", shards, 1, MOST_SHARDS)
        if path.exists() and not path.is_dir():
            raise NotADirectoryError(f"path: {str(path)!r} is a file, expected a folder that every node sees")
        self.path = path
        description, model = path / "keyed.json", path / "start.okl"
        if not description.exists():
            self._describe(description, model, config, SHARDS if shards is None else shards, start)
        found = self._described(description)
        if found["format"] != FORMAT:
            raise ValueError(
                f"{description}: format {found['format']} was written by a newer okl, this is {okl.__version__}"
            )
        self.config: dict[str, Any] = found["config"]
        self.shards: int = found["shards"]
        self.start = model.read_bytes() if found["start"] else None
        self._check(found, config, shards, start)
        self.generation = 0
        self.positions: dict[str, int] = {}
        self.starts: dict[str, int] = {}
        self.lengths: dict[str, int] = {}
        self.closed = False

    def _described(self, description: Path) -> dict[str, Any]:
        try:
            found: Any = json.loads(description.read_text())
            if {"format", "config", "shards", "start"} <= set(found):
                return dict(found)
            reason = f"there is no {' or '.join({'format', 'config', 'shards', 'start'} - set(found))}"
        except (ValueError, TypeError) as error:
            reason = str(error)
        raise ValueError(f"{description} does not describe a folder of models: {reason}; restore the file")

    def _describe(
        self, description: Path, model: Path, config: dict[str, Any] | None, shards: int, start: bytes | None
    ) -> None:
        if config is None and start is None:
            raise ValueError(f"config: {str(self.path)!r} has no models yet: give the settings of the models")
        settings = settings_of(config, start)
        self.path.mkdir(parents=True, exist_ok=True)
        if start is not None:
            okl.Learner.from_bytes(start).save(model)
        text = {
            "format": FORMAT,
            "okl": okl.__version__,
            "shards": shards,
            "config": settings,
            "start": digest(start),
        }
        # A file is complete before it has its name.
        new = description.with_name(f"{uuid.uuid4().hex}.new")
        new.write_text(json.dumps(text, indent=1))
        os.replace(new, description)

    def _check(
        self,
        found: dict[str, Any],
        config: dict[str, Any] | None,
        shards: int | None,
        start: bytes | None,
    ) -> None:
        """Settings that are given must be those of the folder."""
        given = {
            "shards": shards,
            "config": None if config is None else okl.Learner(config).config,
            "start": digest(start),
        }
        for name, value in given.items():
            if value is not None and json.loads(json.dumps(value)) != found[name]:
                raise ValueError(
                    f"{name}: the models in {str(self.path)!r} have {found[name]!r}, found {value!r}: leave it as it was, or use another folder"
                )

    def claim(self) -> int:
        """Makes this process the driver of the folder; earlier drivers cannot write any more."""
        self.base = connect(self.path / "driver.sqlite")
        with transaction(self.base):
            for statement in SCHEMA.strip().split(";\n"):
                self.base.execute(statement)
            self.generation = self._generation() + 1
            self.base.execute("UPDATE driver SET generation = ?", (self.generation,))
        self.positions = dict(self.base.execute("SELECT partition, next FROM positions"))
        self.starts = dict(self.base.execute("SELECT partition, first FROM starts"))
        self.lengths = dict(self.base.execute("SELECT partition, rows FROM lengths"))
        return self.generation

    def _generation(self) -> int:
        return int(self.base.execute("SELECT generation FROM driver").fetchone()[0])

    def position(self, partition: str) -> int:
        return self.positions.get(partition, 0)

    def check_offset(self, partition: str, first: int) -> None:
        """Refuses rows that would leave a gap, or that are before the first row of the partition."""
        expected, start = self.positions.get(partition), self.starts.get(partition, 0)
        if expected is not None and first > expected:
            raise ValueError(
                f"offset: found {first}, expected {expected}: partition {partition!r} continues there, and the rows from offset {expected} to "
                f"{first - 1} were not learned; send them first. Nothing was learned"
            )
        if first < start:
            raise ValueError(
                f"offset: found {first}, expected at least {start}: partition {partition!r} began there. Nothing was learned"
            )

    def check_length(self, partition: str, rows: int) -> None:
        """Refuses a file to which no rows can be added, if its number of rows has changed since the first of them were learned."""
        before = self.lengths.get(partition)
        if before == rows:
            return
        if before is not None and self.position(partition) > 0:
            raise ValueError(
                f"{partition}: the file has {rows} rows, but it had {before} when its first rows were learned. Rows cannot be added to a Parquet file, "
                "or removed: restore the file, or write the rows that are new to another file"
            )
        with transaction(self.base):
            self.check_claim()
            self.base.execute("INSERT OR REPLACE INTO lengths VALUES (?, ?)", (partition, rows))
        self.lengths[partition] = rows

    def begin(self, partition: str, first: int) -> None:
        """Notes the first offset of a partition that is new, before any of its rows is learned."""
        if partition in self.positions:
            return
        with transaction(self.base):
            self.check_claim()
            self.base.execute("INSERT OR REPLACE INTO starts VALUES (?, ?)", (partition, first))
            self.base.execute("INSERT OR REPLACE INTO positions VALUES (?, ?)", (partition, first))
        self.positions[partition] = self.starts[partition] = first

    def deliver(self, partition: str, next_: int) -> None:
        """Notes that outputs were delivered up to an offset."""
        if next_ <= self.position(partition):
            return
        with transaction(self.base):
            self.check_claim()
            self.base.execute("INSERT OR REPLACE INTO positions VALUES (?, ?)", (partition, next_))
        self.positions[partition] = next_

    def check_claim(self) -> None:
        """Raises an error if this driver was closed, or replaced by another one."""
        if self.closed:
            raise ValueError(CLOSED)
        if (found := self._generation()) != self.generation:
            raise Fenced(str(self.path), (self.generation, 0), (found, 0))

    def close(self) -> None:
        self.closed = True
        self.base.close()


def digest(start: bytes | None) -> str | None:
    return None if start is None else hashlib.sha256(start).hexdigest()
