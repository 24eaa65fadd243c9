"""What needs no learning: the most frequent label, the last label, and alerts at random. Needs numpy only."""

from __future__ import annotations

from typing import Any

import numpy as np

from peers.protocol import Array, Model, Spec, serve


class Majority(Model):
    def __init__(self, settings: dict[str, Any], spec: Spec, classes: int) -> None:
        self.label = 0.0

    def learn(self, rows: Any) -> None:
        labels, counts = np.unique(rows[1], return_counts=True)
        self.label = float(labels[counts.argmax()])

    def predict(self, X: Array) -> Array:
        return np.full(len(X), self.label)


class NoChange(Model):
    """Repeats the last label: where this is good, labels follow each other, whatever the features."""

    def __init__(self, settings: dict[str, Any], spec: Spec, classes: int) -> None:
        self.last = 0.0

    def progress(self, rows: Any) -> Array:
        predicted = np.concatenate([[self.last], rows[1][:-1]])
        self.last = float(rows[1][-1])
        return predicted


class AtRandom(Model):
    def __init__(self, settings: dict[str, Any], spec: Spec, classes: int) -> None:
        self.random, self.rate = np.random.default_rng(spec.seed), float(spec.course["rate"])

    def watch(self, rows: Any) -> tuple[Array, Array]:
        scores = self.random.random(len(rows[0]))
        return scores, scores > 1 - self.rate


if __name__ == "__main__":
    serve({"majority": Majority, "no_change": NoChange, "at_random": AtRandom})
