"""A regressor of one or several outputs."""

from __future__ import annotations

from copy import copy
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from okl import _docs
from okl._columns import SECONDS
from okl._interrupts import rows_counted
from okl._okl import Learner
from okl._sklearn import words
from okl._sklearn.base import KernelEstimator
from okl._sklearn.passes import with_settings
from okl._sklearn.refusal import kept_rows, restoring, rows_named
from okl._sklearn.search import Measured, Search
from okl._sklearn.targets import TargetScale, TargetWarmUp, large_targets_by_row, lower_quantile
from okl._sklearn.validate import ScoresUnmasked, check_targets, check_weights, validate_data, without_zeros
from okl._warnings import reworded, warn, warn_of_health

LOSS_NAMES = (
    "squared_error", "absolute_error", "epsilon_insensitive", "huber", "quantile", "nu_epsilon", "nu_huber"
)  # fmt: skip

LOSSES = {"squared_error": "squared", "absolute_error": "absolute", "epsilon_insensitive": "epsilon"}
"""okl's names of scikit-learn's losses."""

BOUNDED = tuple(name for name in LOSS_NAMES if name != "squared_error")
"""Losses whose gradient is at most 1."""

FAR_TARGETS = 30.0
"""Targets with a larger standard deviation are far from the unit of their steps, as in okl/src/learner/large_targets.rs."""


@_docs.filled
class KernelRegressor(ScoresUnmasked, RegressorMixin, MultiOutputMixin, KernelEstimator):
    """Kernel regressor of one or several outputs that learns one example at a time, in bounded memory.

    <streams>

    Parameters
    ----------
    loss : str or dict, default="squared_error"
        "squared_error", "absolute_error", "epsilon_insensitive", "huber", "quantile" (one output),
        "nu_epsilon" and "nu_huber", whose tube or scale adapts until a fraction `nu` is outside, or any loss
        of `okl.Learner`. In a stream (`partial_fit`) with `learning_rate` = "auto", these two learn with one step size that falls, and not
        with several settings in parallel as the other losses do: on 6,000 rows R² was 0.45 and 0.74, with
        ``learning_rate="decay", eta0=0.5`` 0.85 and 0.93, and 0.98 for "huber" with nothing set. With several outputs a loss is a function of the norm of the residual.
    <searched kernel>
    <searched gamma>
    <coefficients>
    <alpha>
    epsilon : float, default=0.1
        Half the width of the tube of "epsilon_insensitive", or the residual above which "huber" is
        linear; in units of the target's standard deviation if `normalize_y`.
    nu : float, default=0.1
        The fraction outside the tube of "nu_epsilon" or the scale of "nu_huber".
    quantile : float, default=0.5
        The quantile of "quantile". The share of new rows below the prediction can be far from it: count the share on rows that were not
        learned. With the default learning rate, `partial_fit` follows the last rows so closely that the share is near to a half: with the
        quantiles 0.25 and 0.75 it was about 0.5, with 0.9 and little noise 0.44. With ``learning_rate="invscaling", eta0=1.0`` it was within
        0.13 of the quantile, if the stream does not change. `fit` shifts its predictions so that this share of the rows that its search did
        not learn is below them. The share of new rows was within 0.05 of it on eleven sets of 1,000 to 2,000 rows, 0.09 too far from the
        median on two where noise is small beside the signal, and up to 0.14 off with the median of exponential noise. Where nothing is
        searched (`gamma` and `alpha` are given, or one pass is made), nothing is shifted: the rows that were learned are closer to the
        function than new ones, and the share of new rows can be 0.2 nearer to a half.
    <fit intercept>
    <learning rate>
    eta0 : float, default=0.5
        <first step>
    <average>
    <searched budget and scale>
    normalize_y : bool, default=True
        Whether targets are scaled to mean 0 and standard deviation 1. Default losses and step sizes assume this
        scale. In `fit` mean and standard deviation are those of all targets; in `partial_fit` those of the first
        `warmup` rows, provisional until then.
    <searched passes>
    <orders>
    <threads>
    <warm start>
    <missing>
    <learner params>

    Attributes
    ----------
    learner_ : okl.Learner
        The model, with its certificates. Its targets and scores are in the units of `y`, also after saving. Its
        losses and `theta` are in the units of the normalised targets (setting `target_scale`).
    <centres>
    dual_coef_ : ndarray of shape (n_outputs, n_terms)
        Their coefficients, in the units of the targets. With an operator J, in the units of the normalised targets.
    intercept_ : ndarray of shape (n_outputs,)
        The offset, in the units of the targets.
    <search>
    <of scikit learn>

    Notes
    -----
    Steps are proximal, which is stable for every kernel and step size, except with the learning rate "adaptive".
    The regret certificate of the engine holds for explicit steps only.

    To couple related outputs, pass ``learner_params={"operator": J}`` with a positive semidefinite matrix J over
    the (normalised) outputs.

    Examples
    --------
    >>> import numpy as np
    >>> from okl import KernelRegressor
    >>> x = np.linspace(0, 6, 200)[:, None]
    >>> truth = 1000 + 50 * np.sin(x[:, 0])
    >>> y = truth + np.random.default_rng(0).normal(0, 5, size=200)
    >>> model = KernelRegressor(gamma=2.0, random_state=0).fit(x, y)
    >>> bool(np.abs(model.predict(x) - truth).max() < 5)
    True
    """

    _target_scale: TargetScale | None
    _warm_up: TargetWarmUp | None
    _n_outputs: int

    def __init__(
        self,
        loss: words.Setting = "squared_error",
        *,
        kernel: words.Setting = "auto",
        gamma: float | str = "auto",
        degree: int = 3,
        coef0: float = 1.0,
        alpha: float | str = "auto",
        epsilon: float = 0.1,
        nu: float = 0.1,
        quantile: float = 0.5,
        fit_intercept: bool = True,
        learning_rate: words.Setting = "auto",
        eta0: float = 0.5,
        average: bool | words.Setting = "auto",
        budget: int | words.Setting | None = "auto",
        scale: words.Setting | None = "auto",
        normalize_y: bool = True,
        max_iter: int | str = "auto",
        tol: float | None = 1e-3,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        random_state: int | np.random.RandomState | None = None,
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
        self.epsilon = epsilon
        self.nu = nu
        self.quantile = quantile
        self.fit_intercept = fit_intercept
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.average = average
        self.budget = budget
        self.scale = scale
        self.normalize_y = normalize_y
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.random_state = random_state
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
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. They multiply steps, so their mean should be near 1.

        Returns
        -------
        self
        """
        going_on = self._continues()
        rows, targets = self._examples(X, y, reset=not going_on)
        weights = check_weights(sample_weight, rows.shape[0], some=True)
        places = kept_rows(weights, rows.shape[0])
        weights, rows, targets = without_zeros(weights, rows, targets)
        if not going_on:
            self._target_scale = TargetScale.of(targets, weights) if self.normalize_y else None
            if not self.normalize_y:
                self._check_unit(targets)
        self._warm_up = None
        with rows_named(places), reworded(large_targets_by_row(targets, places)):
            rows, filler = self._filled_set(rows)
            if going_on:
                self._continue_set(rows, targets, weights)
            else:
                self._fit_set(rows, targets, weights)
            self._fill_as(filler)
        return self

    def _check_unit(self, targets: np.ndarray) -> None:
        """Warns of targets that are far from the unit of the steps that `fit` tries: with a bounded gradient a row moves the model by at most a step."""
        deviation = float(np.std(targets, axis=0).max())
        chosen = words.is_word(self.learning_rate, "auto")
        if chosen and self.loss in BOUNDED and deviation > FAR_TARGETS:
            warn(
                f"normalize_y=False: the steps of loss={self.loss!r} suit targets with a standard deviation near 1, and that of y is "
                f"{deviation:.4g}: set normalize_y=True, which predicts in the units of y, too"
            )

    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learns rows in order, as a stream. The model does not depend on how the stream is divided into calls.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. They multiply steps, so their mean should be near 1.

        Returns
        -------
        self
        """
        self._learn_report(X, y, sample_weight)
        return self

    @restoring(Exception)
    def _learn_report(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> dict[str, np.ndarray]:
        first = not hasattr(self, "learner_")
        rows, targets = self._examples(X, y, reset=first)
        weights = check_weights(sample_weight, rows.shape[0])
        weights = np.ones(rows.shape[0]) if weights is None else weights
        if first:
            self._begin(rows)
        places = kept_rows(weights, rows.shape[0])
        with rows_named(places), rows_counted(lambda learned: int(places[learned]), rows.shape[0]):
            return self._learn(*without_zeros(weights, rows, targets))

    def _begin(self, rows: np.ndarray) -> None:
        self._target_scale = None
        config = self._stream_config(self._filled_first(rows))
        learner = self._new_learner(config)
        learner.predict(rows)  # raises the errors of learning before anything has changed
        self._warm_up = TargetWarmUp(learner.config["warmup"], config) if self.normalize_y else None
        self.learner_ = learner

    def _learn(self, weights: np.ndarray, rows: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
        """Learns examples in parts; a part ends where the scale of the targets is estimated again."""
        if self._warm_up is not None:  # several calls follow, and a later one may be refused
            self.learner_, self._warm_up = copy(self.learner_), copy(self._warm_up)
        reports = [{"residual": np.empty((0, y.shape[1])), "outside": np.empty(0, dtype=bool)}]
        first, held = 0, [""]

        def hold(text: str) -> str:
            held[0] = text
            return ""

        with reworded(hold):  # each learner of a warm-up learns the same rows again
            while first < rows.shape[0]:
                stop = rows.shape[0] if self._warm_up is None else first + self._warm_up.until_next()
                part = slice(first, stop)
                with rows_named(range(first, rows.shape[0])), rows_counted(first.__add__, rows.shape[0]):
                    reports.append(self._learn_part(rows[part], y[part], weights[part]))
                first = stop
        if held[0]:
            findings = "; ".join(self.learner_.health()["findings"])
            warn_of_health(f"{findings} (see health())" if findings else held[0])
        return {key: np.concatenate([report[key] for report in reports]) for key in reports[0]}

    def _learn_part(self, rows: np.ndarray, y: np.ndarray, weights: np.ndarray) -> dict[str, np.ndarray]:
        learner = self._threaded(self.learner_)
        report = learner.learn_report(rows, y, weights=weights)
        residual = y - report["scores"].reshape(y.shape)
        if self._warm_up is not None:
            self._warm_up.add(rows, y, weights)
            if self._warm_up.due():
                self._relearn(self._warm_up)
        return {"residual": residual, "outside": report["outside"]}

    def _relearn(self, warm_up: TargetWarmUp) -> None:
        rows, y, weights = warm_up.examples()
        self.learner_ = self._new_learner(
            {"target_scale": TargetScale.of(y, weights).setting(), **warm_up.config}
        )
        self.learner_.learn(rows, y, weights=weights)
        if warm_up.over():
            self._warm_up = None

    def _examples(self, X: Any, y: Any, reset: bool) -> tuple[np.ndarray, np.ndarray]:
        rows, y = validate_data(
            self,
            X,
            y,
            reset=reset,
            dtype=[np.float64, np.float32],
            order="C",
            multi_output=True,
            y_numeric=True,
        )
        check_numbers(y)
        if not np.isfinite(y).all():  # None in an array of objects has become nan
            row = int(np.argwhere(~np.isfinite(y))[0, 0])
            raise ValueError(f"row {row} of y: found no finite number, expected a target; leave the row out")
        one_column = y.ndim == 1
        y = np.asarray(y, dtype=np.float64).reshape(rows.shape[0], -1)
        if reset:
            self._one_column, self._n_outputs = one_column, y.shape[1]
        if y.shape[1] != self._n_outputs:
            raise ValueError(f"y has {y.shape[1]} outputs, but the model was fitted with {self._n_outputs}")
        return rows, y

    def _outputs(self) -> int:
        return self._n_outputs

    def _loss(self) -> words.Setting:
        within = {"min_val": 0, "max_val": 1, "include_boundaries": "neither"}
        nu = {"nu": float(check_scalar(self.nu, "nu", Real, **within))}
        epsilon = float(check_scalar(self.epsilon, "epsilon", Real, min_val=0, include_boundaries="neither"))
        parameters = {
            "epsilon": {"epsilon": epsilon},
            "huber": {"sigma": epsilon},
            "nu_epsilon": nu,
            "nu_huber": nu,
            "quantile": {"q": float(check_scalar(self.quantile, "quantile", Real, **within))},
        }
        loss = words.loss(self.loss, LOSS_NAMES, LOSSES, parameters)
        if self._n_outputs > 1 and "quantile" in (loss.partition(":") if isinstance(loss, str) else loss):
            raise ValueError(
                f"the loss 'quantile' has one output, y has {self._n_outputs}; learn one model per output, for "
                "instance with sklearn.multioutput.MultiOutputRegressor"
            )
        return loss

    def _task(self) -> dict[str, Any]:
        scale = {} if self._target_scale is None else {"target_scale": self._target_scale.setting()}
        return {"offset": bool(self.fit_intercept), **scale}

    def _measure(self, learner: Learner, rows: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Measured:
        # Weights this small leave the function as it is, and the learner reports its own loss.
        report = learner.learn_report(rows, y, weights=1e-9 * weights)
        loss = float(np.nansum(report["loss"]) / (1e-9 * weights.sum()))
        residuals = None
        if quantile_of(learner) is not None:
            residuals = np.column_stack([y.ravel() - report["scores"].ravel(), weights])
        return Measured(loss, None, None, len(y), residuals)

    def _after_search(self, search: Search) -> None:
        """Shifts a quantile so that its share of the rows that were not learned is below it: the rows that were learned are closer to the
        function than new ones, so their share is not that of new rows."""
        quantile, residuals = quantile_of(self.learner_), search.held_out()
        if quantile is None or residuals is None:
            return
        shift = lower_quantile(residuals[:, 0], quantile, residuals[:, 1])
        scale = self._target_scale or TargetScale(np.zeros(1), np.ones(1))
        self._target_scale = TargetScale(scale.mean + shift, scale.deviation)
        setting = {"target_scale": self._target_scale.setting()}
        self.learner_ = self._threaded(with_settings(self.learner_, setting))

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predicts the targets of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            In the shape and units of the `y` of `fit`.
        """
        y = self._scores(X).reshape(-1, self._n_outputs)
        return y.ravel() if self._one_column else y

    @property
    def intercept_(self) -> np.ndarray:
        """The offset of the predictions, in the units of the targets: (outputs,)."""
        check_is_fitted(self)
        return np.atleast_1d(self.learner_.predicting_offset)


def quantile_of(learner: Learner) -> float | None:
    """The quantile that a learner learns; None for another loss."""
    loss = learner.config["loss"]
    return float(loss["quantile"]["q"]) if isinstance(loss, dict) and "quantile" in loss else None


def check_numbers(y: np.ndarray) -> None:
    """Refuses targets that are not numbers. A date would become a count in a unit that depends on its type."""
    if y.dtype.kind in "mM":
        raise ValueError(f"y has dtype {y.dtype}, expected numbers; {SECONDS}")
    if y.dtype.kind not in "fiub":
        check_targets(y, numeric=True)
