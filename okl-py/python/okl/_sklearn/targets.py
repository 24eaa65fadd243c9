"""Scales the targets of a regression: losses and default step sizes assume targets of about 1 in size."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack


@dataclass(frozen=True)
class TargetScale:
    """Mean and standard deviation of every output."""

    mean: np.ndarray
    deviation: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray, weights: np.ndarray | None) -> TargetScale:
        mean = np.average(y, axis=0, weights=weights)
        deviation = np.sqrt(np.average((y - mean) ** 2, axis=0, weights=weights))
        # The factor of a constant output is 1; the learner accepts only factors within these limits.
        varies = deviation > 1e-12 * np.abs(mean)
        return cls(mean, np.where(varies, np.clip(deviation, 1e-99, 1e99), 1.0))

    def setting(self) -> dict[str, Any]:
        """The setting `target_scale` of the learner; its targets and scores are then in the units of the data."""
        return {"fixed": {"shift": self.mean.tolist(), "factor": (1.0 / self.deviation).tolist()}}


@dataclass
class TargetWarmUp:
    """The first examples of a stream, while the scale of their targets is provisional.

    At example 1, 2, 4, ... `limit` the scale is estimated again from all targets so far, and these examples are
    learned again with it, in order. After that the scale is fixed. The engine does the same for features. So the
    model depends on the stream alone, not on how it is divided into calls.
    """

    limit: int
    config: dict[str, Any]
    parts: list[tuple[np.ndarray, ...]] = field(default_factory=list)
    count: int = 0

    def until_next(self) -> int:
        """The number of examples until the scale is estimated again."""
        return min(1 << self.count.bit_length(), self.limit) - self.count

    def add(self, rows: np.ndarray, y: np.ndarray, weights: np.ndarray) -> None:
        self.parts = [*self.parts, (rows, y, weights)]  # a copy of this keeps its own
        self.count += rows.shape[0]

    def due(self) -> bool:
        return self.count == self.limit or self.count.bit_count() == 1

    def over(self) -> bool:
        return self.count == self.limit

    def examples(self) -> tuple[np.ndarray, ...]:
        """All rows, targets and weights so far."""
        rows, *others = zip(*self.parts, strict=True)
        together = vstack(rows, format="csr") if issparse(rows[0]) else np.concatenate(rows)
        return together, *map(np.concatenate, others)


def lower_quantile(scores: np.ndarray, share: float, weights: np.ndarray | None) -> float:
    """The largest score that has at most `share` of the weight strictly below it."""
    order = np.argsort(scores)
    weight = np.ones(len(scores)) if weights is None else weights[order]
    below = np.cumsum(weight) - weight
    # Sums of weights are rounded, so the comparison has a tolerance: an exactly equal share counts as reached.
    return float(scores[order][np.searchsorted(below, share * weight.sum() * (1 + 1e-12), side="right") - 1])


LARGE_TARGETS = re.compile(
    r"(?:\d+ targets are very large \(the largest: \S+ in example \d+\)|the target of example \d+ is \S+), no other one exceeds \S+ in size; "
    r"the mean error of the \d+ rows? afterwards is \S+?(?: \(before: \S+\))?;"
)
"""The learner's words about targets that are much larger than all others. It counts an example in every pass."""

TIMES = 100.0
"""Such targets are so many times as large as all others, as in okl/src/learner/large_targets.rs."""


def large_targets_by_row(y: np.ndarray, places: np.ndarray) -> Callable[[str], str]:
    """Puts the rows of X for the examples of several passes; row i of y is row `places[i]` of the caller."""

    def reworded(text: str) -> str:
        sizes = np.abs(y).reshape(len(y), -1).max(axis=1)
        order = np.argsort(-sizes, kind="stable")
        apart = np.flatnonzero(sizes[order[:-1]] > TIMES * sizes[order[1:]])
        if not len(apart):
            return text
        count, largest = int(apart[0]) + 1, order[0]
        target = y.reshape(len(y), -1)[largest]
        shown = f"{target[np.argmax(np.abs(target))]:.4g} in row {places[largest]}"
        which = (
            f"the target {shown} of y is"
            if count == 1
            else f"{count} targets (the largest: {shown} of y) are"
        )
        others = f"{sizes[order[count]]:.4g}"
        them = "it" if count == 1 else "them"
        return LARGE_TARGETS.sub(
            f"{which} very large, no other one exceeds {others} in size; errors are much larger after the model has learned {them};",
            text,
        )

    return reworded
