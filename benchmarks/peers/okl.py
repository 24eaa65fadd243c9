"""okl through its Python package: `okl.Learner` with the settings as they are typed."""

from __future__ import annotations

from typing import Any

import numpy as np
import okl

from peers.protocol import Array, Model, Spec, serve


class Kernel(Model):
    def __init__(self, settings: dict[str, Any], spec: Spec, classes: int) -> None:
        horizon = {"horizon": spec.rows} if settings.get("step") == "linear" else {}
        self.learner = okl.Learner(settings | horizon)
        self.learner.threads = spec.threads
        self.many = classes > 2

    def prepare(self, X: Array, y: Array) -> Any:
        return X, (y.astype(np.int64) if self.many else y.astype(np.float64))

    def learn(self, rows: Any) -> None:
        self.learner.learn(*rows)

    def labels(self, scores: Array) -> Array:
        if self.many:
            return np.asarray(self.learner.classes)[scores.argmax(axis=1)]
        return np.where(scores > 0, 1, -1)

    def predict(self, X: Array) -> Array:
        return self.labels(self.learner.predict(X))

    def progress(self, rows: Any) -> Array:
        return self.labels(self.learner.learn(*rows))


class Detector(Model):
    """A novelty loss whose threshold tracks the asked alert rate."""

    def __init__(self, settings: dict[str, Any], spec: Spec, classes: int) -> None:
        self.learner = okl.Learner(settings | {"nu": spec.course["rate"]})
        self.learner.threads = spec.threads

    def watch(self, rows: Any) -> tuple[Array, Array]:
        report = self.learner.learn_report(rows[0])
        # Scores grow while the first terms come: what counts is their share of the threshold of their time.
        return -report["scores"] / np.abs(report["threshold"]), report["outside"]


if __name__ == "__main__":
    serve({"learner": Kernel, "detector": Detector})
