"""The gradient of f in closed form, and the weights of columns that follow from it.

f(x) = sum_i a_i k(|x - x_i|) over the terms of a frozen learner, in scaled units. With r_i = |x - x_i|:

    gaussian  k = exp(-gamma r^2)                         grad k = -2 gamma k (x - x_i)
    matern32  k = (1 + s) exp(-s), s = sqrt(3) gamma r    grad k = -3 gamma^2 exp(-s) (x - x_i)

So grad f(x) = sum_i a_i g_i (x - x_i) with one number g_i per term: a weighted sum of the terms.
M_jj is the mean over rows of the squared partial derivative along column j, summed over the outputs of f: the diagonal of the
mean gradient outer product.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def gaussian(squared: Array, gamma: float) -> tuple[Array, Array]:
    """The kernel's values and the factors g of its gradient, from squared distances."""
    values = np.exp(-gamma * squared)
    return values, -2.0 * gamma * values


def matern32(squared: Array, gamma: float) -> tuple[Array, Array]:
    s = np.sqrt(3.0 * squared) * gamma
    values = np.exp(-s)
    return (1.0 + s) * values, -3.0 * gamma * gamma * values


KERNELS = {"gaussian": gaussian, "matern32": matern32}


class Function:
    """f of a frozen learner, in double precision. Rows are in scaled units; `scaled` converts them."""

    def __init__(self, frozen: Any) -> None:
        [(name, parameters)] = frozen.config["kernel"].items()
        self.kernel, self.gamma = KERNELS[name], parameters["gamma"]
        self.shift, self.factor = (np.asarray(each, dtype=np.float64) for each in frozen.frame)
        scale = frozen.config["scale"]
        self.limit = scale["fixed"].get("limit") if isinstance(scale, dict) and "fixed" in scale else None
        self.coefficients = np.asarray(frozen.predicting_coefficients, dtype=np.float64)
        self.offset = frozen.predicting_offset
        self.centres = self.scaled(frozen.centres)

    def scaled(self, rows: Array) -> Array:
        out = (np.asarray(rows, dtype=np.float64) - self.shift) * self.factor
        return out if self.limit is None else np.clip(out, -self.limit, self.limit)

    def _squared_distances(self, rows: Array) -> Array:
        products = rows @ self.centres.T
        norms = (rows * rows).sum(1)[:, None] + (self.centres * self.centres).sum(1)
        return np.maximum(norms - 2.0 * products, 0.0)

    def values(self, rows: Array) -> Array:
        """One column per output."""
        kernel, _ = self.kernel(self._squared_distances(rows), self.gamma)
        return kernel @ self.coefficients + self.offset

    def gradients(self, rows: Array) -> Array:
        """Row, output, column."""
        _, factors = self.kernel(self._squared_distances(rows), self.gamma)
        outputs = [self._gradient(rows, factors * a) for a in self.coefficients.T]
        return np.stack(outputs, axis=1)

    def _gradient(self, rows: Array, weighted: Array) -> Array:
        return rows * weighted.sum(1)[:, None] - weighted @ self.centres


def relevance(function: Function, rows: Array) -> Array:
    """M_jj for each column j."""
    gradients = function.gradients(rows)
    return (gradients * gradients).sum(1).mean(0)


def weights(m: Array, power: float, floor: float) -> Array:
    """(M_jj / mean M) to the power of `power` / 2, and at least `floor`. All 1 where f is constant."""
    mean = m.mean()
    return np.maximum((m / mean) ** (power / 2.0), floor) if mean > 0 else np.ones_like(m)
