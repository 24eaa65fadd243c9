"""A novelty detector that keeps a requested alert rate."""

from __future__ import annotations

import math
from copy import copy
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OutlierMixin
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from okl import Learner, _docs
from okl._model_file import ModelFile
from okl._sklearn import words
from okl._sklearn.base import AVERAGED, TERMS, KernelEstimator, Rows
from okl._sklearn.refusal import kept_rows, restoring, rows_named
from okl._sklearn.targets import lower_quantile
from okl._sklearn.validate import check_weights, validate_data, without_zeros
from okl._warnings import warn

ONE_WITH_ITSELF = (*words.OF_SQUARED_DISTANCE, *words.OF_DISTANCE, "manhattan")
"""Kernels whose value of a row with itself is 1."""


@_docs.filled
class NoveltyDetector(OutlierMixin, KernelEstimator):
    """Novelty detector that learns one example at a time, with an alert rate of `nu`.

    The score of a row is a kernel density: about the share of recent rows that are near it. It is the exponential mean of the
    kernel values of the row with recent rows, each times its `sample_weight`, divided by `alpha` (1 by default). The mean begins at 0:
    after n rows the scores are 1 - 0.998^n times the share (0.4 after 256 rows, 0.87 after 1,000), so scores of detectors with
    different numbers of rows do not compare. So the scores of a
    kernel of distance are between 0 and 1 without weights, and between 0 and the largest weight / `alpha` otherwise.
    `score_samples`, higher is more normal; `decision_function` = score - `offset_`, negative is novel; `predict`,
    -1 for novel rows and 1 for other rows. `nu` sets the threshold and has no effect on the scores.

    `fit` learns a fixed set, of which a fraction `nu` is then below the threshold (fewer where rows have equal scores). The score of a learned
    row contains the row itself, so of new rows more are below; where these are many more (few rows, many features), `fit` warns, unless the budget
    has merged terms or the kernel is no function of distance: then it cannot tell. `partial_fit` learns a
    stream; the model does not depend on how the stream is cut into calls, to the last bit (except with `gamma` = "scale"). The threshold adapts
    to the stream, so that a fraction `nu` of the rows are alerts at the time they arrive, before a change and
    after it. `alert_rate_` has the observed rate and a bound on its distance from `nu` that holds for any data.

    Parameters
    ----------
    nu : float, default=0.05
        The fraction of rows that are alerts: of the learned rows after `fit`, of the rows as they arrive with `partial_fit`.
    <kernel>
    gamma : float, "auto", "median" or "scale", default="auto"
        <median width>
        "auto": the narrowest width with which nine of ten of the first `warmup` rows have at least 1 % of the others
        near, by the mean of their kernel values; gamma is 1.5 times that of this width where rows are whitened, as with `scale` = "auto"
        (1 / n_features for "poly").
        <scale width>
    <coefficients>
    alpha : float or "auto", default="auto"
        The weight of the squared norm: the engine's lambda. The scores are an exponential mean over about
        1 / (alpha * step size) rows. "auto": 1, so that it is over 500 rows (0.1 with `threshold` = "norma").
    threshold : str or dict, default="tracker"
        "tracker": a tracked quantile of the score, which keeps the alert rate at `nu`; "tracker:0.1" has a given
        speed. "norma": the algorithm of Kivinen et al., with the loss `nu_novelty` and its theta as the threshold; `nu`
        then has an effect on the scores, too.
    learning_rate : str or dict, default="auto"
        "auto": constant steps of 0.002 (0.1 with `threshold` = "norma").
        <rates>
    eta0 : float, default=0.01
        <first step>
    average : "auto", bool, str or dict, default="auto"
        Whether the mean of recent hypotheses gives the scores. True: over 1000 examples. Or an average of
        `okl.Learner`, as "exponential:0.01". "auto": no, except in `fit` with `threshold` = "norma". An average
        ranks rows better, but theta of `nu_novelty` follows the last hypothesis: by the mean the share of alerts in a stream can
        be far from `nu`.
    budget : int, None, str or dict, default=2000
        The largest number of terms: the last 2000 rows (with `threshold` = "norma", terms are merged). None: no limit. A
        size, as "64MB": as many terms as fit into it. Or any budget of `okl.Learner`, as "merge:500".
    <scale>
    max_iter : int or "auto", default="auto"
        The passes of `fit` over its rows. "auto": one (with `threshold` = "norma" as many as make 20,000 examples,
        between 1 and 100). `partial_fit` makes one.
    <orders>
    <threads>
    <warm start>
    <missing>
    learner_params : dict or None, default=None
        More settings of `okl.Learner`, which override all other parameters: ``{"warmup": 500}``, ...

    Attributes
    ----------
    learner_ : okl.Learner
        The model, with its certificates; `learner_.save(path)` writes a file that the command line reads. Its threshold is
        `learner_.threshold`, the one that follows the stream: after `fit` the command line therefore raises other
        alerts than `predict`, which uses `offset_`. `to_onnx` writes `offset_`.
    offset_ : float
        The threshold on the scores. After `fit` the `nu`-quantile of its rows, halfway to the next lower score; after `partial_fit` the
        threshold that follows the stream, `learner_.threshold`, and 0 until there have been `warmup` rows:
        nothing is novel before.
    alert_rate_ : object with `rate`, `bound` and `nu`, or None
        The fraction of alerts since the threshold was set, with |rate - nu| <= bound for any data (a large bound where an average
        decides under `threshold` = "norma"); with `sample_weight`, the share of the weight. None before the first row that was compared with the threshold. After `fit` it counts the
        rows as they were learned, by the threshold that followed them, and not those below `offset_`, which is found after that.
    <centres>
    dual_coef_ : ndarray of shape (1, n_terms)
        <side by side>
    <of scikit learn>

    Notes
    -----
    After a sudden change of the stream every row is an alert, until rows at the new place are no longer rarer than the
    threshold: with `nu` = 0.05 after 5 to 20 rows, with a larger `nu` after more. After that there are fewer alerts than `nu` until the overall
    share is `nu` again.

    Examples
    --------
    >>> import numpy as np
    >>> from okl import NoveltyDetector
    >>> X = np.random.default_rng(0).normal(size=(5000, 2))
    >>> detector = NoveltyDetector(nu=0.02)
    >>> alerts = detector.partial_fit_predict(X) == -1
    >>> rate = detector.alert_rate_
    >>> abs(rate.rate - 0.02) <= rate.bound
    True
    >>> detector.predict([[0.0, 0.0], [6.0, 6.0]])
    array([ 1, -1])
    """

    _searches = False
    _prefers_proximal = False
    _fitted_offset: float | None = None

    def __init__(
        self,
        nu: float = 0.05,
        *,
        kernel: words.Setting = "rbf",
        gamma: float | str = "auto",
        degree: int = 3,
        coef0: float = 1.0,
        alpha: float | str = "auto",
        threshold: words.Setting = "tracker",
        learning_rate: words.Setting = "auto",
        eta0: float = 0.01,
        average: bool | words.Setting = "auto",
        budget: int | words.Setting | None = 2000,
        scale: words.Setting | None = "auto",
        max_iter: int | str = "auto",
        shuffle: bool = True,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        missing: str | None = None,
        learner_params: dict[str, Any] | None = None,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.alpha = alpha
        self.threshold = threshold
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.average = average
        self.budget = budget
        self.scale = scale
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.missing = missing
        self.learner_params = learner_params

    @restoring(BaseException)
    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learns a fixed set in `max_iter` passes; the threshold is the `nu`-quantile of the rows' scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. They multiply steps, so their mean should be near 1.

        Returns
        -------
        self
        """
        going_on = self._continues()
        rows = validate_data(self, X, reset=not going_on, dtype=[np.float64, np.float32], order="C")
        weights = check_weights(sample_weight, rows.shape[0], some=True)
        places = kept_rows(weights, rows.shape[0])
        weights, rows = without_zeros(weights, rows)
        with rows_named(places):
            rows, filler = self._filled_set(rows)
            learner = copy(self.learner_) if going_on else self._new_learner(self._set_config(rows))
            for _ in self._passes(learner, rows, None, weights):
                pass
            scores = learner.predict(rows)
            self._fitted_offset = away_from_scores(lower_quantile(scores, self.nu, weights), scores)
            if not going_on:
                self._compare_with_new_rows(learner, self._fitted_offset, scores, weights)
        self.learner_ = learner
        self._fill_as(filler)
        return self

    def _compare_with_new_rows(
        self, learner: Learner, threshold: float, scores: np.ndarray, weights: np.ndarray | None
    ) -> None:
        """Warns if many more of new rows than `nu` will be below the threshold: if the scores of the learned rows, each without the term of
        the row itself, are.

        A row is its own term where no terms were merged; the kernel value of a row with itself is 1 for kernels of distance.
        """
        own = self._own_parts(learner, len(scores))
        if own is None or len(scores) < 2:
            return
        total = own.sum()
        # A new row that equals a learned one has the score of that one, and so has a learned row that equals another one without its own term.
        _, which, count = np.unique(scores, return_inverse=True, return_counts=True)
        own[count[which] > 1] = 0.0
        of_others = (scores - own) * (total / (total - own))
        below = of_others < threshold
        share = float(np.average(below, weights=weights))
        if share > 1.5 * self.nu and share - self.nu > 3 * math.sqrt(self.nu * (1 - self.nu) / below.size):
            stream = "learn with partial_fit, which compares each row with the threshold before it learns the row, or "
            warn(
                f"of new rows about {share:.0%} (estimated from the learned rows) will be alerts, and not nu = {self.nu:.3g}: the threshold of "
                f"fit is the nu-quantile of the scores of its own {below.size} rows, and each of these scores contains the row itself; "
                + (stream if self._tracks() and below.size > learner.config["warmup"] else "")
                + "fit more rows"
            )

    def _own_parts(self, learner: Learner, rows: int) -> np.ndarray | None:
        """What each learned row adds to its own score: the coefficient of its term. None where that is not known."""
        drops = next(iter(learner.config["budget"])) in ("window", "age", "weight")
        if (
            next(iter(learner.config["kernel"])) not in ONE_WITH_ITSELF
            or learner.truncation_error > 0
            and not drops
        ):
            return None
        places = ModelFile(learner.to_bytes()).tensors["ids"].astype(np.int64) - (self._next_id - rows)
        coefficients = learner.predicting_coefficients[:, 0]
        if len(places) != len(coefficients) or not ((places >= 0) & (places < rows)).all():
            return None
        own = np.zeros(rows)
        own[places] = coefficients
        return own if own.sum() - own.max() > 0 else None

    def partial_fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learns rows in order, as a stream. The model does not depend on how the stream is divided into calls.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. They multiply steps, so their mean should be near 1.

        Returns
        -------
        self
        """
        self._learn_report(X, y, sample_weight)
        return self

    def partial_fit_predict(
        self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> np.ndarray:
        """Learns rows in order and returns the prediction of each row before it was learned: -1 for an alert, else 1.

        These are the alerts that `alert_rate_` counts. There are none until the threshold is set from the first
        scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. They multiply steps, so their mean should be near 1.

        Returns
        -------
        ndarray of shape (n_samples,)
            -1 for rows that were novel, 1 for others.
        """
        report = self._learn_report(X, y, sample_weight)
        return np.where(report["outside"], -1, 1)

    @restoring(Exception)
    def _learn_report(
        self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> dict[str, np.ndarray]:
        first = not hasattr(self, "learner_")
        rows = validate_data(self, X, reset=first, dtype=[np.float64, np.float32], order="C")
        weights = check_weights(sample_weight, rows.shape[0])
        try:
            report = self._learn_stream(rows, None, weights)
        except KeyboardInterrupt as stop:
            if getattr(stop, "rows_learned", 0):
                self._fitted_offset = None  # the stream has moved the threshold
            raise
        self._fitted_offset = None
        return report

    def _loss(self) -> words.Setting:
        nu = check_scalar(self.nu, "nu", Real, min_val=0, max_val=1, include_boundaries="neither")
        return {"density" if self._tracks() else "nu_novelty": {"nu": float(nu)}}

    def _config(
        self, rows: np.ndarray, window: int, first: Rows, automatic: int | None = TERMS
    ) -> dict[str, Any]:
        self._check_nu()
        config = super()._config(rows, window, first, automatic)
        found = config["kernel"]
        name = found if isinstance(found, str) else next(iter(found), "") if isinstance(found, dict) else ""
        if name.partition(":")[0] in ("linear", "polynomial"):
            warn(
                f"kernel {name}: the scores of a detector are means of kernel values, which grow with the size of a row for this kernel, so "
                "a row that is far away can look normal; use a kernel of distance, for instance kernel='rbf'"
            )
        return config

    def _check_nu(self) -> None:
        """Refuses another `nu` in `learner_params`: the threshold of `fit` and that of a stream would have two alert rates."""
        given = words.settings(self.learner_params)
        loss = {name: given[name] for name in ("loss", "nu") if name in given}
        if not loss:
            return
        parameters = Learner({"loss": self._loss()} | loss).config["loss"]
        for name, of_loss in parameters.items() if isinstance(parameters, dict) else ():
            if of_loss.get("nu", self.nu) != self.nu:
                raise ValueError(
                    f"learner_params: the loss {name} has nu = {of_loss['nu']:g}, but the nu of the detector is {self.nu:g}; "
                    "give nu to the detector, and the same one or none here"
                )

    def _task(self) -> dict[str, Any]:
        settings = {"threshold": words.named("threshold", self.threshold, words.THRESHOLD_NAMES)}
        if words.is_word(self.average, "auto"):
            settings["average"] = "none"
        return settings

    def _set_config(self, rows: np.ndarray) -> dict[str, Any]:
        """The average of a detector is not a question of the number of passes. The threshold of `fit` is a quantile of the
        averaged scores; that of a stream is theta, which does not follow an average."""
        config = super()._set_config(rows)
        if words.is_word(self.average, "auto") and "average" not in words.settings(self.learner_params):
            config["average"] = words.average(not self._tracks(), AVERAGED)
        return config

    def _tracks(self) -> bool:
        """Whether the threshold is tracked; otherwise it is theta of the loss `nu_novelty`."""
        return not words.is_word(self.threshold, "norma")

    @property
    def _enough_examples(self) -> int:
        """Theta of `nu_novelty` needs many examples; a density counts every row once."""
        return 1 if self._tracks() else 20_000

    def score_samples(self, X: ArrayLike) -> np.ndarray:
        """Scores of rows: the higher, the more normal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            High in regions with many learned rows, 0 far from all of them.
        """
        return self._scores(X)

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Scores minus the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            ``score_samples(X) - offset_``: negative for novel rows.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Which rows are novel.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            -1 for rows that are novel, 1 for others.
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    def _exported_threshold(self) -> float | None:
        return self.offset_

    @property
    def offset_(self) -> float:
        """The threshold on `score_samples`."""
        check_is_fitted(self)
        threshold = self.learner_.threshold if self._fitted_offset is None else self._fitted_offset
        return 0.0 if threshold is None else threshold

    @property
    def alert_rate_(self) -> Any:
        """The certificate: `rate`, `bound` and `nu`, with |rate - nu| <= bound for any data; or None."""
        check_is_fitted(self)
        return self.learner_.alert_rate


def away_from_scores(threshold: float, scores: np.ndarray) -> float:
    """A threshold with the same scores below it, halfway to the next lower score, if there is one.

    A score that equals the threshold would be on either side of it in an exported model, whose rounding differs.
    """
    lower = scores[scores < threshold].max(initial=-np.inf)
    halfway = float((lower + threshold) / 2)
    return halfway if lower < halfway else threshold
