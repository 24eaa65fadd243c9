"""A novelty detector that keeps a requested alert rate."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

from river import base

from okl import AlertRate, Learner, _docs
from okl.river._base import LOSSES, KernelEstimator, Setting
from okl.river._features import as_frame, as_series

if TYPE_CHECKING:
    import pandas as pd


@_docs.filled
class NoveltyDetector(KernelEstimator, base.AnomalyDetector):
    """A novelty detector that keeps a requested alert rate.

    The score of a row is a kernel density: about the share of recent rows that are near it, times
    1 - 0.998^n after n rows (0.4 after 256). `nu` sets the threshold and has no effect on it. `score_one` is `threshold / (threshold + score)`, a number between 0 and 1: the higher, the more novel. It is above
    0.5 for an alert, and 1 for a row that is unlike all earlier ones. The threshold adapts to the stream, so that a
    fraction `nu` of the learned rows are alerts. It is set after the first `warmup` rows; before that, `score_one` is 0
    and there are no alerts. With a kernel that can be negative (linear, polynomial), `score_one` is also at least 0 and
    above 0.5 for an alert, but can exceed 1.

    River's `anomaly.QuantileFilter(detector, q=0.98, protect_anomaly_detector=False)` takes this score. Where the stream can
    change, do not use a filter that withholds rows from the detector (the default of River's filters, and `ThresholdFilter`):
    after a jump all rows are novel, the filter withholds all of them, and the detector never learns the new region. With a
    threshold of 0.5 this happens without a jump: the detector learns only rows that are no alerts, raises its threshold until a fraction
    `nu` of these are alerts, and so on.

    Parameters
    ----------
    nu
        The alert rate. Use None for a loss without an alert rate (`novelty`).
    loss
        `density`; `nu_novelty`, whose threshold and scores adapt together; or `novelty` with a fixed `margin`.
    kernel
        `gaussian`, `exponential`, `manhattan`, `matern32`, `matern52`, `rational_quadratic`, or a description as
        `okl.Learner` takes it.
    gamma
        The inverse width of the kernel. None: estimated from the first `warmup` examples; for `density` the narrowest
        with which nine of ten of them have at least 1 % of the others near.
    lam
        The weight of the regulariser: the larger, the faster the past is forgotten. A density is an exponential mean
        over about 1 / (step size * lam) rows.
    step
        The step size, as of `okl.Learner`. `auto`: for `density` constant steps of 0.002 with a regulariser of 1,
        otherwise of 0.1 with 0.1.
    eta
        The first step size. None: the one in `step`.
    budget
        The rule that bounds the number of terms: `window`, `merge`, `transfer`, `age`, `weight`,
        `certified`, `olok` or `unlimited`. None or `auto`: for `density` a window of the last 2000 rows, otherwise 1000
        terms that are merged.
    terms
        The number of terms of the budget.
    threshold
        `tracker`: a tracked quantile of the score, which keeps the alert rate at `nu`; `norma`: theta of the loss, for
        `nu_novelty`. With the loss `novelty` the threshold is its `margin`, whatever is given here.
    <river scale>
    warmup
        Number of examples from which `gamma`, `scale` and the tracker's start are estimated.
    <river max features>
    settings
        Any other setting of `okl.Learner`: `average`, `speed`, `margin`, ...

    Examples
    --------
    >>> import random
    >>> import okl

    >>> rng = random.Random(1)
    >>> detector = okl.river.NoveltyDetector(nu=0.02)
    >>> for _ in range(2000):
    ...     detector.learn_one({"a": rng.gauss(0, 1), "b": rng.gauss(0, 1)})

    >>> detector.is_novel_one({"a": 0.0, "b": 0.0}), detector.is_novel_one({"a": 9.0, "b": 0.0})
    (False, True)
    >>> 0.01 < detector.alert_rate.rate < 0.03
    True
    """

    _losses = LOSSES["NoveltyDetector"]

    def __init__(
        self,
        nu: float | None = 0.05,
        loss: Setting = "density",
        kernel: Setting = "gaussian",
        gamma: float | str | None = None,
        lam: float | str = "auto",
        step: Setting = "auto",
        eta: float | None = None,
        budget: Setting | None = None,
        terms: int | None = None,
        threshold: Setting = "tracker",
        scale: Setting = "auto",
        warmup: int = 256,
        max_features: int = 4096,
        missing: str | None = None,
        hash_bits: int | None = None,
        **settings: Any,
    ) -> None:
        self.nu = nu
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.lam = lam
        self.step = step
        self.eta = eta
        self.budget = budget
        self.terms = terms
        self.threshold = threshold
        self.scale = scale
        self.warmup = warmup
        self.max_features = max_features
        self.missing = missing
        self.hash_bits = hash_bits
        self.settings = settings
        self._check_nu()
        self._start(**({"threshold": "norma"} if self._has_margin() and threshold == "tracker" else {}))

    def _has_margin(self) -> bool:
        """Whether the loss is `novelty`, whose margin is the threshold: there is no rate that a tracker could keep."""
        name = self.loss.partition(":")[0] if isinstance(self.loss, str) else next(iter(self.loss), "")
        return name == "novelty"

    def _check_nu(self) -> None:
        """Refuses a loss with another `nu`, which would be replaced."""
        loss = self.loss
        has_nu = (
            ":" in loss
            if isinstance(loss, str)
            else any("nu" in of_loss for of_loss in loss.values() if of_loss)
        )
        if self.nu is None or not has_nu:
            return
        for name, of_loss in Learner(loss=loss).config["loss"].items():
            if of_loss.get("nu", self.nu) != self.nu:
                raise ValueError(
                    f"loss: {name} has nu = {of_loss['nu']:g}, but the nu of the detector is {self.nu:g}; give nu={of_loss['nu']:g}, and "
                    "the same one or none in the loss"
                )

    @property
    def alert_rate(self) -> AlertRate | None:
        """The alert rate `rate`, the requested `nu`, and a `bound` on their difference; None before there is a threshold."""
        return self.learner.alert_rate

    def learn_one(self, x: Mapping[Hashable, Any]) -> None:
        """Learns one row."""
        self._learn_row(x)

    def learn_many(self, X: pd.DataFrame) -> None:
        """Learns the rows of a frame in order, exactly as `learn_one` does."""
        self._learn_report(X)

    def _learn_report(self, X: pd.DataFrame, y: Any = None) -> dict[str, Any]:
        """Learns a frame; returns the results of each row, for `okl.plot.History`."""
        return self._learn_frame(as_frame(X))

    def score_one(self, x: Mapping[Hashable, Any]) -> float:
        """The novelty of a row: near 0 for usual rows, above 0.5 for an alert; 0 before there is a threshold."""
        return self._novelty(self._predict_row(x))

    def score_many(self, X: pd.DataFrame) -> pd.Series[Any]:
        """`score_one` of every row, as a series."""
        frame = as_frame(X)
        return as_series([self._novelty(scores) for scores in self._predict_frame(frame)], frame)

    def is_novel_one(self, x: Mapping[Hashable, Any]) -> bool:
        """Whether the row is an alert."""
        threshold = self.learner.threshold
        return threshold is not None and self._predict_row(x)[0] < threshold

    def _novelty(self, scores: list[float]) -> float:
        [score], threshold = scores, self.learner.threshold
        if threshold is None:
            return 0.0
        if threshold <= 0.0:  # where kernels can be negative: an S-shaped curve through 0.5 at the threshold
            beyond = threshold - score
            return 0.5 + 0.5 * beyond / (1.0 + abs(beyond))
        # For scores below 0 the result exceeds 1: the curve continues along its tangent at 0.
        return threshold / (threshold + score) if score > 0.0 else 1.0 - score / threshold
