"""`sweep`: several settings on the same rows, each as a task."""

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import ray

import okl
from okl._columns import FILL_MASKED, check_unmasked
from okl._scoring import loss_of
from okl.ray._checks import whole_number

Metric = Callable[[np.ndarray, np.ndarray], Any]


class Trial(NamedTuple):
    """What some settings have learned so far."""

    number: int
    config: dict[str, Any]
    model: bytes | None
    rows: int
    total: float
    """The sum of the errors of the rows, each before it was learned."""
    error: float
    seconds: float
    scores: np.ndarray | None = None
    """The scores of all rows learned so far, if a metric needs them."""

    @property
    def order(self) -> tuple[bool, float, int]:
        """Trials with a lower error come first, those without one (NaN) last."""
        return bool(np.isnan(self.error)), self.error, self.number


def sweep(
    configs: Sequence[dict[str, Any]],
    X: Any,
    y: Any,
    *,
    metric: Metric | None = None,
    halving: int | None = None,
    first_rows: int = 1000,
    num_cpus: float = 1.0,
    progress: bool = True,
) -> Any:
    """Learns the rows with each of several settings and compares the errors of the scores before each update.

    The figures are those of a loop over the settings on one machine.

    Parameters
    ----------
    configs : sequence of dict
        Settings as `okl.Learner` takes them.
    X, y : array-like
        The rows and targets.
    metric : callable, optional
        From scores and targets to an error, where less is better: one number, which is taken as it is, or a number per row, of which the mean is taken.
        The scores are those of all rows that the settings have learned so far, each from before its update. Default: 1 for a wrong class, the squared error
        for numbers.
    halving : int, optional
        Successive halving: all settings learn `first_rows` rows; the best 1/halving of them go on to `halving` times as many rows, and so on.
    num_cpus : float
        The CPUs of a task.
    progress : bool
        Whether to show the progress on standard error, if that is a terminal.

    Returns
    -------
    pandas.DataFrame
        A row per settings, the best first: `config`, `rows` learned, `error` (over these rows), `terms`, `seconds`, and `model` (bytes for
        `okl.Learner.from_bytes`). Settings that learned more rows are before those that were stopped.
    """
    if not configs:
        raise ValueError("configs: expected at least one")
    if halving is not None:
        halving, first_rows = whole_number("halving", halving, 2), whole_number("first_rows", first_rows, 1)
    if metric is not None and not callable(metric):
        raise TypeError(f"metric: found {metric!r}, expected a function of scores and targets")
    check_unmasked("X", X)
    check_unmasked("y", y, FILL_MASKED)
    rows, targets = np.asarray(X), np.asarray(y)
    if len(rows) != len(targets):
        raise ValueError(f"y: found {len(targets)} targets for {len(rows)} rows")
    for number, config in enumerate(configs):
        check(number, config)
    trials = [Trial(number, config, None, 0, 0.0, 0.0, 0.0) for number, config in enumerate(configs)]
    shared = ray.put((rows, targets))
    task = ray.remote(advance).options(num_cpus=num_cpus)
    stopped: list[Trial] = []
    for last, keep in rungs(len(rows), len(trials), halving, first_rows):
        ended = [trial._replace(scores=None) for trial in trials[keep:]]
        stopped, trials = ended + stopped, trials[:keep]
        refs = {task.remote(trial, shared, last, metric): trial for trial in trials}
        trials = sorted(gathered(refs, last, progress), key=lambda trial: trial.order)
    return table(trials + stopped)


def check(number: int, config: dict[str, Any]) -> None:
    try:
        okl.Learner(config)
    except (TypeError, ValueError) as error:
        raise type(error)(f"configs[{number}]: {error}") from None


def rungs(rows: int, trials: int, halving: int | None, first_rows: int) -> Iterable[tuple[int, int]]:
    """For each round, the number of rows up to which settings learn, and how many of them."""
    if halving is None:
        yield rows, trials
        return
    last, keep = min(first_rows, rows), trials
    yield last, keep
    while last < rows:
        last, keep = min(last * halving, rows), max(1, keep // halving)
        yield last, keep


def advance(trial: Trial, data: tuple[np.ndarray, np.ndarray], last: int, metric: Metric | None) -> Trial:
    """Learns the rows from where the trial stopped up to `last`."""
    X, y = data[0][trial.rows : last], data[1][trial.rows : last]
    start = time.perf_counter()
    learner = okl.Learner(trial.config) if trial.model is None else okl.Learner.from_bytes(trial.model)
    known = len(learner.classes)
    report = learner.learn_report(X, y)
    total, scores = trial.total, None
    if metric is None:
        total += float(np.sum(default_errors(learner, known, report, y)))
        error = total / max(last, 1)
    else:
        scores = stacked(trial.scores, report["scores"])
        error = error_of(metric(scores, data[1][:last]), last)
    seconds = trial.seconds + time.perf_counter() - start
    return trial._replace(
        model=learner.to_bytes(), rows=last, total=total, error=error, seconds=seconds, scores=scores
    )


def stacked(before: np.ndarray | None, scores: np.ndarray) -> np.ndarray:
    """The scores of all rows, as one call of `learn` gives them: 0 for classes that were not known yet."""
    if before is None:
        return scores
    if scores.ndim == 2 and (more := scores.shape[1] - before.shape[1]) > 0:
        before = np.pad(before, ((0, 0), (0, more)))
    return np.concatenate([before, scores])


def error_of(found: Any, rows: int) -> float:
    """A number as it is; of a number per row, the mean."""
    errors = np.asarray(found)
    if errors.dtype.kind not in "fiub" or (errors.ndim and len(errors) != rows):
        raise ValueError(
            f"metric: found an array of {errors.dtype} with shape {errors.shape}, expected one number, or {rows} numbers, one per row"
        )
    return float(errors) if errors.ndim == 0 else float(np.sum(errors)) / max(rows, 1)


def default_errors(learner: okl.Learner, known: int, report: dict[str, Any], y: np.ndarray) -> np.ndarray:
    """1 for a wrong class, the squared error for numbers. `known` classes were there before the rows."""
    scores: np.ndarray = report["scores"]
    loss = loss_of(learner)
    if loss in ("novelty", "nu_novelty", "density"):
        raise ValueError("metric: a novelty loss has no targets to compare with: give a metric")
    if loss in ("max_margin", "softmax") or (not loss and learner.classes and scores.ndim == 2):
        numbers = {name: number for number, name in enumerate(learner.classes)}
        codes = np.array([numbers[name] for name in y.tolist()])
        there = np.maximum(known, np.maximum.accumulate(codes) + 1)
        possible = np.where(np.arange(scores.shape[1]) < there[:, None], scores, -np.inf)
        return np.asarray(possible.argmax(axis=1) != codes, float)
    if loss in ("hinge", "nu_hinge", "perceptron", "logistic"):
        positive = report["positive"]
        true = y == positive if learner.classes else y > 0
        return np.asarray((scores > 0) != np.asarray(true, bool), float)
    squares: np.ndarray = (scores - y) ** 2
    return np.asarray(squares.reshape(len(y), -1).sum(axis=1))


def gathered(refs: dict[Any, Trial], last: int, progress: bool) -> list[Trial]:
    """Waits for the trials of a round."""
    trials: list[Trial] = []
    waiting = list(refs)
    while waiting:
        (ref,), waiting = ray.wait(waiting)
        trials.append(ray.get(ref))
        if progress and sys.stderr.isatty():
            best = min(trial.error for trial in trials)
            sys.stderr.write(
                f"\rsweep, {last} rows: {len(trials)} of {len(refs)} settings, lowest error {best:.6g} "
            )
            sys.stderr.write("" if waiting else "\n")
            sys.stderr.flush()
    return trials


def table(trials: list[Trial]) -> Any:
    import pandas

    return pandas.DataFrame(
        {
            "config": [trial.config for trial in trials],
            "rows": [trial.rows for trial in trials],
            "error": [trial.error for trial in trials],
            "terms": [okl.Learner.from_bytes(trial.model or b"").terms for trial in trials],
            "seconds": [trial.seconds for trial in trials],
            "model": [trial.model for trial in trials],
        },
        index=[trial.number for trial in trials],
    )
