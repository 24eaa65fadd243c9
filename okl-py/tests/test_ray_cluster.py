"""`okl.ray.KeyedLearners` on a real cluster of two nodes, with workers, nodes and drivers that are killed."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import okl

ray = pytest.importorskip("ray")

CONFIG = {
    "loss": "squared",
    "kernel": "gaussian:0.5",
    "step": "constant:0.3",
    "lambda": 1e-3,
    "budget": "window:20",
}
OPTIONS: dict[str, Any] = {"shards": 8, "workers": 2, "worker_options": {"num_cpus": 0.5}}
KEYS, ROWS, PARTITIONS = 60, 3000, 3
KILLS = int(os.environ.get("OKL_WORKER_KILLS", "2"))  # `make cluster` has 50, and all variants


class Stream:
    """Partitions of rows, written as NDJSON files. The rows of a key are in one partition."""

    def __init__(self, folder: Path, seed: int):
        rng = np.random.default_rng(seed)
        self.files, self.rows = [], []
        for partition in range(PARTITIONS):
            keys = [f"k{key}" for key in rng.integers(0, KEYS, ROWS) * PARTITIONS + partition]
            X = rng.normal(size=(ROWS, 3))
            y = np.sin(X[:, 0])
            path = folder / f"{partition}.ndjson"
            lines = (
                {"key": k, "a": x[0], "b": x[1], "c": x[2], "y": t}
                for k, x, t in zip(keys, X.tolist(), y.tolist())
            )
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))
            self.files.append(str(path))
            self.rows.append((keys, X, y))
        self.digests, self.scores = self._sequential()

    def _sequential(self) -> tuple[dict[bytes, str], dict[str, np.ndarray]]:
        digests, scores = {}, {}
        for path, (keys, X, y) in zip(self.files, self.rows):
            scores[path] = np.empty(ROWS)
            for key in set(keys):
                rows = [row for row, found in enumerate(keys) if found == key]
                learner = okl.Learner(CONFIG)
                scores[path][rows] = learner.learn(X[rows], y[rows])
                digests[key.encode()] = hashlib.sha256(learner.to_bytes()).hexdigest()
        return digests, scores

    def reader(self) -> Any:
        return okl.ray.FileReader(self.files, key="key", target="y", features=["a", "b", "c"])

    def check(self, learners: Any, outputs: list[Any]) -> tuple[Any, ...]:
        """Each row came out once, with the score of one machine, and the models are those of one machine. Returns what is recorded: the rows, those that
        came out, and the models of both."""
        assert learners.digests() == self.digests
        for path in self.files:
            mine = [output for output in outputs if output.partition == path]
            offsets = np.concatenate([output.offsets for output in mine])
            assert offsets.tolist() == list(range(ROWS))
            np.testing.assert_array_equal(
                np.concatenate([output.scores for output in mine]), self.scores[path]
            )
        rows = [(path, offset) for path in self.files for offset in range(ROWS)]
        found = [(output.partition, offset) for output in outputs for offset in output.offsets.tolist()]
        return rows, found, learners.digests(), self.digests


def keyed(path: Path, **options: Any) -> Any:
    return okl.ray.KeyedLearners(CONFIG, path, **{**OPTIONS, **options})


def test_a_worker_is_killed(clusters: Any, tmp_path: Path, record_kills: Callable[..., None]) -> None:
    clusters.two()
    stream, outputs, killed = Stream(tmp_path, 1), [], []
    with keyed(tmp_path / "models") as learners:
        assert {worker["node"] for worker in learners.workers()} == clusters.alive()
        for output in learners.pull(stream.reader(), rows=PARTITIONS * ROWS // (3 * KILLS + 12)):
            outputs.append(output)
            if len(outputs) % 3 == 0 and len(killed) < KILLS:
                process = learners.workers()[len(killed) % 2]["process"]
                os.kill(process, signal.SIGKILL)
                killed.append(process)
        assert len(killed) == KILLS and sum(worker["restarts"] for worker in learners.workers()) >= KILLS
        record_kills(f"{KILLS} workers", *stream.check(learners, outputs))
        assert [learners.position(path) for path in stream.files] == [ROWS] * PARTITIONS
        assert not list(learners.pull(stream.reader()))
        # Rows that are sent once more are recognised.
        keys, X, y = stream.rows[0]
        again = learners.learn(keys[:50], X[:50], y[:50], partition=stream.files[0], offset=0)
        assert again.duplicate.all() and learners.digests() == stream.digests
        one = learners.inspect(keys[0])
        assert one["sha256"] == stream.digests[keys[0].encode()] and one["examples"] == keys.count(keys[0])
        learner = okl.Learner.from_bytes(learners.export(keys[0]))
        assert learners.predict([keys[0], "new"], X[:2]).tolist() == [learner.predict(X[:1])[0], 0.0]
        with pytest.raises(KeyError, match="key 'new' has not been seen"):
            learners.export("new")
        assert len(learners) == len(stream.digests)


DRIVER = """
import json, os, sys
os.environ["RAY_AUTH_MODE"] = "disabled"
import okl, ray
address, path, options, files = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), sys.argv[4:]
ray.init(address=address, log_to_driver=False, logging_level="error")
learners = okl.ray.KeyedLearners(None, path, **options)
reader = okl.ray.FileReader(files, key="key", target="y", features=["a", "b", "c"])
for output in learners.pull(reader, rows=300):
    rows = [[output.partition, *row] for row in zip(output.offsets.tolist(), output.scores.tolist())]
    print("\\n".join(map(json.dumps, rows)), flush=True)
"""


def test_the_driver_is_killed(clusters: Any, tmp_path: Path) -> None:
    stream = Stream(tmp_path, 2)
    arguments = [clusters.cluster.address, str(tmp_path / "models"), json.dumps(OPTIONS), *stream.files]
    okl.ray._folder.Folder(tmp_path / "models", CONFIG, OPTIONS["shards"], None)
    found: dict[tuple[str, int], float] = {}
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER, *arguments], stdout=subprocess.PIPE, text=True
    ) as driver:
        assert driver.stdout is not None
        for line in driver.stdout:
            partition, offset, score = json.loads(line)
            found[partition, offset] = score
            if len(found) == 1000:
                driver.kill()
    assert 1000 <= len(found) < PARTITIONS * ROWS
    with keyed(tmp_path / "models") as learners:
        assert learners.generation == 2
        for output in learners.pull(stream.reader(), rows=700):
            for offset, score in zip(output.offsets.tolist(), output.scores.tolist()):
                # Outputs that were not taken come again, with the same bits.
                assert found.setdefault((output.partition, offset), score) == score
        assert learners.digests() == stream.digests
    assert found == {
        (path, row): score for path in stream.files for row, score in enumerate(stream.scores[path])
    }


def test_a_later_driver_takes_over(clusters: Any, tmp_path: Path) -> None:
    with keyed(tmp_path, workers=1) as first:
        first.learn(["a"], [[1.0]], [1.0])
        with keyed(tmp_path, workers=1) as second:
            with pytest.raises(okl.ray.Fenced, match="another driver has opened this folder since"):
                first.learn(["a"], [[2.0]], [1.0])
            second.learn(["a"], [[2.0]], [1.0])
            one = okl.Learner(CONFIG)
            one.learn([[1.0], [2.0]], [1.0, 1.0])
            assert second.export("a") == one.to_bytes()
            with pytest.raises(ValueError, match="X: found nan in row 1, column 0.*nothing was learned"):
                second.learn(["a", "b"], [[1.0], [float("nan")]], [1.0, 1.0])
            with pytest.raises(
                TypeError,
                match="partition 'p', key 'b', its 1 rows from offset 4 to 4: .*No shard has learned a row",
            ):
                second.learn(["b"], [[1.0]], ["no number"], partition="p", offset=4)
            masked = np.ma.array([[1.0], [2.0]], mask=[[False], [True]])
            for refused in (
                lambda: second.learn(["a", "b"], masked, [1.0, 1.0]),
                lambda: second.predict(["a", "b"], masked),
            ):
                with pytest.raises(
                    ValueError, match="X has masked values, the first in row 1, column 0: fill"
                ):
                    refused()
            with pytest.raises(ValueError, match="y has masked values, the first in row 1: fill"):
                second.learn(["a", "b"], [[1.0], [2.0]], masked[:, 0])
            assert len(second) == 1 and second.export("a") == one.to_bytes()


WRONG = [
    ({"workers": 0}, "workers: found 0, expected a whole number from 1 on"),
    ({"workers": "2"}, "workers: found '2', expected"),
    ({"hot_bytes": -1}, "hot_bytes: found -1, expected a whole number from 0 on"),
    ({"patience": 0}, "patience: found 0, expected a number of seconds above 0"),
    ({"start": "m.okl"}, "start: found 'm.okl' .str., expected an okl.Learner or the bytes"),
]


def test_arguments_that_would_lose_rows_are_refused(clusters: Any, tmp_path: Path) -> None:
    for options, words in WRONG:
        with pytest.raises((TypeError, ValueError), match=words):
            keyed(tmp_path / "models", **options)
    assert not list(tmp_path.iterdir())
    (tmp_path / "rows.ndjson").write_text('{"k": "a", "x": 1, "y": 1}\n{"k": "a", "x": NaN, "y": 1}\n')
    reader = okl.ray.FileReader(str(tmp_path / "*.ndjson"), key="k", target="y", features=["x"])
    with keyed(tmp_path / "models", workers=1) as learners:
        row: Any = (["a"], [[1.0]], [1.0])
        for call, words in (
            (lambda: learners.learn(*row, partition="p", offset=-1), "offset: found -1, expected a whole"),
            (lambda: learners.learn(*row, partition="p", offset=1.5), "offset: found 1.5, expected a whole"),
            (lambda: learners.learn(*row, partition="p", offset=2**63), "offset: found .* from 0 to "),
            (lambda: learners.learn(*row, on_error="ignore"), "on_error: found 'ignore', expected 'raise'"),
            (lambda: learners.learn(["a"], [[1.0]], ["x"]), "^key 'a', its 1 rows: y has dtype"),
            (
                lambda: learners.learn("abcdefgh", [[1.0]] * 7 + [[1e20]], [1.0] * 8),
                "^key 'h', its 1 rows: row 0, column 0: found 1e20, .* No shard has learned a row",
            ),
            (lambda: list(learners.pull(reader, rows=0)), "rows: found 0, expected a whole number from 1"),
            (lambda: list(learners.pull(reader, ahead=0)), "ahead: found 0, expected a whole number from 1"),
            (lambda: list(learners.pull(reader, on_error="x")), "on_error: found 'x'"),
            (lambda: list(learners.pull(reader, partitions="p")), "partitions: found 'p', expected a list"),
            (
                lambda: list(learners.pull(reader)),
                r"rows.ndjson', 2 rows from offset 0 on: X: found nan in row 1",
            ),
        ):
            with pytest.raises((TypeError, ValueError), match=words):
                call()
        assert len(learners) == 0 and learners.position("p") == 0
    for call in (lambda: learners.learn(*row), lambda: learners.predict(["a"], [[1.0]]), learners.workers):
        with pytest.raises(ValueError, match="these learners were closed.*open it again"):
            call()


def test_missing_values_are_filled_by_the_model_of_each_key(clusters: Any, tmp_path: Path) -> None:
    rng, config = np.random.default_rng(8), {**CONFIG, "missing": "mean"}
    keys, X = rng.integers(0, 5, 400).tolist(), rng.normal(size=(400, 2))
    X[rng.random(X.shape) < 0.2] = np.nan
    y = rng.normal(size=400)
    for part in (slice(0, 150), slice(150, 400)):  # The second driver continues with the values of the first.
        with okl.ray.KeyedLearners(config, tmp_path, **{**OPTIONS, "workers": 1}) as learners:
            learners.learn(keys[part], X[part], y[part])
            with pytest.raises(ValueError, match="X: found inf in row 0, column 1"):
                learners.learn([1], [[0.0, np.inf]], [1.0])
            digests = learners.digests()
            predicted = learners.predict([keys[0]], [[np.nan, 1.0]])
    for key in range(5):
        mine, learner = np.array(keys) == key, okl.Learner(config)
        learner.learn(X[mine], y[mine])
        assert digests.pop(str(key).encode()) == hashlib.sha256(learner.to_bytes()).hexdigest()
        if key == keys[0]:
            assert predicted[0] == learner.predict([[np.nan, 1.0]])[0]
    assert not digests


def test_rows_of_kafka_are_learned_once(clusters: Any, tmp_path: Path) -> None:
    kafka = pytest.importorskip("confluent_kafka")
    producer = kafka.Producer({"test.mock.num.brokers": 1})
    keys, X, y = Stream(tmp_path, 5).rows[0]
    number = {key: int(key[1:]) // PARTITIONS % 2 for key in keys}
    for row in range(600):
        value = json.dumps({"x": X[row].tolist(), "y": y[row]})
        producer.produce("rows", value, key=keys[row], partition=number[keys[row]])
    assert producer.flush(30) == 0
    (broker,) = producer.list_topics().brokers.values()
    found = 0
    for batches in (2, None):  # The first driver stops after two batches, of which the second was not taken.
        reader = okl.ray.KafkaReader(
            "rows", {"bootstrap.servers": f"{broker.host}:{broker.port}"}, timeout=0.3
        )
        with keyed(tmp_path / "models", workers=1) as learners:
            for count, output in enumerate(learners.pull(reader, rows=100, partitions=["0", "1"]), 1):
                if count == batches:
                    break
                found += len(output.offsets)
            digests = learners.digests()
        reader.close()
    assert found == 600
    for key in set(keys[:600]):
        mine, learner = [row for row in range(600) if keys[row] == key], okl.Learner(CONFIG)
        learner.learn(X[mine], y[mine])
        assert digests.pop(key.encode()) == hashlib.sha256(learner.to_bytes()).hexdigest()
    assert not digests


def test_nodes_with_another_okl_or_without_the_folder_are_refused(
    clusters: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(okl.ray._checks, "write_marker", lambda marker, text: None)
    with pytest.raises(
        RuntimeError, match=r"models' is not shared: .* not seen by node .* \(\w{8}\), .* \(\w{8}\)"
    ):
        keyed(tmp_path / "models")
    monkeypatch.undo()
    monkeypatch.setattr(okl, "__version__", "9.9.9")
    with pytest.raises(
        RuntimeError, match=r"the driver has okl 9.9.9, found \d.* on node .* install the same version"
    ):
        keyed(tmp_path / "models")


def worker_on(learners: Any, node: Any) -> int:
    """The process of the worker on a node."""
    (found,) = [worker["process"] for worker in learners.workers() if worker["node"] == node.node_id]
    return int(found)


def stop(processes: list[int], folder: Path) -> None:
    """Stops processes outside of a commit: a stopped process on the same machine would hold the lock for ever."""
    while True:
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        while any(
            Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "T"
            for process in processes
        ):
            time.sleep(0.01)
        if all(is_free(path) for path in folder.glob("shard-*.sqlite")):
            return
        for process in processes:
            os.kill(process, signal.SIGCONT)
        time.sleep(0.01)


def is_free(path: Path) -> bool:
    base = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        base.execute("BEGIN EXCLUSIVE")  # A process that is stopped while it reads holds a lock too.
        base.execute("ROLLBACK")
    except sqlite3.OperationalError:
        return False
    finally:
        base.close()
    return True


def test_a_node_is_cut_off_and_its_worker_goes_on(clusters: Any, tmp_path: Path) -> None:
    """A raylet and its worker are stopped until their successor has written, then the worker goes on with its rows: it must not write."""
    node = clusters.two()
    stream, outputs, stopped = Stream(tmp_path, 3), [], []
    with keyed(tmp_path / "models") as learners:
        for output in learners.pull(stream.reader(), rows=500):
            outputs.append(output)
            if len(outputs) == 4:
                stopped = [worker_on(learners, node), clusters.raylet(node)]
            if len(outputs) == 5:  # The next batches have been sent to it.
                stop(stopped, tmp_path / "models")
            if len(outputs) == 12:
                for process in stopped:
                    os.kill(process, signal.SIGCONT)
        stream.check(learners, outputs)
        assert {worker["node"] for worker in learners.workers()} == {clusters.cluster.head_node.node_id}
        assert stopped[0] not in [worker["process"] for worker in learners.workers()]


def test_a_node_is_killed(clusters: Any, tmp_path: Path, record_kills: Callable[..., None]) -> None:
    node = clusters.two()
    stream, outputs = Stream(tmp_path, 4), []
    with keyed(tmp_path / "models") as learners:
        for output in learners.pull(stream.reader(), rows=500):
            outputs.append(output)
            if len(outputs) == 4:
                assert worker_on(learners, node)
                os.kill(clusters.raylet(node), signal.SIGKILL)
                while node.node_id in clusters.alive():
                    time.sleep(0.1)
        record_kills("1 node (raylet)", *stream.check(learners, outputs))
        assert {worker["node"] for worker in learners.workers()} == {clusters.cluster.head_node.node_id}
