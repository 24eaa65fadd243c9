"""The settings of `okl.Learner` as types, so that an editor can complete them. `help(okl.Learner)` explains them.

A setting with a name may have parameters behind it (``"window:500"``) or be a dict: these are a `str` and a `Mapping` here.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict

import numpy as np
import numpy.typing as npt

Described = str | Mapping[str, Any]

Kernel = Literal[
    "auto", "gaussian", "linear", "polynomial", "exponential", "manhattan", "matern32", "matern52",
    "rational_quadratic", "precomputed",
]  # fmt: skip
Loss = Literal[
    "hinge", "nu_hinge", "perceptron", "logistic", "max_margin", "softmax", "novelty", "nu_novelty",
    "density", "squared", "absolute", "epsilon", "nu_epsilon", "huber", "nu_huber", "quantile",
]  # fmt: skip
Step = Literal[
    "auto", "constant", "inverse_sqrt", "decay", "theorem1", "theorem2", "pegasos", "linear", "normalised", "smd"
]  # fmt: skip
Budget = Literal[
    "auto", "unlimited", "window", "transfer", "merge", "forgetron", "age", "olok", "weight", "certified"
]  # fmt: skip


class Settings(TypedDict, total=False):
    """Keyword arguments of `okl.Learner`. A setting of None counts as not given."""

    kernel: Kernel | Described | Sequence[Kernel | Described] | Callable[..., Any] | None
    loss: Loss | Described | Sequence[Loss | Described] | None
    step: Step | Described | None
    budget: Budget | int | Described | None
    lam: float | Literal["auto"] | None
    offset: bool | None
    offset_step: float | None
    classes: Sequence[bool] | Sequence[int] | Sequence[str] | npt.NDArray[Any] | None
    class_weight: Literal["none", "balanced"] | str | Mapping[Any, float] | None
    operator: npt.ArrayLike | Sequence[Mapping[str, Any]] | None
    average: Literal["auto", "none", "uniform", "exponential"] | Described | None
    scale: Literal["auto", "none", "standard", "log", "whiten"] | Described | None
    missing: (
        Literal["refuse", "mean", "zero", "last", "mean+indicator", "zero+indicator", "last+indicator"] | None
    )
    target_scale: Literal["none"] | Mapping[str, Any] | None
    threshold: Literal["norma", "tracker"] | Described | None
    regulariser: Literal["square", "norm", "power"] | Described | None
    shrink: Literal["always", "on_update"] | None
    anchor: Literal["first", "none"] | None
    implicit: bool | None
    theta0: float | None
    warmup: int | None
    warmup_passes: int | None
    memory: int | str | None
    form: Literal["terms", "weights"] | Described | None
    widths: Literal["fixed", "follow"] | None
    heads: Literal["grid", "selected", "varied", "weighted", "mixed", "broad"] | None
    relevance: Sequence[float] | None
    allow_overshoot: bool | None

    # parameters of the kernel
    gamma: float | Sequence[float] | Literal["auto", "median"] | None
    degree: int | None
    coef0: float | None
    alpha: float | None
    # of the loss
    margin: float | None
    nu: float | None
    epsilon: float | None
    sigma: float | None
    sigma_rule: str | None
    q: float | None
    # of the step
    eta: float | None
    tau: float | None
    mu: float | None
    decay: float | None
    floor: float | None
    cap: float | None
    preset: str | None
    per: str | None
    t0: float | None
    bound: float | None
    radius: float | None
    horizon: float | None
    # of the budget
    terms: int | np.integer[Any] | None
    steps: int | None
    exponent: float | None
    tolerance: float | None
    error: float | None
    # of average, threshold and regulariser
    rate: float | None
    speed: float | None
    power: float | None
