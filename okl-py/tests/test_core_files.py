"""Model files: the same for Python and the command line, written whole or not at all."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import okl


def test_save_and_load(regressor: okl.Learner, tmp_path: Path, rng: np.random.Generator) -> None:
    X = rng.normal(size=(60, 2))
    regressor.learn(X, X[:, 0])
    for path in (tmp_path / "model.okl", str(tmp_path / "another.okl"), tmp_path / "ünïcode model.okl"):
        regressor.save(path)
        loaded = okl.load(path)
        assert Path(path).read_bytes() == regressor.to_bytes() == loaded.to_bytes()
        assert loaded.learn(X, X[:, 1]).tobytes() == okl.load(path).learn(X, X[:, 1]).tobytes()
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".okl"] * 3


def test_an_old_file_is_replaced_as_a_whole(regressor: okl.Learner, tmp_path: Path) -> None:
    path = tmp_path / "model.okl"
    path.write_bytes(b"x" * 100_000)
    regressor.save(path)
    assert okl.load(path).to_bytes() == regressor.to_bytes()


def test_threads_save_to_one_path(regressor: okl.Learner, tmp_path: Path) -> None:
    other, path = okl.Learner(loss="hinge", kernel="linear"), tmp_path / "model.okl"

    def save(m: okl.Learner) -> None:
        for _ in range(50):
            m.save(path)
            assert okl.load(path).to_bytes() in (regressor.to_bytes(), other.to_bytes())

    with ThreadPoolExecutor() as pool:
        list(pool.map(save, [regressor, other]))
    assert [p.name for p in tmp_path.iterdir()] == ["model.okl"]


def test_files_that_cannot_be(regressor: okl.Learner, tmp_path: Path) -> None:
    missing = tmp_path / "missing" / "model.okl"
    with pytest.raises(FileNotFoundError) as error:
        okl.load(missing)
    assert error.value.filename == str(missing)
    with pytest.raises(FileNotFoundError):
        regressor.save(missing)
    with pytest.raises(IsADirectoryError):
        okl.load(tmp_path)
    with pytest.raises(OSError):
        regressor.save(tmp_path)
    assert list(tmp_path.iterdir()) == []
    for path in (3, None, b"\0", "a\0b"):
        with pytest.raises((TypeError, ValueError)):
            okl.load(path)
        with pytest.raises((TypeError, ValueError)):
            regressor.save(path)


def test_bytes_that_are_no_model(regressor: okl.Learner, tmp_path: Path) -> None:
    good = regressor.to_bytes()
    flipped = bytearray(good)
    flipped[-1] ^= 1
    for bad in (b"", b"not a model", good[:-1], bytes(flipped), good + b"x"):
        with pytest.raises(ValueError, match="model file"):
            okl.Learner.from_bytes(bad)
        (tmp_path / "bad.okl").write_bytes(bad)
        with pytest.raises(ValueError, match="bad.okl: model file"):
            okl.load(tmp_path / "bad.okl")
    with pytest.raises(TypeError):
        okl.Learner.from_bytes("text")


def run(command_line: list[str], *arguments: Any) -> str:
    done = subprocess.run([*command_line, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write_csv(path: Path, X: np.ndarray, y: np.ndarray | None = None) -> None:
    table = [[f"x{i}" for i in range(X.shape[1])], *([repr(v) for v in row] for row in X.tolist())]
    if y is not None:
        table = [[*row, label] for row, label in zip(table, ["label", *y.tolist()])]
    path.write_text("".join(",".join(row) + "\n" for row in table))


@pytest.fixture
def rings(rng: np.random.Generator, tmp_path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Two files of one stream, and the stream."""
    X = rng.normal(size=(600, 3))
    y = np.where((X**2).sum(axis=1) > 2.0, "outer", "inner")
    write_csv(tmp_path / "first.csv", X[:400], y[:400])
    write_csv(tmp_path / "second.csv", X[400:], y[400:])
    return X, y


SETTINGS = {
    "loss": "max_margin",
    "kernel": "gaussian:0.5",
    "step": "decay:eta=1,tau=100",
    "budget": "merge:60",
    "scale": "none",
}
FLAGS = [part for name, value in SETTINGS.items() for part in (f"--{name}", value)] + ["--lambda", "0.001"]


def predicted(command_line: list[str], model: Path, rows: Path) -> np.ndarray:
    """The scores that the command line has for the rows of a file."""
    scores = rows.with_suffix(".jsonl")
    run(command_line, "predict", model, rows, "-o", scores)
    return np.array([json.loads(line)["scores"] for line in scores.read_text().splitlines()])


def test_python_goes_on_where_the_command_line_stopped(
    command_line: list[str], rings: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    X, y = rings
    model = tmp_path / "m.okl"
    run(command_line, "learn", tmp_path / "first.csv", "--target", "label", *FLAGS, "-o", model, "--quiet")
    m = okl.load(model)
    twin = okl.Learner(m.config)
    twin.learn(X[:400], y[:400])
    assert m.examples == twin.examples and m.classes == twin.classes
    assert m.learn(X[400:], y[400:]).tobytes() == twin.learn(X[400:], y[400:]).tobytes()
    assert m.coefficients.tobytes() == twin.coefficients.tobytes()
    scores = predicted(command_line, model, tmp_path / "second.csv")
    assert scores.tobytes() == okl.load(model).predict(X[400:]).tobytes()


def test_the_command_line_goes_on_where_python_stopped(
    command_line: list[str], rings: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    X, y = rings
    m = okl.Learner(SETTINGS, lam=1e-3)
    m.learn(X[:400], y[:400])
    m.save(tmp_path / "m.okl")
    second = tmp_path / "second.csv"
    write_csv(tmp_path / "rows.csv", X[400:])
    scores = predicted(command_line, tmp_path / "m.okl", tmp_path / "rows.csv")
    assert scores.tobytes() == m.predict(X[400:]).tobytes()
    run(
        command_line,
        "learn",
        "--resume",
        tmp_path / "m.okl",
        second,
        "--target",
        "label",
        "-o",
        tmp_path / "n.okl",
        "--quiet",
    )
    m.learn(X[400:], y[400:])
    n = okl.load(tmp_path / "n.okl")
    assert (n.examples, n.terms, n.classes, n.config) == (m.examples, m.terms, m.classes, m.config)
    assert n.coefficients.tobytes() == m.coefficients.tobytes()
    assert n.predict(X).tobytes() == m.predict(X).tobytes()


def test_the_position_of_a_stream_survives_python(
    command_line: list[str], rings: Any, tmp_path: Path
) -> None:
    """What the command line notes in a model about its stream is still there after Python has saved it."""
    model, learn = tmp_path / "m.okl", ["--target", "label", *FLAGS, "--quiet"]
    run(command_line, "learn", tmp_path / "first.csv", *learn, "-o", model)
    okl.load(model).save(tmp_path / "n.okl")
    assert (tmp_path / "n.okl").read_bytes() == model.read_bytes()
