"""Texts shared by the docstrings of several estimators. A line ``<name>`` in a docstring is replaced by the text."""

from __future__ import annotations

import re
from typing import TypeVar

Class = TypeVar("Class", bound=type)

SHARED = {
    "kernel": """
    kernel : str or dict, default="rbf"
        "rbf" exp(-gamma r²), "linear", "poly" (gamma <x, x'> + coef0)^degree, "laplacian" exp(-gamma r) with
        the Euclidean distance r, "matern32", "matern52", "rational_quadratic", or any kernel of `okl.Learner`,
        as ``{"sum": ["linear", "gaussian:0.5"]}``.
""",
    "coefficients": """
    degree : int, default=3
        The degree of "poly".
    coef0 : float, default=1.0
        The constant of "poly".
""",
    "rates": """
        "decay": eta0 sqrt(tau / (tau + t)) with tau = 1000. "invscaling" or "inverse_sqrt": eta0 / sqrt(t).
        "constant": eta0. "optimal": 1 / (alpha (t + t0)), with t0 such that it starts at eta0. "normalised":
        eta0 / (1 + eta0 k(x, x)), with k(x, x) + 1 if an intercept is learned. "adaptive" or "smd": adapts by
        stochastic meta-descent, starting at eta0. Or any step of `okl.Learner`, as "decay:eta=0.5,tau=300".
""",
    "first step": """
        The first step size for kernels with k(x, x) = 1; not used with `learning_rate` = "auto". For "linear" and
        "poly" it is divided by k(x, x) of a row whose columns have variance 1; "normalised" divides by k(x, x).
""",
    "average": """
    average : "auto", bool, str or dict, default="auto"
        Whether the mean of the hypotheses of the last 1000 examples predicts (True) or the last hypothesis (False).
        "auto": in `partial_fit` the last one, because a mean lags behind a stream that changes; with
        `learning_rate` = "auto" also means, weighted by their losses. In `fit` the mean, if its terms are kept:
        with a kernel of distance, without a budget, or with no more rows than terms. Or an average of
        `okl.Learner`, as "exponential:0.01" or "uniform".
""",
    "budget and scale": """
    budget : int, None, str or dict, default=1000
        The largest number of terms. If there are more, terms are merged (kernels of distance) or projected onto new
        ones. None: no limit. A size, as "64MB": as many terms as fit; the model needs a bounded number of bytes
        more, `learner_.bytes_beside_terms` (about 2 MB for 20 columns). Or any budget of `okl.Learner`, as
        "window:500".
    scale : "auto", "standard" or None, default="auto"
        "standard": columns are scaled to mean 0 and standard deviation 1 over the first `warmup` rows (all rows in
        `fit`). "auto": the same, unless `gamma` is a number or many columns share one range. None: not scaled.
""",
    "passes": """
    max_iter : int or "auto", default="auto"
        The largest number of passes of `fit` over its rows. "auto": as many as make 100,000 examples, between 1 and 100.
        `partial_fit` makes one.
    tol : float or None, default=1e-3
        `fit` ends when `n_iter_no_change` passes in a row have not lowered the mean loss by `tol`; None:
        after all passes. The model is that of the pass with the lowest loss.
    n_iter_no_change : int, default=5
        See `tol`.
""",
    "orders": """
    shuffle : bool, default=True
        Whether `fit` shuffles the rows before every pass.
    random_state : int, RandomState instance or None, default=None
        The random numbers for these orders.
""",
    "threads": """
    n_jobs : int or None, default=None
        Number of threads for large matrix products. Results do not depend on it.
""",
    "gamma": """
    gamma : float, "auto", "median" or "scale", default="auto"
        "median": 1 / (2 m), with m the median squared distance between the first `warmup` (256) rows (1 /
        sqrt(m) for kernels of r). "auto": several widths around it learn in parallel; `fit` uses the best
        width of a first pass (1 / n_features for "poly"). "scale": 1 / (n_features X.var()) of the scaled rows of
        the first call, as in scikit-learn (its square root for kernels of r).
""",
    "alpha": """
    alpha : float or "auto", default="auto"
        The weight of the squared norm, lambda. "auto": several values learn in parallel
        (1e-4 in several passes of `fit`).
""",
    "learning rate": """
    learning_rate : str or dict, default="auto"
        "auto": several step sizes learn in parallel over one set of terms; those with the smallest loss have the
        largest weight ("decay" in several passes of `fit`, where all losses become small).
        <rates>
""",
}


def filled(cls: Class) -> Class:
    """Inserts the shared texts into the docstring of a class."""
    cls.__doc__ = _filled(cls.__doc__ or "")
    return cls


def _filled(text: str) -> str:
    """Replaces each ``<name>``, also inside the shared texts."""
    return re.sub(
        r"^ *<([a-z ]+)>$", lambda found: _filled(SHARED[found[1]]).strip("\n"), text, flags=re.MULTILINE
    )
