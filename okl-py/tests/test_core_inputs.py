"""Rows of any type, layout and origin are the same rows; none is copied that need not be."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import okl


def field(X: np.ndarray) -> np.ndarray:
    """Columns of a packed record: neither aligned nor whole strides apart."""
    records = np.zeros(X.shape, dtype=[("flag", "i1"), ("value", X.dtype)])
    records["value"] = X
    return records["value"]


def locked(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.flags.writeable = False
    return X


def spread(X: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Every so many rows and columns of something larger."""
    large = np.full((X.shape[0] * rows, X.shape[1] * columns), np.nan, dtype=X.dtype)
    large[::rows, ::columns] = X
    return large[::rows, ::columns]


LAYOUTS: dict[str, Callable[[np.ndarray], Any]] = {
    "as it is": lambda X: X,
    "fortran": np.asfortranarray,
    "read-only": locked,
    "rows apart": lambda X: spread(X, 2, 1),
    "columns apart": lambda X: spread(X, 1, 3),
    "rows and columns apart": lambda X: spread(X, 3, 2),
    "backwards": lambda X: X[::-1].copy()[::-1],
    "columns backwards": lambda X: X[:, ::-1].copy()[:, ::-1],
    "other bytes": lambda X: X.astype(X.dtype.newbyteorder()),
    "field": field,
    "matrix": lambda X: X.view(np.matrix),
    "list": lambda X: X.tolist(),
    "tuples": lambda X: [tuple(row) for row in X.tolist()],
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
}


def learned(X: Any) -> tuple[bytes, bytes, bytes]:
    m = okl.Learner(loss="nu_novelty", nu=0.2, kernel="gaussian", warmup=64, budget="window:50")
    return m.learn(X).tobytes(), m.predict(X).tobytes(), m.to_bytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str, dtype: Any, rng: np.random.Generator) -> None:
    X = rng.normal(size=(601, 5)).astype(dtype)
    assert learned(LAYOUTS[layout](X)) == learned(X)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "uint64", "bool", "float16", "longdouble"])
def test_other_numbers_are_converted(dtype: str, rng: np.random.Generator) -> None:
    X = rng.integers(0, 2 if dtype == "bool" else 50, size=(300, 4)).astype(dtype)
    assert learned(X) == learned(X.astype(np.float32))


def test_frames_of_several_types() -> None:
    frame = pd.DataFrame({"a": [1, 2, 3] * 30, "b": [0.5, 1.5, 2.0] * 30, "c": [True, False, True] * 30})
    X = np.array([[1, 0.5, 1], [2, 1.5, 0], [3, 2.0, 1]] * 30)
    assert learned(frame.astype({"c": int})) == learned(X)
    assert learned(pl.DataFrame(frame)) == learned(X)


def test_single_and_double_precision_of_one_number_are_the_same(rng: np.random.Generator) -> None:
    X = rng.normal(size=(601, 5)).astype(np.float32)
    assert learned(X.astype(np.float64)) == learned(X)


@pytest.mark.parametrize("unit", [1.0, 1e3])
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_times_since_1970_keep_their_digits(unit: float, dtype: Any, rng: np.random.Generator) -> None:
    """Ten minutes in seconds or milliseconds: single precision would leave five different numbers, or none."""
    t = np.floor(rng.uniform(0.0, 600.0, 2000))
    X, y = ((1.7e9 + t) * unit)[:, None].astype(dtype), np.sin(t / 30.0)
    m = okl.Learner(loss="squared", offset=True)
    for _ in range(3):
        m.learn(X, y)
    assert 1.0 - ((m.predict(X) - y) ** 2).sum() / ((y - y.mean()) ** 2).sum() > 0.999
    # A centre is a row, or a blend of rows, to the resolution of single precision around the first rows.
    assert (np.abs(m.centres - X.mean()) <= 310.0 * unit).all() and np.unique(m.centres).size > 100


def test_double_precision_is_rounded_once() -> None:
    """0.1 as a double is nearest to 0.1 as a single, which the engine computes with."""
    X = np.full((1, 3), 0.1)
    settings = {"step": "constant:1", "lam": 0.0, "anchor": "none", "scale": "none"}
    m = okl.Learner(loss="squared", kernel="linear", form="terms", **settings)
    m.learn(X, [1.0])
    assert (m.centres == np.float32(0.1)).all()
    assert m.coefficients.tolist() == [[1.0]]


def test_the_caller_keeps_his_array(rng: np.random.Generator) -> None:
    X = rng.normal(size=(300, 3)).astype(np.float32)
    before = X.copy()
    m = okl.Learner(loss="squared", scale="standard")
    scores = m.learn(X, X[:, 0])
    scores[:] = 7.0
    m.centres[:] = 7.0
    m.coefficients[:] = 7.0
    assert (X == before).all()
    assert not (m.predict(X) == 7.0).any()
    assert not (m.coefficients == 7.0).any()


WITHIN_MEMORY = """
import resource, sys
import numpy as np, okl
n, d = 400_000, 128
X = {X}
m = okl.Learner(loss="novelty", kernel="linear", budget="window:4", step="constant:0.1", anchor="none")
m.learn(X[:2000])
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 60_000_000, used + 60_000_000))
assert len(m.learn(X)) == len(m.predict(X)) == n
print("learned")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for its memory")
@pytest.mark.parametrize(
    "X",
    [
        "np.zeros((n, d), np.float32)",
        "np.zeros((n, d), np.float32, order='F')",
        "np.broadcast_to(np.linspace(0.0, 1.0, d), (n, d))",
    ],
)
def test_rows_are_not_copied(X: str) -> None:
    """400,000 rows of 128 features are 200 MB in single precision; there is room for a quarter of that."""
    program = WITHIN_MEMORY.format(X=X)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "learned\n", done.stderr


def test_masked_values_are_refused(regressor: okl.Learner) -> None:
    """Under a mask are numbers that nobody has measured."""
    X, y = np.ma.array(np.ones((5, 3)), mask=False), np.ma.array(np.ones(5), mask=False)
    assert regressor.learn(X, y).shape == (5,)
    before = regressor.to_bytes()
    X[3, 2] = y[4] = np.ma.masked
    words = "X has masked values, the first in row 3, column 2: fill them in first"
    for call in (lambda: regressor.learn(X, np.ones(5)), lambda: regressor.predict(X)):
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises(ValueError, match="y has masked values, the first in row 4:"):
        regressor.learn(np.ones((5, 3)), y)
    with pytest.raises(ValueError, match="weights has masked values, the first in row 4:"):
        regressor.learn(np.ones((5, 3)), np.ones(5), weights=y)
    with pytest.raises(ValueError, match=words):
        regressor.learn(list(X), np.ones(5))
    with pytest.raises(ValueError, match="y has masked values, the first in row 4:"):
        regressor.learn(np.ones((5, 3)), list(y))
    assert regressor.to_bytes() == before


def test_a_frame_of_bools_and_floats_is_a_matrix() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [True, False, True], "b": [0.5, 1.5, 2.5]})
    y = [1.0, 2.0, 3.0]
    m, twin = (okl.Learner(loss="squared", kernel="gaussian:1") for _ in range(2))
    assert (m.learn(frame, y) == twin.learn([[1.0, 0.5], [0.0, 1.5], [1.0, 2.5]], y)).all()
    assert m.to_bytes() == twin.to_bytes()
    with pytest.raises(TypeError, match=r"column 'b': found '1' \(text\) in row 0, expected numbers"):
        m.learn(frame.assign(b=["1", "2", "3"]), y)


def test_objects_that_are_numbers_are_a_matrix() -> None:
    from decimal import Decimal

    rows = np.array([[1, True], [Decimal("0.5"), np.float32(2.5)]], dtype=object)
    m, twin = (okl.Learner(loss="squared", kernel="gaussian:1") for _ in range(2))
    assert (m.learn(rows, [1.0, 2.0]) == twin.learn([[1.0, 1.0], [0.5, 2.5]], [1.0, 2.0])).all()
    assert m.to_bytes() == twin.to_bytes()


def test_the_columns_of_a_frame_have_names() -> None:
    pandas = pytest.importorskip("pandas")
    m = okl.Learner(loss="squared", kernel="gaussian:1")
    frame = pandas.DataFrame({"b": [0.0, 1.0], "a": [2.0, 3.0]})
    assert m.feature_names is None
    m.learn(frame.to_numpy(), [1.0, 2.0])
    assert m.feature_names is None
    m.learn(frame, [1.0, 2.0])
    assert m.feature_names == ["b", "a"]
    import copy
    import pickle

    for same in (copy.copy(m), pickle.loads(pickle.dumps(m))):
        assert same.feature_names == ["b", "a"]
        assert (same.predict(frame) == m.predict(frame.to_numpy())).all()
    before = m.to_bytes()
    for call in (m.predict, lambda rows: m.learn(rows, [1.0, 2.0])):
        with pytest.raises(ValueError, match="column 0 of X is 'a', but it was 'b' in the rows before"):
            call(frame[["a", "b"]])
    assert m.to_bytes() == before
    m.feature_names = None
    m.learn(frame.rename(columns={"a": "c"}), [1.0, 2.0])
    assert m.feature_names == ["b", "c"]
    with pytest.raises(ValueError, match="feature_names: expected 2, one per feature, found 1"):
        m.feature_names = ["only"]


def test_the_state_of_an_older_pickle_is_read() -> None:
    m = okl.Learner(loss="softmax", kernel="gaussian:1")
    m.learn([[0.0], [1.0]], [False, True])
    make, made_from, _ = m.__reduce__()
    older = make(*made_from)
    older.__setstate__(True)
    assert older.classes == [False, True] and older.feature_names is None


def test_sparse_rows_are_dense_rows() -> None:
    """Any layout of scipy gives the scores of dense rows, also in a mixture of calls."""
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 30)) * (rng.random((60, 30)) < 0.2)
    y = np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0)
    gaussian = {"kernel": "gaussian", "gamma": 0.5, "anchor": "none"}
    linear = {"kernel": "linear", "scale": "none"}
    for kernel in (gaussian, linear):
        settings = {"loss": "hinge", "step": "constant:0.3", "lam": 0.01, **kernel}
        dense, mixed = okl.Learner(**settings), okl.Learner(**settings)
        for layout in (sparse.csr_matrix, sparse.coo_array, np.asarray, sparse.csc_matrix):
            np.testing.assert_array_equal(mixed.learn(layout(X), y), dense.learn(X, y))
        np.testing.assert_array_equal(mixed.predict(sparse.csr_array(X)), dense.predict(X))
        assert np.abs(dense.predict(X)).max() > 0.1
        # Values of one place are added up.
        twice = sparse.coo_matrix(([1.0, 2.0, 0.5], ([0, 0, 0], [7, 3, 7])), shape=(1, 30))
        np.testing.assert_array_equal(mixed.predict(twice), dense.predict(twice.toarray()))
    with pytest.raises(ValueError, match="at most 65536 in sparse rows .*: set anchor = none, found"):
        okl.Learner(loss="squared").learn(sparse.csr_matrix((1, 100_000)), [1.0])
    with pytest.raises(TypeError, match="sparse matrix of complex128"):
        okl.Learner(loss="squared").learn(sparse.csr_matrix([[1j]]), [1.0])


def test_a_lazy_frame_is_refused_with_what_to_do() -> None:
    """A LazyFrame has no rows until it is collected. Every entry says so, without a warning of polars."""
    import okl.river

    X, y = np.random.default_rng(3).normal(size=(40, 2)), np.arange(40) % 2
    lazy, late = pl.DataFrame(X, schema=["a", "b"]).lazy(), pl.DataFrame({"y": y}).lazy()
    learner = okl.Learner(loss="hinge")
    calls = {
        "X": [
            lambda: learner.learn(lazy, y),
            lambda: learner.predict(lazy),
            lambda: okl.KernelClassifier().fit(lazy, y),
            lambda: okl.KernelRegressor().partial_fit(lazy, y),
            lambda: okl.NoveltyDetector().fit(lazy),
            lambda: okl.KernelClassifier().fit(X, y).predict(lazy),
            lambda: okl.river.KernelClassifier().learn_many(lazy, pl.Series(y)),
        ],
        "y": [
            lambda: learner.learn(X, late),
            lambda: okl.KernelClassifier().fit(X, late),
            lambda: okl.KernelRegressor().fit(X, late),
            lambda: okl.river.KernelRegressor().learn_many(lazy.collect(), late),
        ],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, refused in calls.items():
            for call in refused:
                with pytest.raises(TypeError, match=rf"^{name} is a LazyFrame, .*: use {name}\.collect\(\)$"):
                    call()
    assert learner.examples == 0
