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
from collections.abc import Iterator
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
            (folder / f"{number}.json").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def models(self) -> tuple[dict[str, str], np.ndarray]:
        digests, scores = {}, np.empty(len(self.keys))
        for key in set(self.keys.tolist()):
            rows, learner = self.keys == key, okl.Learner(CONFIG)
            scores[rows] = learner.learn(self.X[rows], self.y[rows])
            digests[f"k{key}"] = hashlib.sha256(learner.to_bytes()).hexdigest()
        return digests, scores

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
import os, sys
from pyspark.sql import SparkSession
import okl
rows, folder, rocks, config = sys.argv[1], sys.argv[2], sys.argv[3], eval(sys.argv[4])
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2")
spark = builder.config("spark.sql.streaming.stateStore.providerClass", rocks).getOrCreate()
schema = "k string, at long, a double, b double, y double"
frame = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(rows)
learned = okl.spark.keyed(frame, "k", config, features=["a", "b"], target="y", order="at")
def write(batch, number):
    batch.count()
    print("batch", number, flush=True)
query = learned.writeStream.foreachBatch(write).option("checkpointLocation", folder + "/checkpoint")
query.trigger(availableNow=True).start().awaitTermination()
"""


def test_the_driver_is_killed(spark: Any, tmp_path: Path) -> None:
    """Python and Java die in the middle of a micro-batch. Another driver goes on from the checkpoint."""
    stream = Stream(tmp_path / "rows")
    arguments = [str(tmp_path / "rows"), str(tmp_path), ROCKS, repr(CONFIG)]
    command = [sys.executable, "-c", DRIVER, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as driver:
        assert driver.stdout is not None
        for line in driver.stdout:
            if line.strip() == "batch 2":  # Its rows are learned, its state is not committed.
                os.killpg(driver.pid, signal.SIGKILL)
    assert driver.returncode == -signal.SIGKILL
    run(stream.learned(spark), tmp_path)
    assert models_of(spark, tmp_path) == stream.models()[0]


def models_of(spark: Any, folder: Path) -> dict[str, str]:
    """The SHA-256 of each model in a checkpoint."""
    state = spark.read.format("statestore").option("stateVarName", "model").load(str(folder / "checkpoint"))
    return {row.key.k: hashlib.sha256(bytes(row.value.model)).hexdigest() for row in state.collect()}


def test_what_is_refused(spark: Any, tmp_path: Path) -> None:
    frame = spark.createDataFrame([("k", 1, 0.0, 0.0)], "k string, at long, a double, y double")
    with pytest.raises(ValueError, match="there is no column 'c'; there are 'k', 'at', 'a', 'y'"):
        okl.spark.keyed(frame, "k", CONFIG, features=["c"], target="y", order="at")
    spark.conf.unset("spark.sql.streaming.stateStore.providerClass")
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", "another")
    with pytest.raises(ValueError, match="needs the state store RocksDB: set .* found 'another'"):
        okl.spark.keyed(frame, "k", CONFIG, features=["a"], target="y", order="at")
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKS)


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
