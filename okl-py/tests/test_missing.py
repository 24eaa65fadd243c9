"""`missing`: NaN is filled as the command line fills empty cells, and model files hold what it is filled from."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import okl

RULES = ["mean", "zero", "last", "mean+indicator", "zero+indicator", "last+indicator"]
PLAIN: dict[str, Any] = {
    "loss": "squared", "kernel": "gaussian:0.5", "step": "constant:0.3", "lam": 1e-3, "budget": "merge:20", "scale": "standard"
}  # fmt: skip
FIT: dict[str, Any] = {
    "kernel": "rbf",
    "gamma": 0.5,
    "alpha": 1e-3,
    "learning_rate": "constant",
    "eta0": 0.3,
    "max_iter": 1,
    "shuffle": False,
}
NAN = float("nan")


def rows(count: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Rows of which a tenth of the cells is NaN, but none of the first row; the last column begins later to have some."""
    random = np.random.default_rng(5)
    x = random.normal(size=(count, 3)).round(3)
    y = (x[:, 0] + x[:, 1] ** 2).round(3)
    gaps = random.random(x.shape) < 0.1
    gaps[0], gaps[: count // 2, 2] = False, False
    x[gaps] = NAN
    return x, y


def by_hand(x: np.ndarray, rule: str) -> np.ndarray:
    """The definition, cell by cell; indicators in the order of their first NaN, row by row."""
    base, indicators, out, before = rule.split("+")[0], [], [], [[] for _ in x[0]]
    if "+" in rule:
        indicators = list(dict.fromkeys(int(column) for _, column in np.argwhere(np.isnan(x))))
    for row in x:
        filled = []
        for values, value in zip(before, row, strict=True):
            last = values[-1] if values else 0.0
            found = {"mean": np.mean(values) if values else 0.0, "last": last, "zero": 0.0}[base]
            filled.append(found if np.isnan(value) else value)
        for values, value in zip(before, row, strict=True):
            values += [] if np.isnan(value) else [value]
        out.append(filled + [float(np.isnan(row[column])) for column in indicators])
    return np.array(out)


@pytest.mark.parametrize("rule", RULES)
def test_a_cell_is_filled_from_the_rows_before_it(rule: str) -> None:
    x, y = rows()
    filled = okl.Learner(missing=rule, **PLAIN)
    scores = filled.learn(x, y)
    plain = okl.Learner(**PLAIN)
    assert scores == pytest.approx(plain.learn(by_hand(x, rule), y), abs=1e-9)
    assert filled.features == plain.features and filled.config["missing"] == rule
    if "mean" not in rule:  # a running mean differs from the mean in its last bits
        assert filled.to_bytes()[:8] and np.array_equal(filled.coefficients, plain.coefficients)


@pytest.mark.parametrize("rule", ["mean+indicator", "last"])
def test_the_command_line_gives_the_same_bits(rule: str, tmp_path: Path) -> None:
    x, y = rows()
    cells = [["" if np.isnan(value) else repr(float(value)) for value in row] for row in x]
    table, model, saved = tmp_path / "t.csv", tmp_path / "m.okl", tmp_path / "p.okl"
    lines = [",".join([*row, repr(float(target))]) for row, target in zip(cells, y, strict=True)]
    table.write_text("a,b,c,y\n" + "\n".join(lines) + "\n")
    flags = ["--target", "y", "--task", "numbers", "--missing", rule, "--save-model", "recent", "--quiet"]
    settings = {key.replace("lam", "lambda"): str(value) for key, value in PLAIN.items()}
    flags += [word for key, value in settings.items() for word in (f"--{key}", value)]

    def run(*words: Any) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "okl", *map(str, words)], capture_output=True, text=True, check=True
        )
        return done.stdout

    run("learn", table, *flags, "-o", model)
    theirs = okl.load(model)
    assert theirs.config["missing"] == rule and theirs.feature_names == ["a", "b", "c"]
    # The same stream in two calls, with a pickle in between.
    ours = okl.Learner(
        **(PLAIN | {name: theirs.config[name] for name in ("offset", "implicit")}), missing=rule
    )
    ours.learn(x[:50], y[:50])
    ours = pickle.loads(pickle.dumps(copy.copy(ours)))
    ours.learn(x[50:], y[50:])
    assert np.array_equal(ours.coefficients, theirs.coefficients)
    assert np.array_equal(ours.predict(x), theirs.predict(x))
    ours.feature_names = ["a", "b", "c"]
    ours.save(saved)
    assert run("predict", saved, table) == run("predict", model, table)


def test_nothing_changes_where_a_row_is_refused() -> None:
    x, y = rows()
    model = okl.Learner(missing="mean+indicator", **PLAIN)
    model.learn(x[:60], y[:60])
    before = model.to_bytes()
    wrong = np.array(
        [[NAN, 1.0, NAN], [1.0, np.inf, 2.0]]
    )  # the first row would add the indicator of the last column
    with pytest.raises(ValueError, match="row 1, column 1: found inf"):
        model.learn(wrong, [1.0, 2.0])
    with pytest.raises(ValueError, match="expected 3, found 2"):
        model.learn(wrong[:, :2], [1.0, 2.0])
    assert model.to_bytes() == before
    with pytest.raises(ValueError, match="missing: expected refuse, mean, zero or last"):
        okl.Learner(missing="median")
    with pytest.raises(TypeError, match="missing: expected text"):
        okl.Learner(missing=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="row 0, column 0: found"):
        okl.Learner(missing="refuse", **PLAIN).learn([[NAN]], [1.0])


def test_predictions_are_filled_from_the_rows_that_were_learned() -> None:
    model = okl.Learner(missing="mean", **PLAIN)
    model.learn([[1.0, 5.0], [3.0, NAN], [NAN, 7.0]], [1.0, 2.0, 3.0])
    assert np.array_equal(model.predict([[NAN, 1.0], [1.0, NAN]]), model.predict([[2.0, 1.0], [1.0, 6.0]]))


def test_scikit_learn_estimators_take_nan() -> None:
    pytest.importorskip("sklearn")
    from sklearn.utils import get_tags

    x, y = rows()
    for rule in ("mean", "last+indicator"):
        model = okl.KernelRegressor(missing=rule, normalize_y=False)
        assert (
            get_tags(model).input_tags.allow_nan and not get_tags(okl.KernelRegressor()).input_tags.allow_nan
        )
        model.partial_fit(x[:50], y[:50]).partial_fit(x[50:], y[50:])
        plain = okl.KernelRegressor(normalize_y=False).partial_fit(by_hand(x, rule), y)
        assert model.learner_.coefficients == pytest.approx(plain.learner_.coefficients, abs=1e-9)
        # A fixed set is filled once, in its order.
        fitted = okl.KernelRegressor(missing=rule, **FIT).fit(x, y)
        other = okl.KernelRegressor(**FIT).fit(by_hand(x, rule), y)
        assert fitted.learner_.coefficients == pytest.approx(other.learner_.coefficients, abs=1e-9)
        assert np.isfinite(fitted.predict(x)).all()
        assert np.isfinite(okl.NoveltyDetector(missing=rule).fit(x).score_samples(x)).all()
    two = okl.KernelClassifier(missing="zero", **FIT).fit(x, y > 1)
    assert np.array_equal(two.decision_function(x), two.decision_function(np.nan_to_num(x)))
    assert np.array_equal(pickle.loads(pickle.dumps(two)).decision_function(x), two.decision_function(x))
    with pytest.raises(ValueError, match="NaN"):
        okl.KernelClassifier().fit(x, y > 1)


def test_river_estimators_take_none_nan_and_absent_features() -> None:
    pytest.importorskip("river")
    x, y = rows()
    named = [dict(zip("abc", row.tolist(), strict=True)) for row in x]
    ways = [
        lambda row: row,
        lambda row: {key: None if np.isnan(value) else value for key, value in row.items()},
        lambda row: {key: value for key, value in row.items() if not np.isnan(value)},
    ]
    for rule in ("mean", "last+indicator"):
        learner = okl.Learner(missing=rule, **PLAIN, offset=True)
        learner.learn(x, y)
        for way in ways:
            model = okl.river.KernelRegressor(missing=rule, **PLAIN)
            for row, target in zip(named, y.tolist(), strict=True):
                model.learn_one(way(row), target)
            assert np.array_equal(model.learner.coefficients, learner.coefficients)
            assert model.predict_one(way(named[7])) == learner.predict(x[7:8])[0]
            model.learn_one({"a": 1.0, "d": 2.0}, 1.0)
            assert np.isfinite(model.predict_one({"d": None}))
