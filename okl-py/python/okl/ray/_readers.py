"""Sources of rows with partitions and offsets: files and Kafka.

A reader returns rows of a partition from an offset on. The same partition and offset must give the same rows again, for as long as they may be
read again after a failure.
"""

import glob
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np


class Rows(NamedTuple):
    """Some rows of a partition."""

    keys: Sequence[Any]
    X: np.ndarray
    y: np.ndarray | None
    offsets: np.ndarray | None = None
    """The offset of each row, ascending. None: they follow each other from the offset that was asked for."""


class Reader(Protocol):
    """A source of rows."""

    def partitions(self) -> Sequence[str]:
        """The names of the partitions. Rows of one key should be in one partition: there is no order between partitions."""

    def read(self, partition: str, offset: int, n: int) -> Rows:
        """At most n rows from an offset on; no rows at the end, or if none have come yet."""


class FileReader:
    """Rows from files: a file is a partition, a row's number is its offset.

    Parameters
    ----------
    paths : str or sequence of str
        Files, or patterns such as ``"data/*.parquet"``: Parquet (.parquet), CSV (.csv, with a header), or NDJSON (.ndjson, .jsonl).
    key, target : str
        The columns of the key and of the target; target None for novelty.
    features : sequence of str
        The columns of the features, in order.
    """

    def __init__(self, paths: str | Sequence[str], *, key: str, target: str | None, features: Sequence[str]):
        if isinstance(features, (str, bytes)):
            raise TypeError(f"features: found {features!r}, expected a list of columns")
        patterns = [paths] if isinstance(paths, str) else list(paths)
        self.files = sorted({path for pattern in patterns for path in glob.glob(pattern)})
        if not self.files:
            raise FileNotFoundError(f"paths: no file matches {', '.join(patterns)}")
        for path in self.files:
            opener(path)
        self.key, self.target, self.features = key, target, list(features)
        self._open: dict[str, tuple[int, Iterator[tuple[Any, ...]]]] = {}

    def partitions(self) -> Sequence[str]:
        return self.files

    def read(self, partition: str, offset: int, n: int) -> Rows:
        at, rows = self._open.pop(partition, (0, None))
        if rows is None or at != offset:
            columns = Columns(self.key, self.features, [self.target] if self.target else [])
            rows = islice(opener(partition)(partition, columns), offset, None)
        found = list(islice(rows, n))
        self._open[partition] = (offset + len(found), rows)
        width = 1 + len(self.features)
        y = np.array([row[width] for row in found]) if self.target else None
        return Rows([row[0] for row in found], self._numbers(partition, offset, found), y)

    def _numbers(self, partition: str, offset: int, found: list[tuple[Any, ...]]) -> np.ndarray:
        width = 1 + len(self.features)
        try:
            return np.array([row[1:width] for row in found], dtype=np.float64).reshape(
                len(found), len(self.features)
            )
        except (TypeError, ValueError):
            row, column = first_wrong([row[1:width] for row in found])
            value = found[row][1 + column]
            raise ValueError(
                f"{partition}, row {offset + row}, column {self.features[column]!r}: found {value!r}, expected a number"
            ) from None


def first_wrong(rows: list[tuple[Any, ...]]) -> tuple[int, int]:
    for number, row in enumerate(rows):
        for column, value in enumerate(row):
            try:
                float(value)
            except (TypeError, ValueError):
                return number, column
    raise AssertionError("all values are numbers")


class Columns(NamedTuple):
    """The columns that are read, in this order."""

    key: str
    features: list[str]
    target: list[str]

    def names(self) -> list[str]:
        return [self.key, *self.features, *self.target]


def opener(path: str) -> Callable[[str, Columns], Iterator[tuple[Any, ...]]]:
    """How a file is read, by its name."""
    readers = {".parquet": parquet_rows, ".csv": csv_rows, ".ndjson": json_rows, ".jsonl": json_rows}
    suffix = Path(path).suffix
    if suffix not in readers:
        raise ValueError(f"{path}: found {suffix or 'no ending'!r}, expected one of {', '.join(readers)}")
    return readers[suffix]


@contextmanager
def named(path: str) -> Iterator[None]:
    """Errors of pyarrow do not name the file."""
    from pyarrow import ArrowInvalid

    try:
        yield
    except ArrowInvalid as error:
        raise ValueError(f"{path}: {error}") from None


def parquet_rows(path: str, columns: Columns) -> Iterator[tuple[Any, ...]]:
    from pyarrow import parquet

    names = columns.names()
    with named(path), parquet.ParquetFile(path) as file:
        check_columns(path, names, file.schema_arrow.names)
        for batch in file.iter_batches(8192, columns=names):
            yield from zip(*(batch.column(name).to_pylist() for name in names))


def csv_rows(path: str, columns: Columns) -> Iterator[tuple[Any, ...]]:
    from pyarrow import csv, float64, string, types

    key, *others = columns.names()
    with named(path):
        with csv.open_csv(path) as file:
            found = file.schema
        check_columns(path, [key, *others], found.names)
        # A column has the type of its first block, where whole numbers or empty cells may be followed by other numbers.
        kinds = {name: found.field(name).type for name in columns.features}
        changed = {n: float64() for n, kind in kinds.items() if types.is_integer(kind) or types.is_null(kind)}
        # The key is the text of its cell: 007 is not 7.
        options = csv.ConvertOptions(column_types={**changed, key: string()})
        with csv.open_csv(path, convert_options=options) as file:
            for batch in file:
                keys = [text or None for text in batch.column(key).to_pylist()]
                yield from zip(keys, *(batch.column(name).to_pylist() for name in others))


def json_rows(path: str, columns: Columns) -> Iterator[tuple[Any, ...]]:
    names = columns.names()
    with open(path, encoding="utf-8") as file:
        lines = (line for line in file if line.strip())
        for number, line in enumerate(lines):
            try:
                row = json.loads(line)
            except ValueError as error:
                raise ValueError(f"{path}, row {number}: {error}") from None
            if not isinstance(row, dict):
                raise ValueError(f"{path}, row {number}: found {line.strip()!r}, expected an object")
            check_columns(f"{path}, row {number}", names, row)
            yield tuple(row[name] for name in names)


def check_columns(where: str, columns: list[str], found: Any) -> None:
    for name in columns:
        if name not in found:
            raise ValueError(f"{where}: there is no column {name!r}; there are {', '.join(map(repr, found))}")


Decode = Callable[[bytes | None, bytes], tuple[Any, Sequence[float], Any]]


class KafkaReader:
    """Rows from a Kafka topic, with confluent-kafka.

    Positions are kept by `KeyedLearners`, together with the models; nothing is committed to Kafka. Only committed messages are read.

    Parameters
    ----------
    topic : str
    settings : mapping
        Settings of the consumer, at least ``bootstrap.servers``.
    decode : callable, optional
        From the key and the value of a message to (key, features, target). Default: the message's key, and a JSON value
        ``{"x": [...], "y": ...}``, with ``"key"`` if the message has no key of its own.
    timeout : float
        Seconds that `read` waits for messages at the end of a partition.
    patience : float
        Seconds without an answer of the broker after which `read` raises an error.
    """

    def __init__(
        self,
        topic: str,
        settings: Mapping[str, Any],
        *,
        decode: Decode | None = None,
        timeout: float = 1.0,
        patience: float = 60.0,
    ):
        from importlib.util import find_spec

        if find_spec("confluent_kafka") is None:
            raise ModuleNotFoundError(
                "okl.ray.KafkaReader needs confluent-kafka, which is not installed: pip install 'okl[kafka]'",
                name="confluent_kafka",
            )
        self.topic, self.timeout, self.patience = topic, timeout, patience
        self.decode = decode or decode_json
        fixed = {"enable.auto.commit": False, "enable.partition.eof": True}
        self.settings = {
            "group.id": "okl",
            "isolation.level": "read_committed",
            **settings,
            **fixed,
            "auto.offset.reset": "error",
        }
        self._open: dict[str, Assigned] = {}

    def partitions(self) -> Sequence[str]:
        from confluent_kafka import Consumer

        consumer = Consumer(self.settings)
        found = consumer.list_topics(self.topic, timeout=self.patience).topics[self.topic]
        consumer.close()
        if found.error is not None:
            raise ValueError(f"topic {self.topic!r}: {found.error}")
        return [str(number) for number in sorted(found.partitions)]

    def read(self, partition: str, offset: int, n: int) -> Rows:
        source = self._open.pop(partition, None)
        if source is None or source.next != offset:
            if source is not None:
                source.consumer.close()
            source = Assigned(self.settings, self.topic, int(partition), offset)
        messages = source.messages(n, self.timeout, self.patience)
        rows = [self._decoded(message) for message in messages]
        self._open[partition] = source
        offsets = np.array([message.offset() for message in messages], dtype=np.int64)
        X = np.array([row[1] for row in rows], dtype=np.float64).reshape(len(rows), -1 if rows else 0)
        y = None if all(row[2] is None for row in rows) else np.array([row[2] for row in rows])
        return Rows([row[0] for row in rows], X, y, offsets)

    def _decoded(self, message: Any) -> tuple[Any, Sequence[float], Any]:
        try:
            return self.decode(message.key(), message.value())
        except (KeyError, TypeError, ValueError) as error:
            where = f"topic {self.topic!r}, partition {message.partition()}, offset {message.offset()}"
            raise ValueError(f"{where}: the message could not be decoded: {error!r}") from error

    def close(self) -> None:
        for source in self._open.values():
            source.consumer.close()
        self._open.clear()


class Assigned:
    """One partition from an offset on. A consumer of its own: Kafka reports the end of a partition to a consumer once."""

    def __init__(self, settings: Mapping[str, Any], topic: str, partition: int, offset: int):
        from confluent_kafka import Consumer, TopicPartition

        self.where = f"topic {topic!r}, partition {partition}"
        self.next, self.ended = offset, False
        self.consumer = Consumer(dict(settings))
        self.consumer.assign([TopicPartition(topic, partition, offset)])

    def messages(self, n: int, timeout: float, patience: float) -> list[Any]:
        """Up to n messages; fewer only at the end of the partition."""
        from confluent_kafka import KafkaError, KafkaException

        found: list[Any] = []
        deadline = time.monotonic() + patience
        while len(found) < n:
            more = self.consumer.consume(n - len(found), timeout)
            for message in more:
                if message.error() is None:
                    found.append(message)
                    self.ended, self.next = False, message.offset() + 1
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    self.ended = True
                else:
                    raise KafkaException(message.error())
            if self.ended:
                break
            if not more and time.monotonic() > deadline:
                raise TimeoutError(f"{self.where}: no answer for {patience:.0f} s")
        return found


def decode_json(key: bytes | None, value: bytes) -> tuple[Any, Sequence[float], Any]:
    row = json.loads(value)
    return key if key is not None else row["key"], row["x"], row.get("y")
