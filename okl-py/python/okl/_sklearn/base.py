"""The base class of the estimators: configuration of the learner, passes over a set, attributes of the model."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterator
from copy import copy, deepcopy
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils.validation import check_is_fitted

from okl._okl import Learner, learner_in_units, terms_within
from okl._own_kernel import refuse_own_kernel
from okl._sklearn import words
from okl._sklearn.missing import FillsMissing
from okl._sklearn.passes import ROWS_AT_ONCE, falling, later, learn_passes, with_settings
from okl._sklearn.refusal import rows_named
from okl._sklearn.search import (
    KINDS,
    Measured,
    Search,
    Space,
    Task,
    automatic_terms,
    first_passes,
    most_passes,
)
from okl._sklearn.validate import validate_data
from okl._warnings import warn

AVERAGED = 1000
"""Examples over which ``average=True`` averages. A mean over more would outlive the terms it is made of."""

TERMS = 1000
"""The largest number of terms of a stream with budget="auto"."""

Rows = Callable[[Any], np.ndarray]
"""Rows by the scale of the columns."""

PLAIN_ALPHA = 1e-4
"""The regulariser where one is needed and several cannot be compared."""


class Fallen(NamedTuple):
    """The passes of a fit whose steps fell to zero."""

    passes: int
    eta: float
    """The first step size."""


class KernelEstimator(FillsMissing, BaseEstimator):
    """An estimator around one `okl.Learner`, its attribute `learner_`."""

    loss: Any
    kernel: Any
    gamma: Any
    degree: Any
    coef0: Any
    alpha: Any
    learning_rate: Any
    eta0: Any
    average: Any
    budget: Any
    scale: Any
    max_iter: Any
    tol: Any
    n_iter_no_change: Any
    shuffle: Any
    random_state: Any
    n_jobs: Any
    warm_start: Any
    learner_params: Any

    learner_: Learner
    n_iter_: int
    search_: list[dict[str, Any]]
    examples_: int

    _prefers_proximal = True
    """Whether the step is proximal if the loss has a proximal step: stable for every kernel, better on most data."""

    _searches = True
    """Whether `fit` compares settings on rows that were not learned; it needs targets."""

    @property
    def _enough_examples(self) -> int:
        """How many examples ``max_iter="auto"`` learns: passes over a small set, one over a large one."""
        return 100_000

    def _loss(self) -> words.Setting:
        raise NotImplementedError

    def _task(self) -> dict[str, Any]:
        """Settings that belong to the task rather than to a parameter."""
        return {}

    def _config(
        self, rows: np.ndarray, window: int, first: Rows, automatic: int | None = TERMS
    ) -> dict[str, Any]:
        """The configuration of the engine for these parameters and for data that begin with `rows`; `first` returns the rows that
        set the units of the columns; `automatic` terms are those of budget="auto"."""
        refuse_own_kernel(self.kernel)
        alpha = words.alpha(self.alpha)
        if words.is_word(self.learning_rate, "optimal") and alpha == "auto":
            alpha = PLAIN_ALPHA
        scale = words.scale(self.scale)
        if words.is_word(scale, "auto") and words.gives_gamma(self.gamma):
            # gamma is in the units of X, as in scikit-learn's estimators.
            scale = "none"
        by_name = (self._kernel(), self.gamma, self.degree, self.coef0)
        found, unscaled = None, rows
        if words.is_word(self.gamma, "scale") and scale != "none":
            unscaled = first(scale)
            found = automatic_scale(unscaled) if words.is_word(scale, "auto") else None
            if self._fixes_units(alpha) and words.is_word(scale, "auto"):
                # gamma, lambda and step are numbers for the engine, which would not scale the columns then.
                keeps = found is None or all(factor == 1 for factor in found["factor"])
                scale, found = ("none" if keeps else "standard"), None
                unscaled = rows if keeps else first(scale)
        config = {
            "kernel": words.kernel(*by_name, unscaled, scale in ("standard", "log", "whiten"), found),
            "loss": self._loss(),
            "step": words.step(
                self.learning_rate, self.eta0, alpha, words.kernel_size(*by_name, rows.shape[1])
            ),
            "lambda": alpha,
            "average": words.average(self.average, window),
            "scale": scale,
            **self._task(),
            **words.settings(self.learner_params),
        }
        if self._fills():
            config["missing"] = self.missing
        if self._prefers_proximal and "implicit" not in config:
            config["implicit"] = accepted({**config, "implicit": True})
        open_budget = self.budget is None or words.is_word(self.budget, "auto")
        if open_budget and "budget" not in config and words.per_coordinate(config["step"]):
            config.setdefault("form", "weights")
        if "budget" not in config and config.get("form") in (None, "auto", "terms"):
            # Several passes go by the ids of terms, so a linear kernel has terms too unless `form` says otherwise.
            deciding = {"kernel", "operator", "loss", "classes"}
            parts = {key: value for key, value in config.items() if key in deciding} | {"form": "terms"}
            choice = Learner(parts).config["budget"]
            terms = self._terms_within(rows, config) if words.is_memory(self.budget) else self.budget
            if self._searches and words.is_word(terms, "auto"):
                terms = automatic if "merge" in choice else TERMS
            config["budget"] = words.budget(terms, choice)
        return config

    def _terms_within(self, rows: np.ndarray, config: dict[str, Any]) -> int | None:
        """The number of terms, with their ids, that fit into `budget`, a size such as "64MB"."""
        return terms_within(self.budget, rows.shape[1], self._outputs(), ids=True, **config)

    def _outputs(self) -> int:
        """The number of scores per row."""
        return 1

    def _stream_config(self, rows: np.ndarray) -> dict[str, Any]:
        """The configuration for a stream that begins with `rows`."""
        warmup = self._warmup()
        if (
            words.is_word(self.gamma, "scale")
            and rows.shape[0] < warmup
            and words.scale(self.scale) != "none"
        ):
            warn(
                f"gamma='scale' is computed from the first {warmup} rows of the first call of partial_fit, which has only {rows.shape[0]}: "
                f"give at least {warmup} rows first, or use gamma='median'"
            )
        return self._config(rows, AVERAGED, lambda _scale: rows[:warmup])

    def _set_config(self, rows: np.ndarray) -> dict[str, Any]:
        """The configuration for a fixed set: scaled by all rows, with a warm-up of at most as many rows as there are."""
        window = min(rows.shape[0], AVERAGED)

        def first(scale: Any) -> np.ndarray:
            return rows if scale == "standard" else rows[self._first_order(rows.shape[0])[: self._warmup()]]

        config = self._config(rows, window, first, automatic_terms(rows.shape[0]))
        undecided = words.is_word(self.average, "auto") and "average" not in words.settings(
            self.learner_params
        )
        if undecided and self._searches and not self._one_pass(rows.shape[0]) and self._falls(config):
            config["average"] = "none"  # the last hypothesis is as good as a mean
        elif undecided and self._most_passes(rows.shape[0]) > 1 and keeps_means(config, rows.shape[0]):
            config["average"] = words.average(True, window)
        config["warmup"] = min(config.get("warmup", 256), rows.shape[0])
        config.pop("missing", None)  # the rows of a fixed set are filled before
        if config["scale"] == "standard":
            config["scale"] = {"fixed": standard_scale(rows)}
        return self._within_memory(rows, config)

    def _within_memory(self, rows: np.ndarray, config: dict[str, Any]) -> dict[str, Any]:
        """The configuration with as many terms as fit into `budget`, if that is a size and `fit` learns one setting after another:
        a term of a plain learner is smaller than one of a bank."""
        plain = self._searches and not self._one_pass(rows.shape[0]) and self._falls(config)
        given = "budget" in words.settings(self.learner_params)
        if given or not plain or not words.is_memory(self.budget) or "budget" not in config:
            return config
        one = {key: value for key, value in config.items() if key != "budget"}
        one |= {"step": {"decay": {"eta": 1.0, "tau": 1000.0}}, "lambda": 1e-4}
        if self._open_width():
            one["kernel"] = {
                "gaussian": {"gamma": 1.0}
            }  # one width at a time; kernels of distance take the same memory
        return {**config, "budget": {next(iter(config["budget"])): {"terms": self._terms_within(rows, one)}}}

    def _fit_set(
        self, rows: np.ndarray, y: np.ndarray, weights: np.ndarray | None, codes: np.ndarray | None = None
    ) -> None:
        """Learns a fixed set. What is open is chosen on rows that were not learned; `codes` are the classes of the rows."""
        self._patience()  # raises its errors before anything is learned
        config, self.search_, self._fallen = self._set_config(rows), [], None
        bank = self._new_learner(config)
        size = rows.shape[0]
        if (len(bank.members) == 1 and not self._open_kernel()) or self._one_pass(size):
            self._pass_until_still(bank, rows, y, weights)
            return
        space = self._space(config, bank, rows, y, weights)
        search = Search(self._search_task(rows, y, weights, codes, space.units), space)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the same warning comes from the model itself
            best = search.best()
        self.search_ = search.tried
        if self._falls(config) and self.tol is None:
            best = best._replace(passes=self._most_passes(size))
        learner = self._threaded(self._new_learner(space.settings(best, size), space.units))
        if space.eta is None:
            self._pass_until_still(learner, rows, y, weights)
        else:
            learn_passes(learner, rows, y, weights, self._orders(size), best.passes)
            self.n_iter_, self._next_id, self.examples_ = best.passes, size, best.passes * size
            self._fallen = Fallen(best.passes, space.eta)
            self.learner_ = self._threaded(with_settings(learner, {"step": later(space.eta)}))
            if search.still_helping:
                warn_of_passes(
                    best.passes,
                    f"set max_iter={4 * best.passes}, for instance",
                    "on rows that were not learned, more passes still lowered the loss",
                )
        self._after_search(search)
        self.examples_ += search.examples

    def _after_search(self, search: Search) -> None:
        """What the rows that were not learned by a try say of the model."""

    def _continue_set(self, rows: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> None:
        """Learns a fixed set with the model of the last call; nothing is tried."""
        self.search_ = []
        fallen: Fallen | None = getattr(self, "_fallen", None)
        if fallen is None:
            self._pass_until_still(copy(self.learner_), rows, y, weights)
            return
        size, first_id = rows.shape[0], self._next_id
        passes = self._most_passes(size) if self.tol is None else min(fallen.passes, self._most_passes(size))
        step = falling(fallen.eta, passes, size, self.learner_.examples)
        learner = self._threaded(with_settings(self.learner_, {"step": step}))
        learn_passes(learner, rows, y, weights, self._orders(size), passes, first_id)
        self.learner_ = self._threaded(with_settings(learner, {"step": later(fallen.eta)}))
        self.n_iter_, self._next_id, self.examples_ = passes, first_id + size, passes * size

    def _open_kernel(self) -> bool:
        return words.is_word(self.kernel, "auto") and not words.gives_kernel(self.learner_params)

    def _open_width(self) -> bool:
        """Whether the width is found here."""
        named = words.okl_kernel(self.kernel) in (*words.OF_SQUARED_DISTANCE, *words.OF_DISTANCE, "manhattan")
        of_distance = self._open_kernel() or (named and not words.gives_kernel(self.learner_params))
        return of_distance and words.is_word(self.gamma, "auto")

    def _open_passes(self) -> bool:
        return words.is_word(self.max_iter, "auto") and self.tol is not None

    def _one_pass(self, size: int) -> bool:
        """Whether the set is learned as a stream, in which every row is new, so that a bank can compare settings."""
        return not self._open_passes() and self._most_passes(size) == 1

    def _falls(self, config: dict[str, Any]) -> bool:
        """Whether the steps fall to zero: no step is given, steps are proximal, so that the first ones cannot be too long, and the
        budget keeps the terms of long steps. (A window keeps the last terms, whose steps would be the shortest.)"""
        return config["step"] == "auto" and bool(config.get("implicit")) and keeps_early_terms(config)

    def _limit_of_search(self, config: dict[str, Any], size: int) -> int:
        """The largest number of passes that the search may choose; 0 where it does not choose them."""
        if self.tol is None or not self._falls(config):
            return 0
        return most_passes(size) if self._open_passes() else self._most_passes(size)

    def _space(
        self,
        config: dict[str, Any],
        bank: Learner,
        rows: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
    ) -> Space:
        size = rows.shape[0]
        by_name = (self._kernel(), self.gamma, self.degree, self.coef0)
        kernel_size = words.kernel_size(*by_name, rows.shape[1])
        plain, median, units = self._plain(config, bank, rows, y, weights)
        if config["step"] == "auto":
            plain["step"] = words.step("decay", self.eta0, PLAIN_ALPHA, kernel_size)
        if config["average"] == "auto":
            plain["average"] = "none"  # terms do not last, see keeps_means
        passes = min(first_passes(size), self._most_passes(size))
        kinds = KINDS if self._open_kernel() else (words.okl_kernel(self.kernel),)
        return Space(
            config=plain,
            units=units,
            kinds=None if median is None else kinds,
            median=median,
            open_cost=config["lambda"] == "auto",
            eta=1.0 / kernel_size if self._falls(config) else None,
            passes=first_passes(size) if self._open_passes() else passes,
            most_passes=self._limit_of_search(config, size),
        )

    def _plain(
        self,
        config: dict[str, Any],
        bank: Learner,
        rows: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
    ) -> tuple[dict[str, Any], float | None, Learner]:
        """The configuration without the scale of the columns, the median squared distance where the width is open, and a learner that has the
        scale."""
        size = rows.shape[0]
        order = self._orders(size)()
        if self._open_width():
            order = order[: config["warmup"]]
            simple = {"kernel": "gaussian:median", "step": "constant:1", "lambda": 1e-3, "average": "none"}
            bank = self._new_learner({**config, **simple})
        with rows_named(order):
            self._threaded(bank).learn(
                rows[order], y[order], weights=None if weights is None else weights[order]
            )
        frozen = bank.freeze()
        found = {key: value for key, value in frozen.config.items() if key != "scale"}
        if not self._open_width():
            return found, None, frozen
        kernel = config["kernel"]
        plain = {**found, "kernel": kernel, "lambda": config["lambda"], "step": config["step"]}
        return plain | {"average": config["average"]}, 1 / (2 * found["kernel"]["gaussian"]["gamma"]), frozen

    def _search_task(
        self,
        rows: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
        codes: np.ndarray | None,
        units: Learner,
    ) -> Task:
        seed = check_random_state(self.random_state).randint(2**31) if self.shuffle else 0

        def next_order(size: int) -> Callable[[], np.ndarray]:
            random = np.random.RandomState(seed)
            return (lambda: random.permutation(size)) if self.shuffle else (lambda: np.arange(size))

        def measure(learner: Learner, held: np.ndarray) -> Measured:
            of_held = np.ones(len(held)) if weights is None else weights[held]
            return self._measure(learner, rows[held], y[held] if codes is None else codes[held], of_held)

        def new_learner(config: dict[str, Any]) -> Learner:
            return self._threaded(learner_in_units(config, units))

        return Task(rows, y, weights, codes, measure, next_order, new_learner)

    def _measure(self, learner: Learner, rows: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Measured:
        """Measures a learner on rows that it has not learned."""
        raise NotImplementedError

    def _kernel(self) -> Any:
        """The name of the kernel; "auto" is "rbf" where nothing is compared."""
        return "rbf" if self._searches and words.is_word(self.kernel, "auto") else self.kernel

    def _new_learner(self, config: dict[str, Any], units: Learner | None = None) -> Learner:
        """A learner that knows the names of the columns, where X has some; its columns have the scale of `units`, if that is given. A configuration
        with a scale of indicators of missing values has more features than X has columns; `_fill_as` names its columns later."""
        learner = Learner(config) if units is None else learner_in_units(config, units)
        names = list(getattr(self, "feature_names_in_", ()))
        if learner.features in (0, len(names)):
            learner.feature_names = names or None
        return learner

    def _threaded(self, learner: Learner) -> Learner:
        """The learner with the number of threads of `n_jobs`, which a pickle does not contain."""
        threads = words.threads(self.n_jobs)
        if learner.threads != threads:
            learner.threads = threads
        return learner

    def _most_passes(self, set_size: int) -> int:
        if words.is_word(self.max_iter, "auto"):
            return min(math.ceil(self._enough_examples / set_size), 100)
        return check_scalar(self.max_iter, "max_iter", Integral, min_val=1)

    def _orders(self, rows: int) -> Callable[[], np.ndarray]:
        """A function that returns the order of the rows of the next pass."""
        random = check_random_state(self.random_state)
        return (lambda: random.permutation(rows)) if self.shuffle else (lambda: np.arange(rows))

    def _first_order(self, rows: int) -> np.ndarray:
        """The order of the first pass, if `random_state` is a number; otherwise one that is as likely. No random number is used up."""
        random = deepcopy(check_random_state(self.random_state))
        return random.permutation(rows) if self.shuffle else np.arange(rows)

    def _fixes_units(self, alpha: float | str) -> bool:
        """Whether the regulariser and the step are given, under a kernel whose width is a number for the engine."""
        given = words.settings(self.learner_params)
        named = words.okl_kernel(self._kernel())
        of_distance = named in (*words.OF_SQUARED_DISTANCE, *words.OF_DISTANCE, "manhattan")
        return (
            of_distance
            and (alpha != "auto" or "lambda" in given or "lam" in given)
            and (not words.is_word(self.learning_rate, "auto") or "step" in given)
        )

    def _warmup(self) -> int:
        """The number of rows that set the units of the columns."""
        warmup = words.settings(self.learner_params).get("warmup", 256)
        return max(int(warmup), 1) if isinstance(warmup, Integral) else 256

    def _passes(
        self,
        learner: Learner,
        rows: np.ndarray,
        y: np.ndarray | None,
        weights: np.ndarray | None,
    ) -> Iterator[float]:
        """Learns all rows in at most `max_iter` passes; yields the mean loss of each pass.

        In later passes a row updates its own term, so that more passes need no more memory.
        """
        most_passes, next_order = self._most_passes(rows.shape[0]), self._orders(rows.shape[0])
        first_id = getattr(self, "_next_id", 0) if self.warm_start else 0
        examples = rows.shape[0] if weights is None else weights.sum()
        self._threaded(learner)
        self._next_id = first_id + rows.shape[0]
        for passes in range(1, most_passes + 1):
            self.n_iter_ = passes
            order = next_order()
            loss = 0.0
            for part in np.split(order, range(ROWS_AT_ONCE, len(order), ROWS_AT_ONCE)):
                with rows_named(part):
                    report = learner.learn_report(
                        rows[part],
                        None if y is None else y[part],
                        weights=None if weights is None else weights[part],
                        ids=first_id + part,
                    )
                loss += np.nansum(report["loss"])
            yield loss / examples

    def _patience(self) -> tuple[float | None, int]:
        """The decrease of the loss that counts, and how many passes may be without it."""
        tol = None if self.tol is None else check_scalar(self.tol, "tol", Real, min_val=0)
        return tol, check_scalar(self.n_iter_no_change, "n_iter_no_change", Integral, min_val=1)

    def _pass_until_still(
        self, learner: Learner, rows: np.ndarray, y: np.ndarray, weights: np.ndarray | None
    ) -> None:
        """Makes passes until `n_iter_no_change` consecutive passes have not lowered the loss by `tol`; keeps the best model.

        With a full budget a later pass can be worse than an earlier one.
        """
        tol, patience = self._patience()
        least, idle, best = np.inf, 0, learner
        for loss in self._passes(learner, rows, y, weights):
            idle = 0 if tol is None or loss <= least - tol else idle + 1
            if loss <= least:
                least, best = loss, copy(learner)
            if idle >= patience:
                break
        self.learner_, self.examples_ = best, self.n_iter_ * rows.shape[0]
        if tol is not None and 1 < self.n_iter_ and idle == 0:
            warn_of_passes(self.n_iter_, "set a larger max_iter", "the last passes still lowered the loss")

    def _learn_stream(
        self, rows: np.ndarray, y: np.ndarray | None, weights: np.ndarray | None
    ) -> dict[str, Any]:
        """Learns rows in order; returns the results of each row."""
        learner = getattr(self, "learner_", None)
        if learner is None:
            learner = self._new_learner(self._stream_config(self._filled_first(rows)))
        try:
            report = self._threaded(learner).learn_report(rows, y, weights=weights)
        except KeyboardInterrupt:
            self.learner_ = learner  # it has learned the first rows
            raise
        self.learner_ = learner
        return report

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._fills()
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "learner_")

    def _continues(self) -> bool:
        """Whether this call of fit continues from the model of the last call."""
        return self.warm_start and hasattr(self, "learner_")

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=[np.float64, np.float32], order="C")
        return self._threaded(self.learner_).predict(rows)

    def to_onnx(self, path: str | os.PathLike[str] | None = None) -> bytes | None:
        """The model as an ONNX graph, which onnxruntime and others evaluate.

        The input `x` is a matrix of rows in float64; with `missing`, NaN in it is filled as in `predict`. The outputs are `scores`, for classes `label`, and for a detector
        `novel`, which is computed with the threshold `offset_`, as in `predict`. Labels that are whole numbers stored as
        floats are exported as int64. Labels that are neither whole numbers nor text are exported as their index in
        `classes_`. If `scores` has a column per class, the columns have the order of `classes_`, which the metadata key
        ``okl.classes`` has, too. Two classes have one column, `decision_function`. After `partial_fit` without
        `classes` they have two, and `decision_function` is the second column minus the first.

        Parameters
        ----------
        path : str or os.PathLike, default=None
            A file to write.

        Returns
        -------
        bytes or None
            The file's bytes, if no path is given.
        """
        check_is_fitted(self)
        return self.learner_.to_onnx(
            path, threshold=self._exported_threshold(), classes=self._exported_classes()
        )

    def _exported_classes(self) -> list[Any] | None:
        """The learner's names of the classes, in the order of the scores of `to_onnx`; None: the learner's order."""
        return None

    def _exported_threshold(self) -> float | None:
        """The threshold of `to_onnx` below which a row is novel; None if there is none."""
        return None

    @property
    def support_vectors_(self) -> np.ndarray:
        """The centres of the terms, in the units of the data: (terms, features)."""
        check_is_fitted(self)
        return self.learner_.centres

    @property
    def dual_coef_(self) -> np.ndarray:
        """The coefficients of the predicting function: (outputs, terms); for a bank, (outputs, terms x widths)."""
        check_is_fitted(self)
        return self.learner_.predicting_coefficients.T


def warn_of_passes(passes: int, advice: str, why: str) -> None:
    warn(
        f"fit stopped after {passes} passes, and {why}: {advice}",
        ConvergenceWarning,
    )


def keeps_early_terms(config: dict[str, Any]) -> bool:
    """Whether the budget does not drop terms because of their age."""
    budget = Learner(config).config.get("budget")
    return not budget or next(iter(budget)) not in ("window", "age", "olok", "forgetron")


def keeps_means(config: dict[str, Any], set_size: int) -> bool:
    """Whether the budget keeps enough of each term for a mean of past hypotheses. Projected terms are not kept."""
    budget = Learner(config).config.get("budget")
    if budget is None:  # a weight vector has no terms that could be dropped
        return True
    ((rule, parameters),) = budget.items()
    return rule in ("unlimited", "merge") or set_size <= parameters.get("terms", 0)


def accepted(config: dict[str, Any]) -> bool:
    """Whether the engine accepts this configuration."""
    try:
        Learner(config)
    except ValueError:
        return False
    return True


def automatic_scale(rows: np.ndarray) -> dict[str, Any] | None:
    """The scale of the columns that ``scale="auto"`` finds in these rows; None if it does not scale them."""
    settings = {"loss": "density", "kernel": "gaussian:median", "step": "constant:1", "lambda": 1e-3}
    probe = Learner({**settings, "warmup": max(rows.shape[0], 1)})
    probe.learn(rows)
    found = probe.freeze().config["scale"]
    return dict(found["fixed"]) if isinstance(found, dict) else None


def standard_scale(rows: np.ndarray) -> dict[str, list[float]]:
    """Mean and inverse standard deviation of every column; the factor of a constant column is 1."""
    mean, variance = words.moments(rows)
    deviation = np.sqrt(variance)
    if not issparse(rows) and (tiny := variance < 1e-290).any():
        # The squares of these columns lose digits or are 0.
        apart = rows[:, tiny] - mean[tiny]
        largest = np.abs(apart).max(axis=0)
        parts = np.divide(apart, largest, out=np.zeros_like(apart), where=largest > 1e-307)
        deviation[tiny] = largest * np.sqrt(np.mean(parts**2, axis=0))
    # A deviation below the resolution of single precision is a rounding error of the mean.
    varies = deviation > np.maximum(1e-7 * np.abs(mean), 1e-307)
    factor = np.divide(1.0, deviation, out=np.ones_like(deviation), where=varies)
    return {"shift": mean.tolist(), "factor": factor.tolist()}
