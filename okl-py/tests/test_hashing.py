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


def test_a_river_model_and_the_command_line_continue_each_other(tmp_path):
    pytest.importorskip("river")
    import random

    rng = random.Random(4)
    rows = [{name: rng.randrange(-8, 9) / 4 for name in "abc"} for _ in range(40)]
    targets = [row["a"] - row["b"] / 2 for row in rows]

    def write(name, rows, targets=None):
        lines = [
            ",".join([*map(str, row.values()), *([] if targets is None else [str(targets[i])])])
            for i, row in enumerate(rows)
        ]
        (tmp_path / name).write_text(
            "a,b,c" + ("" if targets is None else ",y") + "\n" + "\n".join(lines) + "\n"
        )
        return tmp_path / name

    def run(*words):
        return subprocess.run([sys.executable, "-m", "okl", *map(str, words)], capture_output=True, text=True)

    def predicted(done):
        header, *lines = done.stdout.split()
        return [float(line.split(",")[header.split(",").index("score")]) for line in lines]

    settings = {
        "loss": "squared",
        "kernel": "linear",
        "form": "weights",
        "scale": "none",
        "step": "constant:0.05",
    }
    model = okl.river.KernelRegressor(hash_bits=4, lam=0.001, **settings)
    for row, y in zip(rows[:20], targets[:20], strict=True):
        model.learn_one(row, y)
    saved, then = tmp_path / "r.okl", tmp_path / "z.okl"
    model.learner.save(saved)
    assert '"hash_bits": 4' in run("inspect", saved, "--json").stdout
    assert "hashed to 2^4 columns" in run("inspect", saved).stdout
    done = run("predict", saved, write("ask.csv", rows[20:]))
    assert predicted(done) == [model.predict_one(row) for row in rows[20:]]
    assert "every column is a feature" in done.stderr  # a column of targets would be one
    more = write("more.csv", rows[20:], targets[20:])
    assert predicted(run("predict", saved, more, "--ignore", "y")) == predicted(done)
    # Another number of bits, and hashing for a model of plain columns, are refused.
    plain = okl.Learner(**settings, lam=0.001)
    plain.learn([[1.0] * 8, [2.0] * 8], [1.0, 2.0])
    plain.save(tmp_path / "plain.okl")
    resume = ["learn", more, "--target", "y", "--quiet", "-o", then, "--resume"]
    for file, bits, had in (
        (saved, 5, "with --hash-bits 4"),
        (tmp_path / "plain.okl", 3, "without --hash-bits"),
    ):
        refused = run(*resume, file, "--hash-bits", bits)
        assert (
            refused.returncode == 2 and f"--hash-bits {bits}: the model was trained {had}" in refused.stderr
        )
    # The command line goes on, and River goes on with its file.
    words = [" ".join(f"{name}:{value}" for name, value in row.items()) for row in rows[20:30]]
    (tmp_path / "half.vw").write_text(
        "".join(f"{y} | {text}\n" for y, text in zip(targets[20:30], words, strict=True))
    )
    done = run("learn", tmp_path / "half.vw", "--quiet", "--resume", saved, "--hash-bits", 4, "-o", then)
    assert done.returncode == 0, done.stderr
    again = okl.river.KernelRegressor(hash_bits=4, lam=0.001, **settings)
    again.learner = okl.load(then)
    for row, y in zip(rows[20:], targets[20:], strict=True):
        model.learn_one(row, y)
    for row, y in zip(rows[30:], targets[30:], strict=True):
        again.learn_one(row, y)
    assert again.learner.weights.tolist() == model.learner.weights.tolist()
    assert run(*resume, saved).returncode == 0  # the table in place of the text
    assert okl.load(then).weights.tolist() == model.learner.weights.tolist()


def test_advice_about_missing_values_can_be_followed():
    pytest.importorskip("river")
    import pandas as pd

    model = okl.river.KernelRegressor(hash_bits=4)
    for learn in (
        lambda: model.learn_one({"a": float("nan")}, 1.0),
        lambda: model.learn_many(pd.DataFrame({"a": [float("nan")]}), pd.Series([1.0])),
        lambda: model.learn_one({"a": None}, 1.0),
    ):
        with pytest.raises((TypeError, ValueError), match="leave the feature out") as refused:
            learn()
        assert "missing=" not in str(refused.value)
