"""Keyed models on a Ray cluster of this machine: rows per second by number of workers, and cost per row and key by number of keys.

    python benchmarks/cluster.py scaling
    python benchmarks/cluster.py keys 1000000
    python benchmarks/cluster.py average
    python benchmarks/cluster.py sharded 200000
    python benchmarks/cluster.py budgets 30000

Rows are generated while they are read, so that no file has to be read. The record is benchmarks/cluster.md.
"""

import json
import os
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_AUTH_MODE"] = "disabled"  # A token would be written into the home folder.

import numpy as np
import ray

import okl

CONFIG = {
    "loss": "squared",
    "kernel": "gaussian:0.5",
    "step": "constant:0.3",
    "lambda": 1e-3,
    "budget": "window:50",
}
FEATURES = 4


class Generated:
    """Rows of one partition; `run` rows of a key follow each other, and the keys take turns."""

    def __init__(self, keys: int, rows: int, run: int):
        self.keys, self.rows, self.run = keys, rows, run

    def partitions(self) -> list[str]:
        return ["generated"]

    def read(self, partition: str, offset: int, n: int) -> okl.ray.Rows:
        n = max(0, min(n, self.rows - offset))
        keys = (np.arange(offset, offset + n) // self.run) % self.keys
        X = np.random.default_rng(offset).normal(size=(n, FEATURES))
        return okl.ray.Rows(keys, X, np.sin(X[:, 0]) + keys % 3)


def memory(process: int) -> float:
    """The resident memory of a process, in MB."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def pulled(learners: okl.ray.KeyedLearners, reader: Generated, batch: int) -> tuple[float, float]:
    """Seconds and the largest memory of a worker while the rows are learned."""
    processes, largest, start = [worker["process"] for worker in learners.workers()], 0.0, time.perf_counter()
    for _ in learners.pull(reader, rows=batch):
        largest = max(largest, *map(memory, processes))
    return time.perf_counter() - start, largest


def keyed(folder: str, workers: int, **options: int) -> okl.ray.KeyedLearners:
    return okl.ray.KeyedLearners(CONFIG, folder, workers=workers, worker_options={"num_cpus": 0.5}, **options)


def scaling() -> None:
    """Rows per second of 1, 2 and 4 workers: all models in memory, and one row per key and batch."""
    for keys, run, rows in ((2_000, 1, 200_000), (2_000, 50, 1_000_000)):
        for workers in (1, 2, 4):
            folder = tempfile.mkdtemp()
            with keyed(folder, workers, shards=16) as learners:
                pulled(learners, Generated(keys, rows // 10, run), 16_384)
                reader = Generated(keys, rows, run)
                seconds, _ = pulled(learners, reader, 16_384)
            print(
                json.dumps(
                    {"keys": keys, "run": run, "workers": workers, "rows/s": round(0.9 * rows / seconds)}
                ),
                flush=True,
            )
            shutil.rmtree(folder)


def keys(count: int) -> None:
    """So many keys: 50 rows of each key, then one row of each key in turn, with room for a part of the models in memory."""
    folder = tempfile.mkdtemp(dir=os.environ.get("OKL_BENCH_DIR"))
    with keyed(folder, 2, shards=64, hot_bytes=min(256 << 20, count * 20_000 // 40)) as learners:
        first, largest = pulled(learners, Generated(count, 50 * count, 50), 100_000)
        disk = sum(path.stat().st_size for path in Path(folder).iterdir())
        workers = learners.workers()
        print(
            json.dumps(
                {
                    "keys": count,
                    "rows": 50 * count,
                    "us/row": round(first / count / 50 * 1e6, 2),
                    "us/key": round(first / count * 1e6),
                    "seconds": round(first),
                }
            ),
            flush=True,
        )
        print(
            json.dumps(
                {
                    "MB of a worker": round(largest),
                    "in memory": sum(w["in_memory"] for w in workers),
                    "bytes on disk per key": round(disk / count),
                }
            ),
            flush=True,
        )
        some = min(count, 200_000)

        class Turn(Generated):
            def partitions(self) -> list[str]:
                return ["turn"]

            def read(self, partition: str, offset: int, n: int) -> okl.ray.Rows:
                found = super().read(partition, offset, n)
                return found._replace(keys=np.asarray(found.keys) * 7919 % count)

        second, largest = pulled(learners, Turn(count, some, 1), 10_000)
        print(
            json.dumps(
                {
                    "keys": count,
                    "one row of each": some,
                    "us/row": round(second / some * 1e6, 1),
                    "MB of a worker": round(largest),
                }
            ),
            flush=True,
        )
        start = time.perf_counter()
        for number in range(200):
            learners.predict([number * count // 200], np.zeros((1, FEATURES)))
        print(
            json.dumps(
                {
                    "keys": count,
                    "ms of a prediction of one row": round((time.perf_counter() - start) / 200 * 1e3, 2),
                }
            ),
            flush=True,
        )
    shutil.rmtree(folder)


def average() -> None:
    """The error of the mean of 4 models, each of which learned a quarter of the rows, against one model that learned all rows in order."""
    rng = np.random.default_rng(1)
    X, test = rng.normal(size=(40_000, 4)), rng.normal(size=(5_000, 4))
    of = lambda rows: np.sin(2 * rows[:, 0]) + rows[:, 1] * rows[:, 2]  # noqa: E731
    y, truth = of(X) + 0.1 * rng.normal(size=len(X)), of(test)
    terms = {
        "loss": "squared",
        "kernel": "gaussian:0.2",
        "step": "inverse_sqrt:0.5",
        "lambda": 1e-4,
        "anchor": "none",
    }
    linear = {
        "loss": "squared",
        "kernel": "linear",
        "step": "inverse_sqrt:0.1",
        "lambda": 1e-4,
        "scale": "none",
        "offset": True,
    }
    for name, config in (
        ("weights", linear),
        ("merge:500", {**terms, "budget": "merge:500"}),
        ("window:500", {**terms, "budget": "window:500"}),
    ):
        error = lambda model: round(float(np.mean((model.predict(test) - truth) ** 2)), 4)  # noqa: E731
        one = okl.Learner(config)
        one.learn(X, y)
        line = {"form": name, "one stream": error(one)}
        for rounds in (1, 4, 16):
            start, lost = okl.Learner(config), 0.0
            for part in np.array_split(np.arange(len(X)), rounds):
                models = [okl.Learner.from_bytes(start.to_bytes()) for _ in range(4)]
                for model, rows in zip(models, np.array_split(part, 4)):
                    model.learn(X[rows], y[rows])
                start, lost, _ = okl.average(models, start=start)
            line |= {f"{rounds} rounds of 4": error(start), f"lost in the last of {rounds}": round(lost, 3)}
        line["one quarter"] = error(models_of_quarter(config, X, y))
        print(json.dumps(line), flush=True)


def models_of_quarter(config: dict, X: np.ndarray, y: np.ndarray) -> okl.Learner:
    model = okl.Learner(config)
    model.learn(X[: len(X) // 4], y[: len(X) // 4])
    return model


def large_model(config: dict, terms: int, features: int) -> okl.Learner:
    """A model of many terms: the mean of small ones, which costs less than to learn it."""
    rng, models, size = np.random.default_rng(1), [], 2000
    for _ in range(terms // size):
        X = rng.normal(size=(size, features)).astype(np.float32)
        model = okl.Learner(config)
        model.learn(X, np.sin(X[:, 0]))
        models.append(model)
    return okl.average(models).model


def cpu_seconds(shards: okl.ray.ShardedLearner) -> float:
    """CPU seconds of this process and of the shards so far."""
    return time.process_time() + sum(shard["cpu_seconds"] for shard in shards.workers())


FEATURES_OF_ONE = 64
PLAIN = {**CONFIG, "kernel": "gaussian:0.01", "budget": "unlimited", "anchor": "none"}


def sharded(terms: int) -> None:
    """A model without a budget, one process against two shards."""
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    compared(large_model(PLAIN, terms, FEATURES_OF_ONE))


def budgets(terms: int) -> None:
    """The same for models that have reached their budget: each row adds a term and drops one, or drops some now and then."""
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    rng = np.random.default_rng(3)
    for changes in (
        {"budget": "unlimited"},
        {"budget": f"window:{terms}"},
        {"budget": f"age:{terms}"},
        {"budget": "olok:0.45", "step": "inverse_sqrt:1", "lambda": 0.1},
    ):
        alone = okl.Learner({**PLAIN, **changes})
        alone.threads = 2
        X = rng.normal(size=(terms, FEATURES_OF_ONE)).astype(np.float32)
        alone.learn(X, np.sin(X[:, 0]))
        print(changes["budget"], end=": ", flush=True)
        compared(alone)


def compared(alone: okl.Learner, rows: int = 4096, features: int = FEATURES_OF_ONE, rounds: int = 3) -> None:
    """Rows per second of one process with two threads and of two shards, in turns."""
    alone.threads = 2
    rng = np.random.default_rng(2)
    with okl.ray.ShardedLearner(alone, 2, worker_options={"num_cpus": 1}) as shards:
        for turn in range(rounds + 1):
            X = rng.normal(size=(rows, features)).astype(np.float32)
            seconds, processor, scores = [], [], []
            for learner in (alone, shards):
                start, used = time.perf_counter(), cpu_seconds(shards)
                scores.append(learner.learn(X, np.sin(X[:, 0])))
                seconds.append(time.perf_counter() - start)
                processor.append(cpu_seconds(shards) - used)
            assert np.array_equal(*scores)
            if turn:  # The first call sends the model.
                one, two = (rows / taken for taken in seconds)
                print(f"{alone.terms} terms: one process {one:.0f} rows/s, two shards {two:.0f} rows/s, ratio {two / one:.2f};", end=" ")
                print("CPU seconds: {:.1f} and {:.1f}, ratio {:.2f}".format(*processor, processor[0] / processor[1]), flush=True)
        held = {"driver": shards.driver(), "shards": [shard["bytes"] for shard in shards.workers()]}
        print(json.dumps(held))


def main() -> None:
    if sys.argv[1] in ("sharded", "budgets"):
        return {"sharded": sharded, "budgets": budgets}[sys.argv[1]](int(sys.argv[2]))
    if sys.argv[1] == "average":
        return average()
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, object_store_memory=500_000_000)
    if sys.argv[1] == "scaling":
        scaling()
    else:
        keys(int(sys.argv[2]))
    ray.shutdown()


if __name__ == "__main__":
    main()
