"""Prediction intervals: half their width, for models of numbers.

- From held-out rows (split conformal prediction): of the n absolute residuals, the one at place ceil(level (n + 1)) in ascending order. If the held-out rows and a
  new row are exchangeable (no drift), the interval holds the target of the new row with probability `level` at least, whatever the model is.
- From the tube of the losses nu_epsilon and nu_huber, which adapts until the share nu of the targets is outside of it: level = 1 - nu.
"""

import math
from numbers import Real
from typing import Any

import numpy as np

import okl
from okl._columns import check_unmasked

NUMBERS = ("squared", "absolute", "epsilon", "nu_epsilon", "huber", "nu_huber", "quantile")
"""The losses whose targets are numbers."""
TUBES = ("nu_epsilon", "nu_huber")


def half_widths(model: Any, level: float | None, calibration: tuple[Any, Any] | None) -> np.ndarray | None:
    """Half the width of the interval of each output, in the units of the targets; None without a level.

    `calibration` is (X, y): rows that the model has not learned.
    """
    if level is None:
        if calibration is not None:
            raise ValueError("calibration: give interval too, the share of targets to cover, such as 0.9")
        return None
    if isinstance(level, bool) or not isinstance(level, Real) or not 0 < level < 1:
        raise ValueError(f"interval: found {level!r}, expected a share between 0 and 1, such as 0.9")
    check_numbers(model)
    return tube(model, float(level)) if calibration is None else conformal(model, float(level), *calibration)


def check_numbers(model: Any) -> None:
    """Refuses models whose scores are no numbers to predict."""
    if isinstance(model, okl.Learner):
        if (name := loss_name(model)) not in NUMBERS:
            raise ValueError(f"interval: the loss {name} has no numbers as targets; leave interval out")
        return
    from sklearn.base import is_regressor

    if not is_regressor(model):
        raise ValueError(f"interval: {type(model).__name__} is no regressor; leave interval out")


def loss_name(learner: okl.Learner) -> str:
    """The name of the loss; of several, which are of one kind, that of the first."""
    return name_of_loss(learner.config["loss"])


def name_of_loss(loss: Any) -> str:
    """The name of a loss among settings."""
    first = loss[0] if isinstance(loss, list) else loss
    return first.partition(":")[0] if isinstance(first, str) else str(next(iter(first)))


def conformal(model: Any, level: float, X: Any, y: Any) -> np.ndarray:
    predicted = np.asarray(model.predict(X), dtype=float)
    check_unmasked("calibration: y", y)
    targets = np.asarray(y, dtype=float)
    if targets.shape != predicted.shape:
        raise ValueError(
            f"calibration: y has the shape {targets.shape}, the predictions for X have {predicted.shape}"
        )
    residuals = np.sort(np.abs(targets - predicted).reshape(len(targets), -1), axis=0)
    if not np.isfinite(residuals).all():
        row = int(np.flatnonzero(~np.isfinite(targets - predicted).reshape(len(targets), -1).all(axis=1))[0])
        raise ValueError(f"calibration: row {row} has no finite target or prediction; leave it out")
    rows = len(residuals)
    place = math.ceil(level * (rows + 1) * (1 - 1e-15))  # 0.9 * 10 is 9 and not a bit more.
    if place > rows:
        needed = math.ceil(level / (1 - level) * (1 - 1e-12))
        raise ValueError(
            f"calibration: found {rows} rows, expected at least {needed} for interval = {level:g}"
        )
    return np.asarray(residuals[place - 1])


def tube(model: Any, level: float) -> np.ndarray:
    learner = model if isinstance(model, okl.Learner) else getattr(model, "learner_", None)
    advice = "give calibration=(X, y), rows that the model has not learned"
    if learner is None or (name := loss_name(learner)) not in TUBES:
        raise ValueError(
            f"interval: only the losses nu_epsilon and nu_huber have an interval of their own; {advice}"
        )
    if learner.outputs != 1 or learner.config.get("average", "none") != "none":
        raise ValueError(f"interval: the tube of {name} is that of one output without an average; {advice}")
    nu = learner.config["loss"][name]["nu"]
    if not math.isclose(level, 1 - nu, rel_tol=1e-9):
        raise ValueError(
            f"interval: found {level:g}; the tube of this model covers a share of {1 - nu:g} (nu = {nu:g}). Ask for that, or {advice}"
        )
    scale = learner.config.get("target_scale", "none")
    factor = 1.0 if scale == "none" else scale["fixed"]["factor"][0]
    return np.array([learner.theta / factor])
