"""Records metrics while a model learns a stream."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from okl._interrupts import nothing_learned, rows_counted
from okl._okl import Learner
from okl._plot.models import errors, learner_of, most_terms


class Record(NamedTuple):
    """Metrics and state of a model after a number of rows."""

    rows: int
    error: float
    """Mean error so far, of predictions made before each row was learned; nan where there are no targets. A row counts once,
    whatever its weight; rows of weight 0 do not count."""
    recent_error: float
    """The same since the record before."""
    eta: float
    terms: int
    alert_rate: float
    """The share of rows outside, as the certificate counts them; nan where there is none."""
    recent_alert_rate: float
    """The share since the record before, every row counted once and those of weight 0 not at all; nan where no row was compared with a threshold."""
    bound: float
    """The certificate: `alert_rate` is no further from nu."""
    most_terms: float
    """The limit of the budget, which can grow while a bank of settings becomes smaller; nan if there is none."""


class History:
    """Learns a stream with a model and records metrics every `every` rows.

    The model is bit-identical to one that learns the stream in one call.

    Parameters
    ----------
    model : okl.Learner, or a KernelClassifier, KernelRegressor or NoveltyDetector of okl.sklearn or okl.river
        The model that learns the data given to `learn`: arrays, or data frames for River estimators.
    every : int, default=100
        Rows between two records.
    """

    def __init__(self, model: Any, every: int = 100) -> None:
        if every < 1:
            raise ValueError(f"every must be at least 1 row, found {every}")
        if not isinstance(model, Learner) and not hasattr(model, "_learn_report"):
            raise TypeError(
                f"expected an okl.Learner or an estimator of okl.sklearn or okl.river, found {type(model).__name__}; "
                "transform the rows first and give the last step of a pipeline"
            )
        self.model = model
        self.every = every
        self._records: list[Record] = []
        self._rows = 0
        self._errors: list[np.ndarray] = []
        self._alerts: list[np.ndarray] = []
        self._error_sum, self._error_count = 0.0, 0

    def learn(self, X: ArrayLike, y: ArrayLike | None = None, **more: Any) -> Self:
        """Learns rows in order and adds a record after every `every` rows.

        Parameters
        ----------
        X, y
            Rows and targets, in the form that the model accepts.
        **more
            Further arguments of the model: arrays with one entry per row (`weights`, `sample_weight`, ...), or
            `classes`.

        Raises
        ------
        ValueError, TypeError
            If the model refuses a row; the message has the row. In this case no row has been learned. To ensure
            this, a call with more rows than until the next record is first learned by a copy of the model, which
            takes twice the time.
        """
        first, count = 0, len(X)  # type: ignore[arg-type]
        if count > self.every - self._rows % self.every:
            with warnings.catch_warnings(), nothing_learned(count):  # the model itself warns
                warnings.simplefilter("ignore")
                learns(deepcopy(self.model))(X, y, **more)
        while first < count:
            last = min(count, first + self.every - self._rows % self.every)
            rest = {key: value if key == "classes" else value[first:last] for key, value in more.items()}
            with rows_counted(first.__add__, count):
                self._learn_part(X[first:last], None if y is None else y[first:last], rest)  # type: ignore[index]
            first = last
        return self

    def _learn_part(self, X: Any, y: Any, more: dict[str, Any]) -> None:
        known = self.model.classes if isinstance(self.model, Learner) else ()
        try:
            report = learns(self.model)(X, y, **more)
        except KeyboardInterrupt as stop:
            self._rows += getattr(stop, "rows_learned", 0)  # no errors are known of these rows
            raise
        self._rows += len(X)
        self._errors.append(errors(self.model, report, y, known))
        self._alerts.append(compared(learner_of(self.model), report))
        if self._rows % self.every == 0:
            self._records.append(self._record())
            self._error_sum, self._error_count = self._errors_so_far()
            self._errors, self._alerts = [], []

    @property
    def records(self) -> list[Record]:
        """One record per `every` rows, and one for the remaining rows, if there are any.

        ``pandas.DataFrame(history.records)`` is a table of them.
        """
        return [*self._records, self._record()] if self._errors else list(self._records)

    def _errors_so_far(self) -> tuple[float, int]:
        """The sum of the errors, and the number of rows with an error."""
        counted = self._counted()
        return self._error_sum + counted.sum(), self._error_count + len(counted)

    def _counted(self) -> np.ndarray:
        """The errors since the last record, without rows that have none."""
        errors = np.concatenate(self._errors)
        return errors[~np.isnan(errors)]

    def _record(self) -> Record:
        learner, counted = learner_of(self.model), self._counted()
        error_sum, error_count = self._errors_so_far()
        rate, alerts = learner.alert_rate, np.concatenate(self._alerts)
        return Record(
            rows=self._rows,
            error=error_sum / error_count if error_count else np.nan,
            recent_error=counted.mean() if len(counted) else np.nan,
            eta=learner.eta,
            terms=learner.terms,
            alert_rate=np.nan if rate is None else rate.rate,
            recent_alert_rate=np.nan if rate is None or len(alerts) == 0 else alerts.mean(),
            bound=np.nan if rate is None else rate.bound,
            most_terms=most_terms(self.model),
        )

    def column(self, name: str) -> np.ndarray:
        """The values of one field in all records.

        Raises
        ------
        ValueError
            If records have no such field.
        """
        if name not in Record._fields:
            raise ValueError(f"records have no field {name!r}: use one of {', '.join(Record._fields)}")
        return np.array([getattr(record, name) for record in self.records])


def compared(learner: Learner, report: dict[str, np.ndarray]) -> np.ndarray:
    """Which rows were outside. Rows that were not learned, and those before a detector had its threshold, are left out, as in its
    alert rate."""
    counted = ~np.isnan(report["loss"]) if "loss" in report else np.ones(len(report["outside"]), dtype=bool)
    if learner.threshold is not None:
        counted &= ~np.isnan(report["threshold"])
    return report["outside"][counted]


def learns(model: Any) -> Callable[..., dict[str, np.ndarray]]:
    """The method of the model that learns rows and returns the results of each row."""
    learn: Callable[..., dict[str, np.ndarray]] = (
        model.learn_report if isinstance(model, Learner) else model._learn_report
    )
    return learn
