"""How y, weights, ids and masks are read."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import okl

CLASS_LOSSES = ["max_margin", "softmax"]
SIGN_LOSSES = ["hinge", "nu_hinge:0.3", "perceptron", "logistic"]


def learner(loss: str, **more: Any) -> okl.Learner:
    return okl.Learner(loss=loss, kernel="gaussian:1", **more)


@pytest.fixture
def X(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(90, 2))


def same(*runs: tuple[okl.Learner, Any], X: np.ndarray) -> None:
    """All targets leave the same function behind."""
    states = set()
    for m, y in runs:
        m.learn(X, y)
        states.add((m.predict(X).tobytes(), m.terms))
    assert len(states) == 1


@pytest.mark.parametrize("loss", SIGN_LOSSES)
def test_signs(loss: str, X: np.ndarray) -> None:
    """-1 and +1 of any type; bools and text are classes, discovered; other numbers are, if they are given."""
    positive = X[:, 0] > 0
    positive[:2] = [False, True]
    y = np.where(positive, 1.0, -1.0)
    given = {"classes": [False, True]}
    same(
        *(
            (learner(loss), form)
            for form in (y, y.astype(np.float32), y.astype(np.int8), y.tolist(), y.reshape(-1, 1))
        ),
        (learner(loss), pd.Series(y)),
        (learner(loss), pl.Series(y)),
        (learner(loss), y.astype(object)),
        (learner(loss, classes=[-1, 1]), y),
        (learner(loss, **given), positive),
        (learner(loss, **given), positive.astype(int)),
        (learner(loss, **given), positive.astype(float)),
        (learner(loss, **given), positive.astype(object)),
        (learner(loss, classes=["no", "yes"]), np.where(positive, "yes", "no")),
        (learner(loss, classes=np.array([3, 7])), np.where(positive, 7, 3)),
        X=X,
    )


@pytest.mark.parametrize("first", [False, True])
def test_the_class_that_sorts_last_is_positive(first: bool, X: np.ndarray) -> None:
    """Whichever class comes first, labels are learned as -1 and +1 are, from the first row on."""
    positive = X[:, 0] > 0
    positive[:9] = first
    positive[9] = not first
    named, known = learner("hinge"), learner("hinge")
    assert named.positive_class is None
    names = np.where(positive, "yes", "no")
    named.learn(X[:9], names[:9])
    assert named.positive_class == names[0]
    assert (named.predict(X[:1]) > 0).all()
    named.learn(X[9:], names[9:])
    known.learn(X, np.where(positive, 1, -1))
    assert named.classes == list(dict.fromkeys(names.tolist()))
    assert (named.positive_class, known.positive_class) == ("yes", None)
    assert named.predict(X).tobytes() == known.predict(X).tobytes()


@pytest.mark.parametrize("loss", ["hinge", "max_margin"])
def test_bools_are_shown_as_bools(loss: str, X: np.ndarray) -> None:
    y = X[:, 0] > 0
    y[:2] = [False, True]
    for form in (y, y.tolist(), y.astype(object), pd.Series(y)):
        m = learner(loss)
        m.learn(X, form)
        assert [type(name) for name in m.classes] == [bool, bool] and sorted(m.classes) == [False, True]
        assert m.positive_class is (True if loss == "hinge" else None)
    assert copy.copy(m).classes[0] is pickle.loads(pickle.dumps(m)).classes[0] is False
    assert learner(loss, classes=[False, True]).config["classes"] == [False, True]
    assert type(okl.Learner(learner(loss, classes=[False, True]).config).classes[1]) is bool
    # A class that is no bool: all are what they are in files.
    m = learner("max_margin")
    m.learn(X[:2], y[:2])
    m.learn(X[:1], [2])
    assert [type(name) for name in m.classes] == [int, int, int] and m.classes == [0, 1, 2]


@pytest.mark.parametrize("loss", CLASS_LOSSES)
def test_classes(loss: str, X: np.ndarray) -> None:
    index = (np.abs(X[:, 0]) * 2).astype(int).clip(0, 2)
    index[:3] = [0, 1, 2]
    names = np.array(["a", "b", "c"])
    forms = [
        index,
        index.astype(np.uint8),
        index.astype(float),
        index.tolist(),
        index.astype(object),
        pd.Series(index),
    ]
    texts = [
        names[index],
        names[index].tolist(),
        names[index].astype(object),
        pd.Series(names[index]),
        pl.Series(names[index]),
    ]
    texts.append(pd.Categorical(names[index]))
    same(*((learner(loss), form) for form in [*forms, *texts]), X=X)
    m = learner(loss)
    assert m.learn(X, names[index]).shape == m.predict(X).shape == (len(X), 3)
    assert m.classes == ["a", "b", "c"]


def test_given_classes_have_their_order(X: np.ndarray) -> None:
    m = learner("softmax", classes=["c", "a", "b"])
    assert m.predict(X).shape == (len(X), 3)
    m.learn(X[:2], ["b", "c"])
    assert m.classes == ["c", "a", "b"]
    assert m.predict(X[:1]).argmax() == 2
    with pytest.raises(ValueError, match=r"row 1: target d, expected one of the given classes: c, a, b"):
        m.learn(X[:2], ["a", "d"])


def test_a_list_of_text_and_numbers_keeps_both(X: np.ndarray) -> None:
    m = learner("max_margin")
    m.learn(X[:4], [1, "a", 2, "1"])
    assert m.classes == [1, "a", 2]  # the text "1" is the class 1


def test_a_class_has_score_zero_before_it_is_named(X: np.ndarray) -> None:
    scores = learner("max_margin").learn(X[:6], list("ababac"))
    assert scores.shape == (6, 3)
    assert not scores[:, 2].any() and scores[2:, :2].any()


def test_regression(X: np.ndarray) -> None:
    y = np.round(X[:, 0] * 3)
    forms = [
        y,
        y.astype(int),
        y.astype(np.float32),
        y.tolist(),
        y.astype(object),
        y[:, None],
        pd.Series(y),
        pl.Series(y),
    ]
    same(*((learner("squared"), form) for form in forms), X=X)


def test_several_outputs(X: np.ndarray) -> None:
    y = np.stack([X[:, 0], X[:, 1], X.sum(axis=1)], axis=1)
    same(
        *((learner("squared"), form) for form in [y, np.asfortranarray(y), y.tolist(), pd.DataFrame(y)]), X=X
    )
    m = learner("squared", offset=True)
    assert m.learn(X, y).shape == m.predict(X).shape == (len(X), 3)
    assert m.coefficients.shape == (m.terms, 3)
    for column in range(3):
        one = learner("squared", offset=True)
        assert one.learn(X, y[:, column]).shape == (len(X),)


def test_none_is_a_missing_target(X: np.ndarray) -> None:
    known = np.arange(len(X)) % 3 > 0
    for loss, y in [
        ("squared", X[:, 0]),
        ("squared", X),
        ("hinge", np.sign(X[:, 0])),
        ("hinge", np.where(X[:, 0] > 0, "yes", "no")),
        ("max_margin", (X[:, 0] > 0).astype(int)),
    ]:
        masked, missing, both = learner(loss), learner(loss), learner(loss)
        scores = masked.learn(X, y, known=known)
        objects = y.astype(object)
        objects[~known] = None
        assert missing.learn(X, objects).tobytes() == scores.tobytes()
        assert masked.to_bytes() == missing.to_bytes()
        both.learn(X, objects, known=np.arange(len(X)) % 2 > 0)
        masked = learner(loss)
        masked.learn(X, y, known=known & (np.arange(len(X)) % 2 > 0))
        assert both.to_bytes() == masked.to_bytes()


def test_rows_without_a_target_change_nothing(X: np.ndarray, regressor: okl.Learner) -> None:
    regressor.learn(X[:50], X[:50, 0])
    before = regressor.to_bytes()
    expected = regressor.predict(X)
    assert regressor.learn(X, np.zeros(90), known=np.zeros(90, bool)).tobytes() == expected.tobytes()
    assert regressor.learn(X, [None] * 90).tobytes() == expected.tobytes()
    assert regressor.learn(X, np.zeros(90), weights=np.zeros(90)).tobytes() == expected.tobytes()
    assert regressor.to_bytes() == before


def test_weights_multiply_the_gradient(X: np.ndarray) -> None:
    """One step of the squared loss from f = 0 has the coefficient eta w y."""
    for weights in ([3.0], np.array([3]), np.array([3.0], np.float32), pd.Series([3.0])):
        m = okl.Learner(loss="squared", kernel="gaussian:1", step="constant:0.125", lam=0.0)
        m.learn(X[:1], [2.0], weights=weights)
        assert m.coefficients.tolist() == [[0.125 * 3.0 * 2.0]]


def test_ids_add_onto_their_term(X: np.ndarray, regressor: okl.Learner) -> None:
    ids = np.arange(90)
    regressor.learn(X, X[:, 0], ids=ids)
    for form in (ids, ids.astype(np.uint64), ids.astype(np.int8), ids.tolist(), pd.Series(ids)):
        assert regressor.terms == 90
        regressor.learn(X, X[:, 0], ids=form)
    assert regressor.examples == 6 * 90


def test_ids_are_taken_over(X: np.ndarray, regressor: okl.Learner) -> None:
    """Rows that differ under one id become terms of their own; the last of them has the id."""
    with pytest.warns(okl.HealthWarning, match="2 of 3 rows had the id of a stored term with other features"):
        regressor.learn(X[:3], X[:3, 0], ids=[0, 0, 0])
    regressor.learn(X[2:3], X[2:3, 0], ids=[0])
    assert (regressor.terms, regressor.health()["ids_taken_over"]) == (3, 2)


def test_report(X: np.ndarray, regressor: okl.Learner) -> None:
    """The squared loss is (z - y)²/2, and its examples are never outside."""
    known = np.arange(90) % 4 > 0
    twin, y = copy.copy(regressor), X[:, 1]
    report = regressor.learn_report(X, y, known=known)
    assert report["scores"].tobytes() == twin.learn(X, y, known=known).tobytes()
    np.testing.assert_allclose(report["loss"][known], (report["scores"] - y)[known] ** 2 / 2, rtol=1e-14)
    assert np.isnan(report["loss"][~known]).all()
    assert not report["outside"].any() and np.isnan(report["threshold"]).all()


def test_report_of_a_detector(rng: np.random.Generator) -> None:
    X = rng.normal(size=(3000, 2))
    m = okl.Learner(loss="nu_novelty", nu=0.1, kernel="gaussian:0.5", step="constant:0.01", lam=1.0)
    report = m.learn_report(X)
    assert (
        report["scores"].dtype == report["loss"].dtype == np.float64 and report["outside"].dtype == np.bool_
    )
    assert ((report["scores"] < report["threshold"]) == report["outside"]).all()
    assert m.alert_rate is not None
    assert m.alert_rate.rate == report["outside"].mean()


@pytest.mark.parametrize("loss", [*CLASS_LOSSES, *SIGN_LOSSES])
def test_targets_of_rows_that_are_not_known_are_not_read(loss: str, X: np.ndarray) -> None:
    """A row without a target has None, or known=False and anything, such as NaN among objects."""
    known = np.arange(90) % 4 > 0
    names = np.where(X[:, 0] > 0, "b", "a")
    expected = learner(loss, classes=["a", "b"]).learn(X, np.where(known, names.astype(object), None))
    text = learner(loss, classes=["a", "b"]), pd.Series(names, dtype=object).where(known)
    numbers = learner(loss, classes=[0, 1]), np.where(known, names == "b", np.nan)
    for m, y in (text, numbers):
        with pytest.raises(
            ValueError, match="row 0: target NaN.*give None in a list, or known=False for the row"
        ):
            m.learn(X, y)
        assert m.learn(X, y, known=known).tobytes() == expected.tobytes()


@pytest.mark.parametrize("loss", [*CLASS_LOSSES, *SIGN_LOSSES])
@pytest.mark.parametrize("classes", [["a", "b"], [True, False]], ids=["text", "bools"])
def test_a_block_without_rows_changes_nothing(loss: str, classes: list[Any], X: np.ndarray) -> None:
    """A filter may leave no row of a block; how a stream is cut does not matter."""
    m = learner(loss)
    m.learn(X[:2], classes)
    before = m.to_bytes()
    frame = pd.DataFrame({"y": classes})
    rest = frame[frame.index > 5]
    empty = [
        rest.y,
        rest.y.astype(object),
        [],
        (),
        np.array([]),
        np.array([], dtype=object),
        np.array([], dtype=int),
    ]
    for y in [*empty, pl.Series("y", classes).head(0), np.array(classes)[:0], pd.array(classes)[:0]]:
        assert len(m.learn(X[:0], y)) == 0
        assert m.to_bytes() == before
    # Rows without a target are such a block, too.
    assert np.array_equal(m.learn(X[:2], [None, None]), m.predict(X[:2])) and m.to_bytes() == before


def test_masked_targets_are_taken_where_the_rows_are_not_known(X: np.ndarray) -> None:
    """What the message about masked values advises."""
    mask = np.arange(len(X)) % 4 == 1
    for y in (np.ma.masked_array(X[:, 0], mask), np.ma.masked_array(X, np.column_stack([mask, mask]))):
        loss = "squared"
        with pytest.raises(ValueError, match=r"give known=~numpy.ma.getmaskarray\(y\)"):
            learner(loss).learn(X, y)
        known = ~np.ma.getmaskarray(y).reshape(len(X), -1).any(axis=1)
        masked, plain = learner(loss), learner(loss)
        masked.learn(X, y, known=known)
        plain.learn(X, y.data, known=~mask)
        assert masked.to_bytes() == plain.to_bytes() and masked.examples == (~mask).sum()
        known[1] = True
        with pytest.raises(ValueError, match="y has masked values, the first in row 1"):
            learner(loss).learn(X, y, known=known)


@pytest.mark.parametrize("kind", ["Float64", "Int64", "boolean", "string", "category"])
def test_arrays_of_pandas_say_which_targets_are_missing(kind: str, X: np.ndarray) -> None:
    """An extension array is read as the column that holds it."""
    values = {"boolean": [True, False, None], "string": ["a", "b", None], "category": ["a", "b", None]}
    y = pd.array(values.get(kind, [1, 2, None]) * 30, dtype=kind)
    loss = "squared" if kind in ("Float64", "Int64") else "max_margin"
    array, column = learner(loss), learner(loss)
    array.learn(X, y)
    column.learn(X, pd.Series(y))
    assert array.to_bytes() == column.to_bytes() and array.examples == 60
