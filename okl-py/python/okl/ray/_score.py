"""`score`: a model over a Ray Data dataset."""

import hashlib
import pickle
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import ray

from okl._intervals import half_widths
from okl._scoring import Scorer, check_new, check_prefix, opened

_OPEN: dict[Any, Scorer] = {}
"""The model of this process that was used last."""


def score(
    dataset: Any,
    model: Any,
    *,
    features: Sequence[str] | None = None,
    interval: float | None = None,
    calibration: tuple[Any, Any] | None = None,
    prefix: str = "",
    batch_size: int = 4096,
    **options: Any,
) -> Any:
    """Adds what a model says of each row as columns: scores, labels, probabilities, intervals, alerts.

    A row has the same bits as from `predict` on one machine.

    Parameters
    ----------
    dataset : ray.data.Dataset
    model : okl.Learner, scikit-learn estimator, path or bytes of a model file
    features : sequence of str, optional
        The columns of the features, in order. Default: the model's feature names; without them, the only column, if it holds arrays.
    interval : float, optional
        Adds the columns `lower` and `upper`: an interval that covers this share of the targets, such as 0.9. For models of numbers.
    calibration : (X, y), optional
        Rows that the model has not learned, from which the width of the interval is computed (split conformal prediction). Without them the interval is the
        tube of the losses nu_epsilon and nu_huber, which covers the share 1 - nu.
    prefix : str
        What the names of the added columns begin with. A column of the dataset is never replaced: an added column of the same name is an error.
    batch_size : int
    **options
        Further arguments of `map_batches`, for example ``num_cpus``.

    Returns
    -------
    ray.data.Dataset
        The same rows with the columns `score` (or `score_CLASS`, `score_NUMBER`), `label` for classes, `probability` or `probability_CLASS` for
        the losses logistic and softmax, and `alert` for novelty. Estimators have `prediction` and `probability_CLASS`. With `interval`, `lower` and `upper`
        (`lower_NUMBER`, `upper_NUMBER` for several targets).
    """
    if not hasattr(dataset, "map_batches"):
        raise TypeError(
            f"dataset: found {type(dataset).__name__}, expected a Ray dataset, for example ray.data.from_pandas(frame)"
        )
    own, prefix = opened(model), check_prefix(prefix)
    widths = half_widths(own, interval, calibration)
    data = pickle.dumps((own, widths))
    digest = hashlib.sha256(data).hexdigest()
    check_added(dataset, own, features, widths, prefix)
    work = partial(score_batch, ray.put(data), digest, features, prefix)
    return dataset.map_batches(work, batch_size=batch_size, batch_format="numpy", **options)


def check_added(
    dataset: Any, model: Any, features: Sequence[str] | None, widths: np.ndarray | None, prefix: str
) -> None:
    """Refuses columns that would replace columns of the dataset, if its columns are known before it is executed."""
    schema = dataset.schema(fetch_if_missing=False)
    scorer = Scorer(model, features, widths, prefix)
    if schema is None or scorer.features is None:
        return
    row = scorer.matrix({name: np.zeros(1) for name in schema.names})
    try:
        added = scorer.columns(row)
    except ValueError:  # A column may hold arrays: then the number of features is known from the rows only, which are checked later.
        return
    check_new(added, schema.names)


def score_batch(
    model: Any, digest: str, features: Sequence[str] | None, prefix: str, batch: dict[str, Any]
) -> dict[str, Any]:
    name = digest, None if features is None else tuple(features), prefix
    if name not in _OPEN:
        _OPEN.clear()
        own, widths = pickle.loads(ray.get(model))
        _OPEN[name] = Scorer(own, features, widths, prefix)
    scorer = _OPEN[name]
    added = scorer.columns(scorer.matrix(batch))
    check_new(added, batch)
    return {**batch, **added}
