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
from okl._scoring import Scorer, check_new, check_prefix, opened

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
    prefix: str = "",
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
    prefix : str
        What the names of the added columns begin with. A column of the frame is never replaced: an added column of the same name is an error.

    Returns
    -------
    pyspark.sql.DataFrame
        The frame with the columns that `okl.ray.score` adds.
    """
    if isinstance(features, (str, bytes)):
        raise TypeError(f"features: found {features!r}, expected a list of columns")
    missing = [name for name in features if name not in frame.columns]
    if missing:
        raise ValueError(
            f"features: there is no column {missing[0]!r}; there are {', '.join(map(repr, frame.columns))}"
        )
    own, prefix = opened(model), check_prefix(prefix)
    widths = half_widths(own, interval, calibration)
    data, version = pickle.dumps((own, widths)), okl.__version__
    digest = hashlib.sha256(data).hexdigest()
    empty = Scorer(own, widths=widths, prefix=prefix).columns(np.zeros((1, len(features))))
    matters = frame.sparkSession.conf.get("spark.sql.caseSensitive", "false") == "true"
    check_new(empty, frame.columns, ignore_case=not matters)
    schema = ", ".join(f"{quoted(name)} {KINDS[values.dtype.kind]}" for name, values in empty.items())

    # A function inside a function is sent as code.
    def scored(parts: Iterator[tuple[pandas.Series, ...]]) -> Iterator[pandas.DataFrame]:
        import okl
        from okl.spark._score import scorer

        if okl.__version__ != version:
            raise RuntimeError(
                f"the driver has okl {version}, this worker has okl {okl.__version__}: install one version"
            )
        model = scorer(digest, data, prefix)
        for part in parts:
            yield pandas.DataFrame(model.columns(np.column_stack([column.to_numpy() for column in part])))

    scored.__annotations__ = {
        "parts": Iterator[tuple[pandas.Series, ...]],
        "return": Iterator[pandas.DataFrame],
    }
    udf = pandas_udf(scored, schema)
    struct = f"okl_{digest}"
    together = frame.withColumn(struct, udf(*(frame[quoted(name)] for name in features)))
    return together.select(*(quoted(name) for name in frame.columns), f"{struct}.*")


def quoted(name: str) -> str:
    """The name of a column as Spark reads it, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


def scorer(digest: str, data: bytes, prefix: str) -> Scorer:
    if (digest, prefix) not in _OPEN:
        _OPEN.clear()
        own, widths = pickle.loads(data)
        _OPEN[digest, prefix] = Scorer(own, widths=widths, prefix=prefix)
    return _OPEN[digest, prefix]
