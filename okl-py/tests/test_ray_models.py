"""`okl.ray` on a real cluster of two nodes: `ShardedLearner` with shards that are killed, `score`, `sweep`, and the page about clusters."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import okl

ray = pytest.importorskip("ray")
pytest.importorskip("ray.data")

LONG = pytest.mark.skipif(
    int(os.environ.get("OKL_WORKER_KILLS", "2")) < 50, reason="a longer variant, which `make cluster` runs"
)


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


def test_scores_are_those_of_one_machine(clusters: Any, tmp_path: Path) -> None:
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
    with pytest.raises(TypeError, match="prefix: found None, expected text"):
        scored(learner, X, features=["a", "b"], prefix=None)
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


def test_a_sweep_has_the_figures_of_a_loop(clusters: Any) -> None:
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


def test_a_sweep_shows_its_progress_on_a_terminal(clusters: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows(200)
    for progress in (True, False):
        shown = Terminal()
        with monkeypatch.context() as changed:
            changed.setattr(sys, "stderr", shown)
            found = okl.ray.sweep(CONFIGS[:2], X, y, num_cpus=0.5, progress=progress)
        last = f"\rsweep, 200 rows: 2 of 2 settings, lowest error {found['error'].min():.6g} \n"
        assert shown.getvalue().endswith(last) if progress else not shown.getvalue()


def test_a_sweep_of_numbers_and_what_is_refused(clusters: Any) -> None:
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
        ([config], {"halving": 1}, "halving: found 1, expected a whole number from 2 on"),
        ([config], {"halving": 2, "first_rows": 0}, "first_rows: found 0, expected a whole number from 1 on"),
    ):
        with pytest.raises(ValueError, match=words):
            okl.ray.sweep(configs, X, y, **options)
    hidden = np.arange(200) == 7
    with pytest.raises(ValueError, match="X has masked values, the first in row 7, column 0"):
        okl.ray.sweep([config], np.ma.array(X, mask=np.stack([hidden, hidden], 1)), y)
    with pytest.raises(ValueError, match="y has masked values, the first in row 7: fill"):
        okl.ray.sweep([config], X, np.ma.array(y, mask=hidden))
    with pytest.raises(TypeError, match="metric: found 'mae', expected a function"):
        okl.ray.sweep([config], X, y, metric="mae")
    with pytest.raises(TypeError, match="dataset: found dict, expected a Ray dataset"):
        okl.ray.score({"a": X[:, 0]}, okl.Learner(config))


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
        pytest.param({"budget": "window:5000"}, [0, 5500, 7200, 9500], marks=LONG),
        ({"budget": "age:6000", "loss": "epsilon:0.03"}, [0, 7000, 9000, 11000]),
        pytest.param({"budget": "olok:0.45", "step": "inverse_sqrt:1"}, [0, 4000, 6000, 8000], marks=LONG),
    ],
    ids=["unlimited", "window", "age", "olok"],
)
def test_shards_are_killed(
    clusters: Any,
    tmp_path: Path,
    record_kills: Callable[..., None],
    changes: dict[str, str],
    cut: list[int],
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
    models = [
        {"one": hashlib.sha256(data).hexdigest()}
        for data in ((tmp_path / "m.okl").read_bytes(), alone.to_bytes())
    ]
    record_kills("2 shards", list(range(cut[-1])), list(range(learner.examples)), *models)
    assert not list((tmp_path / "terms").iterdir())


def test_what_cannot_be_sharded_is_refused(
    clusters: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
        # It has no setting `missing`: the error must not advise it.
        unset, advice = (
            [[1.0], [np.nan]],
            "row 1, column 0: found NaN, expected a finite number; fill it in first, or",
        )
        for refused in (lambda: learner.learn(unset, [1.0, 1.0]), lambda: learner.predict(unset)):
            with pytest.raises(ValueError, match=advice):
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


def test_the_page_does_what_it_says(clusters: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for code, expected in BLOCK.findall(PAGE.read_text()):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(PAGE), "exec"), names)
        assert printed.getvalue() == expected, code
