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
