"""A classifier."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_expit, log_softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import check_scalar
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from okl import _docs
from okl._columns import objects
from okl._okl import Learner
from okl._sklearn import words
from okl._sklearn.base import KernelEstimator
from okl._sklearn.refusal import kept_rows, restoring, rows_named
from okl._sklearn.search import Measured, calibrated_loss
from okl._sklearn.validate import (
    ScoresUnmasked,
    check_class_weight,
    check_labels,
    check_targets,
    check_weights,
    validate_data,
    without_zeros,
)
from okl._warnings import Reworded, reworded

LOSS_NAMES = ("hinge", "log_loss", "perceptron", "nu_hinge", "max_margin", "softmax")

LOSSES = {"log_loss": "logistic"}
"""okl's names of scikit-learn's losses."""

FOR_MANY_CLASSES = {"hinge": "max_margin", "logistic": "softmax"}
"""What a loss of two classes becomes with more of them."""

PROBABILISTIC = ("log_loss", "logistic", "softmax")


def _gives_probabilities(estimator: KernelClassifier) -> bool:
    if estimator.loss in PROBABILISTIC:
        return True
    raise AttributeError(f"probabilities need loss='log_loss', found loss={estimator.loss!r}")


FAR_WEIGHT = 10.0
"""A mean weight is far from 1 if it is this many times as large or small, as in okl/src/learner/row_weights.rs."""

ROW_WEIGHTS = r"the weights of [\d,]+ learned rows [^;]+; a weight multiplies [^;]+: (?:divide all weights by the largest one|compare with the weights divided by their mean)"
WEIGHTS_FINDING = re.compile(f"{ROW_WEIGHTS}; |(?:; )?{ROW_WEIGHTS}")
"""The learner's finding about the weights of its rows, with the separator from another finding."""


@_docs.filled
class KernelClassifier(ScoresUnmasked, ClassifierMixin, KernelEstimator):
    """Kernel classifier that learns one example at a time, in bounded memory.

    <streams>

    Parameters
    ----------
    loss : str or dict, default="hinge"
        "hinge" (max_margin with more than two classes), "log_loss" (softmax with more than two classes; gives
        probabilities; see `predict_proba` for how far they can be trusted), "perceptron" or "nu_hinge" (two classes), or any loss of `okl.Learner`, as "hinge:0.5".
    <searched kernel>
    <searched gamma>
    <coefficients>
    <alpha>
    nu : float, default=0.1
        The fraction of margin errors to which "nu_hinge" converges.
    <fit intercept>
    <learning rate>
    eta0 : float, default=1.0
        <first step>
    <average>
    <searched budget and scale>
    <searched passes>
    <orders>
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes. "balanced": in `fit`, n / (K n_c) from all labels; in `partial_fit`, from the labels so
        far, as `okl.Learner(class_weight="balanced")` has it. If a weight is above 1, all weights are divided by the largest. Reason: a proximal step stops at the margin, so a weight above 1 hardly
        changes it; only weights below 1 have the intended effect, on the steps of the other classes. `partial_fit`
        learns each row once, so a rare class gets few steps, and the same weights find fewer of its rows than the
        several passes of `fit`. Use a larger weight for it there, or `loss="log_loss"`.
    <threads>
    warm_start : bool, default=False
        Whether `fit` continues from the model of the last call. Scale, kernel width and classes are kept.
    <missing>
    <learner params>

    Attributes
    ----------
    learner_ : okl.Learner
        The model, with its certificates; `learner_.save(path)` writes a file that the command line reads.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    <centres>
    dual_coef_ : ndarray of shape (1, n_terms) or (n_classes, n_terms)
        <side by side>
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The offset of the scores.
    <search>
    <of scikit learn>

    Notes
    -----
    Steps are proximal, which is stable for every kernel and step size, except with the loss "perceptron" or the
    learning rate "adaptive". The regret certificate of the engine holds for explicit steps only.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from okl import KernelClassifier
    >>> X, y = make_moons(400, noise=0.2, random_state=0)
    >>> model = KernelClassifier(random_state=0).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.9)
    True
    >>> stream = KernelClassifier().partial_fit(X[:100], y[:100])
    >>> stream.partial_fit(X[100:], y[100:]).classes_
    array([0, 1])
    """

    _discovered: dict[Any, Any] | None = None
    """The learner's names of the classes that were discovered; None where they were given."""

    def __init__(
        self,
        loss: words.Setting = "hinge",
        *,
        kernel: words.Setting = "auto",
        gamma: float | str = "auto",
        degree: int = 3,
        coef0: float = 1.0,
        alpha: float | str = "auto",
        nu: float = 0.1,
        fit_intercept: bool = True,
        learning_rate: words.Setting = "auto",
        eta0: float = 1.0,
        average: bool | words.Setting = "auto",
        budget: int | words.Setting | None = "auto",
        scale: words.Setting | None = "auto",
        max_iter: int | str = "auto",
        tol: float | None = 1e-3,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        random_state: int | np.random.RandomState | None = None,
        class_weight: dict[Any, float] | str | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        missing: str | None = None,
        learner_params: dict[str, Any] | None = None,
    ) -> None:
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.alpha = alpha
        self.nu = nu
        self.fit_intercept = fit_intercept
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.average = average
        self.budget = budget
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.random_state = random_state
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.missing = missing
        self.learner_params = learner_params

    @restoring(BaseException)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learns a fixed set of rows in several passes. Settings that are "auto" are chosen first, on rows that were not learned.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of any type that sorts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the examples; they multiply `class_weight`. Weights above 1 hardly change a proximal step,
            which stops at the margin: divide all weights by the largest.

        Returns
        -------
        self
        """
        going_on = self._continues()
        rows, labels = self._examples(X, y, reset=not going_on)
        if not going_on:
            self.classes_, self._discovered = np.unique(labels), None
            self._check_classes()
        codes = self._codes(labels)
        weights = self._weights(codes, check_weights(sample_weight, rows.shape[0], some=True))
        places = kept_rows(weights, rows.shape[0])
        weights, rows, codes = without_zeros(weights, rows, codes)
        names = self._names()[codes]
        with rows_named(places), reworded(self._without_class_weights(sample_weight)):
            rows, filler = self._filled_set(rows)
            if going_on:
                self._continue_set(rows, names, weights)
            else:
                self._fit_set(rows, names, weights, codes)
            self._fill_as(filler)
        return self

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learns rows in order, as a stream. The model does not depend on how the stream is divided into calls.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), default=None
            All labels that can occur, in the first call; in later calls the same or None. None in the first call:
            classes are added when they first occur. `classes_` has the classes so far, sorted, and the columns of
            `decision_function` and `predict_proba` grow with it. The loss is then the one for several classes
            (max_margin for "hinge", softmax for "log_loss"). Losses for two classes only, and a budget in bytes,
            need `classes`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; they multiply `class_weight`. Weights above 1 hardly change a proximal step,
            which stops at the margin: divide all weights by the largest.

        Returns
        -------
        self
        """
        self._learn_report(X, y, classes=classes, sample_weight=sample_weight)
        return self

    @restoring(Exception)
    def _learn_report(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> dict[str, np.ndarray]:
        first = not hasattr(self, "learner_")
        rows, labels = self._examples(X, y, reset=first)
        before = None if first else self.classes_
        self._take_classes(classes, labels, first)
        codes = self._codes(labels)
        weights = self._weights(codes, check_weights(sample_weight, rows.shape[0]), streaming=True)
        with reworded(self._without_class_weights(sample_weight)):
            report = self._learn_stream(rows, self._names()[codes], weights)
        known = self.classes_[:0] if before is None else before
        if self._discovered is not None and len(self.classes_) > len(known):
            return {**report, "wrong": self._wrong_among_known(report["scores"], codes, known)}
        return {**report, "wrong": self._predicted(self._decision(report["scores"])) != codes}

    def _wrong_among_known(self, scores: np.ndarray, codes: np.ndarray, before: np.ndarray) -> np.ndarray:
        """True for rows with a wrong prediction; only classes of earlier rows can be predicted."""
        known = np.isin(self.classes_, before)
        scores, wrong = self._of_classes(scores), []
        for of_row, code in zip(scores, codes, strict=True):
            wrong.append(np.where(known, of_row, -np.inf).argmax() != code if known.any() else True)
            known[code] = True
        return np.array(wrong, dtype=bool)

    def _examples(self, X: Any, y: Any, reset: bool) -> tuple[np.ndarray, np.ndarray]:
        rows, labels = validate_data(
            self, X, as_bools(y), reset=reset, dtype=[np.float64, np.float32], order="C"
        )
        check_labels("y", np.asarray(labels))
        try:
            check_classification_targets(labels)
        except (TypeError, ValueError):
            check_targets(labels, numeric=False)
            raise
        return rows, labels

    def _take_classes(self, classes: Any, labels: np.ndarray, first: bool) -> None:
        """Sets the classes: the given ones, or those in `labels`."""
        if first:
            self._discovered = {} if classes is None else None
            self.classes_ = labels[:0] if classes is None else np.unique(column_or_1d(np.asarray(classes)))
            if classes is not None:
                check_labels("classes", self.classes_)
                self._check_classes()
        elif classes is not None and not np.array_equal(np.unique(column_or_1d(classes)), self.classes_):
            if self._discovered is not None:
                raise ValueError(
                    f"classes={classes!r}: the first call to partial_fit had no classes, so they are those of the labels; leave classes out"
                )
            raise ValueError(
                f"classes={classes!r} is not the same as on the first call to partial_fit: {self.classes_!r}"
            )
        if self._discovered is not None:
            self._discover(labels)

    def _discover(self, labels: np.ndarray) -> None:
        """Names new classes for the learner, in order: whole numbers and text as they are, others by a number."""
        found, names = self._discovered or {}, dict.fromkeys(labels.tolist())
        check_one_type(labels, list(found))
        for label in names:
            if label not in found:
                found = {**found, label: name_of(label, found.values())}
        self._discovered = found
        self.classes_ = np.union1d(self.classes_, labels)

    def _check_classes(self) -> None:
        if len(self.classes_) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(self.classes_)} class"
            )

    def _codes(self, y: np.ndarray) -> np.ndarray:
        """The index of every label in `classes_`.

        Labels are compared as they are: converted to the type of `classes_`, "v10" would become "v1", and 7 would become True.
        """
        places = {label: place for place, label in enumerate(objects(self.classes_))}
        labels = objects(y)
        codes = [places.get(label, -1) for label in labels]
        if -1 in codes:
            row = codes.index(-1)
            raise ValueError(
                f"row {row} of y: found the label {labels[row]!r}, which is none of the classes {objects(self.classes_)}; "
                "leave such rows out, or start a new model with all classes"
            )
        return np.array(codes, dtype=np.intp)

    def _names(self) -> np.ndarray:
        """The names of the classes in the learner and its files: whole numbers and text, others by a number."""
        names = self.classes_.tolist()
        if self._discovered is not None:
            return np.array([self._discovered[name] for name in names])
        if all(is_whole(name) for name in names):
            return np.array([int(name) for name in names])
        named = any(all(type(name) is kind for name in names) for kind in (bool, int, str))
        return np.array(names if named else range(len(names)))

    def _weights(
        self, codes: np.ndarray, weights: np.ndarray | None, streaming: bool = False
    ) -> np.ndarray | None:
        if self.class_weight is None:
            return weights
        check_class_weight(self.class_weight)
        if streaming and words.is_word(self.class_weight, "balanced"):
            return weights  # the learner counts the classes, see _stream_config
        labels = self.classes_ if streaming else self.classes_[codes]
        of_class: np.ndarray = compute_class_weight(self.class_weight, classes=self.classes_, y=labels)
        # The largest weight of the whole dict is used, not that of the classes so far, so that the cut does not matter.
        given = self.class_weight.values() if isinstance(self.class_weight, dict) else of_class
        of_example: np.ndarray = of_class[codes] / max(1.0, *given)
        return of_example if weights is None else weights * of_example

    def _without_class_weights(self, sample_weight: ArrayLike | None) -> Reworded:
        """Takes the finding about the weights of rows out of a warning where the weights of the classes are the reason: `_weights` divides
        them by the largest, so the user cannot follow the advice."""
        largest = max(self.class_weight.values()) if isinstance(self.class_weight, dict) else 1.0
        given = 1.0 if sample_weight is None else float(np.mean(np.asarray(sample_weight)))
        if self.class_weight is None or largest < 1.0 or not 1 / FAR_WEIGHT <= given <= FAR_WEIGHT:
            return lambda text: text
        return lambda text: "" if (rest := WEIGHTS_FINDING.sub("", text)).startswith(" (see") else rest

    def _stream_config(self, rows: np.ndarray) -> dict[str, Any]:
        balanced = words.is_word(self.class_weight, "balanced")
        return {**super()._stream_config(rows), **({"class_weight": "balanced"} if balanced else {})}

    def _terms_within(self, rows: np.ndarray, config: dict[str, Any]) -> int | None:
        if self._discovered is not None:
            raise ValueError(
                f"budget={self.budget!r} is a size, and how many terms fit into it depends on the number of classes: "
                "pass partial_fit(X, y, classes=[all labels]) on the first call, or a number of terms as budget"
            )
        return super()._terms_within(rows, config)

    def _outputs(self) -> int:
        return len(self.classes_) if len(self.classes_) > 2 else 1

    def _loss(self) -> words.Setting:
        nu = check_scalar(self.nu, "nu", Real, min_val=0, max_val=1, include_boundaries="neither")
        loss = words.loss(self.loss, LOSS_NAMES, LOSSES, {"nu_hinge": {"nu": float(nu)}})
        many = len(self.classes_) > 2 or self._discovered is not None
        loss = FOR_MANY_CLASSES.get(loss, loss) if isinstance(loss, str) and many else loss
        name = loss.partition(":")[0] if isinstance(loss, str) else next(iter(loss))
        two_only = many and name not in FOR_MANY_CLASSES.values()
        if two_only and len(self.classes_) <= 2:
            raise ValueError(
                f"loss={self.loss!r} separates two classes, which have to be known: pass "
                "partial_fit(X, y, classes=[first, second]) on the first call, or use 'hinge' or 'log_loss'"
            )
        if two_only:
            names = ", ".join(map(repr, objects(self.classes_)[:3])) + (
                ", ..." if len(self.classes_) > 3 else ""
            )
            raise ValueError(
                f"loss={self.loss!r} separates exactly two classes, found {len(self.classes_)} ({names}): "
                "use 'hinge', 'log_loss', 'max_margin' or 'softmax'"
            )
        return loss

    def _task(self) -> dict[str, Any]:
        offset = {"offset": bool(self.fit_intercept)}
        return offset if self._discovered is not None else {**offset, "classes": self._names().tolist()}

    def _of_classes(self, scores: np.ndarray) -> np.ndarray:
        """Scores in the order of `classes_`. The learner has its classes in order of appearance."""
        if self._discovered is None:
            return scores
        places = {name: place for place, name in enumerate(self.learner_.classes)}
        columns = np.column_stack([scores, np.zeros(len(scores))])  # a class without an example scores 0
        return columns[:, [places.get(name, -1) for name in self._names().tolist()]]

    def _exported_classes(self) -> list[Any] | None:
        return None if self._discovered is None else self._names().tolist()

    def _decision(self, scores: np.ndarray) -> np.ndarray:
        """For two classes one column with every loss: the score of the second class minus that of the first."""
        scores = self._of_classes(scores)
        return scores[:, 1] - scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 2 else scores

    def _predicted(self, decision: np.ndarray) -> np.ndarray:
        return (decision > 0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)

    def _measure(self, learner: Learner, rows: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Measured:
        decision = self._decision(learner.predict(rows))
        wrong = self._predicted(decision) != y
        weighted = float(np.average(wrong, weights=weights))
        return Measured(calibrated_loss(decision, y, weights), weighted, float(wrong.mean()), len(y))

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Scores of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes one score, positive for `classes_[1]` in every order of the labels. Otherwise one score per
            class in `classes_`; the class with the largest score is predicted.
        """
        return self._decision(self._scores(X))

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The label of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            The class with the largest score; the earlier one in `classes_` of equal scores.
        """
        predicted = self._predicted(self.decision_function(X))
        return self.classes_[predicted]

    @available_if(_gives_probabilities)
    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """The probability of every class, with `loss="log_loss"`.

        Those of `partial_fit` are not calibrated. They are often too close to 0 and 1 where classes are hard to tell apart, and more so for rows that
        are far behind the last learned row of a stream that changes. Where they matter, compare them with the shares of right predictions on
        rows that were not learned, or use `sklearn.calibration.CalibratedClassifierCV`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The columns are in the order of `classes_`; rows sum to 1.
        """
        return np.exp(self.predict_log_proba(X))

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: ArrayLike) -> np.ndarray:
        """The logarithm of the probability of every class, with `loss="log_loss"`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The columns are in the order of `classes_`.
        """
        decision = self.decision_function(X)
        if decision.ndim == 1:
            return np.column_stack([log_expit(-decision), log_expit(decision)])
        return log_softmax(decision, axis=1)

    @property
    def dual_coef_(self) -> np.ndarray:
        """The coefficients of the terms: (1, terms) for two classes, else (classes, terms)."""
        check_is_fitted(self)
        return np.atleast_2d(self._decision(self.learner_.predicting_coefficients).T)

    @property
    def intercept_(self) -> np.ndarray:
        """The offset of the scores: (1,) for two classes, else (classes,)."""
        check_is_fitted(self)
        return np.atleast_1d(self._decision(np.atleast_2d(self.learner_.predicting_offset)).squeeze(0))


def is_whole(label: Any) -> bool:
    """True for a float that is a whole number and small enough to be exact."""
    return isinstance(label, float) and label.is_integer() and abs(label) <= 2**53


def check_one_type(labels: np.ndarray, known: list[Any]) -> None:
    """Refuses text where the classes so far are not text, and the reverse: they do not sort together."""
    for row, label in enumerate(labels.tolist() if known else ()):
        if isinstance(label, str) != isinstance(known[0], str):
            raise ValueError(
                f"row {row} of y: found {label!r} of type {type(label).__name__}, but the classes so far are of type "
                f"{type(known[0]).__name__}, such as {known[0]!r}: give labels of one type"
            )


def name_of(label: Any, taken: Collection[Any]) -> Any:
    """The name of a class in the learner: the label if it is a whole number or text, otherwise an unused number."""
    if type(label) in (bool, int, str):
        return label
    if is_whole(label) and int(label) not in taken:
        return int(label)
    return next(number for number in itertools.count(len(taken)) if number not in taken)


def as_bools(y: Any) -> Any:
    """Converts bools in an array of objects or a nullable column of pandas to an array of bools."""
    dtype = str(getattr(y, "dtype", ""))
    if dtype not in ("object", "boolean") or np.ndim(y) != 1:
        return y
    values = np.asarray(y, dtype=object)
    all_bools = len(values) > 0 and all(isinstance(value, (bool, np.bool_)) for value in values)
    return values.astype(bool) if all_bools else y
