"""`score`: a model over a Ray Data dataset."""

import hashlib
import pickle
from collections.abc import Sequence
from functools import partial
from typing import Any

import ray

from okl._scoring import Scorer, opened

_OPEN: dict[Any, Scorer] = {}
"""The model of this process that was used last."""


def score(
    dataset: Any, model: Any, *, features: Sequence[str] | None = None, batch_size: int = 4096, **options: Any
) -> Any:
    """Adds what a model says of each row as columns: scores, labels, probabilities, alerts.

    A row has the same bits as from `predict` on one machine.

    Parameters
    ----------
    dataset : ray.data.Dataset
    model : okl.Learner, scikit-learn estimator, path or bytes of a model file
    features : sequence of str, optional
        The columns of the features, in order. Default: the model's feature names; without them, the only column, if it holds arrays.
    batch_size : int
    **options
        Further arguments of `map_batches`, for example ``num_cpus``.

    Returns
    -------
    ray.data.Dataset
        The same rows with the columns `score` (or `score_CLASS`, `score_NUMBER`), `label` for classes, `probability` or `probability_CLASS` for
        the losses logistic and softmax, and `alert` for novelty. Estimators have `prediction` and `probability_CLASS`.
    """
    data = pickle.dumps(opened(model))
    work = partial(score_batch, ray.put(data), hashlib.sha256(data).hexdigest(), features)
    return dataset.map_batches(work, batch_size=batch_size, batch_format="numpy", **options)


def score_batch(
    model: Any, digest: str, features: Sequence[str] | None, batch: dict[str, Any]
) -> dict[str, Any]:
    name = digest, None if features is None else tuple(features)
    if name not in _OPEN:
        _OPEN.clear()
        _OPEN[name] = Scorer(pickle.loads(ray.get(model)), features)
    scorer = _OPEN[name]
    return {**batch, **scorer.columns(scorer.matrix(batch))}
