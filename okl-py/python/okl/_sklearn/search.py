"""Chooses kernel, width, regulariser and number of passes for a fixed set, by the loss on rows that were not learned.

A candidate has a kernel, a multiple w of the base width, a cost C, which is the regulariser lambda = 1 / (C n) for n rows, and a number of passes.
The base width is that of the median squared distance m: gamma = w / (2 m), or sqrt(w / m) for kernels of the distance r.

1. Screening. Every kernel and width with C = 10, then the best ones with other C. Sets of more than `SCREENED` rows are screened on that many.
2. Climbing. From the best candidate: half and twice the width, a third and three times C, until none is better.
3. Passes. Their number is doubled until that does not help.

A candidate is measured on three folds, or on one or two held-out fifths if there are more than `SCREENED` rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from okl._okl import Learner
from okl._sklearn.passes import falling, learn_passes
from okl._sklearn.refusal import rows_named

KINDS = ("gaussian", "matern32", "exponential")
WIDTHS = (0.25, 1.0, 4.0, 16.0)
COST = 10.0
OTHER_COSTS = (1.0, 100.0)

SCREENED = 1000
"""Rows up to which a candidate is measured on three folds. A larger set is screened on so many rows."""

SEARCHED = 16_000
"""The largest number of rows on which candidates are compared. The chosen one learns all rows."""

HELD_OUT = 4000
"""The largest held-out part."""

ENOUGH_HELD_OUT = 2000
"""Rows on which a candidate of a larger set is measured, in one or two parts."""

SMALLEST = 8
"""Fewer rows cannot be divided into rows to learn and rows to measure."""

FEW = 2500
"""Up to so many rows, climbing starts from the best candidate alone; it would take longer than the passes themselves."""

CLOSE = 0.02
"""On larger sets it also starts from the best candidate of every kernel whose loss is higher by at most this share."""

ROUNDS = 4
"""The largest number of rounds of climbing."""

HELPS = 0.003
"""The relative decrease of the held-out loss above which a candidate is better; 5 / n is added, because the loss on few rows is noisy."""

HELPS_PASSES = 0.01
"""The same for twice the passes, which take twice the time."""

FIRST_PASSES = 16
"""The largest number of passes of the first candidates."""

MOST_PASSES = 128
MOST_EXAMPLES = 2_000_000
"""Bounds on the passes over a set, and on their number of examples."""


class Candidate(NamedTuple):
    """What is tried. None: this setting is given, and is that of the configuration."""

    kind: str | None
    width: float | None
    cost: float | None
    passes: int


class Measured(NamedTuple):
    """The mean loss on rows that were not learned; for classes also the share of wrong predictions."""

    loss: float
    """By the weights of the rows."""
    weighted_error: float | None
    error: float | None
    """Every row counts once."""
    rows: int
    residuals: np.ndarray | None = None
    """For numbers: target minus prediction, and the weight, of every row."""

    @property
    def cost(self) -> float:
        """What is compared: the loss; on enough rows, where the share of errors has little noise, their sum."""
        return self.loss + (self.weighted_error or 0.0) if self.rows > SCREENED else self.loss


@dataclass
class Task:
    """The set, and how a learner is measured."""

    rows: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    codes: np.ndarray | None
    """The class of every row; None for numbers."""
    measure: Callable[[Learner, np.ndarray], Measured]
    """Measures a learner on the rows with these indices."""
    next_order: Callable[[int], Callable[[], np.ndarray]]
    """For a number of rows, a function that returns the order of the next pass. All candidates have the same orders."""
    new_learner: Callable[[dict[str, Any]], Learner]


@dataclass
class Space:
    """What is open, and the configuration of everything else."""

    config: dict[str, Any]
    """Without the scale of the columns."""
    units: Learner
    """A learner with the scale of the columns: a list of it for each try would take longer than the tries, where there are many columns."""
    kinds: tuple[str, ...] | None
    median: float | None
    """The median squared distance; None where the width is given."""
    open_cost: bool
    eta: float | None
    """The first step size; None where the step is given."""
    passes: int
    most_passes: int

    def first(self) -> list[Candidate]:
        """Every kernel and width that is open."""
        widths = (None,) if self.median is None else WIDTHS
        cost = COST if self.open_cost else None
        pairs = itertools.product(self.kinds or (None,), widths)
        return [Candidate(kind, width, cost, self.passes) for kind, width in pairs]

    def other_costs(self, candidate: Candidate) -> list[Candidate]:
        return [candidate._replace(cost=cost) for cost in OTHER_COSTS] if self.open_cost else []

    def neighbours(self, candidate: Candidate) -> list[Candidate]:
        found = []
        if candidate.width is not None:
            found += [candidate._replace(width=candidate.width * factor) for factor in (0.5, 2.0)]
        if candidate.cost is not None:
            found += [candidate._replace(cost=candidate.cost * factor) for factor in (1 / 3, 3.0)]
        return found

    def settings(self, candidate: Candidate, rows: int) -> dict[str, Any]:
        """The configuration of a learner of so many rows."""
        config = dict(self.config)
        if candidate.kind is not None and candidate.width is not None and self.median is not None:
            squared = candidate.kind in ("gaussian", "rational_quadratic")
            gamma = (
                candidate.width / (2 * self.median) if squared else math.sqrt(candidate.width / self.median)
            )
            known = config["kernel"].get(candidate.kind, {}) if isinstance(config["kernel"], dict) else {}
            config["kernel"] = {candidate.kind: {**known, "gamma": gamma}}
        if candidate.cost is not None:
            config["lambda"] = 1 / (candidate.cost * rows)
        if self.eta is not None:
            config["step"] = falling(self.eta, candidate.passes, rows)
        return config


@dataclass
class Search:
    """Measures candidates and remembers them."""

    task: Task
    space: Space
    tried: list[dict[str, Any]] = field(default_factory=list)
    last_try: dict[Candidate, int] = field(default_factory=dict)
    """The index in `tried` of the last try of a candidate."""
    residuals: dict[Candidate, np.ndarray | None] = field(default_factory=dict)
    """The residuals of its last try."""
    other_parts: list[Part] = field(default_factory=list)
    """Divisions on which the last try was not measured."""
    chosen: Candidate | None = None
    """The best candidate, if it was tried."""
    examples: int = 0
    """The number of examples that were learned, every pass counted."""
    still_helping: bool = False
    """Whether twice the passes still helped where the search ended."""

    def best(self) -> Candidate:
        """The best candidate. Its last try is marked as chosen."""
        best = self.found()
        if best in self.last_try:
            self.tried[self.last_try[best]]["chosen"] = True
            self.chosen = best
        return best

    def found(self) -> Candidate:
        rows = len(self.task.y)
        first = self.space.first()
        if rows < SMALLEST:
            return min(first, key=lambda candidate: abs(math.log(candidate.width or 1.0)))
        order = self.task.next_order(rows)()
        screened = spread(order, self.task.codes, SCREENED)
        parts = folds(screened, self.task.codes, 3)
        found = self.screened(parts, first)
        if rows > SCREENED:
            searched = spread(order, self.task.codes, SEARCHED)
            parts, self.other_parts = some_folds(searched, self.task.codes)
            found = self.measured(parts, self.shortlist(found))
        return self.climbed(parts, found)

    def screened(self, parts: list[Part], first: list[Candidate]) -> dict[Candidate, Measured]:
        found = self.measured(parts, first)
        for candidate in ranked(found)[:3]:
            found |= self.measured(parts, self.accepted(parts, self.space.other_costs(candidate)))
        return found

    def shortlist(self, found: dict[Candidate, Measured]) -> list[Candidate]:
        """The best four, and the best of every kernel."""
        order = ranked(found)
        of_kind = {candidate.kind: candidate for candidate in reversed(order)}
        return list(dict.fromkeys([*order[:4], *of_kind.values()]))

    def climbed(self, parts: list[Part], found: dict[Candidate, Measured]) -> Candidate:
        """Climbs from the best candidate, on large sets also from the best of other kernels, then chooses the passes."""
        ends = [self.climb(parts, start, found) for start in self.starts(found)]
        best = min(ends, key=lambda end: found[end].cost)
        if (
            len(self.task.y) > SCREENED and len(parts) > 1
        ):  # passes are expensive, and one part is enough to compare them
            self.other_parts = parts[1:] + self.other_parts
            parts = parts[:1]
            found[best] = self.one(parts, best)
        return self.with_passes(parts, best, found[best])

    def starts(self, found: dict[Candidate, Measured]) -> list[Candidate]:
        order = ranked(found)
        of_kind = {candidate.kind: candidate for candidate in reversed(order)}
        limit = found[order[0]].cost * (1 + CLOSE)
        close = [start for start in of_kind.values() if found[start].cost <= limit]
        return close if len(self.task.y) > FEW else order[:1]

    def climb(self, parts: list[Part], best: Candidate, found: dict[Candidate, Measured]) -> Candidate:
        """Moves to a better neighbour while there is one."""
        for _ in range(ROUNDS):
            around = [near for near in self.space.neighbours(best) if near not in found]
            around = self.accepted(parts, around)
            found |= self.measured(parts, around)
            better = [near for near in around if self.helps(found[best], found[near], HELPS)]
            if not better:
                break
            best = min(better, key=lambda near: found[near].cost)
        return best

    def with_passes(self, parts: list[Part], best: Candidate, measured: Measured) -> Candidate:
        """Doubles the passes while that helps."""
        while 2 * best.passes <= self.space.most_passes:
            more = best._replace(passes=2 * best.passes)
            after = self.one(parts, more)
            self.still_helping = self.helps(measured, after, HELPS_PASSES)
            if not self.still_helping:
                break
            best, measured = more, after
        usual = usual_passes(len(self.task.y))
        if 0 < self.space.most_passes < usual:  # were so few enough?
            after = self.one(parts, best._replace(passes=max(2 * best.passes, usual)))
            self.still_helping = self.helps(measured, after, HELPS_PASSES)
        return best

    def helps(self, before: Measured, after: Measured, share: float) -> bool:
        """Whether the loss is lower by more than this share, and more on few rows."""
        return after.cost < before.cost * (1 - share - 5 / len(self.task.y))

    def accepted(self, parts: list[Part], candidates: list[Candidate]) -> list[Candidate]:
        """The candidates that a learner accepts: without proximal steps, eta lambda must stay below 1, and lambda is largest where the
        rows are fewest."""
        fewest = min(len(learned) for learned, _ in parts)
        return [one for one in candidates if self.is_accepted(self.space.settings(one, fewest))]

    def is_accepted(self, config: dict[str, Any]) -> bool:
        try:
            self.task.new_learner(config)
        except ValueError:
            return False
        return True

    def measured(self, parts: list[Part], candidates: list[Candidate]) -> dict[Candidate, Measured]:
        return {candidate: self.one(parts, candidate) for candidate in candidates}

    def held_out(self) -> np.ndarray | None:
        """The residuals of the best candidate on rows that were not learned, from as many parts as have enough rows; None where the
        loss needs none, or nothing was tried."""
        found = None if self.chosen is None else self.residuals[self.chosen]
        if found is None or self.chosen is None:
            return None
        for part in self.other_parts:
            if len(found) >= ENOUGH_HELD_OUT:
                break
            (measured,) = self.results([part], self.chosen)
            found = np.concatenate([found, measured.residuals])
        return found

    def one(self, parts: list[Part], candidate: Candidate) -> Measured:
        """The mean over the parts."""
        measured = mean(self.results(parts, candidate))
        self.remember(candidate, parts, measured)
        return measured

    def results(self, parts: list[Part], candidate: Candidate) -> list[Measured]:
        results = []
        for learned, held in parts:
            learner = self.task.new_learner(self.space.settings(candidate, len(learned)))
            self.learn(learner, learned, candidate.passes)
            results.append(self.task.measure(learner, held))
        return results

    def learn(self, learner: Learner, learned: np.ndarray, passes: int) -> None:
        task = self.task
        rows, y = task.rows[learned], task.y[learned]
        weights = None if task.weights is None else task.weights[learned]
        with rows_named(learned):
            learn_passes(learner, rows, y, weights, task.next_order(len(learned)), passes)
        self.examples += passes * len(learned)

    def remember(self, candidate: Candidate, parts: list[Part], measured: Measured) -> None:
        rows = len(parts[0][0])
        config = self.space.settings(candidate, rows)
        line = {
            "chosen": False,
            "kernel": config["kernel"],
            "alpha": config["lambda"],
            "passes": candidate.passes,
            "rows": rows,
            "held_out": measured.rows,
            "loss": measured.loss,
        }
        if measured.error is not None:
            line |= {"error": measured.error, "weighted_error": measured.weighted_error}
        self.last_try[candidate] = len(self.tried)
        self.residuals[candidate] = measured.residuals
        self.tried.append(line)


Part = tuple[np.ndarray, np.ndarray]
"""Indices of rows to learn and of rows to measure."""


def mean(results: list[Measured]) -> Measured:
    """The mean over parts of different size."""
    rows = [result.rows for result in results]
    loss = float(np.average([result.loss for result in results], weights=rows))
    if not math.isfinite(loss):
        loss = math.inf
    if results[0].error is None:
        residuals = [result.residuals for result in results if result.residuals is not None]
        return Measured(loss, None, None, sum(rows), np.concatenate(residuals) if residuals else None)
    errors = np.array([(result.weighted_error, result.error) for result in results], dtype=np.float64)
    weighted, plain = np.average(errors, axis=0, weights=rows).tolist()
    return Measured(loss, weighted, plain, sum(rows))


def ranked(found: dict[Candidate, Measured]) -> list[Candidate]:
    return sorted(found, key=lambda candidate: found[candidate].cost)


def dealt(order: np.ndarray, codes: np.ndarray | None) -> np.ndarray:
    """The rows one class after the other: every k-th of them has the shares of the classes."""
    return order if codes is None else order[np.argsort(codes[order], kind="stable")]


def spread(order: np.ndarray, codes: np.ndarray | None, most: int) -> np.ndarray:
    """At most so many rows, with the shares of the classes."""
    if len(order) <= most:
        return order
    sorted_rows = dealt(order, codes)
    return sorted_rows[np.linspace(0, len(order) - 1, most).astype(np.intp)]


def folds(rows: np.ndarray, codes: np.ndarray | None, count: int) -> list[Part]:
    """So many divisions of the rows; every row is held out once."""
    sorted_rows = dealt(rows, codes)
    place = np.arange(len(rows)) % count
    return [(sorted_rows[place != fold], sorted_rows[place == fold]) for fold in range(count)]


def some_folds(rows: np.ndarray, codes: np.ndarray | None) -> tuple[list[Part], list[Part]]:
    """One or two of at least five divisions, and the others."""
    count = max(5, math.ceil(len(rows) / HELD_OUT))
    enough = math.ceil(ENOUGH_HELD_OUT * count / len(rows))
    parts, used = folds(rows, codes, count), min(enough, 2)
    return parts[:used], parts[used:]


def calibrated_loss(decision: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> float:
    """The mean log loss of scores times the best of several factors. It does not depend on the size of the scores."""
    if decision.ndim == 1:
        decision = np.column_stack([np.zeros(len(decision)), decision])
    own = decision - decision[np.arange(len(codes)), codes][:, None]
    return min(
        float(np.average(np.logaddexp.reduce(factor * own, axis=1), weights=weights)) for factor in FACTORS
    )


FACTORS = tuple(np.logspace(-1, 2, 13))


def first_passes(rows: int) -> int:
    """The passes of the first candidates. Doubling finds out whether more help."""
    return min(usual_passes(rows), FIRST_PASSES)


def usual_passes(rows: int) -> int:
    """The passes that are enough for most sets: more over a small set, fewer over a large one."""
    if rows <= SEARCHED:
        return int(np.clip(4000 // rows, 8, 32))
    return int(np.clip(400_000 // rows, 1, 8))


def most_passes(rows: int) -> int:
    return max(first_passes(rows), min(MOST_PASSES, MOST_EXAMPLES // rows))


def automatic_terms(rows: int) -> int | None:
    """The largest number of terms of `budget="auto"`: no limit up to 20,000 rows, fewer terms for more rows, at least 1000."""
    return None if rows <= 20_000 else max(1000, 20_000**2 // rows)
