"""Translates scikit-learn's names of kernels, losses, learning rates, budgets and averages to those of okl.

Other values are passed on unchanged: the engine reads its own names (``"window:500"``, ``"matern52:0.3"``,
``{"sum": ["linear", "gaussian:0.5"]}``) and rejects the rest with a reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy.sparse import issparse
from sklearn.utils import check_scalar

from okl._okl import families
from okl._own_kernel import refuse_own_kernel

Setting = str | dict[str, Any]

KERNELS = {"rbf": "gaussian", "poly": "polynomial", "laplacian": "exponential"}
"""okl's names of scikit-learn's kernels."""

OF_SQUARED_DISTANCE = ("gaussian", "rational_quadratic")
OF_DISTANCE = ("exponential", "matern32", "matern52")

LEARNING_RATES = {"invscaling": "inverse_sqrt", "optimal": "pegasos", "adaptive": "smd"}
"""okl's names of scikit-learn's learning rates."""

KERNEL_NAMES = (
    "rbf",
    "linear",
    "poly",
    "laplacian",
    "manhattan",
    "matern32",
    "matern52",
    "rational_quadratic",
)
RATE_NAMES = ("auto", "decay", "invscaling", "constant", "optimal", "normalised", "adaptive")
AVERAGE_NAMES = ("auto", "none", "uniform", "exponential")
SCALE_NAMES = ("auto", "standard", "log", "whiten", "none")
THRESHOLD_NAMES = ("tracker", "norma")
BUDGET_NAMES = (
    "unlimited", "window", "merge", "transfer", "forgetron", "age", "olok", "weight", "certified"
)  # fmt: skip

SETTINGS = {
    "kernel": "kernel",
    "learning_rate": "step",
    "budget": "budget",
    "average": "average",
    "scale": "scale",
    "threshold": "threshold",
}
"""Parameters that take every name of a setting of the engine. Which losses are possible depends on the estimator."""

ENGINE_NAMES = {parameter: tuple(families()[setting]) for parameter, setting in SETTINGS.items()}

ELSEWHERE = {
    "log": "log_loss",
    "logloss": "log_loss",
    "crossentropy": "log_loss",
    "mse": "squared_error",
    "l2": "squared_error",
    "mae": "absolute_error",
    "l1": "absolute_error",
    "sigmoid": "rbf",
    "cosine": "linear",
}
"""Names of other libraries, with the same or the most similar name here."""

TAKES_ETA = ("constant", "inverse_sqrt", "decay", "normalised", "smd")


def kernel(
    name: Any,
    gamma: Any,
    degree: Any,
    coef0: Any,
    rows: np.ndarray,
    standardised: bool,
    scale: Mapping[str, Any] | None = None,
) -> Setting:
    """The kernel of `name` and its parameters, for data that begin with `rows` and whose columns have this scale, if one is known."""
    name = named("kernel", name, KERNEL_NAMES)
    okl_name = okl_kernel(name)
    if okl_name == "polynomial":
        check_scalar(degree, "degree", Integral, min_val=1)
        check_scalar(coef0, "coef0", Real, min_val=0)
        if is_word(gamma, "median"):
            raise ValueError(
                "gamma='median' is for kernels of distance: with kernel='poly' give a number, 'auto' (1 / n_features) or 'scale'"
            )
        width = 1 / rows.shape[1] if is_word(gamma, "auto") else _gamma(gamma, rows, standardised, scale)
        return {okl_name: {"degree": int(degree), "gamma": width, "coef0": float(coef0)}}
    if okl_name in OF_SQUARED_DISTANCE:
        return {okl_name: {"gamma": _gamma(gamma, rows, standardised, scale)}}
    if okl_name in OF_DISTANCE:
        width = _gamma(gamma, rows, standardised, scale)
        return {okl_name: {"gamma": math.sqrt(width) if is_word(gamma, "scale") else width}}
    if okl_name == "manhattan":
        width = _gamma(gamma, rows, standardised, scale)
        # One over the number of columns times their deviation.
        return {okl_name: {"gamma": math.sqrt(width / rows.shape[1]) if is_word(gamma, "scale") else width}}
    return okl_name


def okl_kernel(name: Any) -> Any:
    """okl's name of a kernel; a description stays as it is."""
    return KERNELS.get(name, name) if isinstance(name, str) else name


def gives_kernel(learner_params: Any) -> bool:
    """Whether settings of the engine name the kernel or its width; an operator can have kernels of its own."""
    given = settings(learner_params)
    parts = given.get("operator")
    own = isinstance(parts, (list, tuple)) and any(isinstance(part, Mapping) for part in parts)
    return own or not given.keys().isdisjoint({"kernel", "gamma"})


def gives_gamma(gamma: Any) -> bool:
    """Whether the width is in the units of the rows: a number."""
    return not any(is_word(gamma, word) for word in ("auto", "median", "scale"))


def _gamma(gamma: Any, rows: np.ndarray, standardised: bool, scale: Mapping[str, Any] | None) -> Any:
    if is_word(gamma, "auto") or is_word(gamma, "median"):
        return gamma
    if is_word(gamma, "scale"):
        means, variance = moments(rows)
        if scale is not None:
            factor = np.asarray(scale["factor"])
            means, variance = (means - scale["shift"]) * factor, variance * factor**2
        # Standardised columns have variance 1, or 0 if constant; so X.var() is the share of columns that vary.
        of_all = variance.mean() + means.var()
        mean = np.count_nonzero(variance) / len(variance) if standardised else of_all
        return 1 / (rows.shape[1] * mean) if mean > 0 else 1.0
    if not isinstance(gamma, Real):
        error = ValueError if isinstance(gamma, str) else TypeError
        raise error(f"gamma must be a number > 0, 'auto', 'median' or 'scale', found {gamma!r}")
    return float(check_scalar(gamma, "gamma", Real, min_val=0, include_boundaries="neither"))


def moments(rows: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of every column of a dense or sparse matrix."""
    if not issparse(rows):
        return rows.mean(axis=0, dtype=np.float64), rows.var(axis=0, dtype=np.float64)
    rows = rows.astype(np.float64)
    mean = np.asarray(rows.mean(axis=0)).ravel()
    square = np.asarray(rows.multiply(rows).mean(axis=0)).ravel()
    return mean, np.maximum(square - mean**2, 0.0)


def kernel_size(name: Any, gamma: Any, degree: Any, coef0: Any, features: int) -> float:
    """k(x, x) of a row whose columns have variance 1; 1 for kernels of the distance."""
    if is_word(name, "linear"):
        return float(features)
    if is_word(name, "poly") or is_word(name, "polynomial"):
        product = 1.0 if isinstance(gamma, str) else gamma * features
        return float((product + coef0) ** degree)
    return 1.0


def alpha(alpha: Any) -> float | str:
    """The regulariser, or "auto"."""
    if is_word(alpha, "auto"):
        return "auto"
    if isinstance(alpha, str):
        raise ValueError(f"alpha must be a number >= 0 or 'auto', found {alpha!r}")
    return float(check_scalar(alpha, "alpha", Real, min_val=0))


def step(learning_rate: Any, eta0: Any, alpha: float | str, size: float) -> Setting:
    """The step size for `learning_rate` and `eta0`, for a kernel with this k(x, x)."""
    learning_rate = named("learning_rate", learning_rate, RATE_NAMES)
    if not isinstance(learning_rate, str):
        return learning_rate
    name = LEARNING_RATES.get(learning_rate, learning_rate)
    if name not in TAKES_ETA and learning_rate != "optimal":
        return name
    # A normalised step divides by k(x, x) itself.
    eta = float(check_scalar(eta0, "eta0", Real, min_val=0, include_boundaries="neither"))
    eta /= 1.0 if name == "normalised" else size
    if name in TAKES_ETA:
        return {name: {"eta": eta}}
    if isinstance(alpha, str) or alpha == 0:
        raise ValueError("learning_rate='optimal' divides by alpha: give alpha > 0, or another learning rate")
    # 1 / (alpha (t + t0)), t = 1, 2, ...: the first step size is eta0 / (1 + alpha eta0).
    return {name: {"t0": max(1.0, 1 / (eta * alpha))}}


def per_coordinate(step: Any) -> bool:
    """Whether every weight has a step size of its own. Such steps need a weight vector, which has no budget."""
    if isinstance(step, str):
        return "per=coordinate" in step.replace(" ", "")
    parameters = step.values() if isinstance(step, Mapping) else ()
    return any(isinstance(of, Mapping) and is_word(of.get("per"), "coordinate") for of in parameters)


def is_memory(budget: Any) -> bool:
    """Whether the budget is a size, as "64MB"."""
    return isinstance(budget, str) and budget[:1].isdigit()


def budget(budget: Any, engine_choice: Mapping[str, Any]) -> Setting:
    """The budget; `engine_choice` is the default budget of the engine for this kernel."""
    if budget is None:
        return "unlimited"
    if isinstance(budget, (str, Mapping)):
        return named("budget", budget, BUDGET_NAMES)
    terms = check_scalar(budget, "budget", Integral, min_val=1)
    return {next(iter(engine_choice)): {"terms": int(terms)}}


def average(average: Any, window: float) -> Setting:
    """The hypothesis that predicts. True: the exponential mean over about `window` examples; False: the last one."""
    if is_word(average, "auto"):
        return "auto"
    if isinstance(average, (bool, np.bool_)):
        return {"exponential": {"rate": 1 / max(window, 2.0)}} if average else "none"
    return named("average", average, AVERAGE_NAMES)


def scale(scale: Any) -> Setting:
    """The scale of the columns."""
    return "none" if scale is None else named("scale", scale, SCALE_NAMES)


def loss(
    name: Any,
    names: Iterable[str],
    aliases: Mapping[str, str],
    parameters: Mapping[str, Mapping[str, Any]],
) -> Setting:
    """The loss `name`, one of `names`, with the parameters that the estimator has for it."""
    name = named("loss", name, names, aliases.values())
    if not isinstance(name, str):
        return name
    okl_name = aliases.get(name, name)
    return {okl_name: dict(parameters[okl_name])} if okl_name in parameters else okl_name


def settings(learner_params: Any) -> dict[str, Any]:
    """Settings of the engine with the names of model files: `lambda` instead of `lam`."""
    if learner_params is None:
        return {}
    if not isinstance(learner_params, Mapping):
        raise TypeError(
            f"learner_params must be a dict of okl.Learner's settings, found {type(learner_params).__name__}"
        )
    given = dict(learner_params)
    if "classes" in given:
        raise ValueError(
            "learner_params cannot have 'classes': the classes are the labels in y, in sorted order; classes that y does not have yet go to "
            "partial_fit(X, y, classes=[...])"
        )
    if "lam" in given:
        given["lambda"] = given.pop("lam")
    refuse_own_kernel(given.get("kernel"))
    return given


def threads(n_jobs: Any) -> int:
    """The number of threads of `n_jobs`. Results do not depend on it."""
    return effective_n_jobs(n_jobs)


def is_word(value: Any, word: str) -> bool:
    """Whether the value, which may have any type, is this word."""
    return isinstance(value, str) and value == word


def named(parameter: str, value: Any, names: Iterable[str], more: Iterable[str] = ()) -> Any:
    """Checks that a value is one of `names`, or of `more` (not listed in messages), with or without parameters."""
    if not isinstance(value, (str, Mapping)):
        raise TypeError(
            f"{parameter} must be a name or a dict that describes one, found {type(value).__name__}"
        )
    found = value.partition(":")[0] if isinstance(value, str) else next(iter(value), "")
    names = list(names)
    known = {*names, *more, *ENGINE_NAMES.get(parameter, ())}
    if found in known:
        return value
    near = [ELSEWHERE[found]] if ELSEWHERE.get(found) in known else get_close_matches(str(found), known, 1)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(
        f"{parameter}={value!r} is not known.{meant} Expected one of {', '.join(map(repr, names))}, "
        "with or without parameters."
    )
