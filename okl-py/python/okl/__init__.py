"""Online kernel learning: exact, one example at a time, in bounded memory.

`Learner` is the engine, on numpy arrays. `KernelClassifier`, `KernelRegressor` and `NoveltyDetector` are
scikit-learn estimators, `okl.river` has the same three for River, and `okl.plot` draws what a learner has learned.
These are imported when they are first asked for: `import okl` needs numpy only.

>>> import numpy as np, okl
>>> m = okl.Learner(loss="squared", kernel="gaussian", gamma=1.0, step="constant", eta=0.5, lam=1e-3)
>>> X = np.linspace(0.0, 6.0, 600).reshape(-1, 1)
>>> scores = m.learn(X, np.sin(X[:, 0]))  # every row is predicted before it is learned
>>> bool(np.abs(scores - np.sin(X[:, 0]))[100:].max() < 0.05)
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from okl._okl import AlertRate, Learner, __version__, load, terms_within

if TYPE_CHECKING:
    from okl import plot, river
    from okl.sklearn import KernelClassifier, KernelRegressor, NoveltyDetector

__all__ = [
    "AlertRate",
    "KernelClassifier",
    "KernelRegressor",
    "Learner",
    "NoveltyDetector",
    "__version__",
    "load",
    "plot",
    "river",
    "terms_within",
]

_MODULES = ("plot", "river", "sklearn")
_ESTIMATORS = ("KernelClassifier", "KernelRegressor", "NoveltyDetector")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"okl.{name}")
    if name in _ESTIMATORS:
        return getattr(import_module("okl.sklearn"), name)
    raise AttributeError(f"module 'okl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
