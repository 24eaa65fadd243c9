"""`okl.spark` on a local Spark. It needs pyspark and Java, which `make soak` has: they are too large for every run of the tests."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import okl

pytest.importorskip("pyspark")
if shutil.which("java") is None:
    pytest.skip("Spark needs a Java runtime", allow_module_level=True)

CONFIG = {
    "loss": "squared",
    "kernel": "gaussian:0.5",
    "step": "constant:0.3",
    "lambda": 1e-3,
    "budget": "window:20",
}
ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.stateStore.providerClass": ROCKS,
        "spark.driver.memory": "1g",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def test_scores_are_those_of_one_machine(spark: Any) -> None:
    X = np.random.default_rng(3).normal(size=(500, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    learner = okl.Learner(
        loss="logistic", kernel="gaussian:0.5", step="constant:0.3", lam=1e-3, classes=["other", "same"]
    )
    learner.learn(X, y)
    frame = spark.createDataFrame(
        [(row, *x) for row, x in enumerate(X.tolist())], "row long, a double, b double"
    )
    found = okl.spark.score(frame, learner, ["a", "b"]).toPandas().sort_values("row")
    np.testing.assert_array_equal(found["score"], learner.predict(X))
    assert found["label"].tolist() == np.where(found["score"] > 0, "same", "other").tolist()
    np.testing.assert_allclose(found["probability"], 1 / (1 + np.exp(-found["score"])), rtol=1e-12)
    with pytest.raises(ValueError, match="features: there is no column 'c'; there are 'row', 'a', 'b'"):
        okl.spark.score(frame, learner, ["c"])
    # No column is replaced, whatever its name; Spark does not distinguish Label and label.
    named = frame.selectExpr("row", "a as `x.a`", "b as okl", "'true' as Label")
    with pytest.raises(
        ValueError, match="the model adds a column 'label', but the input has a column 'Label'"
    ):
        okl.spark.score(named, learner, ["x.a", "okl"])
    found = okl.spark.score(named, learner, ["x.a", "okl"], prefix="okl_").toPandas().sort_values("row")
    assert [*found.columns] == ["row", "x.a", "okl", "Label", "okl_score", "okl_probability", "okl_label"]
    np.testing.assert_array_equal(found[["x.a", "okl"]], X)
    np.testing.assert_array_equal(found["okl_score"], learner.predict(X))
    with pytest.raises(TypeError, match="features: found 'a', expected a list of columns"):
        okl.spark.score(frame, learner, "a")
    tube = okl.Learner(loss="nu_epsilon:0.1", kernel="gaussian:0.5", step="constant:0.3", lam=1e-3)
    tube.learn(X, X[:, 0])
    found = okl.spark.score(frame, tube, ["a", "b"], interval=0.9).toPandas().sort_values("row")
    np.testing.assert_array_equal(found["lower"], tube.predict(X) - tube.theta)
    np.testing.assert_array_equal(found["upper"], tube.predict(X) + tube.theta)


class Stream:
    """Rows of some keys in files, one per micro-batch."""

    def __init__(self, folder: Path, files: int = 4, rows: int = 120):
        rng = np.random.default_rng(5)
        folder.mkdir()
        self.folder, self.files = folder, files
        n = files * rows
        self.keys, self.X = rng.integers(0, 9, n), rng.normal(size=(n, 2))
        self.y = np.sin(self.X[:, 0])
        for number in range(files):
            some = range(number * rows, (number + 1) * rows)
            lines = [
                {"k": f"k{self.keys[i]}", "at": i, "a": self.X[i, 0], "b": self.X[i, 1], "y": self.y[i]}
                for i in some
            ]
            path = folder / f"{number}.json"
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))
            os.utime(path, (1e9 + number, 1e9 + number))  # Spark reads files in the order of their times.

    def models(self) -> tuple[dict[str, str], np.ndarray]:
        digests, scores = {}, np.empty(len(self.keys))
        for key in set(self.keys.tolist()):
            rows, learner = self.keys == key, okl.Learner(CONFIG)
            scores[rows] = learner.learn(self.X[rows], self.y[rows])
            digests[f"k{key}"] = hashlib.sha256(learner.to_bytes()).hexdigest()
        return digests, scores

    def rows_in(self, spark: Any, folder: Path) -> tuple[list[Any], list[Any]]:
        """The rows of each key by number, and those that the models of a checkpoint have learned."""
        keys, counts = np.unique(self.keys, return_counts=True)
        learned = {
            key: okl.Learner.from_bytes(data).examples for key, data in files_of(spark, folder).items()
        }
        rows = {f"k{key}": count for key, count in zip(keys.tolist(), counts.tolist())}
        numbered = lambda of: [(key, row) for key, count in of.items() for row in range(count)]  # noqa: E731
        return numbered(rows), numbered(learned)

    def learned(self, spark: Any) -> Any:
        schema = "k string, at long, a double, b double, y double"
        frame = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(self.folder))
        return okl.spark.keyed(frame, "k", CONFIG, features=["a", "b"], target="y", order="at")


def run(frame: Any, folder: Path, stop_after: int | None = None) -> None:
    """Writes the outputs until all files are read, or until an error in the batch `stop_after`, after its rows were learned."""

    def write(batch: Any, number: int) -> None:
        found = batch.toPandas()
        if number == stop_after:
            raise RuntimeError("stopped here")
        found.to_json(folder / f"out-{number}.json", orient="records", lines=True, double_precision=15)

    query = frame.writeStream.foreachBatch(write).option("checkpointLocation", str(folder / "checkpoint"))
    query.trigger(availableNow=True).start().awaitTermination()


def test_a_stream_that_is_restarted_has_the_models_of_one_machine(spark: Any, tmp_path: Path) -> None:
    stream = Stream(tmp_path / "rows")
    with pytest.raises(Exception, match="stopped here"):
        run(stream.learned(spark), tmp_path, stop_after=2)
    assert len(list(tmp_path.glob("out-*.json"))) == 2
    run(stream.learned(spark), tmp_path)
    digests, scores = stream.models()
    lines = [
        json.loads(line) for path in tmp_path.glob("out-*.json") for line in path.read_text().splitlines()
    ]
    assert sorted(line["at"] for line in lines) == list(range(len(scores)))
    for line in lines:
        assert line["scores"][0] == pytest.approx(scores[line["at"]], rel=1e-12)
    assert models_of(spark, tmp_path) == digests


DRIVER = """
import os, signal, sys
from pathlib import Path
from pyspark.sql import SparkSession
import okl
master, folder, rocks, config, killed = sys.argv[1], Path(sys.argv[2]), sys.argv[3], eval(sys.argv[4]), eval(sys.argv[5])

def executor():
    # The executor is the Java process above this worker.
    pid = os.getppid()
    while b"CoarseGrainedExecutorBackend" not in Path(f"/proc/{pid}/cmdline").read_bytes():
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return pid

def killing(name, rows):
    def each(frames):
        for frame in frames:
            for row in rows:
                once = folder / f"killed-{name}-{row}"
                if row in frame["at"].values and not once.exists():
                    once.touch()
                    os.kill(executor(), signal.SIGKILL)
            yield frame
    return each

builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2")
builder = builder.config("spark.executor.memory", "512m").config("spark.driver.memory", "1g")
spark = builder.config("spark.sql.streaming.stateStore.providerClass", rocks).getOrCreate()
schema = "k string, at long, a double, b double, y double"
frame = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(folder / "rows"))
if killed:
    frame = frame.mapInPandas(killing("before", killed[0]), schema)
learned = okl.spark.keyed(frame, "k", config, features=["a", "b"], target="y", order="at")
if killed:
    learned = learned.mapInPandas(killing("after", killed[1]), learned.schema)
def write(batch, number):
    batch.count()
    print("batch", number, flush=True)
query = learned.writeStream.foreachBatch(write).option("checkpointLocation", str(folder / "checkpoint"))
query.trigger(availableNow=True).start().awaitTermination()
"""


def driver(
    folder: Path, master: str = "local[2]", killed: list[list[int]] | None = None
) -> subprocess.Popen[str]:
    """A driver in a process of its own. `killed`: the rows at which an executor is killed before they are learned, and those after."""
    arguments = [master, str(folder), ROCKS, repr(CONFIG), repr(killed)]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-c", DRIVER, *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True, env=environment
    )


def kill_at(driver: subprocess.Popen[str], line: str) -> None:
    """Kills Python and Java when the driver writes this line."""
    assert driver.stdout is not None
    with driver:
        for found in driver.stdout:
            if found.strip() == line:
                os.killpg(driver.pid, signal.SIGKILL)
    assert driver.returncode == -signal.SIGKILL


def test_the_driver_is_killed(spark: Any, tmp_path: Path, record_kills: Callable[..., None]) -> None:
    """Python and Java die in the middle of a micro-batch. Another driver goes on from the checkpoint."""
    stream = Stream(tmp_path / "rows")
    kill_at(driver(tmp_path), "batch 2")  # Its rows are learned, its state is not committed.
    run(stream.learned(spark), tmp_path)
    record_kills("1 driver", *stream.rows_in(spark, tmp_path), models_of(spark, tmp_path), stream.models()[0])


def test_executors_and_the_driver_of_a_cluster_are_killed(
    spark: Any, tmp_path: Path, record_kills: Callable[..., None]
) -> None:
    """Two executors in processes of their own. One is killed while rows are read, one after rows were learned and before their state is committed. Then the
    driver is killed with all executors, and another cluster goes on from the checkpoint."""
    stream = Stream(tmp_path / "rows")
    cluster = "local-cluster[2,1,1024]"
    kill_at(driver(tmp_path, cluster, [[150], [270]]), "batch 2")
    assert {path.name for path in tmp_path.glob("killed-*")} == {"killed-before-150", "killed-after-270"}
    with driver(tmp_path, cluster) as second:
        assert second.wait() == 0
    killed = "2 executors, then the driver and all executors"
    record_kills(killed, *stream.rows_in(spark, tmp_path), models_of(spark, tmp_path), stream.models()[0])


def files_of(spark: Any, folder: Path) -> dict[str, bytes]:
    """Each model file in a checkpoint."""
    state = spark.read.format("statestore").option("stateVarName", "model").load(str(folder / "checkpoint"))
    return {row.key.k: bytes(row.value.model) for row in state.collect()}


def models_of(spark: Any, folder: Path) -> dict[str, str]:
    """The SHA-256 of each model in a checkpoint."""
    return {key: hashlib.sha256(data).hexdigest() for key, data in files_of(spark, folder).items()}


def test_what_is_refused(spark: Any, tmp_path: Path) -> None:
    frame = spark.createDataFrame([("k", 1, 0.0, 0.0)], "k string, at long, a double, y double")
    with pytest.raises(ValueError, match="there is no column 'c'; there are 'k', 'at', 'a', 'y'"):
        okl.spark.keyed(frame, "k", CONFIG, features=["c"], target="y", order="at")
    spark.conf.unset("spark.sql.streaming.stateStore.providerClass")
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", "another")
    with pytest.raises(ValueError, match="needs the state store RocksDB: set .* found 'another'"):
        okl.spark.keyed(frame, "k", CONFIG, features=["a"], target="y", order="at")
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKS)
    columns: Any = {"features": ["a"], "target": "y", "order": "at"}
    for changes, words in (
        ({"features": "a"}, "features: found 'a', expected a list of columns"),
        ({"start": "m.okl"}, "start: found 'm.okl' .str., expected an okl.Learner"),
        ({"start": okl.Learner({**CONFIG, "kernel": "linear"})}, "config: start has other settings"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            okl.spark.keyed(frame, "k", CONFIG, **{**columns, **changes})
    models: Any = okl.spark._keyed.Models(CONFIG, ["a"], "y", "k", "at", None, okl.__version__)
    models.opened = lambda: okl.Learner(CONFIG)
    rows = frame.toPandas().assign(a=np.nan)
    with pytest.raises(
        ValueError, match="key 'k', its 1 rows with at from 1 to 1: row 0, column 0: found NaN"
    ):
        next(models.handleInputRows(("k",), iter([rows]), None))
    models = okl.spark._keyed.Models(CONFIG, ["a"], "y", "k", "at", None, "9.9.9")
    with pytest.raises(
        RuntimeError, match=r"the driver has okl 9.9.9, this worker has okl \d.*: install one"
    ):
        models.init(None)


PAGE = Path(__file__).parents[2] / "docs" / "cluster.md"
BLOCK = re.compile(r"^```python spark\n(.*?)^```\n\n```text\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def test_the_page_does_what_it_says(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ((code, expected),) = BLOCK.findall(PAGE.read_text())
    code = re.sub(
        r'"(rows|checkpoint|scores)"', rf'"{tmp_path}/\1"', code
    )  # Java does not see a change of the folder.
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, str(PAGE), "exec"), {"spark": spark, "okl": okl})
    assert printed.getvalue() == expected
