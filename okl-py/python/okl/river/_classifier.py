"""A kernel classifier."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from sys import intern
from typing import TYPE_CHECKING, Any

import numpy as np
from river import base

from okl import _docs
from okl.river._base import LOSSES, SIGN_LOSSES, KernelEstimator, Setting
from okl.river._features import as_frame, as_series, as_table, as_targets, as_weights

if TYPE_CHECKING:
    import pandas as pd

    Label = bool | int | str


@_docs.filled
class KernelClassifier(KernelEstimator, base.MiniBatchClassifier):
    """A kernel classifier for two or more classes; new classes are added when they first occur.

    Labels are bools, whole numbers or strings, and predictions have the same type.
    <features come and go>

    Parameters
    ----------
    loss
        `max_margin` or `softmax` for any number of classes; `hinge`, `logistic`, `nu_hinge` or `perceptron`
        for two. `auto`: `max_margin` and `softmax` learn side by side where kernel and step are `auto` too, else
        `max_margin`.
    <river kernel>
    <river gamma and lam>
    <river step>
    <river eta and budget>
        With the loss `perceptron` also `forgetron`.
    <river terms>
    <river scale>
    <river average>
    <river warmup>
    classes
        The classes, where they are known beforehand; others are then refused. None: discovered.
    <river max features>
    settings
        Any other setting of `okl.Learner`: `tau`, `mu`, `degree`, `implicit`, ...

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> import okl

    >>> model = okl.river.KernelClassifier()
    >>> accuracy = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    >>> accuracy.get() > 0.88
    True
    """

    _losses = LOSSES["KernelClassifier"]

    def __init__(
        self,
        loss: Setting = "auto",
        kernel: Setting = "auto",
        gamma: float | str | None = None,
        lam: float | str = "auto",
        step: Setting = "auto",
        eta: float | None = None,
        budget: Setting | None = None,
        terms: int | None = None,
        scale: Setting = "auto",
        average: Setting = "auto",
        offset: bool = True,
        warmup: int = 256,
        classes: Sequence[Label] | None = None,
        max_features: int = 4096,
        missing: str | None = None,
        hash_bits: int | None = None,
        **settings: Any,
    ) -> None:
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.lam = lam
        self.step = step
        self.eta = eta
        self.budget = budget
        self.terms = terms
        self.scale = scale
        self.average = average
        self.offset = offset
        self.warmup = warmup
        self.classes = classes
        self.max_features = max_features
        self.missing = missing
        self.hash_bits = hash_bits
        self.settings = settings
        self._by_sign = loss_name(loss) in SIGN_LOSSES
        self._labels: tuple[Label, ...] = tuple(classes or ())
        self._start()

    @property
    def _multiclass(self) -> bool:
        return not self._by_sign

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"loss": "softmax"}
        yield {"loss": "logistic"}

    def learn_one(self, x: Mapping[Hashable, Any], y: Label, w: float = 1.0) -> None:
        """Learns one example.

        Parameters
        ----------
        x
            A dictionary of features.
        y
            Its label.
        w
            Its weight, which multiplies the loss; an example of weight 0 is not learned.
        """
        labels = self._discover((y,), (w,))
        self._learn_row(x, self._target(y, labels), w)
        self._labels = labels

    def learn_many(self, X: pd.DataFrame, y: pd.Series[Any], w: float | pd.Series[Any] = 1.0) -> None:
        """Learns the rows of a frame in order, exactly as `learn_one` does.

        Parameters
        ----------
        X
            A frame with a column per feature.
        y
            A series of labels, matched to the rows by position, not by index.
        w
            A weight for all rows, or a series of weights.
        """
        self._learn_many(X, y, w)

    def _learn_many(
        self, X: pd.DataFrame, y: pd.Series[Any], w: float | pd.Series[Any]
    ) -> tuple[list[Label], list[float], dict[str, Any]]:
        """Learns a frame; returns its labels and weights, and the results of each row."""
        frame = as_frame(X)
        names = as_targets(y, len(frame))
        weights = as_weights(w, len(frame))
        labels = self._discover(names, weights)
        targets = [self._target(name, labels) for name in names]
        try:
            report = self._learn_frame(frame, targets, weights=weights)
        except KeyboardInterrupt:  # the first rows have been learned, so their classes are kept
            self._labels = labels if self._by_sign else labels[: len(self.learner.classes)]
            raise
        self._labels = labels
        return names, weights, report

    def _learn_report(
        self, X: pd.DataFrame, y: pd.Series[Any], w: float | pd.Series[Any] = 1.0
    ) -> dict[str, Any]:
        """Learns a frame; returns the results of each row, for `okl.plot.History`."""
        labels = self._labels
        names, weights, report = self._learn_many(X, y, w)
        wrong = []
        scores = np.atleast_2d(report["scores"].T).T.tolist()
        for name, weight, outputs, positive in zip(names, weights, scores, report["positive"], strict=True):
            wrong.append(not labels or self._best(outputs, labels, positive) != named_as(name, labels))
            if named_as(name, labels) not in labels and weight != 0:
                labels = self._with_new(labels, named_as(as_label(name), labels))
        return {**report, "wrong": np.array(wrong, dtype=bool)}

    def predict_one(self, x: Mapping[Hashable, Any], **kwargs: Any) -> Label | None:
        """The class with the largest score, the earlier one of equal scores; None before the first class is known."""
        return self._best(self._predict_row(x), self._labels, self._positive) if self._labels else None

    def predict_proba_one(self, x: Mapping[Hashable, Any], **kwargs: Any) -> dict[Label, float]:
        """A probability for every class so far.

        Before the first label there is none. Only with a loss of two classes, and without `classes`, False and True have 0.5 then: River's
        wrappers of classifiers of two classes, such as `ClassifierChain`, read the probability of True before the first label. `predict_one`
        is None then, because the labels can be others.

        With `softmax` and `logistic` these are the probabilities of the loss. They are too close to 0 and 1 where classes are hard to tell apart: on
        five streams, the class that was predicted with 0.9 or more had 0.93 to 0.97 on average, and was right in 89 to 95 % of these rows. With
        `step="decay"` this was 0.92 to 0.96, and 82 to 95 %. With other losses, `auto` among them, the same function is
        applied to the scores: the order is right (the ROC AUC is that of the scores), but the values are not calibrated.
        """
        return self._probabilities(self._predict_row(x))

    def predict_many(self, X: pd.DataFrame) -> pd.Series[Any]:
        """`predict_one` of every row, as a series."""
        frame = as_frame(X)
        best = [
            self._best(scores, self._labels, self._positive) if self._labels else None
            for scores in self._predict_frame(frame)
        ]
        return as_series(best, frame)

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """`predict_proba_one` of every row, as a frame with a column per class."""
        frame = as_frame(X)
        rows = [self._probabilities(scores) for scores in self._predict_frame(frame)]
        return as_table({name: [row[name] for row in rows] for name in self._probabilities([])}, frame)

    @property
    def _positive(self) -> Label | None:
        """If two classes share one score, the class of positive scores."""
        return self.learner.positive_class

    def _discover(self, names: Iterable[Label], weights: Iterable[float]) -> tuple[Label, ...]:
        """The classes after `names` are learned. Does not change the model, because the rows may still be refused."""
        labels = self._labels
        for name, weight in zip(names, weights, strict=True):
            if named_as(name, labels) not in labels and weight != 0:
                labels = self._with_new(labels, named_as(as_label(name), labels))
        return labels

    def _with_new(self, labels: tuple[Label, ...], name: Label) -> tuple[Label, ...]:
        if self._by_sign and not labels and isinstance(name, bool):
            return (False, True)
        known = ", ".join(map(repr, labels))
        if self.classes is not None:
            raise ValueError(f"label {name!r}, expected one of the given classes: {known}")
        if self._by_sign and len(labels) == 2:
            raise ValueError(
                f"label {name!r} is a third class beside {known}, and loss {self.loss!r} separates two; "
                "use max_margin or softmax"
            )
        return (*labels, name)

    def _target(self, name: Label, labels: tuple[Label, ...]) -> Label | None:
        """The target for the engine; None for a label that is not learned because its weight is 0."""
        name = named_as(name, labels)
        return (as_label(name) if name in labels else None) if self._by_sign else name

    def _scores(self, outputs: list[float], labels: tuple[Label, ...], positive: Label | None) -> list[float]:
        """One score per class. With one output for two classes: the output for the positive class, 0 for the other one.
        Classes not yet learned have 0."""
        if self._by_sign:
            return [outputs[0] if outputs and label == positive else 0.0 for label in labels]
        return (outputs + [0.0] * len(labels))[: len(labels)]

    def _best(self, outputs: list[float], labels: tuple[Label, ...], positive: Label | None) -> Label:
        scores = self._scores(outputs, labels, positive)
        return labels[scores.index(max(scores))]

    def _probabilities(self, outputs: list[float]) -> dict[Label, float]:
        if not self._labels:
            return {False: 0.5, True: 0.5} if self._by_sign else {}
        scores = self._scores(outputs, self._labels, self._positive)
        highest = max(scores)
        parts = [math.exp(score - highest) for score in scores]
        whole = sum(parts)
        return {name: part / whole for name, part in zip(self._labels, parts, strict=True)}


def loss_name(loss: Setting) -> str:
    """The name of a loss that is given as text or as a dict; the first one of several."""
    return loss.split(",")[0].split(":")[0] if isinstance(loss, str) else next(iter(loss))


def named_as(name: Any, labels: tuple[Label, ...]) -> Any:
    """The name of a label's class, by the rule of the engine: 1 and "1" are one class, and so are True, "True" and "true"."""
    if name in labels or not isinstance(name, (bool, int, str)):
        return name
    for label in labels:
        if is_spelled_like(label, name):
            return label
    value = truth(name)
    if value is None or not labels or any(truth(label) is None for label in labels):
        return name
    first = labels[0]
    same = [label for label in labels if truth(label) == value]
    if same or not isinstance(first, str):
        return same[0] if same else type(first)(value)
    return str(value).upper() if first.isupper() else str(value) if first.istitle() else str(value).lower()


def is_spelled_like(label: Label, name: Label) -> bool:
    """Whether two labels differ in type only, or are spellings of one truth value."""
    if isinstance(label, str) and isinstance(name, str):
        return truth(label) is not None and label.lower() == name.lower()
    text, number = (label, name) if isinstance(label, str) else (name, label)
    return isinstance(text, str) and str(int(number)) == text


def truth(label: Label) -> bool | None:
    """The truth value of 0, 1 and the words false and true."""
    words: dict[Label, bool] = {0: False, 1: True, "false": False, "true": True}
    return words.get(label.lower() if isinstance(label, str) else label)


def as_label(name: Any) -> Label:
    """A label in Python's own types."""
    plain = name.item() if isinstance(name, np.generic) else name
    if type(plain) is str:
        return intern(plain)  # as names of features are, see Features.with_new
    if isinstance(plain, (bool, int, str)):
        return plain
    if isinstance(plain, float) and plain.is_integer():
        return int(plain)
    raise TypeError(
        f"label {name!r} is of type {type(name).__name__}, expected a bool, a whole number or a string"
    )
