"""Vowpal Wabbit: its linear default and --ksvm, driven from a cache file, the fastest way it can read.

Rows are written as its text and turned into its cache before the clock starts. One against the rest, for
--ksvm with more than two classes, is one machine per class; the linear learner has --oaa.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import vowpalwabbit

from peers.protocol import Array, Model, Spec, serve


def text(X: Array, labels: list[str]) -> str:
    """Rows in its format; a column that is 0 is not written."""
    lines = []
    for x, label in zip(X, labels):
        lines.append(f"{label} | " + " ".join(f"{i}:{x[i]:.7g}" for i in np.flatnonzero(x)))
    return "\n".join(lines) + "\n"


class Machine:
    """One Vowpal Wabbit."""

    def __init__(self, arguments: str) -> None:
        self.arguments = arguments
        self.folder = tempfile.TemporaryDirectory()
        self.workspace: Any = None

    def path(self, name: str) -> str:
        return str(Path(self.folder.name, name))

    def cache(self, X: Array, labels: list[str], kind: str) -> None:
        """Parses only: a learner that does nothing writes the cache."""
        Path(self.path("rows")).write_text(text(X, labels))
        vowpalwabbit.Workspace(
            f"--quiet {kind} --noop -k -d {self.path('rows')} --cache_file {self.path('rows.cache')}"
        ).finish()

    def run(self, predictions: bool = False) -> None:
        """Learns the cached rows: with -d given, making the workspace is the run."""
        write = f"-p {self.path('predictions')}" if predictions else ""
        self.workspace = vowpalwabbit.Workspace(
            f"--quiet {self.arguments} {write} -d {self.path('rows')} --cache_file {self.path('rows.cache')}"
        )

    def scores(self, X: Array) -> Array:
        return np.array([self.workspace.predict(line) for line in text(X, [""] * len(X)).splitlines()])

    def progressive(self) -> Array:
        self.workspace.finish()
        return np.loadtxt(self.path("predictions"))


def arguments(settings: dict[str, Any]) -> str:
    """{"ksvm": true, "l2": 0.1} as "--ksvm --l2 0.1"."""
    words = [f"--{key}" if value is True else f"--{key} {value}" for key, value in settings.items()]
    return " ".join(words)


class Linear(Model):
    def __init__(self, settings: dict[str, Any], spec: Spec, classes: int) -> None:
        self.kind = f"--oaa {classes}" if classes > 2 else ""
        self.many = classes > 2
        self.machine = Machine(f"{self.kind} {arguments(settings)}")

    def prepare(self, X: Array, y: Array) -> None:
        labels = [str(int(label) + 1) for label in y] if self.many else [str(int(label)) for label in y]
        self.machine.cache(X, labels, self.kind)

    def labels(self, scores: Array) -> Array:
        return scores - 1 if self.many else np.where(scores > 0, 1, -1)

    def learn(self, rows: Any) -> None:
        self.machine.run()

    def predict(self, X: Array) -> Array:
        return self.labels(self.machine.scores(X))

    def progress(self, rows: Any) -> Array:
        self.machine.run(predictions=True)
        return self.labels(self.machine.progressive())


class Kernel(Model):
    def __init__(self, settings: dict[str, Any], spec: Spec, classes: int) -> None:
        self.machines = [Machine(arguments(settings)) for _ in range(classes if classes > 2 else 1)]

    def prepare(self, X: Array, y: Array) -> None:
        many = len(self.machines) > 1
        for label, machine in enumerate(self.machines):
            positive = y == label if many else y > 0
            machine.cache(X, np.where(positive, "1", "-1").tolist(), "")

    def learn(self, rows: Any) -> None:
        for machine in self.machines:
            machine.run()

    def predict(self, X: Array) -> Array:
        scores = np.array([machine.scores(X) for machine in self.machines])
        return scores.argmax(axis=0) if len(scores) > 1 else np.where(scores[0] > 0, 1, -1)

    def progress(self, rows: Any) -> Array:
        self.machines[0].run(predictions=True)
        return np.where(self.machines[0].progressive() > 0, 1, -1)


class Stream(Model):
    """The same learners fed example by example from Python, for streams that go on."""

    def __init__(self, settings: dict[str, Any], spec: Spec, classes: int) -> None:
        self.workspace = vowpalwabbit.Workspace(f"--quiet {arguments(settings)}")

    def prepare(self, X: Array, y: Array) -> Any:
        return [self.workspace.parse(line) for line in text(X, [str(int(label)) for label in y]).splitlines()]

    def learn(self, rows: Any) -> None:
        for example in rows:
            self.workspace.learn(example)
            self.workspace.finish_example(example)

    def progress(self, rows: Any) -> Array:
        """Learning predicts first."""
        scores = np.empty(len(rows))
        for i, example in enumerate(rows):
            self.workspace.learn(example)
            scores[i] = example.get_simplelabel_prediction()
            self.workspace.finish_example(example)
        return np.where(scores > 0, 1, -1)


if __name__ == "__main__":
    serve({"linear": Linear, "ksvm": Kernel, "stream": Stream})
