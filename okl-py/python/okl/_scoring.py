"""What a model says of rows, as named columns: for `okl.ray.score` and `okl.spark.score`."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import okl

Columns = dict[str, np.ndarray]


class Scorer:
    """A model that gives named columns for rows.

    A learner has `score` (or `score_CLASS`, `score_NUMBER` for several outputs), for classes `label`, for the logistic loss `probability` (of the
    class `positive_class`) or for softmax `probability_CLASS`, and for novelty `alert`. A scikit-learn estimator has `prediction`, and
    `probability_CLASS` if it has `predict_proba`. With `widths`, half the width of the interval of each output, `lower` and `upper` (`lower_NUMBER` and
    `upper_NUMBER` for several outputs) are the score or prediction minus and plus it. All names begin with `prefix`.
    """

    def __init__(
        self,
        model: Any,
        features: Sequence[str] | None = None,
        widths: np.ndarray | None = None,
        prefix: str = "",
    ):
        self.model = opened(model)
        self.widths, self.prefix = widths, prefix
        self.features = list(features) if features is not None else getattr(self.model, "feature_names", None)

    def columns(self, X: np.ndarray) -> Columns:
        is_learner = isinstance(self.model, okl.Learner)
        columns = of_learner(self.model, X) if is_learner else of_estimator(self.model, X)
        columns = columns if self.widths is None else columns | ends(columns, self.widths)
        return {f"{self.prefix}{name}": values for name, values in columns.items()}

    def matrix(self, found: dict[str, Any]) -> np.ndarray:
        """The features among the columns of a table."""
        names = self.features
        if names is None:
            if len(found) == 1 and np.ndim(only := next(iter(found.values()))) == 2:
                return np.asarray(only)
            raise ValueError(
                f"features: name the columns of the features, in order; there are {', '.join(map(repr, found))}"
            )
        missing = [name for name in names if name not in found]
        if missing:
            raise ValueError(
                f"features: there is no column {missing[0]!r}; there are {', '.join(map(repr, found))}"
            )
        return np.column_stack([np.asarray(found[name]) for name in names])


def check_new(added: Iterable[str], found: Iterable[str], *, ignore_case: bool = False) -> None:
    """Refuses columns that would replace columns of the input."""
    same = str.casefold if ignore_case else str
    there = {same(name): name for name in found}
    taken = [(name, there[same(name)]) for name in added if same(name) in there]
    if taken:
        name, has = taken[0]
        raise ValueError(
            f"the model adds a column {name!r}, but the input has a column {has!r}: rename that column, or give a prefix for the columns that "
            "are added, such as prefix='okl_'"
        )


def check_prefix(prefix: Any) -> str:
    if not isinstance(prefix, str):
        raise TypeError(f"prefix: found {prefix!r}, expected text")
    return prefix


def opened(model: Any) -> Any:
    """A model from a learner, an estimator, the bytes of a model file, or its path."""
    if isinstance(model, bytes):
        return okl.Learner.from_bytes(model)
    if isinstance(model, (str, os.PathLike)):
        return okl.load(Path(model))
    if isinstance(model, okl.Learner) or hasattr(model, "predict"):
        return model
    raise TypeError(
        f"model: found {type(model).__name__}, expected a learner, an estimator, a model file or its bytes"
    )


def loss_of(learner: okl.Learner) -> str:
    """The name of the loss; empty if there are several."""
    loss = learner.config["loss"]
    return loss if isinstance(loss, str) else next(iter(loss)) if isinstance(loss, dict) else ""


def of_learner(learner: okl.Learner, X: np.ndarray) -> Columns:
    scores = learner.predict(X)
    if scores.ndim == 1:
        return of_one_score(learner, scores)
    if not learner.classes:
        return {f"score_{number}": scores[:, number] for number in range(scores.shape[1])}
    columns = {f"score_{name}": scores[:, number] for number, name in enumerate(learner.classes)}
    if loss_of(learner) == "softmax":
        likely = np.exp(scores - scores.max(axis=1, keepdims=True))
        likely /= likely.sum(axis=1, keepdims=True)
        columns |= {f"probability_{name}": likely[:, number] for number, name in enumerate(learner.classes)}
    return columns | {"label": np.array(learner.classes)[scores.argmax(axis=1)]}


def of_one_score(learner: okl.Learner, scores: np.ndarray) -> Columns:
    columns = {"score": scores}
    loss = loss_of(learner)
    if learner.threshold is not None and loss in ("novelty", "nu_novelty", "density"):
        return columns | {"alert": scores < learner.threshold}
    if loss == "logistic":
        with np.errstate(over="ignore"):
            columns["probability"] = 1 / (1 + np.exp(-scores))
    if len(learner.classes) == 2:
        (other,) = [name for name in learner.classes if name != learner.positive_class]
        columns["label"] = np.array([other, learner.positive_class])[(scores > 0).astype(int)]
    return columns


def ends(columns: Columns, widths: np.ndarray) -> Columns:
    """The ends of the intervals around each score or prediction."""
    if "prediction" in columns and len(widths) > 1:
        widths = widths.reshape(1, -1)
    found: Columns = {}
    for (name, middle), width in zip(columns.items(), widths):
        number = name.removeprefix("score").removeprefix("prediction")
        found |= {f"lower{number}": middle - width, f"upper{number}": middle + width}
    return found


def of_estimator(model: Any, X: np.ndarray) -> Columns:
    columns = {"prediction": np.asarray(model.predict(X))}
    if hasattr(model, "predict_proba"):
        columns |= {f"probability_{name}": p for name, p in zip(model.classes_, model.predict_proba(X).T)}
    return columns
