"""A regressor of one or several outputs."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from okl._okl import Learner
from okl._sklearn import words
from okl._sklearn.base import KernelEstimator, check_weights, validate_data, without_zeros
from okl._sklearn.targets import TargetScale, TargetWarmUp

LOSS_NAMES = (
    "squared_error", "absolute_error", "epsilon_insensitive", "huber", "quantile", "nu_epsilon", "nu_huber"
)  # fmt: skip

LOSSES = {"squared_error": "squared", "absolute_error": "absolute", "epsilon_insensitive": "epsilon"}
"""okl's names of scikit-learn's losses."""


class KernelRegressor(RegressorMixin, MultiOutputMixin, KernelEstimator):
    """Kernel regressor of one or several outputs that learns one example at a time, in bounded memory.

    `fit` learns a fixed set in several passes; `partial_fit` learns a stream, and leaves the same model
    behind, to the last bit, however the stream is cut into calls.

    Parameters
    ----------
    loss : str or dict, default="squared_error"
        "squared_error", "absolute_error", "epsilon_insensitive", "huber", "quantile" (one output),
        "nu_epsilon" and "nu_huber", whose tube or scale adapts until a share `nu` is outside, or any spelling
        of the engine. With several outputs a loss reads the norm of the residual.
    kernel : str or dict, default="rbf"
        "rbf" exp(-gamma r²), "linear", "poly" (gamma <x, x'> + coef0)^degree, "laplacian" exp(-gamma r) with
        the Euclidean distance r, "matern32", "matern52", "rational_quadratic", or any spelling of the engine,
        as ``{"sum": ["linear", "gaussian:0.5"]}``.
    gamma : float, "auto", "median" or "scale", default="auto"
        "median": 1 / (2 m), with m the median squared distance between the first `warmup` (256) rows (1 /
        sqrt(m) for kernels of r). "auto": several widths around it side by side, of which the best
        in a first pass makes the passes of `fit` (1 / n_features for
        "poly"). "scale": 1 / (n_features X.var()) of the rows
        that the kernel sees in the first call, as scikit-learn has it (its square root for kernels of r).
    degree : int, default=3
        The degree of "poly".
    coef0 : float, default=1.0
        The constant of "poly".
    alpha : float or "auto", default="auto"
        The weight of the squared norm: the engine's lambda. "auto": several side by side
        (1e-4 in several passes of `fit`).
    epsilon : float, default=0.1
        Half the width of the tube of "epsilon_insensitive", or where "huber" turns linear; in units of the
        target's deviation if `normalize_y`.
    nu : float, default=0.1
        The share outside the tube of "nu_epsilon" or the scale of "nu_huber".
    quantile : float, default=0.5
        The quantile of "quantile".
    fit_intercept : bool, default=True
        Is an offset learned?
    learning_rate : str or dict, default="auto"
        "auto": several rules side by side, over one set of terms; those that err least count most ("decay" in
        several passes of `fit`, where all errors become small).
        "decay": eta0 sqrt(tau / (tau + t)) with tau = 1000. "invscaling" or "inverse_sqrt": eta0 / sqrt(t).
        "constant": eta0. "optimal": 1 / (alpha (t + t0)), with t0 such that it starts at eta0. "adaptive" or
        "smd": the engine's own adaptation, from eta0. Or any spelling of the engine, as
        "decay:eta=0.5,tau=300".
    eta0 : float, default=0.5
        The first step size of a rule that is given, for kernels with k(x, x) = 1; for "linear" and "poly" it is divided by k(x, x) of
        a row whose columns have variance 1.
    average : "auto", bool, str or dict, default="auto"
        Does the mean of the hypotheses of the last 1000 examples predict, or the last one? "auto": the last
        one in `partial_fit`, as a mean would lag behind a stream that changes, and where `learning_rate` is
        "auto" a mean beside it, so that what errs less counts more; the mean in `fit`, if the terms it is made
        of last: with a Gaussian kernel, without a limit, or with no more rows than terms. Or a spelling of the
        engine, as "exponential:0.01" or "uniform".
    budget : int, None, str or dict, default=1000
        The most terms the model may have; the lightest are merged (Gaussian kernel) or carried over to new
        ones. None: no limit. A size, as "64MB": as many as fit. Or any rule of the engine, as "window:500".
    scale : "auto", "standard" or None, default="auto"
        "standard": columns are put into units of their deviation, as the first `warmup` rows show it (all
        rows in `fit`). "auto": the same, unless `gamma` is a number or many columns share one range. None: as they
        come.
    normalize_y : bool, default=True
        Are targets put into units of their deviation? Losses and step sizes are made for targets of the size
        of 1. In `fit` mean and deviation are those of all targets; in `partial_fit` those of the first
        `warmup` rows, provisional until then.
    max_iter : int or "auto", default="auto"
        The most passes of `fit` over its rows. "auto": as many as make 100,000 examples, between 1 and 100.
        `partial_fit` makes one.
    tol : float or None, default=1e-3
        `fit` ends when `n_iter_no_change` passes in a row have not lowered the mean loss by `tol`; None:
        after all passes. The model is that of the pass with the lowest loss.
    n_iter_no_change : int, default=5
        See `tol`.
    shuffle : bool, default=True
        Does `fit` take the rows in a new random order in every pass?
    random_state : int, RandomState instance or None, default=None
        The source of these orders.
    n_jobs : int or None, default=None
        Threads for large matrix products. No bit depends on it.
    warm_start : bool, default=False
        Does `fit` go on from the model of the last call? Scale and width stay what they were.
    learner_params : dict or None, default=None
        More settings of `okl.Learner`, which win over all others: ``{"implicit": False}`` for the explicit
        step, ``{"tau": 300}``, ``{"warmup": 500}``, ...

    Attributes
    ----------
    learner_ : okl.Learner
        The model, with its certificates; it speaks of normalised targets.
    support_vectors_ : ndarray of shape (n_terms, n_features)
        The centres of the terms, in the units of the data.
    dual_coef_ : ndarray of shape (n_outputs, n_terms)
        Their coefficients, in the units of the targets.
    intercept_ : ndarray of shape (n_outputs,)
        The offset, in the units of the targets.
    n_iter_ : int
        The passes of the last `fit`.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    Steps are proximal where the loss has such a step (all have one here, but not with "adaptive" learning
    rates): stable for every kernel and step size. The engine's regret certificate is one of explicit steps.

    Outputs that are related learn from each other through ``learner_params={"operator": J}``, J a positive
    semidefinite matrix over the (normalised) outputs.

    Examples
    --------
    >>> import numpy as np
    >>> from okl import KernelRegressor
    >>> x = np.linspace(0, 6, 200)[:, None]
    >>> y = 1000 + 50 * np.sin(x[:, 0])
    >>> model = KernelRegressor(gamma=2.0, random_state=0).fit(x, y)
    >>> bool(np.abs(model.predict(x) - y).max() < 5)
    True
    """

    _target_scale: TargetScale
    _warm_up: TargetWarmUp | None

    def __init__(
        self,
        loss: words.Setting = "squared_error",
        *,
        kernel: words.Setting = "rbf",
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
        budget: int | words.Setting | None = 1000,
        scale: words.Setting | None = "auto",
        normalize_y: bool = True,
        max_iter: int | str = "auto",
        tol: float | None = 1e-3,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
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
        self.learner_params = learner_params

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learns a fixed set of rows, in up to `max_iter` passes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        going_on = self._continues()
        rows, targets = self._examples(X, y, reset=not going_on)
        weights = check_weights(sample_weight, len(rows), some=True)
        weights, rows, targets = without_zeros(weights, rows, targets)
        if not going_on:
            none = TargetScale.none(targets.shape[1])
            self._target_scale = TargetScale.of(targets, weights) if self.normalize_y else none
        self._warm_up = None
        numbers = self._target_scale.to_engine(targets)
        learner = self.learner_ if going_on else self._set_learner(rows, numbers, weights)
        self._pass_until_still(learner, rows, numbers, weights)
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learns rows in their order, as a stream; its cut into calls does not change a bit of the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        self._learn_report(X, y, sample_weight)
        return self

    def _learn_report(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> dict[str, np.ndarray]:
        first = not hasattr(self, "learner_")
        rows, targets = self._examples(X, y, reset=first)
        weights = check_weights(sample_weight, len(rows))
        if first:
            self._begin(rows, targets.shape[1])
        return self._learn(*without_zeros(np.ones(len(rows)) if weights is None else weights, rows, targets))

    def _begin(self, rows: np.ndarray, outputs: int) -> None:
        config = self._stream_config(rows)
        learner = Learner(config)
        learner.predict(rows)  # refuses what learning would refuse, before anything has changed
        self._target_scale = TargetScale.none(outputs)
        self._warm_up = TargetWarmUp(learner.config["warmup"], config) if self.normalize_y else None
        self.learner_ = learner

    def _learn(self, weights: np.ndarray, rows: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
        """Learns examples, stopping where the scale of the targets is found anew."""
        if self._warm_up is not None:
            self.learner_.predict(rows)  # as above: what follows are several calls
        reports = [{"residual": np.empty((0, y.shape[1])), "outside": np.empty(0, dtype=bool)}]
        while len(rows) > 0:
            stop = len(rows) if self._warm_up is None else self._warm_up.until_next()
            reports.append(self._learn_part(rows[:stop], y[:stop], weights[:stop]))
            rows, y, weights = rows[stop:], y[stop:], weights[stop:]
        return {key: np.concatenate([report[key] for report in reports]) for key in reports[0]}

    def _learn_part(self, rows: np.ndarray, y: np.ndarray, weights: np.ndarray) -> dict[str, np.ndarray]:
        learner = self._threaded(self.learner_)
        report = learner.learn_report(rows, self._target_scale.to_engine(y), weights=weights)
        residual = y - self._target_scale.to_user(report["scores"])
        if self._warm_up is not None:
            self._warm_up.add(rows, y, weights)
            if self._warm_up.due():
                self._relearn(self._warm_up)
        return {"residual": residual, "outside": report["outside"]}

    def _relearn(self, warm_up: TargetWarmUp) -> None:
        rows, y, weights = warm_up.examples()
        self._target_scale = TargetScale.of(y, weights)
        self.learner_ = Learner(warm_up.config)
        self.learner_.learn(rows, self._target_scale.to_engine(y), weights=weights)
        if warm_up.over():
            self._warm_up = None

    def _examples(self, X: Any, y: Any, reset: bool) -> tuple[np.ndarray, np.ndarray]:
        rows, y = validate_data(
            self, X, y, reset=reset, dtype=[np.float64, np.float32], order="C", multi_output=True, y_numeric=True
        )
        if reset:
            self._one_column = y.ndim == 1
        y = np.asarray(y, dtype=np.float64).reshape(len(rows), -1)
        if not reset and y.shape[1] != len(self._target_scale.mean):
            raise ValueError(
                f"y has {y.shape[1]} outputs, but the model was fitted with {len(self._target_scale.mean)}"
            )
        return rows, y

    def _outputs(self) -> int:
        return len(self._target_scale.mean)

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
        return words.loss(self.loss, LOSS_NAMES, LOSSES, parameters)

    def _task(self) -> dict[str, Any]:
        return {"offset": bool(self.fit_intercept)}

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The targets of rows, of the shape that `y` had: (n_samples,) or (n_samples, n_outputs)."""
        y = self._target_scale_of_fitted().to_user(self._scores(X))
        return y.ravel() if self._one_column else y

    def _target_scale_of_fitted(self) -> TargetScale:
        check_is_fitted(self)
        return self._target_scale

    @property
    def dual_coef_(self) -> np.ndarray:
        """The coefficients of the terms, in the units of the targets: (outputs, terms)."""
        return self._target_scale_of_fitted().deviation[:, None] * self.learner_.predicting_coefficients.T

    @property
    def intercept_(self) -> np.ndarray:
        """The offset of the predictions, in the units of the targets: (outputs,)."""
        return self._target_scale_of_fitted().to_user(np.atleast_2d(self.learner_.predicting_offset)).ravel()
