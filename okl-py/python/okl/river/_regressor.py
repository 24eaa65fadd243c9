"""A kernel regressor."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from river import base

from okl import _docs
from okl.river._base import LOSSES, KernelEstimator, Setting
from okl.river._features import as_frame, as_number, as_series, as_targets, as_weights

if TYPE_CHECKING:
    import pandas as pd


@_docs.filled
class KernelRegressor(KernelEstimator, base.MiniBatchRegressor):
    """A kernel regressor.

    <features come and go>

    Parameters
    ----------
    loss
        `squared`, `absolute`, `huber`, `epsilon`, `quantile` (with `q`), or `nu_epsilon` and `nu_huber`,
        whose tube or scale adapts; with `step` = "auto" these two learn with one step size, the others with several settings in parallel.
        All but `squared` need targets with a standard deviation near 1 (`target_scale`): a row moves the model by at most a step. The share of targets below the prediction of `quantile` can be far from `q`, because
        the model follows the last rows: with q = 0.9 it was 0.5 on TrumpApproval. Count it before you use it.
    <river kernel>
    <river gamma and lam>
    <river step>
    <river eta and budget>
    <river terms>
    <river scale>
    <river average>
    <river warmup>
    <river max features>
    settings
        Any other setting of `okl.Learner`: `sigma`, `epsilon`, `q`, `nu`, `tau`, `implicit`, ...

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> import okl

    >>> model = okl.river.KernelRegressor()
    >>> error = evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    >>> error.get() < 0.4
    True
    """

    _losses = LOSSES["KernelRegressor"]

    def __init__(
        self,
        loss: Setting = "squared",
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
        self.max_features = max_features
        self.missing = missing
        self.hash_bits = hash_bits
        self.settings = settings
        self._start()

    def learn_one(self, x: Mapping[Hashable, Any], y: float, w: float = 1.0) -> None:
        """Learns one example.

        Parameters
        ----------
        x
            A dictionary of features.
        y
            Its target.
        w
            Its weight, which multiplies the loss; an example of weight 0 is not learned.
        """
        self._learn_row(x, as_number(y), w)

    def learn_many(self, X: pd.DataFrame, y: pd.Series[Any], w: float | pd.Series[Any] = 1.0) -> None:
        """Learns the rows of a frame in order, exactly as `learn_one` does.

        Parameters
        ----------
        X
            A frame with a column per feature.
        y
            A series of targets, matched to the rows by position, not by index.
        w
            A weight for all rows, or a series of weights.
        """
        self._learn_report(X, y, w)

    def _learn_report(
        self, X: pd.DataFrame, y: pd.Series[Any], w: float | pd.Series[Any] = 1.0
    ) -> dict[str, Any]:
        """Learns a frame; returns the results of each row, for `okl.plot.History`."""
        frame = as_frame(X)
        targets = [as_number(target) for target in as_targets(y, len(frame))]
        report = self._learn_frame(frame, targets, weights=as_weights(w, len(frame)))
        return {**report, "residual": np.array(targets, dtype=float)[:, None] - report["scores"][:, None]}

    def predict_one(self, x: Mapping[Hashable, Any]) -> float:
        """The prediction; 0 before anything is learned."""
        return self._predict_row(x)[0]

    def predict_many(self, X: pd.DataFrame) -> pd.Series[Any]:
        """`predict_one` of every row, as a series."""
        frame = as_frame(X)
        return as_series([score for [score] in self._predict_frame(frame)], frame)
