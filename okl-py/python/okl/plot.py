"""Charts of the progress of learning and of a model's predictions, drawn with matplotlib.

A `History` passes the rows to a model and records metrics. The functions `progressive_error`, `step_size`, `terms`
and `alert_rate` draw them, on new axes or on given ones; `summary` draws all that apply in one figure.
`decision_regions` draws a fitted model of two features.

>>> import numpy as np, okl
>>> X = np.random.default_rng(0).normal(size=(1000, 2))
>>> learner = okl.Learner(loss="hinge", kernel="gaussian", gamma=0.5)
>>> history = okl.plot.History(learner).learn(X, np.where(X[:, 0] * X[:, 1] > 0, 1, -1))
>>> history.column("rows")[-1]
np.int64(1000)
>>> ax = okl.plot.progressive_error(history)  # doctest: +SKIP
"""

from okl._plot.course import alert_rate, progressive_error, step_size, summary, terms
from okl._plot.history import History, Record
from okl._plot.regions import decision_regions

__all__ = [
    "History",
    "Record",
    "alert_rate",
    "decision_regions",
    "progressive_error",
    "step_size",
    "summary",
    "terms",
]
