"""`okl.average`: the mean of models, what is lost, what is refused."""

from __future__ import annotations

import re
import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import okl
from okl import _average

TERMS: dict[str, Any] = {
    "loss": "squared",
    "kernel": "gaussian:0.5",
    "step": "inverse_sqrt:0.5",
    "lam": 1e-3,
    "anchor": "none",
}
WEIGHTS: dict[str, Any] = {
    "loss": "squared",
    "kernel": "linear",
    "step": "constant:0.05",
    "lam": 1e-3,
    "scale": "none",
    "offset": True,
}


def parts(settings: dict[str, Any], count: int = 3, rows: int = 300, start: okl.Learner | None = None) -> Any:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(count * rows, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    models = [
        okl.Learner(**settings) if start is None else okl.Learner.from_bytes(start.to_bytes())
        for _ in range(count)
    ]
    for number, model in enumerate(models):
        mine = slice(number * rows, (number + 1) * rows)
        model.learn(X[mine], y[mine])
    return models, X, y


FOURIER: dict[str, Any] = {**TERMS, "form": "fourier:200"}


@pytest.mark.parametrize(
    "settings", [TERMS, WEIGHTS, FOURIER, {**TERMS, "loss": "huber:1", "offset": True, "lam": 0.0}]
)
def test_the_average_predicts_the_mean(settings: dict[str, Any]) -> None:
    models, X, y = parts(settings)
    found = okl.average(models)
    if settings is FOURIER:
        assert found.model.weights is not None and found.model.weights.shape == (200, 1)
    mean = np.mean([model.predict(X) for model in models], axis=0)
    np.testing.assert_allclose(found.model.predict(X), mean, rtol=0, atol=1e-12)
    assert (found.lost, found.dropped, found.model.examples) == (0.0, 0, 900)
    assert found.model.norm2 >= exact_norm2(found.model) * (1 - 1e-12)
    assert okl.Learner.from_bytes(found.model.to_bytes()).to_bytes() == found.model.to_bytes()
    # It goes on learning: the score of a row that is learned moves towards its target.
    before = found.model.predict(X[:1])[0]
    assert found.model.learn(X[:1], y[:1])[0] == before
    assert abs(found.model.predict(X[:1])[0] - y[0]) < abs(before - y[0])


def exact_norm2(model: okl.Learner) -> float:
    if model.weights is not None:
        return float((model.weights**2).sum())
    centres, a = model.centres, model.coefficients[:, 0]
    distances = ((centres[:, None] - centres[None]) ** 2).sum(axis=2)
    return float(a @ np.exp(-0.5 * distances) @ a)


def test_the_norm_of_a_mean_is_exact_until_a_term_is_dropped() -> None:
    """The mean of f and -f is 0, and after more rows its norm is that of its coefficients."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(700, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    settings: dict[str, Any] = {**TERMS, "budget": "unlimited", "scale": "none"}
    models = [okl.Learner(**settings), okl.Learner(**settings)]
    models[0].learn(X, y)
    models[1].learn(X, -y)
    assert models[0].norm2 > 1
    mean = okl.average(models).model
    assert (mean.truncation_error, mean.norm2) == (0.0, pytest.approx(0.0, abs=1e-9))
    mean.learn(X[:50], y[:50])
    assert mean.norm2 == pytest.approx(exact_norm2(mean), rel=1e-6)


def test_far_from_the_origin_rounding_is_said() -> None:
    """Rows in a cluster far from the origin, a narrow kernel: scores differ by more than `lost`, and only then there is a warning."""
    rng = np.random.default_rng(0)
    for offset in (0.0, 30.0):
        X = (rng.normal(size=(300, 2)) * 0.05 + offset).astype(np.float32)
        settings: dict[str, Any] = {**TERMS, "kernel": "gaussian:20", "budget": "window:20", "scale": "none"}
        models = [okl.Learner(**settings) for _ in range(3)]
        for model, rows in zip(models, np.split(X, 3)):
            model.learn(rows, np.sin(60 * rows[:, 0]))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = okl.average(models)
        off = np.abs(found.model.predict(X) - np.mean([model.predict(X) for model in models], axis=0)).max()
        words = [str(warning.message) for warning in said]
        assert (off > found.lost) <= bool(words), (offset, off, found.lost)
        assert bool(words) == (offset > 0), words
        if words:
            stated = re.search(r"by up to (\S+) ", words[0])
            assert stated is not None and off <= float(stated[1])


def test_a_start_that_is_none_is_refused() -> None:
    models, X, y = parts(TERMS, count=2)
    later = okl.Learner.from_bytes(models[0].to_bytes())
    later.learn(X, y)
    with pytest.raises(
        ValueError, match=r"start: it has 900 examples, but models\[0\] has only 300: give the model"
    ):
        okl.average(models, start=later)


def test_an_average_of_one_model_is_that_model() -> None:
    (model,), X, _ = parts(TERMS, count=1)
    np.testing.assert_allclose(okl.average([model]).model.predict(X), model.predict(X), rtol=0, atol=1e-14)


@pytest.mark.parametrize("budget", ["window:100", "merge:100", "transfer:100"])
def test_what_the_budget_drops_is_certified(budget: str) -> None:
    models, X, y = parts({**TERMS, "budget": budget})
    found = okl.average(models)
    assert found.model.terms == 100 and found.dropped == 200
    # The norm of the difference between the mean of the models and the result, from all their terms.
    all_models = [*models, found.model]
    a = np.concatenate(
        [model.coefficients[:, 0] * c for model, c in zip(all_models, (1 / 3, 1 / 3, 1 / 3, -1.0))]
    )
    centres = np.concatenate([model.centres for model in all_models])
    distances = ((centres[:, None] - centres[None]) ** 2).sum(axis=2)
    norm = np.sqrt(a @ np.exp(-0.5 * distances) @ a)
    assert norm <= found.lost <= norm * 1.001 + 1e-6 * np.abs(a).sum()
    mean = np.mean([model.predict(X) for model in models], axis=0)
    assert 0 < np.abs(found.model.predict(X) - mean).max() <= found.lost
    # Terms that are only dropped lose more.
    sizes = np.sort(np.abs(np.concatenate([model.coefficients[:, 0] for model in models]) / 3))
    assert found.lost < 0.5 * sizes[:200].sum()
    expected = np.mean([model.truncation_error for model in models]) + found.lost
    assert found.model.truncation_error == pytest.approx(expected, rel=1e-12)
    found.model.learn(X, y)
    assert found.model.terms == 100 and np.isfinite(found.model.predict(X)).all()


KERNELS = [
    "gaussian:0.5",
    "exponential:0.7",
    "manhattan:0.4",
    "matern32:0.6",
    "matern52:0.4",
    "rational_quadratic:gamma=0.5,alpha=1.5",
]


def shadow_values(kernel: str, a: np.ndarray) -> np.ndarray:
    """Kernel values of all pairs, from differences in extended precision."""
    rows = a.astype(np.longdouble)
    squares = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    name, _, rest = kernel.partition(":")
    given = dict(part.split("=") for part in rest.split(",")) if "=" in rest else {"gamma": rest}
    gamma, r = np.longdouble(given["gamma"]), np.sqrt(squares)
    three, five = np.sqrt(np.longdouble(3)) * gamma * r, np.sqrt(np.longdouble(5)) * gamma * r
    return {
        "gaussian": np.exp(-gamma * squares),
        "exponential": np.exp(-gamma * r),
        "manhattan": np.exp(-gamma * np.abs(rows[:, None] - rows[None]).sum(axis=2)),
        "matern32": (1 + three) * np.exp(-three),
        "matern52": (1 + five + five**2 / 3) * np.exp(-five),
        "rational_quadratic": (1 + gamma * squares / np.longdouble(given.get("alpha", 1)))
        ** -np.longdouble(given.get("alpha", 1)),
    }[name]


ATTACKED = [
    {"loss": "squared"},
    {"loss": "epsilon:0.05", "offset": True},
    {"loss": "logistic"},
    {"loss": "softmax"},
    {"loss": "squared", "targets": 2},
]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("budget", ["window", "merge", "transfer"])
@pytest.mark.parametrize("head", ATTACKED, ids=lambda head: f"{head['loss']}-{head.get('targets', 1)}")
def test_the_certificate_stands_an_attack(kernel: str, budget: str, head: dict[str, Any]) -> None:
    """Rows far from 0, rows that come again and rows that almost do: the norm of the difference in extended precision is at most `lost`."""
    rng = np.random.default_rng(sum(map(ord, f"{kernel}{budget}{head}")))
    targets = head.get("targets", 1)
    for far, near in ((0.0, 1.0), (3000.0, 1.0), (1e6, 1.0), (0.0, 1e-3), (100.0, 30.0)):
        X = (far + near * rng.normal(size=(90, 2))).astype(np.float32)
        X[30:40], X[40:50] = X[:10], np.nextafter(X[10:20], np.float32(np.inf))
        y: Any = np.sin(X @ [[1.0, 0.3], [2.0, 1.0]])[:, :targets]
        y = y if targets > 1 else y[:, 0]
        if head["loss"] in ("logistic", "softmax"):
            y = np.array(["a", "b", "c"][: 3 if head["loss"] == "softmax" else 2])[rng.integers(0, 2, 90)]
        # Merging needs terms; narrow kernels keep the terms of the models apart, wide ones make them alike.
        settings = {key: value for key, value in head.items() if key != "targets"}
        models = [
            okl.Learner(
                **settings,
                kernel=kernel,
                budget=f"{budget}:25",
                step="constant:0.4",
                lam=1e-3,
                anchor="none",
                scale="none",
                **({"classes": sorted(set(y))} if y.dtype.kind == "U" else {}),
            )
            for _ in range(3)
        ]
        for number, model in enumerate(models):
            model.learn(X[number * 30 : number * 30 + 30], y[number * 30 : number * 30 + 30])
        found = okl.average(models)
        assert found.model.terms <= 25
        a = np.concatenate(
            [model.coefficients / len(models) for model in models] + [-found.model.coefficients]
        ).astype(np.longdouble)
        centres = np.concatenate([model.centres for model in (*models, found.model)])
        norm = np.sqrt(max((a * (shadow_values(kernel, centres) @ a)).sum(), np.longdouble(0)))
        assert norm <= found.lost, f"rows near {far} with a spread of {near}"
        assert found.lost <= 1.001 * norm + 1e-5 * np.abs(a).sum(), "the bound is not needlessly large"
        offset = [
            np.zeros(1) if m.offset is None else np.atleast_1d(m.offset) for m in (*models, found.model)
        ]
        np.testing.assert_allclose(np.mean(offset[:-1], axis=0), offset[-1], rtol=0, atol=1e-12)


def test_what_is_lost_is_in_the_units_of_the_targets() -> None:
    """`target_scale` divides targets; a bound on scores is in their units."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = 1000 * np.sin(2 * X[:, 0])
    given = {"shift": [float(y.mean())], "factor": [1 / float(y.std())]}
    models = [
        okl.Learner(
            loss="squared",
            kernel="gaussian:0.5",
            step="constant:0.3",
            lam=1e-3,
            budget="merge:20",
            anchor="none",
            scale="none",
            target_scale={"fixed": given},
        )
        for _ in range(3)
    ]
    for number, model in enumerate(models):
        model.learn(X[number::3], y[number::3])
    found = okl.average(models)
    mean = np.mean([model.predict(X) for model in models], axis=0)
    apart = np.abs(found.model.predict(X) - mean).max()
    assert found.lost / 50 < apart <= found.lost
    expected = np.mean([model.truncation_error for model in models]) + found.lost
    assert found.model.truncation_error == pytest.approx(expected, rel=1e-9)


def kernel_values(kernel: str, centres: np.ndarray) -> np.ndarray:
    """Kernel values as the engine has them: f of a learner with one term of coefficient 1."""
    rows = []
    for centre in centres:
        one = okl.Learner(
            loss="squared", kernel=kernel, step="constant:1", lam=0.0, anchor="none", scale="none"
        )
        one.learn(centre[None], [1.0])
        rows.append(one.predict(centres))
    return np.array(rows)


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernel_values_are_those_of_the_engine(kernel: str) -> None:
    from okl._average import values

    centres = np.random.default_rng(2).normal(size=(20, 3)).astype(np.float32).astype(np.float64)
    config = okl.Learner(kernel=kernel).config["kernel"]
    np.testing.assert_allclose(
        values(config, centres, centres), kernel_values(kernel, centres), rtol=0, atol=1e-5
    )


def test_terms_of_a_common_start_are_not_doubled() -> None:
    (start,), _, _ = parts(TERMS, count=1)
    models, X, _ = parts(TERMS, count=2, rows=50, start=start)
    found = okl.average(models, start=start)
    # The rows of the first part are those of the start: the first model has learned 50 of them twice.
    centres = {row.tobytes() for model in models for row in model.centres}
    assert found.model.terms == len(centres) < sum(model.terms for model in models)
    assert found.model.examples == 300 + 2 * 50
    mean = np.mean([model.predict(X) for model in models], axis=0)
    np.testing.assert_allclose(found.model.predict(X), mean, rtol=0, atol=1e-12)


def test_the_average_is_better_than_a_part_and_worse_than_the_stream() -> None:
    settings = {**TERMS, "step": "constant:0.3"}
    models, X, y = parts(settings, count=4, rows=100)
    one = okl.Learner(**settings)
    one.learn(X, y)
    test = np.random.default_rng(8).normal(size=(500, 2))
    truth = np.sin(2 * test[:, 0]) + test[:, 1]
    error = [np.mean((model.predict(test) - truth) ** 2) for model in (one, okl.average(models).model)]
    each = np.mean([np.mean((model.predict(test) - truth) ** 2) for model in models])
    assert error[0] < error[1] < each


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"loss": "squared"}, "models.0.: the warm-up has not ended after 200 rows"),
        ({**TERMS, "loss": "nu_huber:nu=0.5"}, "loss nu_huber cannot be averaged; those that can are hinge"),
        ({**TERMS, "budget": "age:50"}, "budget age cannot be averaged"),
        (
            {**TERMS, "kernel": "polynomial:degree=2,gamma=1,coef0=1", "scale": "none"},
            "kernel polynomial cannot be averaged",
        ),
        (
            {**TERMS, "average": "uniform"},
            r"models\[0\]: found an average, which cannot be averaged: give average='none'",
        ),
        (
            {**TERMS, "step": "smd:eta=0.1", "average": "none"},
            "found the step smd, which .*: give another step",
        ),
        ({**TERMS, "missing": "mean"}, "found missing='mean', which .*: every model fills from its own rows"),
        (
            {**TERMS, "step": "auto", "warmup": 50},
            r"found \d+ settings that learn in parallel, .*: give step, lam and gamma",
        ),
        (
            {**TERMS, "anchor": None},
            "models.1.: shift and scale of the columns differ from models.0.: start all models",
        ),
    ],
)
def test_what_is_refused(settings: dict[str, Any], words: str) -> None:
    models, _, _ = parts(settings, count=2, rows=200)
    with pytest.raises(ValueError, match=words):
        okl.average(models)


def test_linear_models_with_a_budget_or_a_scale() -> None:
    """The advice of the errors is what works."""
    linear = {name: value for name, value in WEIGHTS.items() if name != "scale"}
    for settings, rows, words in (
        ({**WEIGHTS, "budget": "window:50"}, 100, "this linear model has terms, because a budget, .*leave"),
        ({**WEIGHTS, "form": "terms"}, 100, "this linear model has terms, because .*form='terms'"),
        (linear, 100, "the warm-up has not ended after 100 rows.*one model whose .* or give scale='none'$"),
        (
            linear,
            300,
            "scale differs from .*each model has estimated its own; start all .*give scale='none'$",
        ),
    ):
        models, _, _ = parts(settings, count=2, rows=rows)
        with pytest.raises(ValueError, match=words):
            okl.average(models)
    (start,), _, _ = parts(linear, count=1)
    models, X, _ = parts(linear, count=2, start=start)
    mean = np.mean([model.predict(X) for model in models], axis=0)
    np.testing.assert_allclose(okl.average(models, start=start).model.predict(X), mean, rtol=0, atol=1e-12)


def test_different_kernels_are_called_different() -> None:
    """A kernel that was given has estimated nothing; whether gamma was given is not known afterwards, so both cases are said."""

    def said(*kernels: str) -> str:
        models = [parts({**TERMS, "kernel": kernel}, count=1)[0][0] for kernel in kernels]
        with pytest.raises(ValueError) as refused:
            okl.average(models)
        return str(refused.value)

    gammas = "found the kernel .*0.3.., models.0. has .*0.2..; give one kernel to all models; "
    own = "if gamma was not given, each model has estimated its own; start all .* or give gamma$"
    assert re.search(gammas + own, said("gaussian:0.2", "gaussian:0.3"))
    other = said("gaussian:0.2", "matern32:0.2")
    assert "models[1]: kernel differs from models[0]" in other
    assert other.endswith("give one kernel to all models") and "estimated" not in other


def test_different_models_are_refused() -> None:
    models, _, _ = parts(TERMS, count=1)
    others, _, _ = parts({**TERMS, "lam": 1e-2}, count=1)
    with pytest.raises(ValueError, match=r"models\[1\]: lambda differs from models\[0\]"):
        okl.average([*models, *others])
    with pytest.raises(ValueError, match="models: expected at least one"):
        okl.average([])
    for wrong, words in [
        (models[0], "models: expected a list of learners, found a Learner"),
        (None, "models: expected a list of learners, found a NoneType"),
        ([*models, "m.okl"], r"models\[1\]: expected an okl.Learner, found a str"),
    ]:
        with pytest.raises(TypeError, match=words):
            okl.average(wrong)
    pytest.importorskip("sklearn")
    with pytest.raises(TypeError, match=r"found a KernelRegressor; give its attribute learner_"):
        okl.average([okl.KernelRegressor(random_state=0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])])


@pytest.mark.parametrize(
    "given",
    [{"class_weight": {"p": 2.0, "n": 1.0}}, {"classes": ["n", "p"]}, {"shrink": "on_update"}],
    ids=str,
)
def test_a_setting_that_one_model_lacks_is_named(given: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    y = np.where(X[:, 0] > 0, "p", "n")
    models = [okl.Learner(**{**TERMS, "loss": "hinge"}, **more) for more in ({}, given)]
    for model in models:
        model.learn(X, y)
    (name,) = given
    for pair in (models, models[::-1]):
        with pytest.raises(
            ValueError, match=rf"models\[1\]: {name} differs from models\[0\], .*: give one value to all$"
        ):
            okl.average(pair)


def test_names_of_columns_are_compared_and_kept() -> None:
    pd = pytest.importorskip("pandas")
    X = np.random.default_rng(1).normal(size=(100, 3))
    frame, y = pd.DataFrame(X, columns=list("abc")), X[:, 0]

    def learned(rows: Any) -> okl.Learner:
        model = okl.Learner(**WEIGHTS)
        model.learn(rows, y)
        return model

    named, turned, plain = learned(frame), learned(frame[list("cba")]), learned(X)
    words = r"models\[2\]: column 0 is 'c', in models\[1\] it is 'a': models need the same columns in the same order"
    with pytest.raises(ValueError, match=words):
        okl.average([plain, named, turned])
    for models in ([named, named], [plain, named]):
        mean = okl.average(models).model
        assert mean.feature_names == ["a", "b", "c"]
        with pytest.raises(ValueError, match="column 0 of X is 'c', but it was 'a'"):
            mean.predict(frame[list("cba")])
    assert okl.average([plain, plain]).model.feature_names is None


def test_classes_of_the_mean_are_those_of_the_models() -> None:
    models = [okl.Learner(**{**TERMS, "loss": "hinge"}) for _ in range(2)]
    for model in models:
        model.learn([[0.0], [1.0]], [False, True])
    assert [type(name) for name in okl.average(models).model.classes] == [bool, bool]


def test_models_without_terms() -> None:
    """All rows of a part may lie inside the tube: its model is f = 0."""
    models = [okl.Learner(**{**TERMS, "loss": "epsilon:0.5", "offset": True}) for _ in range(3)]
    for model, y in zip(models, (0.1, 0.2, 3.0)):
        model.learn([[0.0], [1.0]], [0.0, y])
    assert [model.terms for model in models] == [0, 0, 1]
    for some in (models[:2], models, models[::-1]):
        found = okl.average(some)
        mean = np.mean([model.predict([[0.5], [1.0]]) for model in some], axis=0)
        np.testing.assert_allclose(found.model.predict([[0.5], [1.0]]), mean, rtol=0, atol=1e-12)
        assert (found.model.terms, found.lost, found.model.examples) == (
            some != models[:2],
            0.0,
            2 * len(some),
        )
        found.model.learn([[0.0]], [5.0])


def test_a_model_without_rows_is_refused() -> None:
    (model,), _, _ = parts(WEIGHTS, count=1)
    for models, number in (([okl.Learner(**WEIGHTS), model], 0), ([model, okl.Learner(**WEIGHTS)], 1)):
        with pytest.raises(
            ValueError, match=rf"models\[{number}\]: it has not learned any row; leave it out"
        ):
            okl.average(models)


def test_indicators_of_other_columns_are_refused() -> None:
    models, X = [], np.random.default_rng(1).normal(size=(50, 2))
    for column in (0, 1):
        rows = X.copy()
        rows[3, column] = np.nan
        models.append(okl.Learner(**WEIGHTS, missing="zero+indicator"))
        models[-1].learn(rows, X[:, 0])
    with pytest.raises(
        ValueError, match=r"models\[1\]: found indicators of missing values for the columns \[1\]"
    ):
        okl.average(models)
    mean = okl.average(models[:1] * 2).model
    np.testing.assert_allclose(mean.predict([[np.nan, 1.0]]), models[0].predict([[np.nan, 1.0]]), rtol=1e-12)


def test_help_explains_every_field():
    for field in okl.Average._fields:
        assert "Alias for field" not in (getattr(okl.Average, field).__doc__ or "Alias for field")
    assert "the mean of the models' scores" in (okl.average.__doc__ or "")


def test_the_classes_of_all_models_are_counted() -> None:
    """Balanced weights go on from the rows of all models; those of the start count once."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 2))
    y = np.where(X[:, 0] > 1.0, 1, -1)
    settings: dict[str, Any] = {**TERMS, "loss": "hinge", "classes": [-1, 1], "class_weight": "balanced"}
    start = okl.Learner(**settings)
    start.learn(X[:100], y[:100])
    models = [okl.Learner.from_bytes(start.to_bytes()) for _ in range(2)]
    for model, rows in zip(models, (slice(100, 300), slice(300, 700))):
        model.learn(X[rows], y[rows])
    mean = okl.average(models, start=start).model
    counts = _average.ModelFile(mean.to_bytes()).tensors["class.counts"]
    assert counts.tolist() == [(y == -1).sum(), (y == 1).sum()] and mean.examples == 700
    mean.learn(X[:10], y[:10])


def test_the_mean_has_no_errors_of_its_first_model(command_line: list[str], tmp_path: Path) -> None:
    """The command line stores the errors of a run in its model. They are those of the first model, and not of the mean."""
    rng = np.random.default_rng(0)
    models = []
    for name in ("a", "b"):
        x = rng.normal(size=300)
        rows = "".join(f"{u},{np.sin(u)}\n" for u in x)
        (tmp_path / f"{name}.csv").write_text("x,y\n" + rows)
        settings = [
            "--kernel",
            "gaussian:1",
            "--step",
            "constant:0.3",
            "--lambda",
            "0.001",
            "--anchor",
            "none",
            "--scale",
            "none",
        ]
        learn = [
            "learn",
            tmp_path / f"{name}.csv",
            "--target",
            "y",
            *settings,
            "--quiet",
            "--save-model",
            "recent",
        ]
        run(command_line, *learn, "-o", tmp_path / f"{name}.okl")
        models.append(okl.load(tmp_path / f"{name}.okl"))
    assert "over 300 examples" in run(command_line, "inspect", tmp_path / "a.okl")
    mean = okl.average(models).model
    mean.save(tmp_path / "mean.okl")
    said = run(command_line, "inspect", tmp_path / "mean.okl")
    assert "over 300 examples" not in said and "another program" not in said, said
    # It still reads the columns by name.
    (tmp_path / "new.csv").write_text("z,x\n5,0.25\n")
    scores = run(command_line, "predict", tmp_path / "mean.okl", tmp_path / "new.csv")
    assert float(scores.split(",")[-1]) == mean.predict([[0.25]])[0]


def run(command_line: list[str], *arguments: Any) -> str:
    done = subprocess.run([*command_line, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr if arguments[0] != "predict" else done.stdout
