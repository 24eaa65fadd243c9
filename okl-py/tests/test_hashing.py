"""Hashed features: Python and the command line agree on the column of a name."""

import subprocess
import sys

import pytest

import okl
from okl._okl import xxh3_64


def test_the_command_line_has_the_same_columns(tmp_path):
    rows, model = tmp_path / "t.vw", tmp_path / "m.okl"
    rows.write_text("1 |ns good:2 bad\n-1 | bad\n" * 4)
    learn = [
        "learn",
        rows,
        "--hash-bits",
        "6",
        "--kernel",
        "linear",
        "--loss",
        "hinge",
        "--scale",
        "none",
        "-o",
        model,
    ]
    learn += ["--step", "constant:0.5", "--lambda", "0.001"]
    subprocess.run(
        [sys.executable, "-m", "okl", *map(str, learn), "--task", "classes", "--quiet"], check=True
    )
    names = [("ns", "good"), ("ns", "bad"), ("", "bad")]
    columns = {okl.hash_feature(namespace, name, 6) for namespace, name in names}
    weights = okl.load(model).weights.ravel()
    assert {i for i, w in enumerate(weights) if w != 0} == columns


def test_bits_are_checked():
    assert okl.hash_feature("ä", "b", 28) == xxh3_64("ä\0b".encode()) % 2**28
    assert okl.hash_feature("a", "b", 28) % 2**10 == okl.hash_feature("a", "b", 10)
    for bits in (0, 29):
        with pytest.raises(ValueError, match="from 1 to 28"):
            okl.hash_feature("a", "b", bits)


def test_river_estimators_hash_names_as_the_command_line_does(tmp_path):
    pytest.importorskip("river")
    import pickle
    import random

    rng = random.Random(3)
    # 40 names in 32 columns: some share a column, and most are absent from a row.
    rows = [{f"f{rng.randrange(40)}": rng.randrange(1, 9) / 4 for _ in range(6)} for _ in range(60)]
    targets = [sum(row.values()) - 6 for row in rows]
    data, model = tmp_path / "t.vw", tmp_path / "m.okl"
    words = [" ".join(f"{name}:{value}" for name, value in row.items()) for row in rows]
    data.write_text("".join(f"{y} | {text}\n" for y, text in zip(targets, words, strict=True)))
    settings = {
        "loss": "squared",
        "kernel": "linear",
        "form": "weights",
        "scale": "none",
        "step": "constant:0.05",
    }
    flags = [word for key, value in settings.items() for word in (f"--{key}", value)]
    learn = [
        "learn",
        data,
        "--task",
        "numbers",
        "--hash-bits",
        "5",
        "--lambda",
        "0.001",
        *flags,
    ]
    subprocess.run([sys.executable, "-m", "okl", *map(str, learn), "--quiet", "-o", str(model)], check=True)
    theirs = okl.load(model)
    one_by_one = okl.river.KernelRegressor(hash_bits=5, lam=0.001, offset=theirs.config["offset"], **settings)
    for row, y in zip(rows, targets, strict=True):
        one_by_one.learn_one(row, y)
        one_by_one = pickle.loads(pickle.dumps(one_by_one))
    assert one_by_one.learner.features == 32 and one_by_one.feature_names == []
    assert one_by_one.learner.weights.tolist() == theirs.weights.tolist()
    import pandas as pd

    many = okl.river.KernelRegressor(hash_bits=5, lam=0.001, offset=theirs.config["offset"], **settings)
    many.learn_many(pd.DataFrame(rows).fillna(0.0), pd.Series(targets))
    assert many.predict_one(rows[0]) == pytest.approx(one_by_one.predict_one(rows[0]))
    for wrong in (
        {"hash_bits": 29},
        {"hash_bits": 0},
        {"hash_bits": 1.5},
        {"hash_bits": 5, "missing": "mean"},
    ):
        with pytest.raises((ValueError, OverflowError)):
            okl.river.KernelRegressor(**wrong)
    with pytest.raises(TypeError, match="feature 'a': found 'x'"):
        many.learn_one({"a": "x"}, 1.0)
