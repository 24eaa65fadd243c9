"""The package itself: what importing it costs, its types, its documentation."""

from __future__ import annotations

import doctest
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import okl
import okl._okl

PACKAGE = Path(okl.__file__).parent


def test_importing_needs_numpy_only() -> None:
    program = "import sys, okl; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.check_output([sys.executable, "-c", program], text=True).split()
    assert "okl" in loaded
    assert not {"pandas", "polars", "sklearn", "river", "scipy", "matplotlib"} & set(loaded)


def test_what_is_there() -> None:
    assert set(okl.__all__) <= set(dir(okl))
    assert all(getattr(okl, name) is not None for name in okl.__all__)
    assert okl.KernelClassifier.__module__.startswith("okl")
    with pytest.raises(AttributeError, match="module 'okl' has no attribute 'colour'"):
        okl.colour  # noqa: B018
    assert {c.__module__ for c in (okl.Learner, okl.AlertRate)} == {"okl"}
    assert (PACKAGE / "py.typed").exists()


def public(cls: type) -> list[str]:
    return [name for name in vars(cls) if not name.startswith("_")]


def test_everything_public_is_documented() -> None:
    for cls in (okl.Learner, okl.AlertRate):
        assert inspect.getdoc(cls)
        for name in public(cls):
            assert inspect.getdoc(getattr(cls, name)), name
    methods = [
        getattr(okl.Learner, name) for name in public(okl.Learner) if callable(getattr(okl.Learner, name))
    ]
    for thing in (okl, okl.Learner, okl.AlertRate, okl.load, *methods):
        assert ">>>" in (inspect.getdoc(thing) or ""), thing


def test_signatures_read_well() -> None:
    assert str(inspect.signature(okl.Learner)) == "(config=None, **settings)"
    assert (
        str(inspect.signature(okl.Learner.learn))
        == "(self, /, X, y=None, *, weights=None, ids=None, known=None)"
    )
    assert str(inspect.signature(okl.load)) == "(path)"


@pytest.mark.parametrize(
    "thing", [okl, okl._okl, *(getattr(okl.Learner, name) for name in public(okl.Learner))]
)
def test_examples_run(thing: object) -> None:
    """Members of an extension type are examined one by one: doctest does not find them on its own."""
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    name = getattr(thing, "__name__", str(thing))
    things = [okl.Learner, okl.AlertRate, okl.load] if thing is okl._okl else [thing]
    for one in things:
        test = doctest.DocTestParser().get_doctest(inspect.getdoc(one) or "", {}, name, None, None)
        runner.run(test)
    assert runner.failures == 0


def mypy(tool: str, *arguments: str, away: Path) -> None:
    """Runs one of mypy's tools over the sources; from elsewhere, so that what is imported is what is tested."""
    sources = Path(__file__).parents[1] / "python"
    done = subprocess.run(
        [sys.executable, "-m", tool, *arguments],
        capture_output=True,
        text=True,
        cwd=away,
        env={**os.environ, "MYPYPATH": str(sources)},
    )
    assert done.returncode == 0, done.stdout + done.stderr


CONFIG = str(Path(__file__).parents[2] / "pyproject.toml")


def test_stubs_match_the_module(tmp_path: Path) -> None:
    mypy("mypy.stubtest", "--mypy-config-file", CONFIG, "okl._okl", away=tmp_path)


def test_types_are_strict(tmp_path: Path) -> None:
    mypy("mypy", "--config-file", CONFIG, away=tmp_path)
