"""River: rows are dictionaries, learned one at a time by `learn_one`."""

from __future__ import annotations

from typing import Any

import numpy as np
from river import anomaly, base, compose, feature_extraction, forest, linear_model, optim, preprocessing, tree

from peers.protocol import Array, Model, Spec, serve


def linear(settings: dict[str, Any], classes: int, seed: int) -> Any:
    model = linear_model.SoftmaxRegression if classes > 2 else linear_model.LogisticRegression
    return model(optimizer=optim.SGD(settings.get("lr", 0.01)), l2=settings.get("l2", 0.0))


def rbf(settings: dict[str, Any], classes: int, seed: int) -> Any:
    features = feature_extraction.RBFSampler(
        gamma=settings["gamma"], n_components=settings["components"], seed=seed
    )
    return features | linear(settings, classes, seed)


def hoeffding(settings: dict[str, Any], classes: int, seed: int) -> Any:
    return tree.HoeffdingAdaptiveTreeClassifier(seed=seed, **settings)


def adaptive_forest(settings: dict[str, Any], classes: int, seed: int) -> Any:
    return forest.ARFClassifier(seed=seed, **settings)


def dictionaries(X: Array) -> list[dict[int, float]]:
    return [dict(enumerate(row)) for row in X.tolist()]


class Classifier(Model):
    def __init__(self, maker: Any, settings: dict[str, Any], spec: Spec, classes: int) -> None:
        settings = dict(settings)
        scale = settings.pop("scale", False)
        model = maker(settings, classes, spec.seed)
        self.model = compose.Pipeline(preprocessing.StandardScaler(), model) if scale else model
        self.many = classes > 2

    def prepare(self, X: Array, y: Array) -> Any:
        """Two classes are True and False."""
        return dictionaries(X), [int(label) if self.many else label > 0 for label in y.tolist()]

    def learn(self, rows: Any) -> None:
        for x, y in zip(*rows):
            self.model.learn_one(x, y)

    def label(self, x: dict[int, float]) -> int:
        predicted = self.model.predict_one(x) or 0
        return int(predicted) if self.many else 2 * int(predicted) - 1

    def predict(self, X: Array) -> Array:
        return np.array([self.label(x) for x in dictionaries(X)])

    def progress(self, rows: Any) -> Array:
        predicted = np.empty(len(rows[1]))
        for i, (x, y) in enumerate(zip(*rows)):
            predicted[i] = self.label(x)
            self.model.learn_one(x, y)
        return predicted


def classifier(maker: Any) -> Any:
    return lambda settings, spec, classes: Classifier(maker, settings, spec, classes)


class Negated(base.AnomalyDetector):
    """River's OneClassSVM scores w x - rho, which is high for what is normal: both signs are tried."""

    def __init__(self, scorer: Any) -> None:
        self.scorer = scorer

    def learn_one(self, x: dict[int, float]) -> None:
        self.scorer.learn_one(x)

    def score_one(self, x: dict[int, float]) -> float:
        return -self.scorer.score_one(x)


class Detector(Model):
    """A scorer behind a QuantileFilter that lets the asked share pass as alerts."""

    def __init__(self, make: Any, settings: dict[str, Any], spec: Spec, classes: int) -> None:
        scorer, scaler = make(settings, spec.course["rate"], spec.seed)
        self.scaler, self.filter = scaler, anomaly.QuantileFilter(scorer, q=1 - spec.course["rate"])

    def prepare(self, X: Array, y: Array) -> Any:
        return dictionaries(X)

    def watch(self, rows: Any) -> tuple[Array, Array]:
        scores, alerts = np.empty(len(rows)), np.zeros(len(rows), bool)
        for i, x in enumerate(rows):
            self.scaler.learn_one(x)
            x = self.scaler.transform_one(x)
            scores[i] = self.filter.score_one(x)
            alerts[i] = self.filter.classify(scores[i])
            self.filter.learn_one(x)
        return scores, alerts


def half_space_trees(settings: dict[str, Any], rate: float, seed: int) -> Any:
    return anomaly.HalfSpaceTrees(seed=seed, **settings), preprocessing.MinMaxScaler()


def one_class_svm(settings: dict[str, Any], rate: float, seed: int) -> Any:
    rest = dict(settings)
    features = feature_extraction.RBFSampler(
        gamma=rest.pop("gamma"), n_components=rest.pop("components"), seed=seed
    )
    svm = anomaly.OneClassSVM(nu=rate, optimizer=optim.SGD(rest.pop("lr")))
    scorer = compose.Pipeline(features, svm)
    return Negated(scorer) if rest.pop("negated") else scorer, preprocessing.StandardScaler()


def detector(make: Any) -> Any:
    return lambda settings, spec, classes: Detector(make, settings, spec, classes)


if __name__ == "__main__":
    classifiers = {f.__name__: classifier(f) for f in (linear, rbf, hoeffding, adaptive_forest)}
    serve(classifiers | {f.__name__: detector(f) for f in (half_space_trees, one_class_svm)})
