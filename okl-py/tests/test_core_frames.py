"""Frames of polars and pyarrow: names, dates, missing targets, and what is said of rows that are no table."""

from __future__ import annotations

import datetime
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import okl

DAYS = [datetime.date(2020, 1, 1 + day) for day in range(4)]
B = np.array([0.5, 1.5, -1.0, 2.0])
Y = np.array([1.0, 2.0, 3.0, 4.0])
TEMPORAL = {
    "a date": pl.Series(DAYS),
    "a time span": pl.Series([datetime.timedelta(hours=hour) for hour in range(4)]),
    "a moment": pl.Series([datetime.datetime(2020, 1, 1, hour) for hour in range(4)]).dt.cast_time_unit("ms"),
    "a time": pl.Series([datetime.time(hour) for hour in range(4)]),
}


@pytest.mark.parametrize("kind", TEMPORAL)
def test_dates_of_polars_are_refused_beside_numbers(kind: str) -> None:
    """numpy would make counts of days or milliseconds of them."""
    frame = pl.DataFrame({"b": B, "t": TEMPORAL[kind]})
    m = okl.Learner(loss="squared")
    m.learn(frame.select("b"), Y)
    m = okl.Learner(loss="squared")
    for call in (
        lambda: m.learn(frame, Y),
        lambda: m.predict(frame),
        lambda: okl.KernelRegressor().fit(frame, Y),
        lambda: okl.NoveltyDetector().partial_fit(frame),
    ):
        with pytest.raises(TypeError, match=r"column 't': found .* in row 0, expected numbers; convert it"):
            call()
    assert m.examples == 0


def arrow(**columns: Any) -> Any:
    return pytest.importorskip("pyarrow").table(columns)


def test_the_columns_of_a_table_of_pyarrow_have_names() -> None:
    A = np.array([3.0, 1.0, 2.0, 0.0])
    m, twin = (okl.Learner(loss="squared", kernel="gaussian:1") for _ in range(2))
    table = arrow(a=A, b=B.astype(np.float32), c=[True, False, True, True])
    twin.learn(np.column_stack([A, B, [1, 0, 1, 1]]), Y)
    m.learn(table, Y)
    assert m.feature_names == ["a", "b", "c"] and m.to_bytes() == twin.to_bytes()
    assert m.predict(pd.DataFrame(table.to_pydict())).tolist() == m.predict(table).tolist()
    for swapped in (table.select(["b", "a", "c"]), pd.DataFrame(table.to_pydict())[["b", "a", "c"]]):
        with pytest.raises(ValueError, match="column 0 of X is 'b', but it was 'a' in the rows before"):
            m.predict(swapped)


def test_columns_of_pyarrow_that_are_not_numbers_are_refused() -> None:
    pa = pytest.importorskip("pyarrow")
    m = okl.Learner(loss="squared")
    text = pa.array(["u", "v", "u", "v"]).dictionary_encode()
    for column, found in [
        (DAYS, r"2020-01-01 \(a date\)"),
        (text, r"'u' \(text\)"),
        (["x"] * 4, r"'x' \(text\)"),
    ]:
        with pytest.raises(TypeError, match=rf"column 't': found {found} in row 0, expected numbers"):
            m.learn(arrow(b=B, t=column), Y)
    with pytest.raises(ValueError, match=r"row 1, column 't': found NaN"):
        m.learn(arrow(b=B, t=[1, None, 2, 3]), Y)
    assert m.examples == 0


def test_nulls_of_a_column_are_missing_targets() -> None:
    """As None is in a list: the row is predicted only."""
    X, numbers = B[:, None], [1.0, None, 3.0, 4.0]
    columns = [
        pl.Series(numbers),
        pd.Series(numbers, dtype="Float64"),
        pd.Series([1, None, 3, 4], dtype="Int64"),
    ]
    columns.append(pytest.importorskip("pyarrow").array(numbers))
    for column in columns:
        m, twin = (okl.Learner(loss="squared", kernel="gaussian:1") for _ in range(2))
        m.learn(X, column)
        twin.learn(X, numbers)
        assert m.examples == 3 and m.to_bytes() == twin.to_bytes()
    for names in (pl.Series(["a", None, "b", "a"]), pd.Series(["a", None, "b", "a"])):
        m = okl.Learner(loss="max_margin")
        m.learn(X, names)
        assert m.examples == 3 and m.classes == ["a", "b"]
    with pytest.raises(ValueError, match="row 1 of y: found NaN.*give None in a list, or known=False"):
        m = okl.Learner(loss="squared")
        m.learn(X, np.array([1.0, np.nan, 3.0, 4.0]))


def test_rows_that_are_no_table_say_what_they_are() -> None:
    m = okl.Learner(loss="squared")
    with pytest.raises(ValueError, match="X is not a table: row 2 has 3 values, row 0 has 2"):
        m.learn([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0, 7.0]], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="X is not a table: row 1 has 1 values, row 0 has 2"):
        m.predict([[1.0, 2.0], [3.0]])
    with pytest.raises(ValueError, match=r"X has 1 dimension.* One feature is X\.to_frame\(\)"):
        m.learn(pd.Series(B), Y)
    with pytest.raises(
        TypeError, match="feature_names: expected a list of names as text, or None, found 'pq'"
    ):
        m.feature_names = "pq"
    with pytest.raises(TypeError, match="feature_names: expected a list of names"):
        m.feature_names = [1, 2]


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        (
            {"loss": "logistic", "kernel": "auto"},
            "logistic, gaussian+matern32+manhattan+linear, auto, merge, no offset",
        ),
        ({"loss": "squared", "kernel": "linear"}, "squared, linear, auto, no offset"),
        (
            {"loss": "max_margin,softmax", "kernel": "gaussian"},
            "max_margin+softmax, gaussian, auto, merge, no offset",
        ),
    ],
)
def test_a_learner_shows_the_settings_that_it_has(settings: Any, shown: str) -> None:
    assert repr(okl.Learner(**settings)) == f"<okl.Learner {shown}: 0 terms after 0 examples>"


def test_a_missing_column_is_named():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "c"])
    m = okl.Learner(loss="squared")
    m.learn(frame, frame["a"])
    for call in (lambda x: m.predict(x), lambda x: m.learn(x, frame["a"])):
        with pytest.raises(ValueError, match="X lacks the column 'b': expected 3 features, found 2"):
            call(frame[["a", "c"]])
        with pytest.raises(ValueError, match="X lacks the columns 'a', 'c'"):
            call(frame[["b"]])
    with pytest.raises(ValueError, match="expected 3"):
        m.predict(frame[["a", "c"]].to_numpy())


def test_a_file_that_loses_names_after_widen_says_so(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [3.0, 1.0, 2.0]})
    model = okl.Learner(loss="squared")
    model.learn(frame, [1.0, 2.0, 3.0])
    model.widen(4)
    path = tmp_path / "model.okl"
    with pytest.warns(
        UserWarning,
        match="4 features since it was widened, and feature_names has 2 names.*Set feature_names to 4 names",
    ):
        model.save(path)
    assert okl.load(path).feature_names is None
    model.feature_names = ["a", "b", "c", "d"]
    model.save(path)
    assert okl.load(path).feature_names == ["a", "b", "c", "d"]


def test_whole_numbers_as_names_of_columns() -> None:
    """The numbers 0, 1, ... are the places of columns without names; in another order they are refused. Others are names."""
    X = np.random.default_rng(0).normal(size=(20, 3))
    y = X[:, 0]
    plain = pd.DataFrame(X)
    for first in (plain, X, pl.DataFrame(X, schema=["0", "1", "2"]).to_pandas().rename(columns=int)):
        m = okl.Learner(loss="squared")
        m.learn(first, y)
        assert m.feature_names is None
        np.testing.assert_array_equal(m.predict(plain), m.predict(X))
        for call in (m.predict, lambda frame, m=m: m.learn(frame, y)):
            with pytest.raises(
                ValueError, match="the columns of X are 2, 0, 1, but the rows before had columns"
            ):
                call(plain[[2, 0, 1]])
        assert m.examples == 20
    moved = okl.Learner(loss="squared")
    moved.learn(plain[[2, 0, 1]], y)
    assert moved.feature_names == ["2", "0", "1"]
    with pytest.raises(ValueError, match="column 0 of X is '0', but it was '2'"):
        moved.predict(plain)
    others = okl.Learner(loss="squared")
    others.learn(plain.set_axis([7, 8, 9], axis=1), y)
    assert others.feature_names == ["7", "8", "9"]
    np.testing.assert_array_equal(others.predict(plain), others.predict(X))  # columns without names
    with pytest.raises(ValueError, match="column 1 of X is '9', but it was '8'"):
        others.predict(plain.set_axis([7, 9, 8], axis=1))
    mixed = okl.Learner(loss="squared")
    mixed.learn(plain.set_axis(["a", 1, True], axis=1), y)
    assert mixed.feature_names == ["a", "1", "True"]


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([400.0, 400.5, 401.0], ["400.0", "400.5", "401.0"]),
        ([0.0, 1.0, 2.0], ["0.0", "1.0", "2.0"]),
        (pd.Index(["a", None, "c"], dtype=object), ["a", "None", "c"]),
        (["a", float("nan"), "c"], ["a", "nan", "c"]),
        ([b"a", b"b", b"c"], ["b'a'", "b'b'", "b'c'"]),
        (
            pd.to_datetime(["2026-01-01", "2026-01-02", "2026-01-03"]),
            ["2026-01-01 00:00:00", "2026-01-02 00:00:00", "2026-01-03 00:00:00"],
        ),
        (pd.period_range("2026-01", periods=3, freq="M"), ["2026-01", "2026-02", "2026-03"]),
        (pd.interval_range(0, 3), ["(0, 1]", "(1, 2]", "(2, 3]"]),
        (
            pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]),
            ["('a', 1)", "('a', 2)", "('b', 1)"],
        ),
    ],
)
def test_names_that_are_no_text_are_names(names: Any, text: list[str], tmp_path: Any) -> None:
    X = np.random.default_rng(0).normal(size=(20, 3))
    frame = pd.DataFrame(X, columns=names)
    m = okl.Learner(loss="squared")
    m.learn(frame, X[:, 0])
    assert m.feature_names == text
    with pytest.raises(ValueError, match="column 0 of X is"):
        m.predict(frame.iloc[:, ::-1])
    with pytest.raises(ValueError, match="column 0 of X is 'x', but it was"):
        m.predict(pd.DataFrame(X, columns=["x", "y", "z"]))
    m.save(tmp_path / "m.okl")
    loaded = okl.load(tmp_path / "m.okl")
    np.testing.assert_array_equal(loaded.predict(frame), m.predict(X))
    assert loaded.feature_names == text


def test_a_name_that_the_command_line_does_not_find_is_warned_of(tmp_path) -> None:
    frame = pd.DataFrame({" lead ": [1.0, 2.0, 3.0], "b": [3.0, 1.0, 2.0]})
    m = okl.Learner(loss="squared")
    m.learn(frame, [1.0, 2.0, 3.0])
    path, table = str(tmp_path / "m.okl"), str(tmp_path / "x.csv")
    frame.to_csv(table, index=False)
    predict = [sys.executable, "-m", "okl", "predict", path, table]
    with pytest.warns(UserWarning, match="the name ' lead ' begins or ends with white space"):
        m.save(path)
    assert okl.load(path).feature_names == [" lead ", "b"]
    assert subprocess.run(predict, capture_output=True).returncode != 0  # what the warning says
    m.feature_names = ["lead", "b"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m.save(path)
    assert subprocess.run(predict, capture_output=True).returncode == 0


def test_a_number_that_no_float_holds_is_refused_with_its_column() -> None:
    m, large = okl.Learner(loss="squared"), 10**400
    said = "found a whole number beyond 1e308 in row 1, expected a finite number below 1e15"
    frame = pd.DataFrame({"a": [1, 2], "b": [1, large]})
    for X, name in ((frame, "'b'"), (frame.to_numpy(), "1"), ([[1, 2], [1, large]], "1")):
        for call in (lambda X: m.learn(X, [1.0, 2.0]), m.predict):
            with pytest.raises(ValueError, match=f"column {name}: {said}"):
                call(X)
    assert m.examples == 0
