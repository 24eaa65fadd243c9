"""The mean of several models: for rounds of learning in which each machine learns a part of the rows.

f = (f_1 + ... + f_n) / n. For weights this is the mean of the weights. For expansions it is the union of the terms, with coefficients
divided by n; terms with the same centre become one. If the union has more terms than the budget allows, the terms with the smallest
coefficients are dropped, and what they added is projected onto the terms that stay. With K the kernel values, c the coefficients that are dropped and d
what the others gain, the norm of what is lost is the root of c'K_cc c - 2 c'K_cd d + d'K_dd d, in double precision. k(x, x) = 1 for
the kernels that are supported, so no score changes by more.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from okl._model_file import ModelFile
from okl._okl import Learner
from okl._warnings import warn

RADIAL = ("gaussian", "exponential", "manhattan", "matern32", "matern52", "rational_quadratic")
LOSSES = (
    "hinge",
    "perceptron",
    "logistic",
    "max_margin",
    "softmax",
    "squared",
    "absolute",
    "epsilon",
    "huber",
    "quantile",
)
BUDGETS = ("unlimited", "window", "merge", "transfer")
ESTIMATED = {"kernel": "gamma", "scale": "scale='none'"}
"""Settings that a model may estimate from its rows, and what fixes each of them."""


class Average(NamedTuple):
    """The mean of models.

    Attributes
    ----------
    model : Learner
        The mean. It predicts and goes on learning. Its `truncation_error` is the mean of those of the models, plus `lost`.
    lost : float
        A bound on the norm of what was lost with the terms that were dropped. No score differs by more from the mean of the models' scores,
        except for the rounding of kernel values, which have single precision. Where the rows are so far from the origin that this rounding
        can be larger than `lost`, `average` warns.
    dropped : int
        The number of terms that were dropped.
    """

    model: Learner
    lost: float
    dropped: int


Average.model.__doc__ = "The mean: it predicts and goes on learning."
Average.lost.__doc__ = (
    "A bound on how far a score can be from the mean of the models' scores, except for rounding."
)
Average.dropped.__doc__ = "The number of terms that were dropped."


def average(models: Sequence[Learner], *, start: Learner | None = None) -> Average:
    """The mean of models with the same settings.

    Parameters
    ----------
    models : sequence of Learner
        Models with weights (linear kernel, or `form="fourier"`), or with terms and a kernel that is a function of distance; without averages, several members, an
        adaptive theta, the step smd, an operator, values that are filled from rows, or a warm-up that has not ended. Where they know the
        names of their columns, these must be equal; the mean has them.
    start : Learner, optional
        The model that all of them started from; its rows are then counted once.

    Returns
    -------
    Average
        `model`, `lost` (except for rounding, no score differs by more from the mean of the models' scores) and `dropped` (the number of terms that were dropped). The number of examples is the sum over the models, which sets the step size of the next rows. `health` is that of the first model.

    Examples
    --------
    >>> import numpy as np, okl
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> settings = dict(loss="squared", kernel="gaussian:0.5", step="constant:0.3", lam=1e-3, anchor="none")
    >>> halves = [okl.Learner(**settings), okl.Learner(**settings)]
    >>> for model, rows in zip(halves, (slice(0, 200), slice(200, 400))):
    ...     scores = model.learn(X[rows], np.sin(X[rows, 0]))
    >>> both = okl.average(halves)
    >>> mean = (halves[0].predict(X) + halves[1].predict(X)) / 2
    >>> both.model.terms, both.lost, bool(np.abs(both.model.predict(X) - mean).max() < 1e-6)
    (400, 0.0, True)
    """
    models = learners(models)
    files = [ModelFile(model.to_bytes()) for model in models]
    for number, (model, file) in enumerate(zip(models, files)):
        check(number, model, file, models[0], files[0])
    check_names(models)
    mean = files[0]
    check_start(models, start)
    shared = 0 if start is None else (len(models) - 1) * start.examples
    examples = sum(model.examples for model in models) - shared
    mean.put("counts", "examples", examples)
    sum_class_counts(mean, files, start)
    forget_progress(mean, examples)
    if mean.has_weights:
        lost, dropped = mean_of_weights(mean, files), 0
    else:
        lost, dropped = mean_of_terms(mean, files, models[0].config)
    offsets = np.mean([file.tensors["head.offsets"] for file in files], axis=0)
    mean.tensors["head.offsets"] = offsets
    mean.put("head.scalars", "truncation", np.mean([file.get("truncation") for file in files]) + lost)
    mean.put("head.scalars", "mass", np.mean([file.get("mass") for file in files]))
    mean.put("head.scalars", "regret.holds", 0.0)
    model = named_as(models, Learner.from_bytes(mean.packed()))
    return Average(model, lost / least_factor(models[0].config), dropped)


def sum_class_counts(mean: ModelFile, files: list[ModelFile], start: Learner | None) -> None:
    """The examples per class, which `class_weight="balanced"` uses; those of `start` are counted once."""
    if not any("class.counts" in file.tensors for file in files):
        return
    counted = [(file, 1) for file in files]
    if start is not None:
        counted.append((ModelFile(start.to_bytes()), 1 - len(files)))
    counts = [
        (file.tensors.get("class.counts", np.zeros(0, "<u8")).astype(np.int64), times)
        for file, times in counted
    ]
    total = np.zeros(max(len(count) for count, _ in counts), np.int64)
    for count, times in counts:
        total[: len(count)] += times * count
    mean.tensors["class.counts"] = total


def forget_progress(mean: ModelFile, examples: int) -> None:
    """Of what the command line stores in the first model, the columns stay. Its errors and its rows are not those of the mean."""
    position = bytes(mean.tensors["position"])
    stored = json.loads(position) if position[:1] == b"{" else {}
    if "schema" not in stored:
        return
    none = {"examples": 0, "weight": 0.0, "error": 0.0}
    kept = {name: stored[name] for name in ("schema", "way", "given", "filled") if name in stored}
    kept |= {"rows": 0, "progress": {"all": none, "before": none, "since": none, "saved": examples}}
    mean.tensors["position"] = np.frombuffer(json.dumps(kept).encode(), np.uint8)


def least_factor(config: dict[str, Any]) -> float:
    """The least factor of `target_scale`: a change of a scaled score is a change of the score by at most this many times less."""
    scale = config.get("target_scale")
    return min(scale["fixed"]["factor"]) if isinstance(scale, dict) else 1.0


def named_as(models: list[Learner], mean: Learner) -> Learner:
    """The mean with the names of the columns, and with classes that are bools where those of the models are."""
    state: Any = mean  # The types of a learner do not name what pickle calls.
    state.__setstate__(models[0].__reduce__()[2])
    if (first := first_named(models)) is not None:
        mean.feature_names = models[first].feature_names
    return mean


def first_named(models: list[Learner]) -> int | None:
    """The number of the first model that knows the names of its columns."""
    return next((number for number, model in enumerate(models) if model.feature_names is not None), None)


def check_names(models: list[Learner]) -> None:
    """Refuses models whose columns have other names: column 0 of one would be added to another column of the other."""
    first = first_named(models)
    for number, model in enumerate(models):
        names = model.feature_names
        if first is None or names is None or names == models[first].feature_names:
            continue
        pairs = enumerate(zip(names, models[first].feature_names or [], strict=True))
        column, (found, expected) = next(pair for pair in pairs if pair[1][0] != pair[1][1])
        raise ValueError(
            f"models[{number}]: column {column} is {found!r}, in models[{first}] it is {expected!r}: models need the same columns in the "
            "same order"
        )


def check_start(models: list[Learner], start: Learner | None) -> None:
    """Refuses a start with more examples than a model: it is not the model that this one started from."""
    for number, model in enumerate(models):
        if start is not None and start.examples > model.examples:
            raise ValueError(
                f"start: it has {start.examples} examples, but models[{number}] has only {model.examples}: give the model that all of them "
                "started from"
            )


def learners(models: Any) -> list[Learner]:
    """The models as a list; anything else than learners is refused."""
    if isinstance(models, (Learner, str, bytes)) or not isinstance(models, Iterable):
        raise TypeError(f"models: expected a list of learners, found a {type(models).__name__}")
    found = list(models)
    for number, model in enumerate(found):
        if not isinstance(model, Learner):
            inside = next((name for name in ("learner_", "learner") if hasattr(model, name)), None)
            advice = "" if inside is None else f"; give its attribute {inside}"
            raise TypeError(
                f"models[{number}]: expected an okl.Learner, found a {type(model).__name__}{advice}"
            )
    if not found:
        raise ValueError("models: expected at least one")
    return found


def mean_of_weights(mean: ModelFile, files: list[ModelFile]) -> float:
    columns = np.mean([file.columns() for file in files], axis=0)
    mean.set_columns(columns)
    mean.put("head.scalars", "norm2", float((columns**2).sum()))
    return 0.0


def mean_of_terms(mean: ModelFile, files: list[ModelFile], config: dict[str, Any]) -> tuple[float, int]:
    """The union of the terms, in the order of their births, within the budget."""
    births = np.concatenate([file.tensors["births"] for file in files])
    if not len(births):
        return 0.0, 0
    order = np.argsort(births, kind="stable")
    centres = np.concatenate([file.tensors["centres"] for file in files])[order]
    columns = np.concatenate([file.columns() for file in files], axis=1)[:, order] / len(files)
    # Terms with the same centre become one, at the place of the first.
    _, first, same = np.unique(centres, axis=0, return_index=True, return_inverse=True)
    summed: np.ndarray = np.stack([np.bincount(same.reshape(-1), column, len(first)) for column in columns])
    place = np.argsort(first)
    centres, columns = centres[first[place]], summed[:, place]
    size = np.sqrt((columns**2).sum(axis=0))
    keep = np.sort(np.argsort(-size, kind="stable")[: capacity(config) or len(size)])
    columns, lost = within(centres.astype(np.float64), columns, keep, config["kernel"])
    count, examples = len(keep), int(mean.get("examples", "counts"))
    mean.tensors["centres"] = np.ascontiguousarray(centres[keep])
    if "unscaled" in mean.tensors:  # the rows of the terms before scaling, where units follow the stream
        unscaled = np.concatenate([file.tensors["unscaled"] for file in files])[order]
        mean.tensors["unscaled"] = np.ascontiguousarray(unscaled[first[place]][keep])
    mean.set_columns(columns)
    mean.tensors["births"] = np.arange(examples - count + 1, examples + 1, dtype="<u8")
    mean.tensors["ids"] = np.full(count, 2**64 - 1, dtype="<u8")
    mean.put("budget", "oldest_slot", 0.0)
    if lost or any(file.get("truncation") for file in files):
        norm2 = (float(np.mean([np.sqrt(file.get("norm2")) for file in files])) + lost) ** 2
    else:  # as in the models, exact until a term is dropped
        norm2 = squared_norm(centres[keep], columns, config["kernel"])
    mean.put("head.scalars", "norm2", norm2)
    return lost, len(size) - count


def squared_norm(centres: np.ndarray, columns: np.ndarray, kernel: dict[str, Any]) -> float:
    """|f|², some rows of the kernel matrix at a time."""
    centres = centres.astype(np.float64)
    blocks = (slice(first, first + 512) for first in range(0, len(centres), 512))
    parts = (
        float(((columns[:, rows] @ values(kernel, centres[rows], centres)) * columns).sum())
        for rows in blocks
    )
    return max(sum(parts), 0.0)  # rounding can make the norm of a small f negative


def within(
    centres: np.ndarray, columns: np.ndarray, keep: np.ndarray, kernel: dict[str, Any]
) -> tuple[np.ndarray, float]:
    """The coefficients of the terms that stay, after the others were projected onto them, and the norm of what is lost."""
    rest = np.delete(np.arange(len(centres)), keep)
    if not len(rest):
        return np.ascontiguousarray(columns[:, keep]), 0.0
    stay, across = values(kernel, centres[keep], centres[keep]), values(kernel, centres[rest], centres[keep])
    dropped = columns[:, rest]
    gain = np.linalg.solve(stay + 1e-6 * np.eye(len(keep)), (dropped @ across).T).T
    own = ((dropped @ values(kernel, centres[rest], centres[rest])) * dropped).sum()
    square = own - 2 * ((dropped @ across) * gain).sum() + ((gain @ stay) * gain).sum()
    # The engine's kernel values and this sum are rounded.
    changed = float(np.abs(dropped).sum() + np.abs(gain).sum())
    rounding = 1e-6 * changed
    lost = float(np.sqrt(max(square, 0.0))) + rounding
    if (blur := rounded_by(kernel, centres) * changed) > lost:
        warn(
            "the rows of the models are far from the origin for this kernel, and kernel values have single precision: scores of the mean can "
            f"differ from the mean of the models' scores by up to {blur:.2g} (in scaled units), which is more than `lost`; subtract the mean "
            "of each column from X"
        )
    return columns[:, keep] + gain, lost


def rounded_by(kernel: dict[str, Any], centres: np.ndarray) -> float:
    """A bound on the rounding error of a kernel value of two rows that are no further from the origin than the furthest centre.

    The engine computes r² = |x|² + |y|² - 2 <x, y> in single precision, each a sum of d products, so r² is off by at most
    (4 d + 8) 2^-24 |x| |y|; the slope of the kernel in r² (of the exponential kernel in r) makes that an error of the value.
    The Manhattan distance has no such cancellation.
    """
    ((name, parameters),) = kernel.items()
    gamma, columns = parameters["gamma"], centres.shape[1]
    off = (4 * columns + 8) * 2.0**-24 * float((centres**2).sum(axis=1).max(initial=0.0))
    slopes = {
        "gaussian": gamma * off,
        "exponential": gamma * off**0.5,
        "manhattan": columns * 2.0**-24,
        "matern32": 1.5 * gamma**2 * off,
        "matern52": 5 / 6 * gamma**2 * off,
        "rational_quadratic": gamma * off,
    }
    return float(min(1e-6 + slopes[name], 1.0))


def values(kernel: dict[str, Any], a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Kernel values of all pairs of rows."""
    ((name, parameters),) = kernel.items()
    gamma = parameters["gamma"]
    squares = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
    squares = np.maximum(squares, 0.0)
    r = np.sqrt(squares)
    formulas = {
        "gaussian": lambda: np.exp(-gamma * squares),
        "exponential": lambda: np.exp(-gamma * r),
        "manhattan": lambda: np.exp(-gamma * sum(np.abs(x[:, None] - y) for x, y in zip(a.T, b.T))),
        "matern32": lambda: (1 + 3**0.5 * gamma * r) * np.exp(-(3**0.5) * gamma * r),
        "matern52": lambda: (
            (1 + 5**0.5 * gamma * r + 5 * gamma**2 * squares / 3) * np.exp(-(5**0.5) * gamma * r)
        ),
        "rational_quadratic": lambda: (1 + gamma * squares / parameters["alpha"]) ** -parameters["alpha"],
    }
    return np.asarray(formulas[name]())


def capacity(config: dict[str, Any]) -> int | None:
    budget = config["budget"]
    return None if isinstance(budget, str) else next(iter(budget.values())).get("terms")


def check(number: int, model: Learner, file: ModelFile, first: Learner, first_file: ModelFile) -> None:
    """Refuses a model whose mean with the first one is not defined."""
    where = f"models[{number}]"
    if model.examples == 0:
        raise ValueError(f"{where}: it has not learned any row; leave it out")
    if "linear" in model.config["kernel"] and not file.has_weights:
        raise ValueError(
            f"{where}: this linear model has terms, because a budget, ids or form='terms' is set, and linear models are averaged as weights: "
            "leave these settings out"
        )
    if model.warming_up:
        names = ["scale"] if file.has_weights else ["kernel", "scale"]
        raise ValueError(
            f"{where}: the warm-up has not ended after {model.examples} rows: its settings are provisional; {advice(names)}"
        )
    if model.config != first.config:
        known = first.config | model.config  # a setting that was left out has no place in the configuration
        names = [name for name in known if model.config.get(name) != first.config.get(name)]
        estimated = [name for name in names if name in ESTIMATED]
        words = (
            why_estimated(estimated, model.config, first.config)
            if names == estimated
            else "give one value to all"
        )
        differ = "differ" if len(names) > 1 else "differs"
        raise ValueError(
            f"{where}: {', '.join(names)} {differ} from models[0], but models need the same settings: {words}"
        )
    if model.classes != first.classes:
        raise ValueError(
            f"{where}: found the classes {model.classes}, models[0] has {first.classes}: give `classes` to every model"
        )
    if model.features != first.features:
        raise ValueError(f"{where}: found {model.features} features, models[0] has {first.features}")
    if file.indicators() != first_file.indicators():
        raise ValueError(
            f"{where}: found indicators of missing values for the columns {file.indicators()}, models[0] has them for "
            f"{first_file.indicators()}: start all models from one model that has seen a missing value in each of these columns"
        )
    if not np.array_equal(file.tensors["frame"], first_file.tensors["frame"]):
        raise ValueError(
            f"{where}: shift and scale of the columns differ from models[0]: start all models from one model, or give anchor='none' and a scale"
        )
    check_parts(where, model, file)


def why_estimated(names: list[str], config: dict[str, Any], first: dict[str, Any]) -> str:
    """Why settings that can be estimated differ, and what to do. A configuration does not say whether its gamma was given or estimated."""
    own = f"each model has estimated its own; {advice(names)}"
    if "kernel" not in names:
        return own
    found, known = config["kernel"], first["kernel"]
    kernels = f"found the kernel {found}, models[0] has {known}; give one kernel to all models"
    if without_gamma(found) != without_gamma(known):
        return kernels
    return f"{kernels}; if gamma was not given, {own}"


def without_gamma(kernel: Any) -> Any:
    """The description of a kernel without its widths, which models can estimate."""
    if isinstance(kernel, dict):
        return {name: without_gamma(value) for name, value in kernel.items() if name != "gamma"}
    return [without_gamma(part) for part in kernel] if isinstance(kernel, list) else kernel


def advice(names: Iterable[str]) -> str:
    """What to do about settings that models estimate from their rows."""
    fixed = " and ".join(ESTIMATED[name] for name in names)
    return f"start all models from one model whose warm-up has ended, or give {fixed}"


def check_parts(where: str, model: Learner, file: ModelFile) -> None:
    config = model.config
    named = {"loss": LOSSES} | ({} if file.has_weights else {"kernel": RADIAL, "budget": BUDGETS})
    for setting, known in named.items():
        found = config[setting]
        name = (
            found if isinstance(found, str) else next(iter(found)) if isinstance(found, dict) else "several"
        )
        if name not in known:
            raise ValueError(
                f"{where}: {setting} {name} cannot be averaged; those that can are {', '.join(known)}"
            )
    members = len(model.members)
    for found, advice in (
        (f"{members} settings that learn in parallel" if members > 1 else None, "give step, lam and gamma"),
        ("an average" if config["average"] != "none" else None, "give average='none'"),
        ("the step smd" if "smd" in config["step"] else None, "give another step"),
        ("an operator" if config.get("operator") else None, "leave it out"),
        ("weights of columns (relevance)" if config.get("relevance") else None, "leave them out, or scale X"),
        (
            fills_from_rows(config),
            "every model fills from its own rows; fill X first, or give missing='zero'",
        ),
    ):
        if found is not None:
            raise ValueError(f"{where}: found {found}, which cannot be averaged: {advice}")
    if file.tensors["holes"].size or file.tensors["head.gathered"].size or "centres" not in file.tensors:
        raise ValueError(f"{where}: this state cannot be averaged (empty slots, sparse rows, or objects)")


def fills_from_rows(config: dict[str, Any]) -> str | None:
    """The setting `missing`, if what NaN becomes depends on the rows that were learned."""
    rule = config.get("missing")
    return None if rule is None or rule.startswith("zero") else f"missing={rule!r}"
