"""What the tests of the core share."""

from __future__ import annotations

import datetime
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import okl


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261115)


@pytest.fixture
def command_line() -> list[str]:
    """The command `okl`: the binary that the environment names, or the one in the package."""
    path = os.environ.get("OKL_BIN")
    return [str(Path(path).resolve())] if path else [sys.executable, "-m", "okl"]


@pytest.fixture
def regressor() -> okl.Learner:
    return okl.Learner(
        loss="squared", kernel="gaussian", gamma=0.7, step="constant", eta=0.3, lam=1e-3, budget="unlimited"
    )


@pytest.fixture
def circle(rng: np.random.Generator) -> tuple[Any, Any]:
    """Two classes, -1 inside the unit circle and +1 outside."""
    X = rng.normal(size=(400, 2))
    return X, np.where((X**2).sum(axis=1) > 1.0, 1.0, -1.0)


@pytest.fixture
def record_kills(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Adds a line to the record of kills (benchmarks/cluster.md) if the environment names the file, as `make cluster` does.

    Its arguments: what was killed; rows expected and rows found, in any order; the SHA-256 of each model, on the cluster and of one machine.
    """
    path, start = os.environ.get("OKL_KILLS_RECORD"), time.monotonic()

    def record(killed: str, expected: list[Any], found: list[Any], digests: Any, alone: Any) -> None:
        lost, twice = len(set(expected) - set(found)), len(found) - len(set(found) & set(expected))
        engine = "pyspark" if "spark" in request.node.path.name else "ray"
        columns = (
            datetime.datetime.now(datetime.UTC).date(),
            f"`{request.node.name}`",
            killed,
            len(expected),
            lost,
            twice,
            len(alone),
            *(digest_of(models)[:16] for models in (digests, alone)),
            f"{time.monotonic() - start:.0f}",
            f"okl {okl.__version__}, {engine} {version(engine)}, Python {sys.version.split()[0]}",
        )
        if path:
            with open(path, "a", encoding="utf-8") as file:
                file.write(f"| {' | '.join(map(str, columns))} |\n")
        assert (lost, twice) == (0, 0) and digest_of(digests) == digest_of(alone)

    return record


def digest_of(models: dict[Any, str]) -> str:
    """One SHA-256 for the models of all keys."""
    lines = (f"{key} {digest}\n" for key, digest in sorted(models.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


class Clusters:
    """A head node and a second node, which may be lost and is then replaced."""

    def __init__(self) -> None:
        import ray
        import ray.data
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
        if self.second.node_id not in self.alive():
            self.second = self.cluster.add_node(**self.node)
        return self.second

    def alive(self) -> set[str]:
        import ray

        return {node["NodeID"] for node in ray.nodes() if node["Alive"]}

    def raylet(self, node: Any) -> int:
        (process,) = node.all_processes["raylet"]
        return int(process.process.pid)

    def close(self) -> None:
        import ray

        ray.shutdown()
        self.cluster.shutdown()
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture(scope="session")
def clusters() -> Iterator[Clusters]:
    """One cluster for all files of tests: it takes ten seconds to start."""
    pytest.importorskip("ray")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_AUTH_MODE"] = "disabled"  # A token would be written into the home folder.
    clusters = Clusters()
    yield clusters
    clusters.close()


class LocalRay:
    """Workers of `okl.ray.KeyedLearners` in this process, in place of Ray actors: a call runs when it is sent.

    `fault` is asked before each call of a worker: "before" or "after" means that the worker dies before or after the call and is started again,
    "silent" that the call runs and is not answered in time, and None that nothing happens.
    """

    def __init__(self) -> None:
        self.fault: Callable[[str], str | None] = lambda method: None
        self.calls: list[str] = []

    def install(self, patch: pytest.MonkeyPatch) -> None:
        import ray

        from okl.ray import _keyed, _workers

        patch.setattr(ray, "is_initialized", lambda: True)
        patch.setattr(ray, "cluster_resources", lambda: {"CPU": 3})
        patch.setattr(ray, "put", lambda value: value)
        patch.setattr(ray, "get", lambda ref, timeout=None: ref())
        patch.setattr(ray, "kill", lambda actor: None)
        patch.setattr(ray, "remote", lambda made: LocalMaker(self))
        patch.setattr(
            ray,
            "get_runtime_context",
            lambda: type("Context", (), {"get_node_id": staticmethod(lambda: "here")}),
        )
        patch.setattr(_keyed, "check_nodes", lambda folder: None)
        patch.setattr(_workers.time, "sleep", lambda seconds: None)
        patch.setattr(_workers, "leave_soon", lambda: None)


class LocalMaker:
    def __init__(self, local: LocalRay):
        self.local = local

    def options(self, **_: Any) -> LocalMaker:
        return self

    def remote(self, plan: Any) -> LocalActor:
        return LocalActor(self.local, plan)


class LocalActor:
    def __init__(self, local: LocalRay, plan: Any):
        self.local, self.plan = local, plan
        self.start()

    def start(self) -> None:
        from okl.ray._workers import Worker

        self.worker = Worker(self.plan)

    def __getattr__(self, method: str) -> Any:
        return type("Method", (), {"remote": staticmethod(lambda *given: self.call(method, given))})

    def call(self, method: str, given: tuple[Any, ...]) -> Callable[[], Any]:
        """What `ray.get` calls for the answer."""
        from ray.exceptions import ActorUnavailableError, GetTimeoutError, RayTaskError

        self.local.calls.append(method)
        fault, result, error = self.local.fault(method), None, None
        if fault != "before":
            try:
                result = getattr(self.worker, method)(*given)
            except Exception as found:
                error = RayTaskError(method, "", found)
        if fault in ("before", "after"):
            self.start()
            error = ActorUnavailableError("the worker died", None)
        elif fault == "silent":
            error = GetTimeoutError()

        def answer() -> Any:
            if error is not None:
                raise error
            return result

        return answer


@pytest.fixture
def local_ray(monkeypatch: pytest.MonkeyPatch) -> LocalRay:
    pytest.importorskip("ray")
    local = LocalRay()
    local.install(monkeypatch)
    return local
