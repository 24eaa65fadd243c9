"""The base class of the three estimators: settings, features that differ from row to row, one row or many."""

from __future__ import annotations

import copy
import math
import os
import warnings
from collections.abc import Hashable, Iterator, Mapping, Set
from contextlib import contextmanager
from numbers import Integral
from typing import TYPE_CHECKING, Any

from river import base

from okl import HealthWarning, Learner
from okl._interrupts import nothing_learned
from okl._okl import hash_names, learn_labelled
from okl._own_kernel import refuse_own_kernel
from okl._warnings import warn
from okl.river._features import Features, HashedFeatures, check_frame, check_row

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

Setting = str | dict[str, Any]
"""A name, with its parameters or without."""


SIGN_LOSSES = ("hinge", "nu_hinge", "perceptron", "logistic")
"""The losses that separate two classes by the sign of one score."""

LOSSES = {
    "KernelClassifier": (*SIGN_LOSSES, "max_margin", "softmax"),
    "KernelRegressor": ("squared", "absolute", "epsilon", "nu_epsilon", "huber", "nu_huber", "quantile"),
    "NoveltyDetector": ("density", "novelty", "nu_novelty"),
}
"""The losses of each estimator."""


class KernelEstimator(base.Estimator):
    """A learner and its features, behind River's interface.

    Attributes
    ----------
    learner
        The `okl.Learner` of the estimator, with its terms, certificates, configuration and `save`.
    rows_with_ignored_features
        The number of rows learned without some of their features, because there were already `max_features` names.
    """

    learner: Learner
    max_features: int
    rows_with_ignored_features: int
    _losses: tuple[str, ...]
    """The losses that the estimator can use."""

    def _start(self, **more: Any) -> None:
        """Builds the learner from the parameters that are not None, and `more`."""
        given = {name: value for name, value in self._get_params().items() if value is not None} | more
        refuse_own_kernel(given.get("kernel"))
        limit, bits = given.pop("max_features"), given.pop("hash_bits", None)
        if bits is not None:
            _check_hash(bits, given)
            given.setdefault("anchor", "none")  # columns are not centred, so that rows stay sparse
        if not isinstance(limit, Integral) or limit < 1:
            raise ValueError(f"max_features must be a whole number of at least 1, found {limit!r}")
        if "terms" in given and "budget" not in given:
            given["budget"] = _default_budget(
                _plain({name: value for name, value in given.items() if name != "terms"})
            )
        if given.get("loss", "auto") != "auto":
            self._check_losses(Learner(loss=given["loss"]).config["loss"])
        self.learner = Learner(**_chosen(given))
        if bits is not None:
            hash_names(self.learner, int(bits))
        fills = self.learner.config.get("missing") is not None
        self._features = (
            HashedFeatures(int(bits))
            if bits is not None
            else Features(int(limit), math.nan if fills else 0.0)
        )
        self.rows_with_ignored_features = 0

    def _check_losses(self, losses: Any) -> None:
        for name in (name for loss in (losses if isinstance(losses, list) else [losses]) for name in loss):
            if name not in self._losses:
                others = ", ".join(other for other, names in LOSSES.items() if name in names)
                raise ValueError(
                    f"loss: {type(self).__name__} has the losses {', '.join(self._losses)}, found {name!r}, "
                    f"which is a loss of {others}"
                )

    @property
    def feature_names(self) -> list[Hashable]:
        """The features so far, in the order of the columns of `learner` and `to_onnx`."""
        return self._features.names()

    def to_onnx(self, path: str | os.PathLike[str] | None = None) -> bytes | None:
        """The model as an ONNX graph, which onnxruntime and others evaluate; its columns are `feature_names`.

        Parameters
        ----------
        path
            A file to write. None: the file's bytes are returned.
        """
        return self.learner.to_onnx(path)

    def _learn_row(self, x: Mapping[Hashable, Any], *target: Any) -> None:
        try:
            if new := self._features.unseen(x.keys()):
                trial, features = self._reader(new)
                with _without_health_warnings():
                    features.learn(trial, x, *target)
                if len(target) > 1 and target[1] == 0:  # an example of weight 0 leaves no trace
                    return
                self._widen(features)
            self._features.learn(self.learner, x, *target)
        except (TypeError, ValueError, OverflowError):
            check_row(x, self._features.advice)
            raise
        self._count_ignored(x.keys(), 1)

    def _learn_frame(self, frame: nw.DataFrame[Any], *target: Any, **more: Any) -> dict[str, Any]:
        """Learns the rows of a frame; returns the results of each row."""
        try:
            if new := self._features.unseen(set(frame.columns)):
                trial, features = self._reader(new)
                with _without_health_warnings(), nothing_learned(len(frame)):
                    report = self._learn_matrix(trial, features.matrix(frame), *target, **more)
                if len(frame) and "weights" in more and not any(more["weights"]):
                    return report
                self._widen(features)
            report = self._learn_matrix(self.learner, self._features.matrix(frame), *target, **more)
        except ValueError:
            check_frame(frame, self._features.advice)
            raise
        self._count_ignored(set(frame.columns), len(frame))
        return report

    def _learn_matrix(self, learner: Learner, matrix: Any, *target: Any, **more: Any) -> dict[str, Any]:
        """Learns rows of numbers; returns the results of each row. Labels are names of classes, also if they are numbers."""
        return (learn_labelled if target else Learner.learn_report)(learner, matrix, *target, **more)

    def _count_ignored(self, names: Set[Hashable], rows: int) -> None:
        """Counts rows with ignored features; warns at the first one."""
        ignored = self._features.ignored(names)
        if ignored is None or rows == 0:
            return
        if self.rows_with_ignored_features == 0:
            warn(
                f"feature {ignored!r} is ignored: the model has max_features={self._features.limit} features. "
                "It ignores every other new name from now on and counts such rows in "
                "rows_with_ignored_features. Give a larger max_features, or names that do not keep changing, "
                "for instance with preprocessing.FeatureHasher"
            )
        self.rows_with_ignored_features += rows

    def _predict_row(self, x: Mapping[Hashable, Any]) -> list[float]:
        try:
            learner, features = self._reader(self._features.unseen(x.keys()))
            return features.predict(learner, x)
        except (TypeError, ValueError, OverflowError):
            check_row(x, self._features.advice)
            raise

    def _predict_frame(self, frame: nw.DataFrame[Any]) -> list[list[float]]:
        try:
            learner, features = self._reader(self._features.unseen(set(frame.columns)))
            scores = learner.predict(features.matrix(frame))
        except ValueError:
            check_frame(frame, self._features.advice)
            raise
        rows: list[list[float]] = (scores if scores.ndim == 2 else scores[:, None]).tolist()
        return rows

    def _reader(self, new: list[Hashable]) -> tuple[Learner, Features]:
        """A learner that also has the `new` features: the model itself if there are none, otherwise a copy.

        It is used for predictions, so that the score of a row is the same as when the row is learned. It also learns
        rows with new features first: if it refuses a row, the model itself is unchanged.
        """
        if not new:
            return self.learner, self._features
        features, learner = self._features.with_new(new), copy.copy(self.learner)
        learner.widen(len(features))
        return learner, features

    def _widen(self, features: Features) -> None:
        self.learner.widen(len(features))
        self.learner.feature_names = [str(name) for name in features.names()]
        self._features = features


@contextmanager
def _without_health_warnings() -> Iterator[None]:
    """Suppresses health warnings of a copy of the model: the model itself warns, once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HealthWarning)
        yield


def _check_hash(bits: Any, given: dict[str, Any]) -> None:
    if isinstance(bits, bool) or not isinstance(bits, Integral):
        raise ValueError(f"hash_bits must be a whole number from 1 to 28, found {bits!r}")
    if given.get("missing", "refuse") != "refuse":
        raise ValueError(
            f"missing={given['missing']!r} does not go with hash_bits: features may share a column, which has no mean or "
            "last value; an absent feature is 0"
        )


DESCRIBE_A_KERNEL = {"gamma", "degree", "coef0", "alpha", "operator", "form"}
"""Settings that describe one kernel. Where one of them is given, the kernel is that one and not several."""


def _chosen(given: dict[str, Any]) -> dict[str, Any]:
    """The settings with `auto` for kernel and loss replaced by what the command line chooses where nothing is set."""
    if given.get("kernel") != "auto" or DESCRIBE_A_KERNEL & given.keys():
        return _plain(given)
    one_loss = given | {"loss": _plain(given).get("loss", "squared")}
    if Learner(**one_loss).config.get("heads") not in ("varied", "weighted", "mixed", "broad"):
        return _plain(given)
    return given | {"loss": "max_margin,softmax"} if given.get("loss") == "auto" else given


def _plain(given: dict[str, Any]) -> dict[str, Any]:
    """The settings with one kernel and one loss in place of `auto`."""
    one = {"kernel": "gaussian", "loss": "max_margin"}
    return given | {name: value for name, value in one.items() if given.get(name) == "auto"}


def _default_budget(settings: dict[str, Any]) -> str:
    """The name of the engine's default budget."""
    return str(next(iter(Learner(**{**settings, "form": "terms"}).config["budget"])))
