"""The documentation and the types of settings have every name of the engine's table of settings."""

from __future__ import annotations

import inspect
import re
import typing

import pytest

import okl
from okl._okl import families
from okl._settings import Settings

FAMILIES = families()
NESTED = {"scaled", "sum", "product", "fixed"}
"""Names that need a dict: the types have them as a mapping."""


def entry(documented: object, setting: str) -> str:
    """The text of a setting in a docstring: the lines below its name that are indented further."""
    found = re.search(
        rf"^( *){setting}\n((?:\1 +.*\n)+)", (inspect.getdoc(documented) or "") + "\n", re.MULTILINE
    )
    assert found, f"{documented} does not document {setting}"
    return found[2]


def missing(names: typing.Iterable[str], text: str) -> list[str]:
    return [name for name in names if not re.search(rf"\b{name}\b", text)]


def literals(hint: object) -> set[str]:
    if typing.get_origin(hint) is typing.Literal:
        return set(typing.get_args(hint))
    return set().union(*(literals(part) for part in typing.get_args(hint)))


@pytest.mark.parametrize("setting", FAMILIES)
def test_the_learner_documents_every_name_and_parameter(setting: str) -> None:
    text = entry(okl.Learner, setting)
    assert missing(FAMILIES[setting], text) == []
    assert missing({p for parameters in FAMILIES[setting].values() for p in parameters}, text) == []


def test_types_have_every_name_and_parameter() -> None:
    hints = typing.get_type_hints(Settings)
    for setting, names in FAMILIES.items():
        assert literals(hints[setting]) == names.keys() - NESTED
        for name in names.keys() - NESTED:
            assert set(names[name]) <= hints.keys()


def test_river_estimators_document_every_name() -> None:
    pytest.importorskip("river")
    river = (okl.river.KernelClassifier, okl.river.KernelRegressor, okl.river.NoveltyDetector)
    assert missing(FAMILIES["loss"], "".join(entry(cls, "loss") for cls in river)) == []
    assert missing(FAMILIES["threshold"], entry(okl.river.NoveltyDetector, "threshold")) == []
    classifier = okl.river.KernelClassifier
    for cls in river:
        # Only the perceptron has this budget: other estimators refuse it, so they do not offer it.
        refused = set() if cls is classifier else {"forgetron"}
        assert missing(FAMILIES["budget"].keys() - refused, entry(cls, "budget")) == []
        assert missing({"forgetron"}, entry(cls, "budget")) == sorted(refused)
    plain = {"kernel": "gaussian:1", "step": "constant:1", "lam": 0.0, "budget": "forgetron", "terms": 9}
    classifier(loss="perceptron", **plain).learn_one({"a": 1.0}, True)
    for cls, y in ((okl.river.KernelRegressor, [1.0]), (okl.river.NoveltyDetector, [])):
        with pytest.raises(ValueError, match="budget: the Forgetron is a perceptron"):
            cls(**plain).learn_one({"a": 1.0}, *y)
    for cls in river[:2]:
        for setting in ("kernel", "step", "average", "scale"):
            # River's rows are numbers, so these estimators refuse precomputed values.
            assert missing(FAMILIES[setting].keys() - NESTED - {"precomputed"}, entry(cls, setting)) == []


def test_scikit_learn_estimators_take_every_name() -> None:
    pytest.importorskip("sklearn")
    from okl._sklearn import classifier, regressor, words

    losses = {of.LOSSES.get(name, name) for of in (classifier, regressor) for name in of.LOSS_NAMES}
    assert losses == FAMILIES["loss"].keys() - {"novelty", "nu_novelty", "density"}
    for parameter, setting in words.SETTINGS.items():
        for name in FAMILIES[setting]:
            assert words.named(parameter, name, ()) == name


def test_no_text_of_a_parameter_is_written_twice() -> None:
    """Docstrings of several estimators share their texts through `okl._docs`."""
    from pathlib import Path

    seen: dict[str, str] = {}
    package = Path(okl.__file__).parent
    for file in [package / "_docs.py", *package.glob("_sklearn/*.py"), *package.glob("river/*.py")]:
        source = file.read_text()
        docs = (
            source
            if file.name == "_docs.py"
            else "".join(re.findall(r'^    """.*?^    """', source, re.M | re.S))
        )
        for line in re.findall(r"^ {8}\S.{70,}$", docs, re.M):
            assert line not in seen, f"{file.name} and {seen[line]}: {line}"
            seen[line] = file.name
    assert len(seen) > 50
