"""scikit-learn: random Fourier or Nyström features, then stochastic gradient descent by `partial_fit`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import SGDClassifier, SGDOneClassSVM
from sklearn.preprocessing import StandardScaler

from peers.protocol import Array, Model, Spec, serve

FEATURES = {"rbf": RBFSampler, "nystroem": Nystroem}


class Features:
    """Rows in the space of an approximate Gaussian kernel; `fit` takes what needs data from its rows."""

    def __init__(self, settings: dict[str, Any], seed: int) -> None:
        maker = FEATURES[settings.pop("features")]
        self.map = maker(
            gamma=settings.pop("gamma"), n_components=settings.pop("components"), random_state=seed
        )
        self.scaler = StandardScaler() if settings.pop("scale", False) else None
        self.fitted = False

    def fit(self, X: Array) -> None:
        self.map.fit(self.scaler.fit_transform(X) if self.scaler else X)
        self.fitted = True

    def __call__(self, X: Array) -> Array:
        return self.map.transform(self.scaler.transform(X) if self.scaler else X)

    def follow(self, X: Array) -> None:
        if self.scaler:
            self.scaler.partial_fit(X)


class Classifier(Model):
    """`chunk` rows per call: a whole block for speed, one row for the freshest predictions."""

    def __init__(self, settings: dict[str, Any], spec: Spec, classes: int) -> None:
        settings = dict(settings)
        self.chunk = settings.pop("chunk", 1000)
        self.features = Features(settings, spec.seed)
        self.classes = np.arange(classes) if classes > 2 else np.array([-1, 1])
        self.sgd = SGDClassifier(random_state=spec.seed, **settings)

    def prepare(self, X: Array, y: Array) -> Any:
        return X, y.astype(np.int64)

    def learn(self, rows: Any) -> None:
        X, y = rows
        if not self.features.fitted:
            self.features.fit(X)
        for start in range(0, len(y), self.chunk):
            part = slice(start, start + self.chunk)
            self.sgd.partial_fit(self.features(X[part]), y[part], classes=self.classes)

    def predict(self, X: Array) -> Array:
        return np.concatenate([self.sgd.predict(self.features(part)) for part in np.array_split(X, 20)])

    def progress(self, rows: Any) -> Array:
        X, y = rows
        predicted = np.full(len(y), self.classes[0])
        for start in range(0, len(y), self.chunk):
            part = slice(start, start + self.chunk)
            if self.features.fitted:
                Z = self.features(X[part])
                predicted[part] = self.sgd.predict(Z)
            else:
                self.features.fit(X[:1000])
                Z = self.features(X[part])
            self.features.follow(X[part])
            self.sgd.partial_fit(Z, y[part], classes=self.classes)
        return predicted


class Detector(Model):
    """SGDOneClassSVM on random features, as scikit-learn's own example has it: nu is the asked alert rate."""

    def __init__(self, settings: dict[str, Any], spec: Spec, classes: int) -> None:
        settings = dict(settings)
        self.chunk = settings.pop("chunk", 10)
        self.features = Features(settings, spec.seed)
        self.svm = SGDOneClassSVM(nu=spec.course["rate"], random_state=spec.seed, **settings)
        self.first = int(spec.course["warmup"])

    def watch(self, rows: Any) -> tuple[Array, Array]:
        X, scores = rows[0], np.zeros(len(rows[0]))
        self.features.fit(X[: self.first])
        for start in range(0, len(X), self.chunk):
            part = slice(start, start + self.chunk)
            Z = self.features(X[part])
            if start:
                scores[part] = -self.svm.decision_function(Z)
            self.svm.partial_fit(Z)
        return scores, scores > 0


if __name__ == "__main__":
    serve({"classifier": Classifier, "detector": Detector})
