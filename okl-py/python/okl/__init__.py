"""Online kernel learning: one example at a time, in bounded memory.

Results do not depend on the batch size, to the last bit.

`Learner` is the engine, on numpy arrays. `KernelClassifier`, `KernelRegressor` and `NoveltyDetector` are
scikit-learn estimators, `okl.river` has the same three for River, `okl.plot` draws the progress of a learner and
its predictions, and `Client` talks to a server (`okl serve`). These are imported on first use: `import okl` needs numpy only.

>>> import numpy as np, okl
>>> m = okl.Learner(loss="squared", kernel="gaussian", gamma=1.0, step="constant", eta=0.5, lam=1e-3)
>>> X = np.linspace(0.0, 6.0, 600).reshape(-1, 1)
>>> scores = m.learn(X, np.sin(X[:, 0]))  # every row is predicted before it is learned
>>> bool(np.abs(scores - np.sin(X[:, 0]))[100:].max() < 0.05)
True
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from okl._okl import AlertRate, Learner, __version__, hash_feature, load, terms_within

if TYPE_CHECKING:
    from okl import plot, ray, river, spark
    from okl._average import Average, average
    from okl._client import Client, Prediction, ServerError
    from okl.sklearn import KernelClassifier, KernelRegressor, NoveltyDetector


class HealthWarning(UserWarning):
    """Issued when input was not used exactly as given (clipped values, skipped steps, reassigned ids, ...).

    `Learner.health` has the counts.
    """


__all__ = [
    "AlertRate",
    "Average",
    "Client",
    "HealthWarning",
    "KernelClassifier",
    "KernelRegressor",
    "Learner",
    "NoveltyDetector",
    "Prediction",
    "ServerError",
    "__version__",
    "average",
    "hash_feature",
    "load",
    "plot",
    "ray",
    "river",
    "spark",
    "terms_within",
]

_NEEDS = {
    "KernelClassifier": "sklearn",
    "KernelRegressor": "sklearn",
    "NoveltyDetector": "sklearn",
    "sklearn": "sklearn",
    "river": "river",
    "ray": "ray",
    "spark": "pyspark",
    "plot": "",
    "Client": "",
    "Prediction": "",
    "ServerError": "",
    "Average": "",
    "average": "",
}
"""The names that are imported on first use, and the package that each needs besides numpy."""

_PACKAGES = {"sklearn": "scikit-learn", "river": "River", "ray": "Ray", "pyspark": "pyspark"}
_EXTRAS = {"pyspark": "spark"}
_PLACES = {
    **dict.fromkeys(("Client", "Prediction", "ServerError"), "okl._client"),
    **dict.fromkeys(("Average", "average"), "okl._average"),
}

# `from okl import *` and `help(okl)` list only names that can be imported on this machine.
for _name, _package in _NEEDS.items():
    if _package and _name in __all__ and find_spec(_package) is None:
        __all__.remove(_name)


def __getattr__(name: str) -> Any:
    if name not in _NEEDS:
        raise AttributeError(f"module 'okl' has no attribute {name!r}")
    is_module = name in ("plot", "ray", "river", "sklearn", "spark")
    place = _PLACES.get(name, "okl.sklearn")
    try:
        return import_module(f"okl.{name}") if is_module else getattr(import_module(place), name)
    except ModuleNotFoundError as error:
        package = _NEEDS[name]
        if not package or find_spec(package) is not None:
            raise
        raise ModuleNotFoundError(
            f"okl.{name} needs {_PACKAGES[package]}, which is not installed: pip install 'okl[{_EXTRAS.get(package, package)}]'",
            name=error.name,
        ) from error


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})
