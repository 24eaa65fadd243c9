"""Texts shared by the docstrings of several estimators, those for scikit-learn and those for River.

A line ``<name>`` in a docstring is replaced by the text.
"""

from __future__ import annotations

import re
from typing import TypeVar

Class = TypeVar("Class", bound=type)

SHARED = {
    "searched kernel": """
    kernel : str or dict, default="auto"
        "auto": `fit` chooses among "rbf", "matern32" and "laplacian" on rows that were not learned; "rbf" in
        `partial_fit` and where `gamma` is given.
        <kernels>
""",
    "kernel": """
    kernel : str or dict, default="rbf"
        <kernels>
""",
    "kernels": """
        "rbf" exp(-gamma r²), "linear", "poly" (gamma <x, x'> + coef0)^degree, "laplacian" exp(-gamma r) with
        the Euclidean distance r, "manhattan" exp(-gamma s) with the Manhattan distance s (scikit-learn's "laplacian"),
        "matern32", "matern52", "rational_quadratic", or any kernel of `okl.Learner`,
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
        "constant": eta0. "optimal": 1 / (alpha (t + t0)) at row t = 1, 2, ..., with t0 = max(1, 1 / (alpha eta0)). "normalised":
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
        `learning_rate` = "auto" also means, weighted by their losses. In `fit` the last one after steps that fall to
        zero; otherwise the mean, if its terms are kept:
        with a kernel of distance, without a budget, or with no more rows than terms. Or an average of
        `okl.Learner`, as "exponential:0.01" or "uniform".
""",
    "scale": """
    scale : "auto", "standard", "log", "whiten" or None, default="auto"
        "standard": columns are scaled to mean 0 and standard deviation 1 over the first `warmup` rows (all rows in
        `fit`). "auto": over the first `warmup` rows, in `fit` those of the first pass, unless `gamma` is a number (or
        `kernel` names its width, and `alpha` and `learning_rate` are given) or more than eight columns share one range; where `gamma` is
        "scale" and `alpha` and `learning_rate` are given, "auto" is then "standard"; with a kernel of distance, the units then follow the rows where a column takes another
        unit or level. "log": for columns with heavy tails, sign(x) ln(1 + |x| / unit) with a small unit per column, then as "standard" over
        the first `warmup` rows. "whiten": as "auto", then the correlations of the columns over the first `warmup` rows are removed, for
        kernels of distance and up to 256 columns; "auto" of a `NoveltyDetector` is "whiten", if `gamma` is "auto". None: not scaled. With a kernel of distance, values scaled by the first `warmup` rows are clipped at
        a limit, see `learner_.health()`; "standard" in `fit` has no limit.
""",
    "searched budget and scale": """
    budget : int, "auto", None, str or dict, default="auto"
        "auto": 1000 terms in `partial_fit`. In `fit`, with a kernel of distance, no limit up to 20,000 rows (the model
        is then at most as large as about X in single precision and 250 bytes per row); n rows have 20,000² / n terms, at least 1000.
        <terms and scale>
""",
    "terms and scale": """
        The largest number of terms. If there are more, terms are merged (kernels of distance) or projected onto new
        ones. None: no limit. A size, as "64MB": as many terms as fit into it, with all that grows with their
        number. The model needs a bounded number of bytes more, which does not depend on the number of terms,
        `learner_.bytes_beside_terms` (about 2 MB for 20 columns in the first `warmup` rows): it never holds more
        than both together. `fit` holds up to two copies of the model beside it while it compares passes. Or any
        budget of `okl.Learner`, as "window:500".
    <scale>
""",
    "searched passes": """
    max_iter : int or "auto", default="auto"
        The largest number of passes of `fit` over its rows; `partial_fit` makes one. `fit` begins with a number that depends
        on the rows (8 to 32 up to 16,000 rows) and doubles it while that clearly lowers the loss on rows that were not learned
        (`search_` has the losses; the smallest one is not chosen where it is smaller by little) and `max_iter` is not exceeded. "auto": 128 passes or 2,000,000 examples. With `tol=None` all passes are made; "auto" is then as
        many as make 100,000 examples, between 1 and 100. `fit` warns (ConvergenceWarning) if the last doubling
        that it compared still lowered the loss clearly, or, where `max_iter` is below the number to begin with, if that number does. One pass is learned as a stream, by a bank of
        settings in parallel: nothing is tried, and `search_` is empty.
    tol : float or None, default=1e-3
        None: `fit` makes all passes. A number matters where `learning_rate` is given, steps are not proximal, or `warm_start`
        goes on: `fit` ends when `n_iter_no_change` passes in a row have not lowered the mean loss by `tol`, and the model is that of the
        pass with the lowest loss.
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
    "searched gamma": """
    gamma : float, "auto", "median" or "scale", default="auto"
        <median width>
        "auto": in `partial_fit` several widths around it learn in parallel; `fit` chooses the width on rows that were
        not learned (1 / n_features for "poly").
        <scale width>
""",
    "alpha": """
    alpha : float or "auto", default="auto"
        The weight of the squared norm, lambda. "auto": in `partial_fit` several values learn in parallel; `fit`
        chooses it on rows that were not learned.
""",
    "learning rate": """
    learning_rate : str or dict, default="auto"
        "auto": several step sizes learn in parallel over one set of terms; those with the smallest loss have the
        largest weight. In several passes of `fit`: steps that fall to zero, and for rows that are learned
        after it a constant step of 1/64 of the first one. "decay" in all passes if steps are not proximal, or if the budget drops old
        terms ("window", "age").
        <rates>
""",
    "river kernel": """
    kernel
        `gaussian`, `linear`, `polynomial`, `exponential`, `manhattan`, `matern32`, `matern52`, `rational_quadratic`, `auto`
        (Gaussian, Matérn and Manhattan kernels and linear functions learn in parallel), or a description as `okl.Learner` takes it.
""",
    "river gamma and lam": """
    gamma
        The inverse width of the kernel. None: estimated from the first `warmup` examples. Several values learn in
        parallel.
    lam
        The weight of the regulariser. `auto`: several values learn in parallel.
""",
    "river step": """
    step
        The step size: `auto` (several step sizes learn in parallel over one set of terms; those with the smallest
        loss have the largest weight), `constant`, `inverse_sqrt`, `decay`, `linear`, `normalised`, `pegasos`,
        `theorem1`, `theorem2`, or `smd`, which adapts to a stream that changes.
""",
    "river eta and budget": """
    eta
        The first step size. None: the one in `step`.
    budget
        The rule that bounds the number of terms: `merge`, `transfer`, `window`, `age`, `weight`, `certified`, `olok` or
        `unlimited`. None or `auto`: `merge` with a kernel of distance, otherwise `transfer`, with 1000 terms, doubled up to
        4000 while that lowers the error.
""",
    "river terms": """
    terms
        The number of terms of the budget. None: 1000.
""",
    "river scale": """
    scale
        `standard`: features are scaled to mean 0 and standard deviation 1 over the first `warmup` examples; `none`;
        `log`: for heavy tails, sign(x) ln(1 + |x| / unit) with a small unit per feature, then `standard`;
        `whiten`: as `auto`, then the correlations of the features are removed;
        `auto`: `standard`, unless `gamma`, `step` and `lam` are all given, or many features share one range; `whiten` for a
        detector with the loss `density` whose `gamma` is not given.
""",
    "river average": """
    average
        The hypothesis that predicts: `none` (the last one), `uniform` (the mean of all), `exponential` (a moving
        average), or `auto`: the last one, and with `step` = `auto` also averages.
    offset
        Whether an intercept is learned.
""",
    "river warmup": """
    warmup
        Number of examples from which `gamma` and `scale` are estimated; the examples are learned again when the
        estimates change.
""",
    "river max features": """
    max_features
        The largest number of features. Names that come later are ignored with a warning and counted in
        `rows_with_ignored_features`. This bounds memory and time if names keep changing.
    missing
        What None, NaN and an absent feature become: `mean` or `last` (the mean, or the last value, over the rows learned before), `zero`,
        or one of these with `+indicator`, as `mean+indicator`: one more feature of the model, which is 1 where the value is
        missing. None: an absent feature is 0, None and NaN are refused. Before the first value of a feature all of these are 0, also in rows
        from before the feature appeared; with `mean` and `last`, `learner.health()` says in how many rows.
    hash_bits
        If given, a feature is one of 2^hash_bits columns, by a hash of its name (`okl.hash_feature` with an empty namespace), as with
        `okl learn --hash-bits`. Names are not kept, `max_features` has no meaning, features that share a column add up, rows stay
        sparse and columns are not centred. The file of `learner.save` has the number of bits, so that `okl predict` hashes names itself.
""",
    "streams": """
    `fit` learns a fixed set in several passes; `partial_fit` learns a stream. The model does not depend on how
    the stream is cut into calls, to the last bit (with `gamma` = "scale", the rows of the first call count).
""",
    "features come and go": """
    Features may differ from row to row: an absent feature is 0 (but see `missing`), and a new feature is 0 in all earlier rows.
    `learn_many` gives exactly the same model as `learn_one` for each row.
""",
    "warm start": """
    warm_start : bool, default=False
        Whether `fit` continues from the model of the last call. Scale and kernel width are kept.
""",
    "missing": """
    missing : str or None, default=None
        What NaN in X becomes: "mean" or "last" (the mean, or the last value, of the column), "zero", or one of these with "+indicator": one
        more feature for each column with NaN, which is 1 where the value is missing. `partial_fit` fills a row from the rows learned before
        it, with 0 before the first value. `fit` fills its rows from all of them, and `predict` from all rows that were learned; so "last"
        is for streams, where the value of the row before is known. None: NaN is refused.
        Sparse matrices are not filled.
""",
    "learner params": """
    learner_params : dict or None, default=None
        More settings of `okl.Learner`, which override all other parameters: ``{"implicit": False}`` for explicit
        steps (in `partial_fit` only with a `learning_rate`: the settings that learn in parallel without one take proximal steps), ``{"step": "decay:eta=0.5,tau=300"}``, ``{"warmup": 500}``, ...
""",
    "centres": """
    support_vectors_ : ndarray of shape (n_terms, n_features)
        The centres of the terms, in the units of the data. With indicators of missing values (`missing`), a column more for each.
""",
    "of scikit learn": """
    n_iter_ : int
        The passes of the last `fit`.
    n_features_in_, feature_names_in_
        As in all scikit-learn estimators: names that are not text are ignored, so the order of columns whose names are numbers is not
        checked (`okl.Learner` checks it).
""",
    "search": """
    search_ : list of dict
        What `fit` tried: `kernel`, `alpha` (in the model, alpha * rows is the same), `passes`, `rows` (learned in a try), `held_out` (rows
        that were not learned and are measured), `loss` (mean over them; for classes the log loss of the scores times the best factor), for
        classes `error` (the share of wrong predictions, every row counts once) and `weighted_error`, and `chosen` (True for the settings
        of the model). `loss` and `weighted_error` count rows by `sample_weight` and `class_weight`, and these are compared. Three folds up to 1000
        rows. Larger sets: three folds of 1000 rows for the first tries, then one or two fifths of at most 16,000 rows. Losses of tries with other
        `rows` or `held_out` are of other rows and cannot be compared. The chosen try need not have the lowest loss, because
        differences within the noise are not followed: after the first tries, another width or `alpha` is taken if the loss is lower by more than the share 0.003 + 5 / n of n
        rows, twice the passes if it is lower by more than 0.01 + 5 / n; for classes with more than 1000 held-out rows the sum of `loss` and
        `weighted_error` is compared. Empty where nothing was open, and after a `fit` that continued a model.
    examples_ : int
        The examples that the last `fit` learned, every pass of every try counted.
""",
    "side by side": """
        Their coefficients in the scores. If several kernel widths are learned in parallel: all coefficients for the
        first width, then all for the next.
""",
    "fit intercept": """
    fit_intercept : bool, default=True
        Whether to fit an intercept.
""",
    "median width": """
        "median": 1 / (2 m), with m the median squared distance between the first `warmup` (256) rows (1 /
        sqrt(m) for kernels of r).
""",
    "scale width": """
        "scale": 1 / (n_features X.var()) as in scikit-learn (its square root for kernels of r), of the scaled rows that
        set the units of the columns: the first `warmup` (256) rows of the first call of `partial_fit`, in `fit` those of the
        first pass, and all rows in `fit` with `scale` = "standard"; with `scale` = None, of all rows of the first call. So here
        the first call of `partial_fit` counts, which should have `warmup` rows.
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
