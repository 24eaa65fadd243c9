"""Sources of rows with partitions and offsets: files and Kafka.

A reader returns rows of a partition from an offset on. The same partition and offset must give the same rows again, for as long as they may be
read again after a failure.
"""

import glob
import io
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from okl._columns import as_objects

TargetKind = Literal["numbers", "classes"]


class Rows(NamedTuple):
    """Some rows of a partition."""

    keys: Sequence[Any]
    X: np.ndarray
    y: np.ndarray | None
    offsets: np.ndarray | None = None
    """The offset of each row, ascending. None: they follow each other from the offset that was asked for."""
    wrong: Mapping[int, str] | None = None
    """Rows that cannot be learned, each with the reason; their targets are not read."""


def as_targets(y: Any) -> np.ndarray:
    """Targets as an array. Numbers in a list with text stay numbers: numpy would make them text, which is another class to a model."""
    if isinstance(y, (list, tuple)) and len({isinstance(value, str) for value in y}) == 2:
        return as_objects(list(y))
    return np.asarray(y)


class Reader(Protocol):
    """A source of rows."""

    def partitions(self) -> Sequence[str]:
        """The names of the partitions. Rows of one key should be in one partition: there is no order between partitions."""

    def read(self, partition: str, offset: int, n: int) -> Rows:
        """At most n rows from an offset on; no rows at the end, or if none have come yet."""


class FileReader:
    """Rows from files: a file is a partition, a row's number is its offset.

    The name of a partition is the absolute path of its file, with links resolved.

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
        self.patterns = [paths] if isinstance(paths, str) else list(paths)
        self.key, self.target, self.features = key, target, list(features)
        self._follow = False
        self._kind: TargetKind | None = None
        self._open: dict[str, OpenFile] = {}
        self.partitions()

    @property
    def follow(self) -> bool:
        """Whether files may grow: lines that are added to a CSV or NDJSON file are read when they are complete. Set by `KeyedLearners.pull`."""
        return self._follow

    @follow.setter
    def follow(self, follow: bool) -> None:
        if follow != self._follow:
            self._open.clear()
        self._follow = follow

    @property
    def kind(self) -> TargetKind | None:
        """What the targets are: numbers, classes, or None if this is not known. If it is known, a row whose target is missing or of another kind is
        among the `wrong` rows. Set by `KeyedLearners.pull`."""
        return self._kind

    @kind.setter
    def kind(self, kind: TargetKind | None) -> None:
        if kind != self._kind:
            self._open.clear()
        self._kind = kind

    def partitions(self) -> Sequence[str]:
        """The files that match now."""
        files = sorted({os.path.realpath(path) for pattern in self.patterns for path in glob.glob(pattern)})
        if not files:
            raise FileNotFoundError(f"paths: no file matches {', '.join(self.patterns)}")
        for path in files:
            opener(path)
        return files

    def names_in(self, known: Iterable[str], names: Iterable[str]) -> list[str]:
        """The names of partitions in a folder. Earlier versions of okl took the path as it was typed: a file that is `known` under such a path keeps it."""
        typed: dict[str, str] = {}
        for name in sorted(name for name in known if "\0" not in name):
            typed.setdefault(os.path.realpath(name), name)
            if os.path.realpath(name) == name:
                typed[name] = name
        files = [os.path.realpath(name) for name in names]
        return [typed.get(file, file) for file in dict.fromkeys(files)]

    def read(self, partition: str, offset: int, n: int) -> Rows:
        file = self._open.pop(partition, None)
        if file is None or file.next != offset:
            target = [self.target] if self.target else []
            columns = Columns(self.key, self.features, target, bool(target) and self._kind == "numbers")
            file = OpenFile(partition, columns, self._follow, offset)
        found = file.take(n)
        if len(found) == n or self._follow:
            self._open[partition] = file
        width = 1 + len(self.features)
        X, y, wrong = self._numbers(partition, offset, found), None, None
        if self.target:
            y, wrong = checked_targets(self.target, [row[width] for row in found], self._kind)
        return Rows([row[0] for row in found], X, y, wrong=wrong)

    def fixed_rows(self, partition: str) -> int | None:
        """The number of rows of a file to which no rows can be added; None if lines may be added."""
        if opener(partition).grows:
            return None
        from pyarrow import parquet

        with named(partition), parquet.ParquetFile(partition) as file:
            return int(file.metadata.num_rows)

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


def checked_targets(
    column: str, values: list[Any], kind: TargetKind | None
) -> tuple[np.ndarray, dict[int, str]]:
    """Targets as an array, and the rows whose target is missing or not of the kind that the models learn."""
    if kind is None:
        return as_targets(values), {}
    if kind == "numbers" and set(map(type, values)) <= {int, float}:
        with suppress(OverflowError):
            numbers = np.array(values, dtype=np.float64)
            if np.isfinite(numbers).all():
                return numbers, {}
    valid = is_finite if kind == "numbers" else is_class
    wrong = {row for row, value in enumerate(values) if value is None or not valid(value)}
    expected = "a number" if kind == "numbers" else "a class"
    reasons = {
        row: f"column {column!r}: found {'no value' if values[row] is None else repr(values[row])}, expected {expected}"
        for row in sorted(wrong)
    }
    # The target of a wrong row is not read: it is replaced by one that does not change the type of the array.
    good = next((value for row, value in enumerate(values) if row not in wrong), 0.0)
    values = [good if row in wrong else value for row, value in enumerate(values)]
    return np.array(values, dtype=np.float64) if kind == "numbers" else as_targets(values), reasons


def is_finite(value: Any) -> bool:
    """Whether a target is a finite number, or a list of them."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(is_finite(one) for one in value)
    try:
        return not isinstance(value, (str, bytes)) and math.isfinite(value)
    except (TypeError, OverflowError):
        return False


def is_class(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


class Columns(NamedTuple):
    """The columns that are read, in this order."""

    key: str
    features: list[str]
    target: list[str]
    numbers: bool = False
    """Whether targets are numbers. If not, or if this is not known, text is a target too."""

    def names(self) -> list[str]:
        return [self.key, *self.features, *self.target]


Row = tuple[Any, ...]


class Source(Protocol):
    """A format: how the rows of a file are read."""

    grows: bool
    """Whether lines may be added to a file."""

    def __init__(self, path: str, columns: Columns): ...

    def rows(self, begin: int, end: int | None, row: int) -> Iterator[Row]:
        """The rows between two bytes of the file, each the begin of a line; end None: to the end. `row` is the number of the first one."""


def opener(path: str) -> type[Source]:
    """The format of a file, by its name."""
    formats: dict[str, type[Source]] = {
        ".parquet": ParquetRows,
        ".csv": CsvRows,
        ".ndjson": JsonRows,
        ".jsonl": JsonRows,
    }
    suffix = Path(path).suffix
    if suffix not in formats:
        raise ValueError(f"{path}: found {suffix or 'no ending'!r}, expected one of {', '.join(formats)}")
    return formats[suffix]


SPAN = 32 << 20
"""Bytes of a file that may grow which are read at once."""


class OpenFile:
    """The rows of a file from an offset on. With `follow`, only complete lines are rows, and lines that are added to the file are read too."""

    def __init__(self, path: str, columns: Columns, follow: bool, next_: int):
        self.path, self.follow, self.next = path, follow, next_
        self.source = opener(path)(path, columns)
        self.row = 0
        """Rows before this one were read; those before `next` are left out."""
        self.end = 0
        """The bytes of the file up to here were read, or are being read."""
        self.state = self._state()
        self.rows: Iterator[Row] = iter(()) if self._tail() else self.source.rows(0, None, 0)

    def _tail(self) -> bool:
        return self.follow and self.source.grows

    def _state(self) -> tuple[int, int]:
        found = os.stat(self.path)
        return found.st_size, found.st_mtime_ns

    def take(self, n: int) -> list[Row]:
        """At most n rows from `next` on; fewer only at the end."""
        while self.row < self.next:
            if not self._read(min(self.next - self.row, 8192)):
                self._check_length()
                return []
        found = self._read(n)
        self.next = self.row
        return found

    def _check_length(self) -> None:
        """Refuses a file that has lost rows which were learned. A last line without a line break may be one of them: it is awaited."""
        if self._tail() and self.row + 1 == self.next and last_byte(self.path) not in (b"", b"\n"):
            return
        raise ValueError(
            f"{self.path}: the file has {self.row} rows, but {self.next} were read before. Rows can be added to a file, but not removed: "
            "restore the file, or write the rows that are new to another file"
        )

    def _read(self, n: int) -> list[Row]:
        found = list(islice(self.rows, n))
        while len(found) < n and self._more(self.row + len(found)):
            found += islice(self.rows, n - len(found))
        self.row += len(found)
        return found

    def _more(self, row: int) -> bool:
        """Whether there are further rows of a file that may grow."""
        if not self._tail():
            if self.follow and self._state() != self.state:
                raise ValueError(
                    f"{self.path}: this file has changed since it was opened. Rows cannot be added to a Parquet file: write them to a new "
                    "file, under another name until the file is complete"
                )
            return False
        begin = self.end
        end = last_line(self.path, begin)
        if end == begin:
            return False
        rows = self.source.rows(begin, end, row)
        first = next(rows, None)
        if (
            first is None and begin == 0
        ):  # Only a header: the types of the columns are those of the first rows.
            return False
        self.end, self.rows = end, chain(() if first is None else (first,), rows)
        return True


def last_line(path: str, begin: int) -> int:
    """The end of the last complete line among the next bytes of a file; `begin` if there is none."""
    with open(path, "rb") as file:
        if (size := file.seek(0, os.SEEK_END)) < begin:
            raise ValueError(
                f"{path}: the file has {size} bytes, but {begin} were read before. Rows can be added to a file, but not removed"
            )
        file.seek(begin)
        data = b""
        while more := file.read(SPAN):
            data += more
            if b"\n" in more:
                break
    return begin + data.rfind(b"\n") + 1


def last_byte(path: str) -> bytes:
    """The last byte of a file; nothing if the file is empty."""
    with open(path, "rb") as file:
        file.seek(max(file.seek(0, os.SEEK_END) - 1, 0))
        return file.read(1)


class Between(io.RawIOBase):
    """The bytes of a file between two places."""

    def __init__(self, path: str, begin: int, end: int | None):
        self.file = open(path, "rb", buffering=0)
        self.file.seek(begin)
        self.left = os.stat(path).st_size - begin if end is None else end - begin

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.file.read(min(len(buffer), max(self.left, 0)))
        buffer[: len(data)] = data
        self.left -= len(data)
        return len(data)

    def close(self) -> None:
        self.file.close()
        super().close()


@contextmanager
def named(path: str) -> Iterator[None]:
    """Errors of pyarrow do not name the file."""
    from pyarrow import ArrowInvalid

    try:
        yield
    except ArrowInvalid as error:
        raise ValueError(f"{path}: {error}") from None


class ParquetRows:
    grows = False

    def __init__(self, path: str, columns: Columns):
        self.path, self.names = path, columns.names()

    def rows(self, begin: int, end: int | None, row: int) -> Iterator[Row]:
        from pyarrow import parquet

        with named(self.path), parquet.ParquetFile(self.path) as file:
            check_columns(self.path, self.names, file.schema_arrow.names)
            for batch in file.iter_batches(8192, columns=self.names):
                yield from zip(*(batch.column(name).to_pylist() for name in self.names))


class CsvRows:
    grows = True

    def __init__(self, path: str, columns: Columns):
        self.path, self.columns = path, columns
        self.schema: Any = None
        """The columns of the file, with the types of its first rows."""
        self._targets: list[Any] = []
        """The types that the targets are tried as, before text."""

    def rows(self, begin: int, end: int | None, row: int) -> Iterator[Row]:
        from pyarrow import csv

        key, *others = self.columns.names()
        with named(self.path):
            if begin == 0:
                with csv.open_csv(self._bytes(0, end)) as file:
                    self.schema = file.schema
                check_columns(self.path, [key, *others], self.schema.names)
            # The lines after the first span have no header.
            names = csv.ReadOptions(column_names=self.schema.names) if begin else csv.ReadOptions()
            options = csv.ConvertOptions(column_types=self._types())
            with csv.open_csv(self._bytes(begin, end), read_options=names, convert_options=options) as file:
                for batch in file:
                    keys = [text or None for text in batch.column(key).to_pylist()]
                    columns = [batch.column(name) for name in others]
                    if self._targets:
                        columns[-1] = cast(columns[-1], self._targets)
                    cells = [column.to_pylist() for column in columns]
                    if self.columns.numbers:
                        cells[-1] = parsed(columns[-1])
                    elif self.columns.target:  # A class has a name.
                        cells[-1] = [None if cell == "" else cell for cell in cells[-1]]
                    yield from zip(keys, *cells)

    def _bytes(self, begin: int, end: int | None) -> Any:
        return self.path if end is None else io.BufferedReader(Between(self.path, begin, end))

    def _types(self) -> dict[str, Any]:
        from pyarrow import float64, int64, string, types

        # A column has the type of its first block, where whole numbers or empty cells may be followed by other numbers.
        kinds = {name: self.schema.field(name).type for name in self.columns.names()}
        features = {name: kinds[name] for name in self.columns.features}
        changed = {
            n: float64() for n, kind in features.items() if types.is_integer(kind) or types.is_null(kind)
        }
        # A column of targets may begin with whole numbers, or with empty cells, and go on with others: each block has the first type that fits.
        # Targets that are known to be numbers are parsed cell by cell, so that a cell of text does not change the other cells.
        self._targets = []
        for name in self.columns.target:
            if self.columns.numbers:
                changed[name] = string()
            elif types.is_integer(kinds[name]) or types.is_null(kinds[name]):
                self._targets = [int64(), float64()]
            elif types.is_floating(kinds[name]):
                self._targets = [float64()]
            if self._targets:
                changed[name] = string()
        # The key is the text of its cell: 007 is not 7.
        return {**kinds, **changed, self.columns.key: string()}


def cast(texts: Any, kinds: list[Any]) -> Any:
    """Cells as the first type that fits all of them, or as text; a cell without a value is None."""
    from pyarrow import ArrowInvalid

    texts = without_empty(texts)
    for kind in kinds:
        try:
            return texts.cast(kind)
        except ArrowInvalid:
            continue
    return texts


def without_empty(texts: Any) -> Any:
    """Cells of text, with None for a cell without a value."""
    from pyarrow import array, compute, csv, scalar, string

    empty = compute.is_in(texts, array(csv.ConvertOptions().null_values, string()))
    return compute.if_else(empty, scalar(None, string()), texts)


TRUE_OR_FALSE = {"true": 1.0, "True": 1.0, "TRUE": 1.0, "false": 0.0, "False": 0.0, "FALSE": 0.0}
"""Targets that are numbers to a model, as True and False are in Python, JSON and Parquet."""


def parsed(texts: Any) -> list[Any]:
    """Cells as numbers, each by itself; a cell that is no number stays text, and a cell without a value is None."""
    from pyarrow import ArrowInvalid, compute, float64, scalar

    texts = without_empty(compute.utf8_trim_whitespace(texts))
    try:
        return list(texts.cast(float64()).to_pylist())
    except ArrowInvalid:
        known: dict[Any, Any] = {None: None, **TRUE_OR_FALSE}
        for text in set(texts.to_pylist()) - {None, *TRUE_OR_FALSE}:
            try:
                known[text] = scalar(text).cast(float64()).as_py()
            except ArrowInvalid:
                known[text] = text
        return [known[text] for text in texts.to_pylist()]


class JsonRows:
    grows = True

    def __init__(self, path: str, columns: Columns):
        self.path, self.names = path, columns.names()

    def rows(self, begin: int, end: int | None, row: int) -> Iterator[Row]:
        between = io.BufferedReader(Between(self.path, begin, end))
        with io.TextIOWrapper(between, encoding="utf-8") as file:
            lines = (line for line in file if line.strip())
            for number, line in enumerate(lines, row):
                yield self._row(number, line)

    def _row(self, number: int, line: str) -> Row:
        try:
            row = json.loads(line)
        except ValueError as error:
            raise ValueError(f"{self.path}, row {number}: {error}") from None
        if not isinstance(row, dict):
            raise ValueError(f"{self.path}, row {number}: found {line.strip()!r}, expected an object")
        check_columns(f"{self.path}, row {number}", self.names, row)
        return tuple(row[name] for name in self.names)


def check_columns(where: str, columns: list[str], found: Any) -> None:
    for name in columns:
        if name not in found:
            raise ValueError(f"{where}: there is no column {name!r}; there are {', '.join(map(repr, found))}")


Decode = Callable[[bytes | None, bytes], tuple[Any, Sequence[float], Any]]


class KafkaReader:
    """Rows from a Kafka topic, with confluent-kafka.

    Positions are kept by `KeyedLearners`, together with the models; nothing is committed to Kafka. Only committed messages are read.
    The name of a partition is ``TOPIC/NUMBER``.

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
        return [f"{self.topic}/{number}" for number in sorted(found.partitions)]

    def names_in(self, known: Iterable[str], names: Iterable[str]) -> list[str]:
        """The names of partitions in a folder. Earlier versions of okl took the number alone: a partition that is `known` by it keeps it."""
        there, numbers = set(known), [name.rpartition("/")[2] for name in names]
        full = {number: f"{self.topic}/{number}" for number in numbers}
        return [number if number in there and name not in there else name for number, name in full.items()]

    def read(self, partition: str, offset: int, n: int) -> Rows:
        source = self._open.pop(partition, None)
        if source is None or source.next != offset:
            if source is not None:
                source.consumer.close()
            source = Assigned(self.settings, self.topic, int(partition.rpartition("/")[2]), offset)
        messages = source.messages(n, self.timeout, self.patience)
        rows = [self._decoded(message) for message in messages]
        self._open[partition] = source
        offsets = np.array([message.offset() for message in messages], dtype=np.int64)
        X = np.array([row[1] for row in rows], dtype=np.float64).reshape(len(rows), -1 if rows else 0)
        y = None if all(row[2] is None for row in rows) else as_targets([row[2] for row in rows])
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
