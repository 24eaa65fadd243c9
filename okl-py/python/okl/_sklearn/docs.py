"""What the docstrings of several estimators have in common: one text, put where a line says ``<name>``."""

from __future__ import annotations

import re
from typing import TypeVar

Class = TypeVar("Class", bound=type)

SHARED = {
    "kernel": """
    kernel : str or dict, default="rbf"
        "rbf" exp(-gamma r²), "linear", "poly" (gamma <x, x'> + coef0)^degree, "laplacian" exp(-gamma r) with
        the Euclidean distance r, "matern32", "matern52", "rational_quadratic", or any spelling of the engine,
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
        "constant": eta0. "optimal": 1 / (alpha (t + t0)), with t0 such that it starts at eta0. "adaptive" or
        "smd": the engine's own adaptation, from eta0. Or any spelling of the engine, as
        "decay:eta=0.5,tau=300".
""",
    "first step": """
        The first step size of a rule that is given, for kernels with k(x, x) = 1; for "linear" and "poly" it is divided by k(x, x) of
        a row whose columns have variance 1.
""",
    "average": """
    average : "auto", bool, str or dict, default="auto"
        Does the mean of the hypotheses of the last 1000 examples predict, or the last one? "auto": the last
        one in `partial_fit`, as a mean would lag behind a stream that changes, and where `learning_rate` is
        "auto" a mean beside it, so that what errs less counts more; the mean in `fit`, if the terms it is made
        of last: with a Gaussian kernel, without a limit, or with no more rows than terms. Or a spelling of the
        engine, as "exponential:0.01" or "uniform".
""",
    "budget and scale": """
    budget : int, None, str or dict, default=1000
        The most terms the model may have; the lightest are merged (Gaussian kernel) or carried over to new
        ones. None: no limit. A size, as "64MB": as many as fit; beside them the model holds a bounded number of
        bytes, `learner_.bytes_beside_terms` (about 2 MB for 20 columns). Or any rule of the engine, as "window:500".
    scale : "auto", "standard" or None, default="auto"
        "standard": columns are put into units of their deviation, as the first `warmup` rows show it (all
        rows in `fit`). "auto": the same, unless `gamma` is a number or many columns share one range. None: as they
        come.
""",
    "passes": """
    max_iter : int or "auto", default="auto"
        The most passes of `fit` over its rows. "auto": as many as make 100,000 examples, between 1 and 100.
        `partial_fit` makes one.
    tol : float or None, default=1e-3
        `fit` ends when `n_iter_no_change` passes in a row have not lowered the mean loss by `tol`; None:
        after all passes. The model is that of the pass with the lowest loss.
    n_iter_no_change : int, default=5
        See `tol`.
""",
    "orders": """
    shuffle : bool, default=True
        Does `fit` take the rows in a new random order in every pass?
    random_state : int, RandomState instance or None, default=None
        The source of these orders.
""",
    "threads": """
    n_jobs : int or None, default=None
        Number of threads for large matrix products. Results do not depend on it.
""",
    "gamma": """
    gamma : float, "auto", "median" or "scale", default="auto"
        "median": 1 / (2 m), with m the median squared distance between the first `warmup` (256) rows (1 /
        sqrt(m) for kernels of r). "auto": several widths around it side by side, of which the best
        in a first pass makes the passes of `fit` (1 / n_features for
        "poly"). "scale": 1 / (n_features X.var()) of the rows
        that the kernel sees in the first call, as scikit-learn has it (its square root for kernels of r).
""",
    "alpha": """
    alpha : float or "auto", default="auto"
        The weight of the squared norm: the engine's lambda. "auto": several side by side
        (1e-4 in several passes of `fit`).
""",
    "learning rate": """
    learning_rate : str or dict, default="auto"
        "auto": several rules side by side, over one set of terms; those that err least count most ("decay" in
        several passes of `fit`, where all errors become small).
        <rates>
""",
}


def filled(cls: Class) -> Class:
    """The class with the shared texts in its docstring."""
    cls.__doc__ = _filled(cls.__doc__ or "")
    return cls


def _filled(text: str) -> str:
    """A shared text may have lines for others."""
    return re.sub(
        r"^ *<([a-z ]+)>$", lambda found: _filled(SHARED[found[1]]).strip("\n"), text, flags=re.MULTILINE
    )
