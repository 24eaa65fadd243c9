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


WAYS = ["known", "weight", "target"]


def learned_with(
    model: okl.Learner, x: np.ndarray, y: np.ndarray, learned: np.ndarray, way: str
) -> np.ndarray:
    """Learns rows of which some are only predicted, said in one of three ways."""
    if way == "known":
        return model.learn(x, y, known=learned)
    if way == "weight":
        return model.learn(x, y, weights=learned.astype(float))
    return model.learn(x, [value if example else None for value, example in zip(y, learned, strict=True)])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rule", RULES)
def test_a_row_that_is_only_predicted_leaves_no_trace(rule: str, way: str) -> None:
    x, y = rows()
    learned = np.random.default_rng(7).random(len(x)) < 0.6
    learned[:3] = [True, False, True]
    x[1, 0], x[2, 0] = NAN, NAN  # the first NaN is only predicted, and the next row adds the indicator
    together, one_by_one = okl.Learner(missing=rule, **PLAIN), okl.Learner(missing=rule, **PLAIN)
    scores = learned_with(together, x, y, learned, way)
    alone = okl.Learner(missing=rule, **PLAIN)
    for at, example in enumerate(learned):
        row = slice(at, at + 1)
        expected = alone.learn(x[row], y[row]) if example else alone.predict(x[row])
        assert scores[at] == expected[0], at
        assert learned_with(one_by_one, x[row], y[row], learned[row], way)[0] == expected[0], at
    assert together.to_bytes() == alone.to_bytes() == one_by_one.to_bytes()
    assert together.features == alone.features and together.examples == learned.sum()
    far = np.array([[1e3, NAN, 1e3]])
    learned_with(together, far, np.ones(1), np.array([False]), way)
    assert together.to_bytes() == alone.to_bytes()


@pytest.mark.parametrize("rule", RULES)
def test_an_example_of_weight_0_leaves_no_trace_in_the_estimators(rule: str) -> None:
    pytest.importorskip("sklearn")
    x, y = rows()
    weights = np.where(np.arange(len(x)) % 3 == 1, 0.0, 1.0)
    weights[-20:] = 0.0
    kept = weights > 0
    for model in (okl.KernelRegressor, okl.KernelClassifier, okl.NoveltyDetector):
        target = () if model is okl.NoveltyDetector else ((y > 1) if model is okl.KernelClassifier else y,)
        more = {"classes": [False, True]} if model is okl.KernelClassifier else {}
        some = model(missing=rule).partial_fit(
            x[kept], *(part[kept] for part in target), sample_weight=weights[kept], **more
        )
        every = model(missing=rule).partial_fit(x, *target, sample_weight=weights, **more)
        assert np.array_equal(every.learner_.predict(x), some.learner_.predict(x))
        assert every.learner_.to_bytes() == some.learner_.to_bytes()


@pytest.mark.parametrize("rule", RULES)
def test_an_example_of_weight_0_leaves_no_trace_in_river(rule: str) -> None:
    pytest.importorskip("river")
    pd = pytest.importorskip("pandas")
    models = [okl.river.KernelRegressor(missing=rule, **PLAIN) for _ in range(3)]
    for at in range(6):
        models[0].learn_one({"a": float(at), "b": 1.0}, float(at))
        models[1].learn_one({"a": float(at), "b": 1.0}, float(at))
        models[1].learn_one({"a": 90.0, "b": None, "c": 1.0}, 0.0, w=0)
        models[2].learn_many(pd.DataFrame({"a": [float(at)], "b": [1.0]}), pd.Series([float(at)]))
        models[2].learn_many(pd.DataFrame({"a": [90.0], "b": [NAN], "c": [1.0]}), pd.Series([0.0]), w=0.0)
    for model in models[1:]:
        assert model.feature_names == ["a", "b"] and model.learner.features == models[0].learner.features
        assert model.learner.to_bytes() == models[0].learner.to_bytes()
        assert model.predict_one({"a": None}) == models[0].predict_one({"a": None})


@pytest.mark.parametrize("frame", ["pandas", "polars"])
@pytest.mark.parametrize("rule", RULES)
def test_fit_takes_a_frame_with_nan_as_it_takes_the_array(rule: str, frame: str) -> None:
    """Nothing is set but `missing`, so that `fit` searches. The columns keep their names, whatever indicators the model has."""
    pytest.importorskip("sklearn")
    module = pytest.importorskip(frame)
    x, y = rows(60)
    table = module.DataFrame({name: x[:, at] for at, name in enumerate("abc")})
    for model in (okl.KernelRegressor, okl.KernelClassifier, okl.NoveltyDetector):
        target = () if model is okl.NoveltyDetector else ((y > 1) if model is okl.KernelClassifier else y,)
        seed = {} if model is okl.NoveltyDetector else {"max_iter": 4}
        named = model(missing=rule, random_state=0, **seed).fit(table, *target)
        plain = model(missing=rule, random_state=0, **seed).fit(x, *target)
        assert named.learner_.feature_names == ["a", "b", "c"]
        assert np.array_equal(named.learner_.predict(x), plain.learner_.predict(x))
        named.partial_fit(table, *target)  # goes on with the same columns


def test_what_missing_does_not_fill_is_said() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    rows = sparse.csr_matrix([[NAN, 1.0]])
    with pytest.raises(ValueError, match="missing does not fill sparse matrices: give a dense X"):
        okl.Learner(loss="squared", missing="mean").learn(rows, [1.0])
    # Where `missing` is not set, the answer does not name it: it would not fill the matrix.
    with pytest.raises(ValueError, match="expected a finite number; fill it in first, or leave the row out$"):
        okl.Learner(loss="squared").learn(rows, [1.0])
    model = okl.Learner(missing="mean+indicator", **PLAIN)
    model.learn([[1.0], [NAN]], [1.0, 2.0])
    with pytest.raises(ValueError, match="does not fill an X that has the indicators of the model"):
        model.predict([[NAN, 1.0]])
    pytest.importorskip("sklearn")
    with pytest.raises(ValueError, match="Input X contains NaN. Sparse matrices are not filled.$"):
        okl.KernelRegressor(missing="mean").fit(rows, [1.0])


def test_none_is_nan_where_nan_is_filled() -> None:
    pd = pytest.importorskip("pandas")
    expected = okl.Learner(missing="mean", **PLAIN).learn([[1.0, 2.0], [NAN, 3.0]], [1.0, 2.0])
    values = [[1.0, 2.0], [None, 3.0]]
    for x in (values, np.array(values, dtype=object), pd.DataFrame(values, dtype=object)):
        model = okl.Learner(missing="mean", **PLAIN)
        assert np.array_equal(model.learn(x, [1.0, 2.0]), expected)
        with pytest.raises(TypeError, match=r"found None \(missing\) in row 1"):
            okl.Learner(**PLAIN).learn(x, [1.0, 2.0])
        with pytest.raises(TypeError, match="found 'x'"):
            model.predict([["x", None]])


def test_nothing_changes_where_a_row_is_refused() -> None:
    x, y = rows()
    model = okl.Learner(missing="mean+indicator", **PLAIN)
    model.learn(x[:60], y[:60])
    before = model.to_bytes()
    wrong = np.array(
        [[NAN, 1.0, NAN], [1.0, np.inf, 2.0]]
    )  # the first row would add the indicator of the last column
    with pytest.raises(
        ValueError, match="row 1, column 1: found inf, expected a finite number; replace it, or"
    ):
        model.learn(wrong, [1.0, 2.0])
    with pytest.raises(ValueError, match="expected 3, found 2"):
        model.learn(wrong[:, :2], [1.0, 2.0])
    assert model.to_bytes() == before
    with pytest.raises(
        ValueError, match='missing: found "median", expected refuse, mean, zero, last, mean.indicator'
    ):
        okl.Learner(missing="median")
    for rule, meant in (("avg", "mean"), ("meen", "mean"), ("avg+indicator", "mean.indicator")):
        with pytest.raises(ValueError, match=rf"or last.indicator; did you mean {meant}\?$"):
            okl.Learner(missing=rule)
    with pytest.raises(TypeError, match="missing: expected text"):
        okl.Learner(missing=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="row 0, column 0: found"):
        okl.Learner(missing="refuse", **PLAIN).learn([[NAN]], [1.0])


def test_predictions_are_filled_from_the_rows_that_were_learned() -> None:
    model = okl.Learner(missing="mean", **PLAIN)
    model.learn([[1.0, 5.0], [3.0, NAN], [NAN, 7.0]], [1.0, 2.0, 3.0])
    assert np.array_equal(model.predict([[NAN, 1.0], [1.0, NAN]]), model.predict([[2.0, 1.0], [1.0, 6.0]]))


def filled_from_the_whole(x: np.ndarray, rule: str) -> np.ndarray:
    """Rows in which NaN is the mean, or the last number, of its column, with a column of indicators for each column with NaN."""
    last = [column[~np.isnan(column)][-1] for column in x.T]
    known = np.nanmean(x, axis=0) if rule.startswith("mean") else np.array(last)
    absent = np.isnan(x)
    filled = np.where(absent, known, x)
    return np.hstack([filled, absent[:, absent.any(axis=0)]]) if rule.endswith("indicator") else filled


def test_what_fit_measures_holds_for_rows_with_nan() -> None:
    """The share of learned rows below the threshold of a detector, and the error of the search of a regressor, are those of `predict`."""
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    t = np.arange(4000)
    season = 20 + 8 * np.sin(2 * np.pi * t / 48)
    x = season[:, None] + rng.normal(0, 0.5, (4000, 2))
    x[rng.random(4000) < 0.1, 0] = np.nan
    for rule in ("last", "mean", "mean+indicator"):
        detector = okl.NoveltyDetector(nu=0.01, missing=rule, random_state=0).fit(x[:2000])
        assert (detector.predict(x[:2000]) == -1).mean() == pytest.approx(0.01, abs=0.001)
        assert (detector.predict(x[2000:]) == -1).mean() < 0.03
        model = okl.KernelRegressor(missing=rule, random_state=0).fit(x[:2000, :1], season[:2000])
        (loss,) = [
            tried["loss"] for tried in model.search_ if tried["chosen"]
        ]  # half of the squared error of targets of variance 1
        assert model.score(x[2000:, :1], season[2000:]) == pytest.approx(1 - 2 * loss, abs=0.1)


def test_cells_of_a_fixed_set_before_the_first_number_are_no_zeros() -> None:
    pytest.importorskip("sklearn")
    x = np.random.default_rng(0).normal(size=(300, 2)) + 1000
    x[:20, 0] = np.nan
    fitted = okl.KernelRegressor(missing="mean", random_state=0, max_iter=5).fit(x, x[:, 1])
    assert fitted.learner_.frame[1][0] < 2 and not fitted.learner_.health()["findings"]
    stream = okl.KernelRegressor(missing="mean").partial_fit(x, x[:, 1])
    assert any(
        "20 cells without a value came before" in finding for finding in stream.learner_.health()["findings"]
    )


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
        # A fixed set is filled from the whole set, as the rows of predict are.
        fitted = okl.KernelRegressor(missing=rule, **FIT).fit(x, y)
        whole = filled_from_the_whole(x, rule)
        other = okl.KernelRegressor(**FIT).fit(whole, y)
        assert fitted.learner_.coefficients == pytest.approx(other.learner_.coefficients, abs=1e-9)
        assert fitted.predict(x) == pytest.approx(other.predict(whole), abs=1e-9)
        assert np.isfinite(fitted.predict(x)).all()
        assert np.isfinite(okl.NoveltyDetector(missing=rule).fit(x).score_samples(x)).all()
    two = okl.KernelClassifier(missing="zero", **FIT).fit(x, y > 1)
    assert np.array_equal(two.decision_function(x), two.decision_function(np.nan_to_num(x)))
    assert np.array_equal(pickle.loads(pickle.dumps(two)).decision_function(x), two.decision_function(x))
    with pytest.raises(ValueError, match="Input X contains NaN. Give missing='mean', for example."):
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


def command(*words: Any) -> subprocess.CompletedProcess[str]:
    """One run of the command line."""
    return subprocess.run([sys.executable, "-m", "okl", *map(str, words)], capture_output=True, text=True)


def scores_of(done: subprocess.CompletedProcess[str]) -> list[float]:
    assert done.returncode == 0, done.stderr
    header, *lines = done.stdout.split()
    return [float(line.split(",")[header.split(",").index("score")]) for line in lines]


def as_csv(x: np.ndarray, header: str, y: np.ndarray | None = None) -> str:
    table = x if y is None else np.column_stack([x, y])
    lines = [",".join("" if np.isnan(cell) else repr(float(cell)) for cell in row) for row in table]
    return "\n".join([header, *lines, ""])


@pytest.mark.parametrize("rule", ["mean", "last+indicator"])
def test_a_model_without_names_takes_the_columns_of_a_table_in_their_order(rule: str, tmp_path: Path) -> None:
    x, y = rows(100)
    ours = okl.Learner(missing=rule, **PLAIN)
    ours.learn(x[:60], y[:60])
    saved, more, ask, lines = (tmp_path / name for name in ("m.okl", "z.okl", "ask.csv", "ask.jsonl"))
    ours.save(saved)
    assert ours.feature_names is None and okl.load(saved).feature_names is None
    ask.write_text(as_csv(x[60:], "u,v,w"))
    objects = [{k: v for k, v in zip("uvw", row.tolist(), strict=True) if v == v} for row in x[60:]]
    lines.write_text(
        "".join(str({k: row.get(k) for k in "uvw"}) + "\n" for row in objects)
        .replace("'", '"')
        .replace("None", "null")
    )
    expected = ours.predict(x[60:]).tolist()
    assert scores_of(command("predict", saved, ask)) == expected
    assert scores_of(command("predict", saved, lines)) == expected
    # A table with another number of columns is refused; columns can be left out.
    wider = tmp_path / "wider.csv"
    wider.write_text(as_csv(np.column_stack([y[60:], x[60:]]), "id,u,v,w"))
    refused = command("predict", saved, wider)
    assert (
        refused.returncode == 2
        and "has 4 columns for features (id, u, v, w), and the model takes 3" in refused.stderr
    )
    assert scores_of(command("predict", saved, wider, "--ignore", "id")) == expected
    # Learning goes on with the same bits, and the file then has the names.
    data = tmp_path / "more.csv"
    data.write_text(as_csv(x[60:], "u,v,w,y", y[60:]))
    done = command("learn", data, "--target", "y", "--resume", saved, "--quiet", "-o", more)
    assert done.returncode == 0, done.stderr
    ours.learn(x[60:], y[60:])
    theirs = okl.load(more)
    assert theirs.feature_names == ["u", "v", "w"]
    assert np.array_equal(theirs.coefficients, ours.coefficients)
    assert np.array_equal(theirs.predict(x), ours.predict(x))
    shown = command("inspect", more).stdout
    assert f"missing values    filled: {rule}" in shown
    assert f'"missing": "{rule}"' in command("inspect", more, "--json").stdout


def test_the_settings_of_a_learner_with_indicators_build_a_new_one() -> None:
    x, y = rows()
    model = okl.Learner(missing="mean+indicator", warmup=100, **PLAIN)
    model.learn(x, y)
    again = okl.Learner(model.config)
    again.learn(x, y)
    assert again.features == model.features > 3 and again.config["missing"] == "mean+indicator"
    assert again.config["scale"]["fixed"]["shift"] == model.config["scale"]["fixed"]["shift"]


@pytest.mark.parametrize("scale", ["whiten", "log", "standard", "auto", "none"])
def test_the_full_frame_has_the_indicators(scale: str) -> None:
    """The steps of `Learner.frame` with the numbers of `full_frame` give the scores; indicators begin in the warm-up and after it."""
    x, y = rows(600)
    settings = PLAIN | {"scale": scale, "relevance": [2.0], "budget": "unlimited"}
    model = okl.Learner(missing="mean+indicator", warmup=128, **settings)
    model.learn(x[:250], y[:250])
    in_warmup = model.features
    model.learn(x[250:], y[250:])
    assert 3 < in_warmup < model.features == 6
    f = model.full_frame
    assert f["factor"].shape == (6,) and f["relevance"].tolist() == [2.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert (f["log_units"] is None, f["whiten"] is None) == (scale != "log", scale != "whiten")
    if scale == "whiten":
        assert f["whiten"].shape == (6, 6) and f["whiten"][3, 1] != 0  # an indicator is whitened
        assert f["whiten"][5].tolist() == [0, 0, 0, 0, 0, 1]  # this one began later

    def seen(x: np.ndarray) -> np.ndarray:
        if f["log_units"] is not None:
            x = np.sign(x) * np.log(1 + np.abs(x) / f["log_units"])
        z = (x - f["shift"]) * f["factor"]
        if f["limit"] is not None:
            z = np.clip(z, -f["limit"], f["limit"])
        return (z if f["whiten"] is None else z @ f["whiten"].T) * np.sqrt(f["relevance"])

    random = np.random.default_rng(1)
    ask = np.c_[random.normal(size=(60, 3)), random.integers(2, size=(60, 3))]  # filled, with indicators
    squares = (seen(ask)[:, None] - seen(model.centres)) ** 2
    by_hand = np.exp(-0.5 * squares.sum(axis=2)) @ model.predicting_coefficients[:, 0]
    np.testing.assert_allclose(by_hand + model.predicting_offset, model.predict(ask), atol=1e-5)
    assert "full_frame" in (okl.Learner.frame.__doc__ or "") + (okl.Learner.config.__doc__ or "")


@pytest.mark.parametrize("rule", RULES)
def test_an_onnx_graph_fills_as_the_model_does(rule: str, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")

    def run(model: bytes) -> dict[str, np.ndarray]:
        session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(names, {"x": ask}), strict=True))

    x, y = rows()
    ask = np.vstack([x, [[NAN, NAN, NAN]]])
    for settings in (
        PLAIN,
        PLAIN | {"scale": "log"},
        PLAIN | {"scale": "none", "kernel": "linear", "form": "weights"},
    ):
        settings = {k: v for k, v in settings.items() if k != "budget" or "form" not in settings}
        model = okl.Learner(missing=rule, **settings)
        model.learn(x, y)
        assert run(model.to_onnx())["scores"][:, 0] == pytest.approx(model.predict(ask), abs=1e-5)
    model = okl.Learner(missing=rule, classes=["low", "high"], **(PLAIN | {"loss": "hinge"}))
    model.learn(x, np.where(y > 0.8, "high", "low"))
    labels = ["high" if score > 0 else "low" for score in model.predict(ask)]
    assert run(model.to_onnx())["label"].tolist() == labels and len(set(labels)) == 2
    # The command line exports the same graph.
    saved, graph = tmp_path / "m.okl", tmp_path / "m.onnx"
    model.save(saved)
    assert command("export", saved, "--to", "onnx", "-o", graph).returncode == 0
    assert run(graph.read_bytes())["label"].tolist() == labels
    # LIBSVM has no rule for missing values: that is said.
    plain = okl.Learner(missing=rule, **(PLAIN | {"scale": "none"}))
    plain.learn(x, y)
    plain.save(saved)
    said = command("export", saved, "--to", "libsvm", "-o", tmp_path / "m.svm").stderr
    assert f"(--missing {rule}), which LIBSVM cannot" in " ".join(said.split())
    pytest.importorskip("sklearn")
    regressor = okl.KernelRegressor(missing=rule, **FIT).fit(x, y)
    assert run(regressor.to_onnx())["scores"][:, 0] == pytest.approx(regressor.predict(ask), abs=1e-4)


def test_a_graph_of_a_table_makes_the_indicators_of_categories_and_logarithms(tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    random = np.random.default_rng(8)
    table, saved, graph = tmp_path / "t.csv", tmp_path / "m.okl", tmp_path / "m.onnx"
    cells = [
        [f"{n:.2f}", f"{m:.2f}", "xyz"[k]]
        for n, m, k in zip(*random.exponential(size=(2, 90)), random.integers(3, size=90))
    ]
    lines = [[*row, f"{float(row[0]) + len(row[2]):.2f}"] for row in cells]
    for at in range(10, 90, 7):
        lines[at][at % 3] = ""
    table.write_text("\n".join(["a,b,c,y", *map(",".join, lines)]) + "\n")
    flags = ["--missing", "mean+indicator", "--log", "b", "--one-hot", "c", "--task", "numbers", "--quiet"]
    done = command("learn", table, "--target", "y", *flags, "-o", saved)
    assert done.returncode == 0, done.stderr
    # Python takes finished features, which a warning says once.
    with pytest.warns(
        UserWarning, match="learned with --log, --one-hot, which only the command line applies"
    ) as warned:
        model = okl.load(saved)
    assert len(warned) == 1 and model.features == 8
    names = model.feature_names
    assert sorted(names) == ["a", "b log", "c=x", "c=y", "c=z"]
    assert command("export", saved, "--to", "onnx", "-o", graph).returncode == 0
    session = onnxruntime.InferenceSession(str(graph), providers=["CPUExecutionProvider"])
    one = [[2.0 if name == "a" else 0.7 if name == "b log" else float(name == "c=x") for name in names]] * 6
    ask = np.array(one)
    for row, name in enumerate(("a", "b log", "c=x", "c=y")):
        ask[row, names.index(name)] = NAN
    ask[4] = NAN
    scores = session.run(["scores"], {"x": ask})[0][:, 0]
    assert scores == pytest.approx(model.predict(ask), abs=1e-4)
    # At the prompt the cells are those of the table; a text that is missing is none of the values.
    table.write_text("a,b,c\n2,{0},\n,{0},x\n,,\n2,{0},x\n".format(repr(float(np.expm1(0.7)))))
    expected = scores_of(command("predict", saved, table))
    ask = np.array([one[0]] * 4)
    ask[0, [names.index(f"c={value}") for value in "xyz"]] = NAN
    ask[1, names.index("a")] = NAN
    ask[2] = NAN
    assert session.run(["scores"], {"x": ask})[0][:, 0] == pytest.approx(expected, abs=1e-4)
