"""Shards and readers of `okl.ray`, without a cluster."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import okl

pytest.importorskip("ray")

from okl.ray import FileReader, KafkaReader, shard_of  # noqa: E402
from okl.ray._folder import Folder  # noqa: E402
from okl.ray._keys import all_key_bytes, key_bytes  # noqa: E402
from okl.ray._shard import Gap, Part, Shard  # noqa: E402
from okl.ray._sharded import ShardedLearner, Shards, held_back  # noqa: E402
from okl.ray._store import Fenced, Store  # noqa: E402

CONFIG = {
    "loss": "squared",
    "kernel": "gaussian:0.5",
    "step": "constant:0.3",
    "lambda": 1e-3,
    "budget": "window:20",
}

# Computed with the package xxhash 4.1: xxh3_64_intdigest(key.encode()), and that number modulo 64 and 7.
TABLE = [
    ("", 0x2D06800538D394C2, 2, 4),
    ("a", 0xE6C632B61E964E1F, 31, 1),
    ("sensor-17", 0x64578606797FACFE, 62, 3),
    (5, 0xDEDB980100C87E72, 50, 4),
    (1000000, 0x1CC591E1D9A50461, 33, 3),
    ("Zürich", 0x0BA44FCC12CCA74E, 14, 2),
    ("用户", 0xE8B25E7CAD64806F, 47, 0),
    (-3, 0xC3CB02DD06D01485, 5, 0),
    (b"x" * 100, 0xC90984FFDF50CE42, 2, 3),
    ("k" * 300, 0x3E901C94FF54FAA0, 32, 5),
]


@pytest.mark.parametrize(("key", "hashed", "of_64", "of_7"), TABLE)
def test_the_shard_of_a_key_is_that_of_the_table(key: Any, hashed: int, of_64: int, of_7: int) -> None:
    assert okl._okl.xxh3_64(key_bytes(key)) == hashed
    assert (shard_of(key_bytes(key), 64), shard_of(key_bytes(key), 7)) == (of_64, of_7)


def test_keys_are_text_bytes_or_whole_numbers() -> None:
    assert all_key_bytes(np.array([5, -1])) == all_key_bytes(["5", "-1"]) == [b"5", b"-1"]
    for wrong in (True, 1.0, None, float("nan")):
        with pytest.raises(TypeError, match="key of row 1: found .* expected text, bytes or a whole number"):
            all_key_bytes(["a", wrong])


class Stream:
    """Rows of some keys, and what one machine makes of them."""

    def __init__(self, seed: int, rows: int = 300, keys: int = 7):
        rng = np.random.default_rng(seed)
        self.keys = [f"k{key}".encode() for key in rng.integers(0, keys, rows)]
        self.X = rng.normal(size=(rows, 3))
        self.y = np.sin(self.X[:, 0])

    def part(self, rows: range, previous: int, *, delivered: int = 0, skip: bool = False) -> Part:
        at = np.array(rows)
        return Part(
            0, "p", at, [self.keys[i] for i in rows], self.X[at], self.y[at], previous, delivered, skip
        )

    def models(self) -> tuple[dict[bytes, str], np.ndarray]:
        scores, digests = np.empty(len(self.keys)), {}
        for key in set(self.keys):
            rows = [row for row, found in enumerate(self.keys) if found == key]
            learner = okl.Learner(CONFIG)
            scores[rows] = learner.learn(self.X[rows], self.y[rows])
            digests[key] = hashlib.sha256(learner.to_bytes()).hexdigest()
        return digests, scores


def opened(
    folder: Path, *, generation: int = 1, hot_bytes: int = 1 << 20, start: bytes | None = None
) -> Shard:
    return Shard(Store(folder / "shard.sqlite", generation), CONFIG, start, hot_bytes)


@pytest.mark.parametrize("hot_bytes", [0, 40_000, 1 << 30])
def test_models_are_those_of_one_machine(tmp_path: Path, hot_bytes: int) -> None:
    stream, scores = Stream(1), []
    shard = opened(tmp_path, hot_bytes=hot_bytes)
    for first in range(0, 300, 50):
        scores.append(shard.learn(stream.part(range(first, first + 50), first)).scores)
        assert shard.held <= hot_bytes and (len(shard.hot) == 7) == (hot_bytes == 1 << 30)
        if first == 150:
            shard = opened(tmp_path, hot_bytes=hot_bytes)
    digests, expected = stream.models()
    assert dict(shard.digests()) == digests
    np.testing.assert_array_equal(np.concatenate(scores), expected)
    rows = [stream.keys.index(key) for key in sorted(digests)]
    learners = [okl.Learner.from_bytes(shard.model(stream.keys[row]) or b"") for row in rows]
    predicted = shard.predict([stream.keys[row] for row in rows], stream.X[rows])
    assert predicted.tolist() == [learner.predict(stream.X[[row]])[0] for learner, row in zip(learners, rows)]


def test_rows_that_come_again_are_not_learned_again_and_have_their_first_scores(tmp_path: Path) -> None:
    stream = Stream(2)
    digests, expected = stream.models()
    shard = opened(tmp_path)
    shard.learn(stream.part(range(0, 100), 0))
    shard.learn(stream.part(range(100, 200), 100, delivered=100))
    again = opened(tmp_path).learn(stream.part(range(50, 300), 200, delivered=100))
    assert again.duplicate.tolist() == [True] * 150 + [False] * 100
    # The outputs below 100 were delivered, and are gone.
    assert np.isnan(again.scores[:50]).all()
    np.testing.assert_array_equal(again.scores[50:], expected[100:])
    assert dict(opened(tmp_path).digests()) == digests


def test_rows_that_overtake_others_are_refused(tmp_path: Path) -> None:
    stream, shard = Stream(3), opened(tmp_path)
    shard.learn(stream.part(range(0, 100), 0))
    with pytest.raises(Gap, match="has 'p' up to offset 100, rows before 200 are missing"):
        shard.learn(stream.part(range(200, 300), 200))
    assert shard.store.position("p") == 100


def test_a_worker_that_was_replaced_cannot_commit(tmp_path: Path) -> None:
    stream = Stream(4)
    old = opened(tmp_path)
    old.learn(stream.part(range(0, 100), 0))
    new = opened(tmp_path)
    with pytest.raises(Fenced, match="another worker has taken over .start 2, this one is 1"):
        old.learn(stream.part(range(100, 200), 100))
    assert new.store.position("p") == 100
    new.learn(stream.part(range(100, 300), 100))
    assert dict(new.digests()) == stream.models()[0]
    later = opened(tmp_path, generation=2)
    more = Stream(4, rows=400).part(range(300, 400), 300)
    for late in (lambda: new.learn(more), lambda: opened(tmp_path, generation=1)):
        with pytest.raises(
            Fenced, match="another driver has opened this folder since .generation 2, this one is 1"
        ):
            late()
    assert later.store.position("p") == 300


def test_an_interrupted_commit_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are written before the position: without the transaction the rows would be learned twice."""
    stream, shard = Stream(5), opened(tmp_path)
    shard.learn(stream.part(range(0, 100), 0))
    run = shard.store.base.executemany

    class Broken:
        def __getattr__(self, name: str) -> Any:
            return getattr(base, name)

        def executemany(self, statement: str, rows: Any) -> Any:
            run(statement, rows)
            raise OSError("disk full")

    base, shard.store.base = shard.store.base, Broken()  # type: ignore[assignment]
    with pytest.raises(OSError, match="disk full"):
        shard.learn(stream.part(range(100, 200), 100))
    shard.store.base = base
    shard.learn(stream.part(range(100, 300), 100))
    assert dict(shard.digests()) == stream.models()[0]


def test_a_refused_row_stops_its_shard_or_is_recorded(tmp_path: Path) -> None:
    stream = Stream(6)
    stream.X[120, 1] = np.nan
    shard = opened(tmp_path)
    words = rf"partition 'p', key '{stream.keys[120].decode()}', .* row \d+.*nothing of this batch"
    with pytest.raises(ValueError, match=words):
        shard.learn(stream.part(range(0, 300), 0))
    assert shard.store.count() == 0 and not shard.hot
    learned = shard.learn(stream.part(range(0, 300), 0, skip=True))
    assert (
        np.flatnonzero(learned.refused).tolist() == [120] == np.flatnonzero(np.isnan(learned.scores)).tolist()
    )
    ((partition, offset, key, reason),) = shard.store.refused()
    assert (partition, offset, key) == ("p", 120, stream.keys[120]) and "column 1" in reason
    stream.keys.pop(120)
    stream.X, stream.y = np.delete(stream.X, 120, 0), np.delete(stream.y, 120)
    assert dict(shard.digests()) == stream.models()[0]


def test_rows_that_are_checked_are_learned_once_or_not_at_all(tmp_path: Path) -> None:
    stream = Stream(10)
    shard = opened(tmp_path)
    shard.learn(stream.part(range(0, 100), 0)._replace(ticket=1))
    before, predicted = dict(shard.digests()), shard.predict(stream.keys[:9], stream.X[:9])
    for other in range(
        2
    ):  # Rows that are checked are not seen before they are learned, and another batch discards them.
        shard.check(stream.part(range(100 + other, 250), 100)._replace(ticket=2 + other))
        assert dict(shard.digests()) == before and shard.store.position("p") == 100
        np.testing.assert_array_equal(shard.predict(stream.keys[:9], stream.X[:9]), predicted)
    part = stream.part(range(100, 200), 100)._replace(ticket=4)
    np.testing.assert_array_equal(
        shard.learn(stream.part(range(100, 150), 100)).scores, stream.models()[1][100:150]
    )
    shard.check(stream.part(range(150, 250), 150)._replace(ticket=5))
    rest = part._replace(offsets=part.offsets[50:], keys=part.keys[50:], X=part.X[50:], y=stream.y[150:200])
    np.testing.assert_array_equal(shard.learn(rest).scores, stream.models()[1][150:200])
    assert shard.learn(part).duplicate.all()
    wrong = stream.part(range(200, 300), 200)._replace(ticket=6)
    wrong.X[99, 0] = np.nan
    with pytest.raises(ValueError, match="No shard has learned a row of this batch"):
        shard.check(wrong)
    assert shard.staged is None
    shard.check(stream.part(range(200, 300), 200)._replace(ticket=6))
    shard.learn(stream.part(range(200, 300), 200)._replace(ticket=6))
    assert dict(shard.digests()) == stream.models()[0]


def test_a_new_key_costs_nothing_and_starts_from_the_shared_model(tmp_path: Path) -> None:
    stream = Stream(7)
    shared = okl.Learner(CONFIG)
    shared.learn(stream.X, stream.y)
    shard = opened(tmp_path, start=shared.to_bytes())
    assert shard.predict([b"new"], stream.X[:1])[0] == shared.predict(stream.X[:1])[0]
    assert shard.store.count() == 0 and shard.inspect(b"new") is None and not shard.hot
    shard.learn(stream.part(range(0, 1), 0))
    shared.learn(stream.X[:1], stream.y[:1])
    assert shard.model(stream.keys[0]) == shared.to_bytes()


def test_models_of_different_width(tmp_path: Path) -> None:
    """Classes are those of each key: scores are as wide as the widest model, NaN beyond the classes of a key."""
    config = {**CONFIG, "loss": "max_margin"}
    shard = Shard(Store(tmp_path / "s.sqlite", 1), config, None, 1 << 20)
    keys, y = [b"two", b"three", b"three", b"two", b"three"], np.array(["a", "a", "b", "b", "c"])
    part = Part(0, "p", np.arange(5), keys, np.arange(10.0).reshape(5, 2), y, 0, 0, False)
    learned = shard.learn(part)
    assert learned.scores.shape == (5, 3)
    assert np.isnan(learned.scores[:, 2]).tolist() == [True, False, False, True, False]
    again = shard.learn(part)
    np.testing.assert_array_equal(again.scores, learned.scores)


def test_a_folder_keeps_its_settings(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has no models yet: give the settings"):
        Folder(tmp_path, None, 64, None)
    first = Folder(tmp_path, CONFIG, 64, None)
    assert Folder(tmp_path, None, 64, None).config == first.config == okl.Learner(CONFIG).config
    for wrong, words in (
        ((CONFIG, 32, None), "shards: the models in .* have 64, found 32"),
        (({**CONFIG, "loss": "hinge"}, 64, None), "config: the models in"),
        ((CONFIG, 64, okl.Learner(CONFIG).to_bytes()), "start: the models in .* have None"),
        ((CONFIG, 0, None), "shards: found 0, expected a whole number from 1 to 65536"),
        ((CONFIG, True, None), "shards: found True, expected a whole number"),
    ):
        with pytest.raises(ValueError, match=words):
            Folder(tmp_path, *wrong)
    assert Folder(tmp_path, CONFIG, None, None).shards == 64
    assert [path.name for path in tmp_path.iterdir()] == ["keyed.json"]
    assert (first.claim(), Folder(tmp_path, None, 64, None).claim()) == (1, 2)
    with pytest.raises(Fenced, match="another driver"):
        first.deliver("p", 10)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    other = okl.Learner({**CONFIG, "kernel": "gaussian:2"})
    (tmp_path / "file").touch()
    for name, wrong, words in (
        ("file", (CONFIG, 4, None), "path: '.*file' is a file, expected a folder"),
        ("new", ({**CONFIG, "los": "x"}, 4, None), "los: no such setting; did you mean `loss`"),
        ("new", (CONFIG, 4, b"no model"), "not a safetensors file"),
        ("new", (CONFIG, 4, other.to_bytes()), "config: start has other settings.* start.config"),
    ):
        with pytest.raises((ValueError, NotADirectoryError), match=words):
            Folder(tmp_path / name, *wrong)
        assert not (tmp_path / "new").exists()
    made = Folder(tmp_path / "new", other.config, 4, other.to_bytes())
    assert made.config == other.config == Folder(tmp_path / "other", None, 4, other.to_bytes()).config
    for damaged in ("{", "[1]", '{"format": 1}'):
        (tmp_path / "new" / "keyed.json").write_text(damaged)
        with pytest.raises(ValueError, match="keyed.json does not describe a folder of models: .*restore"):
            Folder(tmp_path / "new", CONFIG, 4, None)


class Actor:
    """Notes the calls of a shard's lane, and what had reached the disk before each of them."""

    def __init__(self, number: int, calls: list[Any], synced: list[Path]):
        self.number, self.calls, self.synced = number, calls, synced

    def send(self, method: str, *arguments: Any) -> None:
        self.calls.append((self.number, method, arguments[0], list(self.synced)))


def test_a_chunk_is_on_the_disk_before_it_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    calls: list[Any] = []
    monkeypatch.setattr("os.fsync", lambda file: synced.append(Path(f"/proc/self/fd/{file}").resolve()))
    shards = Shards()
    shards.folder, shards.lanes = tmp_path, [Actor(number, calls, synced) for number in (0, 1)]  # type: ignore[misc]
    shards.keep(0, b"first")
    shards.keep(1, b"second")
    for number, (lane, method, index, before) in enumerate(calls):
        assert (lane, method, index) == (number, "keep", number)
        assert before[-2:] == [tmp_path / f"{number:08}.chunk", tmp_path]
    assert (tmp_path / "00000001.chunk").read_bytes() == b"second"
    # The file of a chunk that came back stays until its shard has answered a later request: it may have to be sent again.
    shards.forget(0)
    assert calls[-1][:3] == (0, "forget", 0) and shards.kept == {1} and shards.fetch(0) == b"first"


FORMATS = ["csv", "ndjson", "parquet"]


@pytest.mark.parametrize("ending", FORMATS)
def test_rows_of_files(tmp_path: Path, ending: str) -> None:
    pandas = pytest.importorskip("pandas")
    stream = Stream(8, rows=100)
    names = [key.decode() for key in stream.keys]
    columns = dict(zip("abc", stream.X.T))
    frame = pandas.DataFrame(
        {"a": columns["a"], "sensor": names, "c": columns["c"], "y": stream.y, "b": columns["b"]}
    )
    for number, some in enumerate((frame[:60], frame[60:])):
        path = tmp_path / f"{number}.{ending}"
        if ending == "csv":
            some.to_csv(path, index=False)
        elif ending == "parquet":
            some.to_parquet(path, row_group_size=16)
        else:
            path.write_text("".join(json.dumps(row) + "\n" for row in some.to_dict("records")))
    reader = FileReader(str(tmp_path / f"*.{ending}"), key="sensor", target="y", features=["a", "b", "c"])
    first, second = reader.partitions()
    for offset, n, expected in ((0, 30, (0, 30)), (30, 100, (30, 60)), (60, 5, (60, 60)), (17, 3, (17, 20))):
        rows = reader.read(first, offset, n)
        some = slice(*expected)
        assert rows.keys == names[some]
        np.testing.assert_array_equal(rows.X, stream.X[some])
        np.testing.assert_array_equal(rows.y, stream.y[some])
    assert reader.read(second, 0, 100).keys == names[60:]
    with pytest.raises(ValueError, match="there is no column 'd'; there are 'a', 'sensor'"):
        FileReader(first, key="sensor", target="y", features=["d"]).read(first, 0, 1)
    with pytest.raises(ValueError, match=r"0\..*, row 2, column 'sensor': found 'k\d', expected a number"):
        FileReader(first, key="sensor", target="y", features=["a", "sensor"]).read(first, 2, 9)


def test_files_that_are_not_there_or_not_known(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no file matches"):
        FileReader(str(tmp_path / "*.csv"), key="k", target=None, features=["a"])
    (tmp_path / "rows.xls").touch()
    with pytest.raises(ValueError, match="found '.xls', expected one of .parquet, .csv"):
        FileReader(str(tmp_path / "*"), key="k", target=None, features=["a"])


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    for name, text, words in (
        ("a.ndjson", '{"k": 1, "x": 1}\n{"k": 1\n', r"a.ndjson, row 1: Expecting"),
        ("b.ndjson", "[1, 2]\n", r"b.ndjson, row 0: found '\[1, 2\]', expected an object"),
        ("c.csv", "k,x\na,1\nb\n", "c.csv: CSV parse error: Expected 2 columns, got 1"),
        ("d.csv", "", "d.csv: Empty CSV file"),
        ("e.parquet", "hello", "e.parquet: Parquet file size is 5 bytes"),
    ):
        (tmp_path / name).write_text(text)
        reader = FileReader(str(tmp_path / name), key="k", target=None, features=["x"])
        with pytest.raises(ValueError, match=words):
            reader.read(str(tmp_path / name), 0, 9)
    with pytest.raises(TypeError, match="features: found 'x', expected a list of columns"):
        FileReader(str(tmp_path / "c.csv"), key="k", target=None, features="x")


def test_the_cells_of_a_csv_file(tmp_path: Path) -> None:
    """A key is the text of its cell. Whole numbers in the first megabyte do not make the rest of a feature whole; labels stay as they are."""
    path = tmp_path / "rows.csv"
    many = 200_000
    path.write_text("k,x,y\n" + "007,1,3\n7,2,4\n" + "7,3,3\n" * many + "7,0.5,4\n,1,3\n")
    reader = FileReader(str(path), key="k", target="y", features=["x"])
    first = reader.read(str(path), 0, 3)
    assert first.keys == ["007", "7", "7"] and first.X.tolist() == [[1.0], [2.0], [3.0]]
    assert first.y is not None and first.y.dtype.kind == "i"
    last = reader.read(str(path), many + 2, 9)
    assert last.keys == ["7", None] and last.X.tolist() == [[0.5], [1.0]]
    with pytest.raises(TypeError, match="key of row 1: found None"):
        all_key_bytes(last.keys)


def test_labels_of_a_file_are_those_of_each_row(tmp_path: Path) -> None:
    """A number is a number beside text, however the rows are cut into batches."""
    path = tmp_path / "rows.ndjson"
    path.write_text('{"k": 1, "x": 1, "y": 3}\n{"k": 1, "x": 1, "y": "a"}\n')
    reader = FileReader(str(path), key="k", target="y", features=["x"])
    for offset, n, expected in ((0, 2, [3, "a"]), (0, 1, [3]), (1, 1, ["a"])):
        y = reader.read(str(path), offset, n).y
        assert y is not None and y.tolist() == expected


@pytest.mark.parametrize("follow", [False, True])
def test_targets_of_a_csv_file_that_begin_with_whole_numbers(tmp_path: Path, follow: bool) -> None:
    """A file that grows has few rows when it is opened, and a large file is read in blocks: later targets may be of another kind."""
    path = tmp_path / "rows.csv"
    many = 0 if follow else 200_000
    path.write_text("k,x,y\n" + "7,1,0\n7,2,-4\n" + "7,3,1\n" * many)
    reader = FileReader(str(path), key="k", target="y", features=["x"])
    reader.follow = follow
    first = reader.read(str(path), 0, 2) if follow else None
    with path.open("a") as file:
        file.write("7,1,2.5\n7,1,NA\n7,2,1e-3\n")
    first = first or reader.read(str(path), 0, 2)
    assert first.y is not None and first.y.tolist() == [0, -4] and first.y.dtype.kind == "i"
    last = reader.read(str(path), many + 2, 9)
    assert last.y is not None and last.y.tolist() == [2.5, None, 0.001]
    with path.open("a") as file:
        file.write("7,1,n\n7,2,3\n")
    text = reader.read(str(path), many + 5, 9)
    assert text.y is not None and text.y.tolist() == ["n", "3"]


def test_targets_that_are_numbers_are_parsed_cell_by_cell(tmp_path: Path) -> None:
    """Text does not change the cells beside it, in the same megabyte of the file or in another."""
    path = tmp_path / "rows.csv"
    many = 200_000
    path.write_text(
        "k,x,y\n" + "7,1,oops\n7,1, 2 \n7,1,\n7,1,1e-3\n7,1,true\n" + "7,3,1\n" * many + "7,1,x\n7,1,2.5\n"
    )
    reader = FileReader(str(path), key="k", target="y", features=["x"])
    reader.kind = "numbers"
    for offset, n, expected, wrong in (
        (0, 6, [2.0, 0.001, 1.0, 1.0], {0: "'oops'", 2: "no value"}),
        (many, 9, [1.0] * 5 + [2.5], {5: "'x'"}),
    ):
        rows = reader.read(str(path), offset, n)
        assert rows.wrong == {
            row: f"column 'y': found {value}, expected a number" for row, value in wrong.items()
        }
        assert rows.y is not None and rows.y.dtype == np.float64
        assert [value for row, value in enumerate(rows.y.tolist()) if row not in wrong] == expected


def test_rows_of_kafka() -> None:
    """librdkafka's own mock of a broker, in the process of the producer."""
    kafka = pytest.importorskip("confluent_kafka")
    producer = kafka.Producer({"test.mock.num.brokers": 1})
    stream = Stream(9, rows=40)
    for row, key in enumerate(stream.keys):
        value = json.dumps({"x": stream.X[row].tolist(), "y": stream.y[row]})
        producer.produce("rows", value, key=key, partition=row % 2)
    producer.produce("rows", "nothing", key="k", partition=0)
    assert producer.flush(30) == 0
    (broker,) = producer.list_topics().brokers.values()
    reader = KafkaReader("rows", {"bootstrap.servers": f"{broker.host}:{broker.port}"}, timeout=0.5)
    assert {"rows/0", "rows/1"} <= set(reader.partitions())
    # Topics have partitions of the same numbers; a folder of an earlier version, which knows the number alone, continues with it.
    assert reader.names_in(["0", "others/1"], ["0", "rows/1"]) == ["0", "rows/1"]
    assert reader.names_in(["0", "rows/0"], ["0"]) == ["rows/0"]
    for offset, n, expected in ((0, 12, range(1, 25, 2)), (12, 8, range(25, 40, 2)), (3, 2, range(7, 11, 2))):
        rows = reader.read("rows/1", offset, n)
        assert rows.keys == [stream.keys[row] for row in expected]
        assert rows.offsets is not None and rows.offsets.tolist() == [
            offset + i for i in range(len(expected))
        ]
        np.testing.assert_array_equal(rows.X, stream.X[list(expected)])
        np.testing.assert_array_equal(rows.y, stream.y[list(expected)])
    assert reader.read("1", 20, 5).keys == []
    with pytest.raises(
        ValueError, match="topic 'rows', partition 0, offset 20: the message could not be decoded"
    ):
        reader.read("0", 18, 5)
    reader.close()


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Python's own answer to Ctrl-C, also where a shell has started the tests in the background, with the signal ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_does_not_cost_a_sharded_learner() -> None:
    """It may come while terms are written to the disk, where an error would end the learner: it is raised when all rows have been learned."""
    learner = ShardedLearner.__new__(ShardedLearner)
    learned: list[int] = []

    class Core:
        def learn(self, X: Any, y: Any, **_: Any) -> np.ndarray:
            os.kill(os.getpid(), signal.SIGINT)
            learned.append(len(X))
            return np.zeros(len(X))

    learner._closed, learner._shards, learner._core = False, Shards(), Core()  # type: ignore[assignment]
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt) as stop:
        learner.learn(np.zeros((7, 1)), np.zeros(7))
    assert learned == [7] and stop.value.rows_learned == 7  # type: ignore[attr-defined]
    assert signal.getsignal(signal.SIGINT) is before
    # The second one is raised at once, and does not say that rows have been learned.
    learner._core.learn = lambda X, y, **_: [os.kill(os.getpid(), signal.SIGINT) for _ in range(2)]  # type: ignore
    with pytest.raises(KeyboardInterrupt) as stop:
        learner.learn(np.zeros((7, 1)), np.zeros(7))
    assert not hasattr(stop.value, "rows_learned")
    with pytest.raises(KeyboardInterrupt), held_back():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        learned.append(0)
    assert learned == [7] and signal.getsignal(signal.SIGINT) is before


def test_nan_for_a_sharded_learner_is_answered_with_what_it_takes() -> None:
    """A sharded learner has no `missing`, so the answer does not name it."""
    core = okl._okl.ShardedLearner(okl.Learner(CONFIG).to_bytes(), object(), 1000)
    for call in (lambda: core.learn([[np.nan]], [1.0]), lambda: core.predict([[np.nan]])):
        with pytest.raises(
            ValueError, match="expected a finite number; fill it in first, or leave the row out$"
        ):
            call()
