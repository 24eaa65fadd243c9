"""The package itself: what importing it costs, its types, its documentation."""

from __future__ import annotations

import doctest
import inspect
import os
import re
import subprocess
import sys
import typing
from pathlib import Path

import numpy
import pytest

import okl
import okl._okl

PACKAGE = Path(okl.__file__).parent


def test_importing_needs_numpy_only() -> None:
    program = "import sys, okl; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.check_output([sys.executable, "-c", program], text=True).split()
    assert "okl" in loaded
    assert not {"pandas", "polars", "sklearn", "pyspark", "ray", "river", "scipy", "matplotlib"} & set(loaded)


def with_numpy_only(program: str, tmp_path: Path) -> str:
    """Runs a program in a process whose import finds nothing beside numpy."""
    folder = tmp_path / "packages"
    folder.mkdir()
    for package in (PACKAGE, Path(numpy.__file__).parent):
        (folder / package.name).symlink_to(package)
    for libraries in Path(numpy.__file__).parents[1].glob("numpy.libs"):
        (folder / libraries.name).symlink_to(libraries)
    command, paths = [sys.executable, "-S", "-c", program], {"PYTHONPATH": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, env=paths)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_star_import_and_help_need_numpy_only(tmp_path: Path) -> None:
    program = """
from okl import *
import okl, pydoc
assert Learner is okl.Learner and plot.History
assert not {"KernelClassifier", "ray", "river", "spark"} & {*okl.__all__, *dir(okl), *globals()}
text = pydoc.plain(pydoc.render_doc(okl))
assert "class Learner" in text, text
for name, package in ("KernelClassifier", "scikit-learn"), ("sklearn", "scikit-learn"), ("river", "River"), ("ray", "Ray"), ("spark", "pyspark"):
    try:
        getattr(okl, name)
    except ModuleNotFoundError as error:
        assert f"okl.{name} needs {package}, which is not installed: pip install" in str(error), error
    else:
        raise AssertionError(name)
try:
    from okl.sklearn import NoveltyDetector
except ModuleNotFoundError as error:
    assert "okl.sklearn needs scikit-learn, which is not installed: pip install" in str(error), error
else:
    raise AssertionError("okl.sklearn")
print("fine")
"""
    assert with_numpy_only(program, tmp_path) == "fine\n"


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
    assert str(inspect.signature(okl.load)) == "(path, *, kernel=None, objects=None)"


@pytest.mark.parametrize(
    "thing", [okl, okl._okl, *(getattr(okl.Learner, name) for name in public(okl.Learner))]
)
def test_examples_run(thing: object) -> None:
    """Members of an extension type are examined one by one: doctest does not find them on its own."""
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    name = getattr(thing, "__name__", str(thing))
    things = [okl.Learner, okl.AlertRate, okl.load, okl.terms_within] if thing is okl._okl else [thing]
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


def test_the_command_line_comes_with_the_package(tmp_path: Path) -> None:
    data = tmp_path / "rows.csv"
    data.write_text("x,label\n" + "".join(f"{i % 7},{'low' if i % 7 < 3 else 'high'}\n" for i in range(300)))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "okl", *arguments], capture_output=True, text=True, cwd=tmp_path
        )

    assert run("--version").stdout == f"okl {okl.__version__}\n"
    done = run("learn", "rows.csv", "--target", "label", "-o", "m.okl", "--report", "report.html", "--quiet")
    assert done.returncode == 0, done.stderr
    assert okl.load(tmp_path / "m.okl").examples > 290
    assert ">okl learn rows.csv" in (tmp_path / "report.html").read_text()
    assert run("predict", "m.okl", "rows.csv").stdout.count("\n") == 301
    wrong = run("learn", "nowhere.csv", "--target", "label")
    assert (wrong.returncode, "nowhere.csv" in wrong.stderr) == (1, True)
    assert run("lern").returncode == 2


def test_the_script_is_the_command_line() -> None:
    import tomllib

    from okl.__main__ import main

    scripts = tomllib.loads(Path(CONFIG).read_text())["project"]["scripts"]
    assert scripts == {"okl": f"{main.__module__}:{main.__name__}"}


def refusal(**setting: object) -> str:
    with pytest.raises((TypeError, ValueError)) as refused:
        okl.Learner(**setting)
    return str(refused.value)


def test_the_typed_settings_are_the_learners() -> None:
    from okl._settings import Settings

    typed = set(Settings.__annotations__)
    listed = refusal(colour=1).partition("there are ")[2].partition(" and the parameters")[0].split(", ")
    assert len(listed) > 15
    assert {"lam" if name == "lambda" else name for name in listed} <= typed
    assert not [name for name in typed if "no such setting" in refusal(**{name: "?"})]


NAMED = ("kernel", "loss", "step", "budget", "average", "threshold", "scale", "regulariser")


@pytest.mark.parametrize("setting", NAMED)
def test_the_typed_and_documented_names_are_the_learners(setting: str) -> None:
    """A name of the engine has its place in the types, unless it needs a table, and in the documentation."""
    from okl._settings import Settings

    listed = refusal(**{setting: "?"}).partition("choose one of ")[2]
    names = set(listed.replace("; in tables of settings and in programs also ", ", ").split(", "))
    kinds = typing.get_args(typing.get_type_hints(Settings)[setting])
    typed = {
        name for kind in kinds if typing.get_origin(kind) is typing.Literal for name in typing.get_args(kind)
    }
    assert names - {"scaled", "sum", "product", "fixed"} == typed
    if setting in ("threshold", "regulariser"):
        return  # The documentation names the help of the command line for these, which has all names.
    after = (okl.Learner.__doc__ or "").partition(f"\n    {setting}\n")[2]
    documented = re.split(r"\n {4}(?=\w)", after)[0]
    missing = [name for name in names - {"fixed"} if not re.search(rf"\b{name}\b", documented)]
    assert not missing, documented


def test_the_documentation_says_which_kernels_read_weights_of_columns() -> None:
    from okl._settings import Settings

    about = re.sub(r"\s+", " ", (okl.Learner.__doc__ or "").partition("\n    relevance\n")[2])
    kernels = about.partition("These kernels are ")[2].partition(";")[0].replace(" and ", ", ").split(", ")
    kinds = typing.get_args(typing.get_type_hints(Settings)["kernel"])
    typed = {n for kind in kinds if typing.get_origin(kind) is typing.Literal for n in typing.get_args(kind)}

    def weighs(kernel: str) -> bool:
        parameters = {"rational_quadratic": {"alpha": 1.0}}.get(kernel, {})
        try:
            okl.Learner(kernel=kernel, relevance=[2.0, 1.0], **parameters)
        except ValueError:
            return False
        return True

    assert set(kernels) == {kernel for kernel in typed - {"auto"} if weighs(kernel)}
    assert "the first two Gaussian ones, matern32 and manhattan" in about
    assert "the first two Gaussian kernels, matern32 and manhattan" in re.sub(
        r"\s+", " ", okl.Learner.config.__doc__ or ""
    )


@pytest.mark.parametrize("command", ["serve", "token"])
def test_the_package_has_the_server(command: str) -> None:
    done = subprocess.run([sys.executable, "-m", "okl", command, "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and f"Usage: okl {command}" in done.stdout, done.stderr
