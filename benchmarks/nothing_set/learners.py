"""Every learner behind one interface: predict the next row, then learn it."""

from __future__ import annotations

import importlib
import inspect
import math
import time
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Learner(Protocol):
    def predict(self, row: int) -> Any: ...

    def learn(self, row: int) -> None: ...


class Dictionaries:
    """River's interface, which okl's estimators share."""

    def __init__(self, model: Any, X: Array, y: Array) -> None:
        self.model = model
        self.X = [{f"c{place}": value for place, value in enumerate(row)} for row in X.tolist()]
        self.y = y.tolist()

    def predict(self, row: int) -> Any:
        return self.model.predict_one(self.X[row])

    def learn(self, row: int) -> None:
        self.model.learn_one(self.X[row], self.y[row])


class Instances:
    """CapyMOA's interface. A predicted class is a place among the labels, which are whole numbers from 0."""

    def __init__(self, make: Any, settings: dict[str, Any], X: Array, y: Array, numbers: bool) -> None:
        from capymoa.stream import NumpyStream

        stream = NumpyStream(X, y, target_type="numeric" if numbers else "categorical")
        self.model = make(stream.get_schema(), **settings)
        self.rows = [stream.next_instance() for _ in range(len(X))]

    def predict(self, row: int) -> Any:
        return self.model.predict(self.rows[row])

    def learn(self, row: int) -> None:
        self.model.train(self.rows[row])


class LastLabel:
    def __init__(self, X: Array, y: Array) -> None:
        self.y = y.tolist()
        self.last: Any = None

    def predict(self, row: int) -> Any:
        return self.last

    def learn(self, row: int) -> None:
        self.last = self.y[row]


def of_river(name: str, settings: dict[str, Any], X: Array, y: Array, numbers: bool, seed: int) -> Learner:
    from river import optim, preprocessing

    if name.endswith("LogisticRegression") and len(np.unique(y)) > 2:
        name = "linear_model.SoftmaxRegression"
    given = dict(settings)
    scaled = given.pop("scale", False)
    if "rate" in given:
        given["optimizer"] = optim.SGD(given.pop("rate"))
    model = with_seed(named(f"river.{name}"), given, "seed", seed)
    return Dictionaries(preprocessing.StandardScaler() | model if scaled else model, X, y)


def of_capymoa(name: str, settings: dict[str, Any], X: Array, y: Array, numbers: bool, seed: int) -> Learner:
    kind = named(f"capymoa.{'regressor' if numbers else 'classifier'}.{name}")

    def make(schema: Any, **given: Any) -> Any:
        return with_seed(kind, {"schema": schema} | given, "random_seed", seed)

    return Instances(make, settings, X, y, numbers)


def of_baseline(name: str, settings: dict[str, Any], X: Array, y: Array, numbers: bool, seed: int) -> Learner:
    return LastLabel(X, y)


def of_okl(name: str, settings: dict[str, Any], X: Array, y: Array, numbers: bool, seed: int) -> Learner:
    """Nothing set: what is random in okl does not exist."""
    return Dictionaries(named(name)(**settings), X, y)


def named(name: str) -> Any:
    """A class by its module and name."""
    module, _, kind = name.rpartition(".")
    return getattr(importlib.import_module(module), kind)


def with_seed(make: Any, settings: dict[str, Any], name: str, seed: int) -> Any:
    """Learners with chance in them get the seed of the stream."""
    takes = name in inspect.signature(make).parameters
    return make(**settings, **({name: seed} if takes else {}))


PROGRAMS = {"river": of_river, "capymoa": of_capymoa, "baseline": of_baseline, "okl": of_okl}


def progressive(learner: Learner, y: Array, numbers: bool, deadline: float = math.inf) -> dict[str, float]:
    """The error of predictions made before each row is learned: mistakes, or mean squared and absolute.

    The deadline is a processor time of this process.
    """
    wrong = squared = absolute = 0.0
    for row, target in enumerate(y.tolist()):
        if row % 100 == 0 and time.process_time() > deadline:
            raise TimeoutError(f"not done in time: {row} of {len(y)} rows")
        predicted = learner.predict(row)
        if numbers:
            gap = abs((0.0 if predicted is None else float(predicted)) - target)
            squared, absolute = squared + gap * gap, absolute + gap
        else:
            wrong += predicted is None or int(predicted) != target
        learner.learn(row)
    if numbers:
        return {"error": squared / len(y), "absolute": absolute / len(y)}
    return {"error": wrong / len(y)}


def in_one_call(model: Any, X: Array, y: Array, numbers: bool) -> dict[str, float]:
    """`progressive` of an estimator of okl.river from one call: the predictions are the same to the last bit."""
    import pandas

    frame = pandas.DataFrame(X, columns=[f"c{place}" for place in range(X.shape[1])])
    report = model._learn_report(frame, pandas.Series(y))
    if numbers:
        gaps = np.abs(report["residual"])
        return {"error": float(np.mean(gaps**2)), "absolute": float(np.mean(gaps))}
    return {"error": float(np.mean(report["wrong"]))}
