"""LIBSVM, the batch reference: it sees all rows at once and as often as it likes."""

from __future__ import annotations

from typing import Any

import numpy as np
from libsvm import svmutil
from scipy.sparse import csr_matrix

from peers.protocol import Array, Model, Spec, serve


class Batch(Model):
    def __init__(self, settings: dict[str, Any], spec: Spec, classes: int) -> None:
        words = " ".join(f"-{key} {value}" for key, value in settings.items())
        self.options = svmutil.svm_parameter(f"-q -s 0 -t 2 {words}")
        self.model: Any = None

    def prepare(self, X: Array, y: Array) -> Any:
        return svmutil.svm_problem(y.astype(np.float64), csr_matrix(X, dtype=np.float64))

    def learn(self, rows: Any) -> None:
        self.model = svmutil.svm_train(rows, self.options)

    def predict(self, X: Array) -> Array:
        labels, _, _ = svmutil.svm_predict([], csr_matrix(X, dtype=np.float64), self.model, "-q")
        return np.array(labels)


if __name__ == "__main__":
    serve({"svc": Batch})
