"""`score`: a model as a pandas UDF."""

import hashlib
import pickle
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas
from pyspark.sql.functions import pandas_udf

import okl
from okl._intervals import half_widths
from okl._scoring import Scorer, opened

_OPEN: dict[Any, Scorer] = {}
"""The model of this process that was used last."""

KINDS = {"f": "double", "b": "boolean", "i": "long", "u": "long", "U": "string", "O": "string"}


def score(
    frame: Any,
    model: Any,
    features: Sequence[str],
    *,
    interval: float | None = None,
    calibration: tuple[Any, Any] | None = None,
) -> Any:
    """Adds what a model says of each row as columns: scores, labels, probabilities, intervals, alerts.

    A row has the same bits as from `predict` on one machine.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    model : okl.Learner, scikit-learn estimator, path or bytes of a model file
    features : sequence of str
        The columns of the features, in order.
    interval, calibration
        As in `okl.ray.score`: the columns `lower` and `upper`.

    Returns
    -------
    pyspark.sql.DataFrame
        The frame with the columns that `okl.ray.score` adds.
    """
    missing = [name for name in features if name not in frame.columns]
    if missing:
        raise ValueError(
            f"features: there is no column {missing[0]!r}; there are {', '.join(map(repr, frame.columns))}"
        )
    own = opened(model)
    widths = half_widths(own, interval, calibration)
    data, version = pickle.dumps((own, widths)), okl.__version__
    digest = hashlib.sha256(data).hexdigest()
    empty = Scorer(own, widths=widths).columns(np.zeros((1, len(features))))
    schema = ", ".join(f"`{name}` {KINDS[values.dtype.kind]}" for name, values in empty.items())

    # A function inside a function is sent as code.
    def scored(parts: Iterator[tuple[pandas.Series, ...]]) -> Iterator[pandas.DataFrame]:
        import okl
        from okl.spark._score import scorer

        if okl.__version__ != version:
            raise RuntimeError(
                f"the driver has okl {version}, this worker has okl {okl.__version__}: install one version"
            )
        model = scorer(digest, data)
        for part in parts:
            yield pandas.DataFrame(model.columns(np.column_stack([column.to_numpy() for column in part])))

    scored.__annotations__ = {
        "parts": Iterator[tuple[pandas.Series, ...]],
        "return": Iterator[pandas.DataFrame],
    }
    udf = pandas_udf(scored, schema)
    together = frame.withColumn("okl", udf(*(frame[name] for name in features)))
    return together.select(*frame.columns, "okl.*")


def scorer(digest: str, data: bytes) -> Scorer:
    if digest not in _OPEN:
        _OPEN.clear()
        own, widths = pickle.loads(data)
        _OPEN[digest] = Scorer(own, widths=widths)
    return _OPEN[digest]
