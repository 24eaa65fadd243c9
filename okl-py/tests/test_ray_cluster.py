"""`okl.ray` on a real cluster of two nodes, with workers, nodes and drivers that are killed."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import okl

ray = pytest.importorskip("ray")
pytest.importorskip("ray.data")

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_AUTH_MODE"] = "disabled"  # A token would be written into the home folder.

CONFIG = {
    "loss": "squared",
    "kernel": "gaussian:0.5",
    "step": "constant:0.3",
    "lambda": 1e-3,
    "budget": "window:20",
}
OPTIONS: dict[str, Any] = {"shards": 8, "workers": 2, "worker_options": {"num_cpus": 0.5}}
KEYS, ROWS, PARTITIONS = 60, 3000, 3
KILLS = int(os.environ.get("OKL_WORKER_KILLS", "2"))  # `make soak` has 50


class Clusters:
    """A head node and a second node, which may be lost and is then replaced."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        # The path of a socket may have 107 characters: pytest's folders are too long.
        self.folder = tempfile.mkdtemp(prefix="okl", dir="/tmp")
        # Ray writes the address of a cluster there, and does not make the folder if `temp_dir` is another one.
        Path(os.environ.get("RAY_TMPDIR", "/tmp"), "ray").mkdir(parents=True, exist_ok=True)
        quick = {"initial_delay_ms": 0, "period_ms": 300, "timeout_ms": 2000, "failure_threshold": 3}
        checks = {f"health_check_{name}": value for name, value in quick.items()}
        self.node = {"num_cpus": 2, "object_store_memory": 80_000_000}
        head = {**self.node, "include_dashboard": False, "temp_dir": self.folder, "_system_config": checks}
        self.cluster = Cluster(initialize_head=True, head_node_args=head)
        self.second = self.cluster.add_node(**self.node)
        ray.init(address=self.cluster.address, log_to_driver=False, logging_level="error")
        ray.data.DataContext.get_current().enable_progress_bars = False

    def two(self) -> Any:
        """The second node; a new one if it was lost."""
        if self.second.node_id not in alive():
            self.second = self.cluster.add_node(**self.node)
        return self.second

    def raylet(self, node: Any) -> int:
        (process,) = node.all_processes["raylet"]
        return int(process.process.pid)

    def close(self) -> None:
        ray.shutdown()
        self.cluster.shutdown()
        shutil.rmtree(self.folder, ignore_errors=True)


def alive() -> set[str]:
    return {node["NodeID"] for node in ray.nodes() if node["Alive"]}


@pytest.fixture(scope="module")
def clusters() -> Iterator[Clusters]:
    clusters = Clusters()
    yield clusters
    clusters.close()


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

    def check(self, learners: Any, outputs: list[Any]) -> None:
        """Each row came out once, with the score of one machine, and the models are those of one machine."""
        assert learners.digests() == self.digests
        for path in self.files:
            mine = [output for output in outputs if output.partition == path]
            offsets = np.concatenate([output.offsets for output in mine])
            assert offsets.tolist() == list(range(ROWS))
            np.testing.assert_array_equal(
                np.concatenate([output.scores for output in mine]), self.scores[path]
            )


def keyed(path: Path, **options: Any) -> Any:
    return okl.ray.KeyedLearners(CONFIG, path, **{**OPTIONS, **options})


def test_a_worker_is_killed(clusters: Clusters, tmp_path: Path) -> None:
    clusters.two()
    stream, outputs, killed = Stream(tmp_path, 1), [], []
    with keyed(tmp_path / "models") as learners:
        assert {worker["node"] for worker in learners.workers()} == alive()
        for output in learners.pull(stream.reader(), rows=PARTITIONS * ROWS // (3 * KILLS + 12)):
            outputs.append(output)
            if len(outputs) % 3 == 0 and len(killed) < KILLS:
                process = learners.workers()[len(killed) % 2]["process"]
                os.kill(process, signal.SIGKILL)
                killed.append(process)
        assert len(killed) == KILLS and sum(worker["restarts"] for worker in learners.workers()) >= KILLS
        stream.check(learners, outputs)
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


def test_the_driver_is_killed(clusters: Clusters, tmp_path: Path) -> None:
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


def test_a_later_driver_takes_over(clusters: Clusters, tmp_path: Path) -> None:
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
                match="partition 'p', key 'b', its 1 rows from offset 4 to 4: .*nothing of this batch",
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


def test_rows_of_kafka_are_learned_once(clusters: Clusters, tmp_path: Path) -> None:
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
    clusters: Clusters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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


def rows(n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(3).normal(size=(n, 2))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "same", "other")


def scored(model: Any, X: np.ndarray, **options: Any) -> Any:
    dataset = ray.data.from_items(
        [{"a": a, "b": b, "row": row} for row, (a, b) in enumerate(X.tolist())], override_num_blocks=2
    )
    return (
        okl.ray.score(dataset, model, batch_size=100, **options)
        .to_pandas()
        .sort_values("row", ignore_index=True)
    )


def test_scores_are_those_of_one_machine(clusters: Clusters, tmp_path: Path) -> None:
    X, y = rows()
    learner = okl.Learner(loss="logistic", kernel="gaussian:0.5", step="constant:0.3", lam=1e-3)
    learner.learn(X, y)
    learner.save(tmp_path / "m.okl")
    found = scored(tmp_path / "m.okl", X, features=["a", "b"])
    scores = learner.predict(X)
    np.testing.assert_array_equal(found["score"], scores)
    np.testing.assert_allclose(found["probability"], 1 / (1 + np.exp(-scores)), rtol=1e-12)
    assert found["label"].tolist() == np.where(scores > 0, "same", "other").tolist()
    with pytest.raises(Exception, match="features: there is no column 'c'; there are 'a', 'b', 'row'"):
        scored(learner, X, features=["c"])
    of_numbers = okl.Learner(loss="squared", kernel="gaussian:0.5", step="constant:0.3", lam=1e-3)
    of_numbers.learn(X[:300], X[:300, 0])
    found = scored(of_numbers, X, features=["a", "b"], interval=0.9, calibration=(X[300:], X[300:, 0]))
    middle = of_numbers.predict(X)
    width = np.sort(np.abs(X[300:, 0] - middle[300:]))[270]  # Place 271, the next above 0.9 of 301.
    np.testing.assert_array_equal(found["lower"], middle - width)
    np.testing.assert_array_equal(found["upper"], middle + width)


CONFIGS = [
    {
        "loss": loss,
        "kernel": f"gaussian:{gamma}",
        "step": "constant:0.3",
        "lambda": 1e-3,
        "budget": "window:100",
    }
    for loss in ("hinge", "max_margin")
    for gamma in (0.5, 5.0, 50.0)
]


def mistakes(config: dict[str, Any], X: np.ndarray, y: np.ndarray) -> tuple[float, str]:
    """One row after the other, as a loop would do it."""
    learner, wrong = okl.Learner(config), 0
    for x, label in zip(X, y):
        before = learner.predict(x[None])[0]
        learner.learn(x[None], [label])
        if config["loss"] == "hinge":
            known, positive = [*learner.classes], learner.positive_class
            # The sign is that of the classes known with this row: it turns if the second class sorts after the first.
            turned = len(known) == 2 and learner.examples == first_of_two(y) + 1 and positive == label
            predicted = (
                positive
                if (-before if turned else before) > 0
                else next((c for c in known if c != positive), None)
            )
        else:
            scores = np.zeros(len(learner.classes))
            scores[: np.size(before)] = before
            predicted = learner.classes[int(np.argmax(scores))]
        wrong += predicted != label
    return wrong / len(y), hashlib.sha256(learner.to_bytes()).hexdigest()


def first_of_two(y: np.ndarray) -> int:
    return int(np.flatnonzero(y != y[0])[0])


def test_a_sweep_has_the_figures_of_a_loop(clusters: Clusters) -> None:
    X, y = rows()
    found = okl.ray.sweep(CONFIGS, X, y, num_cpus=0.5)
    assert sorted(found.index) == list(range(6)) and found["error"].is_monotonic_increasing
    for number, row in found.iterrows():
        digest = hashlib.sha256(row["model"]).hexdigest()
        assert (row["error"], digest) == mistakes(CONFIGS[number], X, y)
    halved = okl.ray.sweep(CONFIGS, X, y, num_cpus=0.5, halving=2, first_rows=150)
    assert halved["rows"].tolist() == [600, 300, 300, 150, 150, 150]
    first = okl.ray.sweep(CONFIGS, X[:150], y[:150], num_cpus=0.5)
    assert set(halved.index[:3]) == set(first.index[:3])
    best = halved.index[0]
    assert halved["model"][best] == found["model"][best] and halved["error"][best] == found["error"][best]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_sweep_shows_its_progress_on_a_terminal(
    clusters: Clusters, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = rows(200)
    for progress in (True, False):
        shown = Terminal()
        with monkeypatch.context() as changed:
            changed.setattr(sys, "stderr", shown)
            found = okl.ray.sweep(CONFIGS[:2], X, y, num_cpus=0.5, progress=progress)
        last = f"\rsweep, 200 rows: 2 of 2 settings, lowest error {found['error'].min():.6g} \n"
        assert shown.getvalue().endswith(last) if progress else not shown.getvalue()


def test_a_sweep_of_numbers_and_what_is_refused(clusters: Clusters) -> None:
    X, _ = rows(200)
    config = {**CONFIGS[0], "loss": "squared"}
    y = np.sin(X[:, 0])
    scores = okl.Learner(config).learn(X, y)
    found = okl.ray.sweep([config], X, y)
    assert found["error"][0] == pytest.approx(np.mean((scores - y) ** 2), rel=1e-12)
    found = okl.ray.sweep([config], X, y, metric=lambda scores, y: np.abs(scores - y))
    assert found["error"][0] == pytest.approx(np.mean(np.abs(scores - y)), rel=1e-12)
    for configs, options, words in (
        ([], {}, "configs: expected at least one"),
        ([config, {"loss": "x"}], {}, r"configs\[1\]: .*x"),
        ([config], {"halving": 1}, "halving: expected a whole number of at least 2, found 1"),
    ):
        with pytest.raises(ValueError, match=words):
            okl.ray.sweep(configs, X, y, **options)
    hidden = np.arange(200) == 7
    with pytest.raises(ValueError, match="X has masked values, the first in row 7, column 0"):
        okl.ray.sweep([config], np.ma.array(X, mask=np.stack([hidden, hidden], 1)), y)
    with pytest.raises(ValueError, match="y has masked values, the first in row 7: fill"):
        okl.ray.sweep([config], X, np.ma.array(y, mask=hidden))


SHARDED = {
    "loss": "squared",
    "kernel": "gaussian:0.2",
    "step": "constant:0.3",
    "lambda": 1e-3,
    "budget": "unlimited",
    "average": "exponential:0.01",
}


@pytest.mark.parametrize(
    ("changes", "cut"),
    [
        ({}, [0, 2600, 3900, 5200]),
        ({"budget": "window:5000"}, [0, 5500, 7200, 9500]),
        ({"budget": "age:6000", "loss": "epsilon:0.03"}, [0, 7000, 9000, 11000]),
        ({"budget": "olok:0.45", "step": "inverse_sqrt:1"}, [0, 4000, 6000, 8000]),
    ],
    ids=["unlimited", "window", "age", "olok"],
)
def test_shards_are_killed(
    clusters: Clusters, tmp_path: Path, changes: dict[str, str], cut: list[int]
) -> None:
    """One shard dies between two calls, the other one while rows are learned. The average multiplies all coefficients now and then."""
    clusters.two()
    X = np.random.default_rng(5).normal(size=(cut[-1], 6))
    y, settings = np.sin(X[:, 0]), {**SHARDED, **changes}
    alone = okl.Learner(settings)
    with okl.ray.ShardedLearner(
        settings, 2, path=tmp_path / "terms", worker_options={"num_cpus": 0.5}
    ) as learner:
        processes = [worker["process"] for worker in learner.workers()]
        for part, (first, last) in enumerate(zip(cut, cut[1:])):
            if part == 1:
                os.kill(processes[0], signal.SIGKILL)
            later = threading.Timer(0.05, os.kill, (processes[1], signal.SIGKILL))
            if part == 2:
                later.start()
            scores = learner.learn(X[first:last], y[first:last])
            np.testing.assert_array_equal(scores, alone.learn(X[first:last], y[first:last]))
        later.join()
        np.testing.assert_array_equal(learner.predict(X), alone.predict(X))
        workers = learner.workers()
        assert (
            min(worker["restarts"] for worker in workers) > 0
            and sum(worker["bytes"] for worker in workers) > 0
        )
        assert (learner.terms, learner.examples) == (alone.terms, cut[-1])
        assert learner.driver()["terms"] <= 6 * 1024
        learner.save(tmp_path / "m.okl")
        # Files of terms that have come back are removed.
        assert 1 <= len(list((tmp_path / "terms").iterdir())) <= alone.terms // 1024 + 3
    digests = [
        hashlib.sha256(data).hexdigest() for data in ((tmp_path / "m.okl").read_bytes(), alone.to_bytes())
    ]
    assert digests[0] == digests[1] and not list((tmp_path / "terms").iterdir())


def test_what_cannot_be_sharded_is_refused(
    clusters: Clusters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match="budget: only unlimited, window, age and olok leave .* found merge"):
        okl.ray.ShardedLearner({**SHARDED, "budget": "merge:5000"})
    with pytest.raises(ValueError, match="missing: a sharded learner fills in no missing values"):
        okl.ray.ShardedLearner({**SHARDED, "missing": "mean"})
    with pytest.raises(ValueError, match="workers: found 0, expected a whole number from 1 on"):
        okl.ray.ShardedLearner(SHARDED, 0)
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="is not empty"):
        okl.ray.ShardedLearner(SHARDED, path=tmp_path)
    options = {"num_cpus": 0.1}
    with okl.ray.ShardedLearner(SHARDED, 1, worker_options=options) as learner:
        masked = np.ma.array([[1.0], [2.0]], mask=[[False], [True]])
        for refused in (lambda: learner.learn(masked, [1.0, 1.0]), lambda: learner.predict(masked)):
            with pytest.raises(ValueError, match="X has masked values, the first in row 1, column 0"):
                refused()
        assert learner.examples == 0
    learner.close()
    for call in (lambda: learner.learn([[1.0]], [1.0]), lambda: learner.predict([[1.0]]), learner.workers):
        with pytest.raises(ValueError, match="this learner was closed: its terms are gone"):
            call()
    with pytest.raises(ValueError, match="this learner was closed"):
        learner.save(tmp_path / "m.okl")
    monkeypatch.setattr(okl, "__version__", "9.9.9")
    with okl.ray.ShardedLearner(SHARDED, 1, worker_options=options) as learner:
        with pytest.raises(
            ValueError, match=r"the driver has okl 9.9.9, this worker has okl \d.*load the model"
        ):
            learner.learn([[1.0]], [1.0])
        with pytest.raises(ValueError, match="cannot be used any more"):
            learner.predict([[1.0]])


PAGE = Path(__file__).parents[2] / "docs" / "cluster.md"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def test_the_page_does_what_it_says(
    clusters: Clusters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for code, expected in BLOCK.findall(PAGE.read_text()):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(PAGE), "exec"), names)
        assert printed.getvalue() == expected, code


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
        base.execute("BEGIN IMMEDIATE")
        base.execute("ROLLBACK")
    except sqlite3.OperationalError:
        return False
    finally:
        base.close()
    return True


def test_a_node_is_cut_off_and_its_worker_goes_on(clusters: Clusters, tmp_path: Path) -> None:
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


def test_a_node_is_killed(clusters: Clusters, tmp_path: Path) -> None:
    node = clusters.two()
    stream, outputs = Stream(tmp_path, 4), []
    with keyed(tmp_path / "models") as learners:
        for output in learners.pull(stream.reader(), rows=500):
            outputs.append(output)
            if len(outputs) == 4:
                assert worker_on(learners, node)
                os.kill(clusters.raylet(node), signal.SIGKILL)
                while node.node_id in alive():
                    time.sleep(0.1)
        stream.check(learners, outputs)
        assert {worker["node"] for worker in learners.workers()} == {clusters.cluster.head_node.node_id}
