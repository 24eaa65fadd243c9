"""Uniform access to learners, estimators and pipelines for the charts."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from okl._okl import Learner

SIGNS = ("hinge", "nu_hinge", "perceptron", "logistic")
CLASSES = ("max_margin", "softmax")
NOVELTY = ("novelty", "nu_novelty", "density")


def learner_of(model: Any) -> Learner:
    """The learner itself, scikit-learn's `learner_` or River's `learner`."""
    return (
        model
        if isinstance(model, Learner)
        else model.learner_
        if hasattr(model, "learner_")
        else model.learner
    )


def loss_of(model: Any) -> str:
    """The name of the loss; the first one of several."""
    loss = learner_of(model).config["loss"]
    return next(iter(loss[0] if isinstance(loss, list) else loss))


def most_terms(model: Any) -> float:
    """The limit of the budget; nan if it has none."""
    budget = learner_of(model).config.get("budget")
    limits: list[dict[str, float]] = list(budget.values()) if isinstance(budget, dict) else []
    return limits[0].get("terms", np.nan) if limits else np.nan


def nu_of(model: Any) -> float:
    """The requested share of alerts; nan if the model has none."""
    rate = learner_of(model).alert_rate
    return np.nan if rate is None else rate.nu


def errors(model: Any, report: dict[str, np.ndarray], y: Any, known: Collection[Any] = ()) -> np.ndarray:
    """The error of every row: 1 for a wrong class, the mean absolute residual, nan for a row that was not learned: without a target
    or of weight 0."""
    if "wrong" in report:
        return of_learned(report, report["wrong"])
    if "residual" in report:
        return of_learned(report, np.abs(report["residual"]).mean(axis=1))
    loss, scores, count = loss_of(model), report["scores"], len(report["loss"])
    if y is None or loss in NOVELTY:
        return np.full(count, np.nan)
    learned = ~np.isnan(report["loss"])
    if loss in SIGNS or loss in CLASSES:
        first = first_of_class(y, known, learner_of(model), learned)
        if loss in SIGNS and learner_of(model).classes:
            predicted = by_sign(learner_of(model), report, len(known) + np.cumsum(first))
        else:
            predicted = predicted_classes(model, scores)
        of_row = (predicted != np.asarray(y)) | first
    else:
        of_row = np.abs(np.asarray(y, dtype=float) - scores).reshape(count, -1).mean(axis=1)
    return np.where(learned, of_row, np.nan)


def of_learned(report: dict[str, np.ndarray], errors: np.ndarray) -> np.ndarray:
    """The errors, with nan for rows that were not learned. Reports of scikit-learn estimators have only rows that were."""
    return np.where(np.isnan(report["loss"]), np.nan, errors) if "loss" in report else errors.astype(float)


def first_of_class(y: Any, known: Collection[Any], learner: Learner, learned: np.ndarray) -> np.ndarray:
    """True for the first learned row of each class that was not `known`: no model could have predicted it."""
    seen, first = set(known if learner.classes else (-1, 1)), []
    for label, has_target in zip(np.asarray(y).tolist(), learned, strict=True):
        new = has_target and label not in seen
        first.append(new)
        seen |= {label} if new else set()
    return np.array(first, dtype=bool)


def by_sign(learner: Learner, report: dict[str, np.ndarray], classes_so_far: np.ndarray) -> np.ndarray:
    """The classes that a learner predicts by the sign of one score, row by row: the class of positive scores can change
    when the second class appears. `classes_so_far`: up to and including each row."""
    names, positive = learner.classes, report["positive"]
    other = [names[-1] if name == names[0] else names[0] for name in positive]
    return np.where((report["scores"] > 0) | (classes_so_far < 2), positive, np.array(other, dtype=object))


def predicted_classes(learner: Learner, scores: np.ndarray) -> np.ndarray:
    """The labels that a learner predicts with these scores."""
    names = np.array(ordered_classes(learner) or [-1, 1], dtype=object)
    return names[scores.argmax(axis=1) if scores.ndim == 2 else np.minimum(scores > 0, len(names) - 1)]


def ordered_classes(learner: Learner) -> list[int | str]:
    """The classes in the order of the scores; if two classes share one score, the positive class is the second."""
    classes = learner.classes
    return classes[::-1] if classes and learner.positive_class == classes[0] else classes


class View(NamedTuple):
    """The predictions of a model for some rows."""

    kind: str
    """classes, novelty or numbers."""
    values: np.ndarray
    """The number of the class, the score against its threshold, or the prediction of the first output."""
    decision: np.ndarray | None = None
    """The score of the second class against the first, if there are two."""
    names: tuple[Any, ...] = ()
    """The classes."""


def view(model: Any, X: Any) -> View:
    """The predictions of a model for rows, in one form for all kinds of models."""
    if isinstance(model, Learner):
        if model.examples == 0:
            raise ValueError("this learner has not learned any row yet: call learn(X, y) first")
        return view_of_learner(model, model.predict(X))
    if not hasattr(model, "predict"):
        raise TypeError(
            f"expected an okl.Learner, an estimator of okl.sklearn or a pipeline that ends in one, found "
            f"{type(model).__module__.partition('._')[0]}.{type(model).__name__}"
            + ("; give the learner behind it, model.learner" if hasattr(model, "learner") else "")
        )
    if hasattr(model, "classes_"):
        two = len(model.classes_) == 2
        codes = np.searchsorted(model.classes_, model.predict(X))
        return View(
            "classes", codes, model.decision_function(X) if two else None, tuple(model.classes_.tolist())
        )
    if hasattr(model, "decision_function"):
        return View("novelty", model.decision_function(X))
    return View("numbers", model.predict(X).reshape(len(X), -1)[:, 0])


def view_of_learner(learner: Learner, scores: np.ndarray) -> View:
    loss = loss_of(learner)
    if loss in NOVELTY:
        return View("novelty", scores - (learner.threshold or 0.0))
    if loss in SIGNS:
        return View("classes", (scores > 0).astype(int), scores, tuple(ordered_classes(learner)) or (-1, 1))
    if loss in CLASSES:
        decision = scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else None
        return View("classes", scores.argmax(axis=1), decision, tuple(learner.classes))
    return View("numbers", scores.reshape(len(scores), -1)[:, 0])
