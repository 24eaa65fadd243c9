"""Model files: the same for Python and the command line, written whole or not at all."""

from __future__ import annotations

import json
import pickle
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
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


@pytest.mark.parametrize("names", [(3, 5), (0, 1), (1, 2)])
def test_classes_that_are_numbers_in_a_file_are_numbers_in_python(
    names: tuple[int, int], command_line: list[str], rng: np.random.Generator, tmp_path: Path
) -> None:
    """Of a loss of two classes, whose numbers are otherwise -1 and +1."""
    X = rng.normal(size=(300, 2))
    y = np.where(X[:, 0] > 0, *names)
    write_csv(tmp_path / "first.csv", X[:200], y[:200].astype(str))
    flags = ["--loss", "hinge", "--kernel", "gaussian:1", "--step", "constant:0.5", "--lambda", "0.001"]
    learn = ["--target", "label", *flags, "-o", tmp_path / "m.okl", "--quiet"]
    run(command_line, "learn", tmp_path / "first.csv", *learn)
    known = okl.Learner(okl.load(tmp_path / "m.okl").config, classes=sorted(names))
    known.learn(X[:200], y[:200])
    for later in (y[200:], y[200:].astype(float), y[200:].tolist()):
        m = okl.load(tmp_path / "m.okl")
        assert sorted(m.classes) == sorted(names) and m.positive_class == max(names)
        m.learn(X[200:], later)
        assert m.examples == 300
    known.learn(X[200:], y[200:])
    assert m.predict(X).tobytes() == known.predict(X).tobytes()
    with pytest.raises(
        ValueError,
        match=r"row 0: target 9, expected one of two classes \(.*\); use max_margin or softmax for more$",
    ):
        m.learn(X[:1], [9])


def test_names_of_features_are_in_the_file(command_line: list[str], rings: Any, tmp_path: Path) -> None:
    """In both directions: frames are checked against a file of the command line, which finds the columns of Python by name."""
    pandas = pytest.importorskip("pandas")
    X, y = rings
    frame = pandas.DataFrame(X, columns=["x0", "x1", "x2"])
    run(
        command_line,
        "learn",
        tmp_path / "first.csv",
        "--target",
        "label",
        *FLAGS,
        "-o",
        tmp_path / "m.okl",
        "--quiet",
    )
    m = okl.load(tmp_path / "m.okl")
    assert m.feature_names == okl.Learner.from_bytes(m.to_bytes()).feature_names == ["x0", "x1", "x2"]
    with pytest.raises(ValueError, match="column 0 of X is 'x2', but it was 'x0' in the rows before"):
        m.predict(frame[["x2", "x1", "x0"]])

    twin = okl.Learner(SETTINGS, lam=1e-3)
    twin.learn(frame[:400].rename(columns={"x0": "p", "x1": "q", "x2": "r"}), y[:400])
    before = twin.to_bytes()
    twin.save(tmp_path / "p.okl")
    assert twin.to_bytes() == before and okl.load(tmp_path / "p.okl").feature_names == ["p", "q", "r"]
    (tmp_path / "turned.csv").write_text(
        "r,p,q,label\n" + "".join(f"{c!r},{a!r},{b!r},{name}\n" for (a, b, c), name in zip(X.tolist(), y))
    )
    scores = predicted(command_line, tmp_path / "p.okl", tmp_path / "turned.csv")
    assert scores.tobytes() == twin.predict(X).tobytes()
    learn = [
        "learn",
        "--resume",
        tmp_path / "p.okl",
        tmp_path / "turned.csv",
        "-o",
        tmp_path / "n.okl",
        "--quiet",
    ]
    run(command_line, *learn, "--target", "label")
    twin.learn(X, y)
    n = okl.load(tmp_path / "n.okl")
    assert n.feature_names == ["p", "q", "r"] and n.predict(X).tobytes() == twin.predict(X).tobytes()
    for flags, said in [
        (["--target", "q"], "--target q: this column is a feature of the model"),
        (["--continue"], "has no position"),
    ]:
        done = subprocess.run([*command_line, *map(str, learn), *flags], capture_output=True, text=True)
        assert done.returncode != 0 and said in done.stderr


@pytest.mark.parametrize("missing", [None, "mean", "zero+indicator"])
def test_bytes_are_the_same_for_a_learner_that_was_loaded(missing: str | None, tmp_path: Path) -> None:
    """The names of the columns are in files and pickles, not in the bytes: a learner that was saved in between has the same bytes."""
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(1).normal(size=(400, 3))
    X[::7, 1] = np.nan if missing else 0.0
    frame, y = pandas.DataFrame(X, columns=["2", "b", "1"]), X[:, 0] * X[:, 2]
    once, again = okl.Learner(loss="squared", missing=missing), okl.Learner(loss="squared", missing=missing)
    once.learn(frame, y)
    for first in (0, 200):
        again.learn(frame[first : first + 200], y[first : first + 200])
        again.save(tmp_path / "m.okl")
        file = (tmp_path / "m.okl").read_bytes()
        again = okl.load(tmp_path / "m.okl")
        assert again.feature_names == ["2", "b", "1"]
        again.save(tmp_path / "m.okl")
        assert (tmp_path / "m.okl").read_bytes() == file
    assert again.to_bytes() == once.to_bytes() == pickle.loads(pickle.dumps(again)).to_bytes()
    assert okl.Learner.from_bytes(again.to_bytes()).feature_names is None
    assert again.predict(frame).tobytes() == once.predict(frame).tobytes()


def test_names_that_cannot_be_in_a_file_are_left_out(tmp_path: Path) -> None:
    m = okl.Learner(loss="squared", kernel="gaussian:1")
    m.learn([[1.0, 2.0]], [1.0])
    for names in (["a", "a"], ["a", ""]):
        m.feature_names = names
        with pytest.warns(UserWarning, match="has no names of the features, because one is empty or occurs"):
            m.save(tmp_path / "m.okl")
        assert (tmp_path / "m.okl").read_bytes() == m.to_bytes()
    m.feature_names = ["a", "b"]
    m.save(tmp_path / "m.okl")
    again = okl.load(tmp_path / "m.okl")
    again.feature_names = ["b", "c"]
    again.save(tmp_path / "m.okl")
    assert okl.load(tmp_path / "m.okl").feature_names == ["b", "c"]


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_the_command_line_knows_the_classes_of_signs(
    loss: str, command_line: list[str], rng: np.random.Generator, tmp_path: Path
) -> None:
    X = rng.normal(size=(300, 2))
    y = np.sign(X[:, 0]).astype(int)
    m = okl.Learner(loss=loss, gamma=1.0)
    m.learn(X, y)
    m.save(tmp_path / "m.okl")
    write_csv(tmp_path / "rows.csv", X, y.astype(str))
    head, *lines = run(
        command_line, "predict", tmp_path / "m.okl", tmp_path / "rows.csv", "--ignore", "label"
    ).splitlines()
    assert head == "line,class,score,positive"
    said = np.array([line.split(",") for line in lines])
    scores = m.predict(X)
    assert said[:, 1].astype(int).tolist() == np.where(scores > 0, 1, -1).tolist()
    assert set(said[:, 3]) == {"1"}
    figures = run(
        command_line, "evaluate", tmp_path / "m.okl", tmp_path / "rows.csv", "--target", "label", "--json"
    )
    errors = np.mean(np.where(scores > 0, 1, -1) != y)
    assert json.loads(figures)["warnings"] == []
    assert json.loads(figures)["summary"]["error"] == pytest.approx(errors)


def test_a_table_of_a_frame_without_names_has_a_header(
    rng: np.random.Generator, tmp_path: Path, command_line: list[str]
) -> None:
    """pandas writes 0, 1, 2, ... above columns without names: that line is not scored."""
    X = rng.normal(size=(60, 3))
    m = okl.Learner(loss="squared")
    m.learn(X, X[:, 0] * X[:, 1])
    m.save(tmp_path / "m.okl")
    pd.DataFrame(X).to_csv(tmp_path / "t.csv", index=False)
    words = [*command_line, "predict", tmp_path / "m.okl", tmp_path / "t.csv"]
    said = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "was taken for the header" in " ".join(said.stderr.split())
    scores = [float(line.split(",")[1]) for line in said.stdout.split()[1:]]
    assert scores == m.predict(X).tolist()
