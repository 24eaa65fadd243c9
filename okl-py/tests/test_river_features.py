"""Features that come and go, as dictionaries and as frames."""

import copy
import math
import pickle
import random
import warnings

import numpy as np
import pandas as pd
import pytest

import okl
import okl.river

SETTINGS = {"kernel": "gaussian", "gamma": 0.5, "scale": "none", "terms": 20}


def rows(count, names="abcde", seed=1):
    rng = random.Random(seed)
    return [{name: rng.gauss(0, 1) for name in names} for _ in range(count)]


def target(x):
    return sum(v * abs(v) for v in x.values())


def state(model):
    return pickle.dumps(model)


def test_new_features_enter_in_name_order_and_old_rows_are_zero_there():
    model = okl.river.KernelRegressor(**SETTINGS)
    twin = okl.Learner(model.learner.config)
    for x in [{"m": 1.0, "c": 2.0}, {"c": -1.0, "z": 3.0, "a": 0.5}, {"z": 1.0}]:
        model.learn_one(x, 1.0)
    twin.learn(np.array([[2.0, 1.0]]), [1.0])  # c, m
    twin.widen(4)  # then a, z
    twin.learn(np.array([[-1.0, 0.0, 0.5, 3.0], [0.0, 0.0, 0.0, 1.0]]), [1.0, 1.0])
    assert model.learner.to_bytes() == twin.to_bytes()


@pytest.mark.parametrize("names", [[3, 1, 2], [("b", 1), ("a", 2)], ["b", 1, ("a",), None]])
def test_names_may_be_anything_hashable(names):
    first, second = (okl.river.KernelRegressor(**SETTINGS) for _ in range(2))
    for i in range(30):
        x = {name: float(i % (k + 2)) for k, name in enumerate(names)}
        first.learn_one(x, float(i))
        second.learn_one(dict(reversed(x.items())), float(i))
    assert state(first) == state(second)


def test_whole_numbers_sort_as_numbers():
    model = okl.river.KernelRegressor(**SETTINGS)
    model.learn_one({10: 1.0, 9: 2.0}, 1.0)
    assert model.learner.centres.tolist() == [[2.0, 1.0]]


def test_an_absent_feature_is_zero():
    model = okl.river.KernelRegressor(**SETTINGS)
    for x in rows(40):
        model.learn_one(x, target(x))
    assert model.predict_one({"b": 1.0}) == model.predict_one(
        {"a": 0, "b": 1.0, "c": 0.0, "d": 0, "e": False}
    )


@pytest.mark.parametrize(
    "warm", [{"gamma": None}, {"scale": "standard"}, {"gamma": None, "scale": "standard"}, {}]
)
def test_frames_of_any_cut_are_rows_one_by_one(warm):
    model = okl.river.KernelClassifier(**SETTINGS | warm, warmup=64)
    one, many = model.clone(), model.clone()
    parts = [("ab", 30), ("abcd", 50), ("cd", 1), ("d", 7), ("eadb", 60)]
    for seed, (names, count) in enumerate(parts):
        part = rows(count, names, seed)
        labels = ["up" if target(x) > 0 else "down" for x in part]
        for x, y in zip(part, labels):
            one.learn_one(x, y)
        many.learn_many(pd.DataFrame(part), pd.Series(labels))
    assert one.learner.examples > 100
    assert state(one) == state(many)


def test_a_prediction_is_the_score_that_learning_starts_from():
    """Also where the row has features that the model has not seen, and the model stays as it was."""
    model = okl.river.KernelRegressor(**SETTINGS)
    for x in rows(40, "bd"):
        model.learn_one(x, target(x))
    before = state(model)
    unseen = {"b": 0.3, "a": 0.7, "c": -1.0}
    predicted = model.predict_one(unseen)
    [predicted_many] = model.predict_many(pd.DataFrame([unseen]))
    assert state(model) == before

    twin = copy.deepcopy(model.learner)
    twin.widen(4)
    assert predicted == predicted_many == twin.learn(np.array([[0.3, 0.0, 0.7, -1.0]]), [0.0])[0]
    assert predicted != model.predict_one({"b": 0.3})


def test_rows_before_a_feature_appears_are_said():
    """They are 0 in it, which can be far from all its values, as a cell with None before the first value is."""
    rng = random.Random(3)
    some = [{"a": rng.gauss(0, 1), "p": 1000 + rng.gauss(0, 1)} for _ in range(600)]
    y = [math.sin(3 * x["p"]) for x in some]
    words = "column 'p': 100 cells without a value came before its first value and became 0;"

    def streams():
        yield "absent", [x if i >= 100 else {"a": x["a"]} for i, x in enumerate(some)]
        yield "None", [x if i >= 100 else {"a": x["a"], "p": None} for i, x in enumerate(some)]

    for rule in ("mean", "last", "mean+indicator"):
        for way, stream in streams():
            model = okl.river.KernelRegressor(missing=rule)
            with pytest.warns(okl.HealthWarning, match=words):
                for x, target in zip(stream, y):
                    model.learn_one(x, target)
            assert any(words in finding for finding in model.learner.health()["findings"]), way
            # The number of rows is in the pickle, and frames are rows.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", okl.HealthWarning)
                half = okl.river.KernelRegressor(missing=rule)
                for x, target in zip(stream[:60], y):
                    half.learn_one(x, target)
                half = pickle.loads(pickle.dumps(half))
                half.learn_many(pd.DataFrame(stream[60:100]), pd.Series(y[60:100]))
                half.learn_many(pd.DataFrame(stream[100:]), pd.Series(y[100:]))
            assert half.learner.to_bytes() == model.learner.to_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model, stream in (
            (okl.river.KernelRegressor(missing="mean"), some),
            (okl.river.KernelRegressor(missing="zero"), [{"a": x["a"]} for x in some[:100]] + some[100:]),
        ):
            for x, target in zip(stream, y):
                model.learn_one(x, target)
            assert not any("without a value" in finding for finding in model.learner.health()["findings"])


def test_predicting_new_features_does_not_decide_their_order():
    asked, quiet = (okl.river.KernelRegressor(**SETTINGS) for _ in range(2))
    for x in rows(20, "mn"):
        asked.learn_one(x, target(x))
        quiet.learn_one(x, target(x))
    asked.predict_one({"z": 1.0})
    for model in (asked, quiet):
        model.learn_one({"a": 1.0, "z": 2.0}, 1.0)
    assert state(asked) == state(quiet)


BAD_ROWS = [
    (
        {"a": 1.0, "new": "red"},
        1.0,
        TypeError,
        "feature 'new': found 'red', expected a number; encode it first",
    ),
    ({"a": None}, 1.0, TypeError, "feature 'a': found None, expected a number"),
    ({"a": float("nan")}, 1.0, ValueError, "feature 'a': found nan, expected a finite number"),
    ({"new": float("inf")}, 1.0, ValueError, "feature 'new': found inf, expected a finite number"),
    (
        {"a": 1e30, "new": 0.0},
        1.0,
        ValueError,
        r"feature 'a': found 1e\+30, expected a finite number below 1e15",
    ),
    ({"new": 1.0}, float("nan"), ValueError, "target nan, expected a finite number"),
    ({"new": 1.0}, "high", TypeError, "str"),
]


@pytest.mark.parametrize(("x", "y", "kind", "message"), BAD_ROWS, ids=lambda v: str(v)[:20])
def test_a_bad_row_changes_nothing_and_is_named(x, y, kind, message):
    model = okl.river.KernelRegressor(**SETTINGS)
    model.learn_one({"a": 1.0, "b": 2.0}, 3.0)
    before = state(model)
    with pytest.raises(kind, match=message):
        model.learn_one(x, y)
    assert state(model) == before


def test_a_bad_frame_changes_nothing_and_is_named():
    model = okl.river.KernelRegressor(**SETTINGS)
    model.learn_one({"a": 1.0, "b": 2.0}, 3.0)
    before, y = state(model), pd.Series([1.0, 2.0])
    with pytest.raises(ValueError, match="row 1, column 'new': found nan, expected a finite number"):
        model.learn_many(pd.DataFrame({"a": [1.0, 2.0], "new": [1.0, np.nan]}), y)
    with pytest.raises(ValueError, match="row 0, column 'b': found inf"):
        model.predict_many(pd.DataFrame({"b": [np.inf, 1.0]}))
    with pytest.raises(TypeError, match="column 'colour': found .*, expected numbers; encode it first"):
        model.learn_many(pd.DataFrame({"a": [1.0, 2.0], "colour": ["red", "blue"]}), y)
    with pytest.raises(ValueError, match="3"):
        model.learn_many(pd.DataFrame({"a": [1.0, 2.0], "new": [1.0, 2.0]}), pd.Series([1.0, 2.0, 3.0]))
    assert state(model) == before


def test_mappings_that_invent_values_are_not_changed():
    from collections import Counter, defaultdict

    model = okl.river.KernelRegressor(**SETTINGS)
    for x in (Counter("aabc"), defaultdict(float, {"b": 1.0}), Counter()):
        before = dict(x)
        model.learn_one(x, 1.0)
        model.predict_one(x)
        assert dict(x) == before
    assert model.learner.examples == 3


def test_frames_keep_their_index_and_may_be_empty():
    model = okl.river.KernelRegressor(**SETTINGS)
    X = pd.DataFrame(rows(5), index=[9, 7, 5, 3, 1])
    model.learn_many(X, pd.Series([target(x) for x in rows(5)], index=X.index))
    assert model.predict_many(X).index.tolist() == [9, 7, 5, 3, 1]
    before = state(model)
    model.learn_many(X[:0], pd.Series([], dtype=float))
    assert state(model) == before
    assert len(model.predict_many(X[:0])) == 0


def changing(rows, first=0):
    """Rows of one feature that stays and one whose name is new in every row."""
    return [{"stays": float(i % 5), f"new{first + i:05}": 1.0} for i in range(rows)]


def test_names_that_keep_changing_are_bounded():
    model = okl.river.KernelRegressor(**SETTINGS, max_features=10)
    with pytest.warns(
        UserWarning, match="feature 'new00009' is ignored: the model has max_features=10"
    ) as warned:
        for x in changing(300):
            model.learn_one(x, x["stays"])
    assert len(warned) == 1
    assert model.learner.features == 10
    assert model.feature_names == ["new00000", "stays", *(f"new{i:05}" for i in range(1, 9))]
    assert model.rows_with_ignored_features == 300 - 9
    assert model.predict_one({"stays": 2.0, "never seen": 5.0}) == model.predict_one({"stays": 2.0})


def test_ignored_names_are_as_if_they_were_absent():
    bounded, plain = (okl.river.KernelClassifier(**SETTINGS, max_features=n) for n in (2, 4096))
    with pytest.warns(UserWarning, match="is ignored"):
        for x in rows(50, "abcd"):
            bounded.learn_one(x, x["a"] > 0)
    for x in rows(50, "abcd"):
        plain.learn_one({name: x[name] for name in "ab"}, x["a"] > 0)
    assert bounded.learner.to_bytes() == plain.learner.to_bytes()


def test_frames_with_ignored_names_are_rows_one_by_one():
    one, many = (okl.river.KernelRegressor(**SETTINGS, max_features=3) for _ in range(2))
    part = rows(40, "abcde")
    with pytest.warns(UserWarning, match="is ignored"):
        many.learn_many(pd.DataFrame(part), pd.Series(map(target, part)))
    with pytest.warns(UserWarning, match="is ignored"):
        for x in part:
            one.learn_one(x, target(x))
    assert state(one) == state(many)
    assert many.predict_many(pd.DataFrame(part)).tolist() == [one.predict_one(x) for x in part]


def test_few_names_are_not_bounded():
    with pytest.raises(ValueError, match="max_features must be a whole number of at least 1, found 0"):
        okl.river.KernelRegressor(max_features=0)
    model = okl.river.KernelRegressor(**SETTINGS, max_features=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in rows(20, "ab"):
            model.learn_one(x, target(x))
    assert model.rows_with_ignored_features == 0


def test_clipped_columns_are_warned_of_once():
    """Quiet for 300 rows, then fifty times as far: the scale is settled by the first 256 rows."""
    rng = np.random.default_rng(8)
    x = np.r_[rng.uniform(0, 1, 300), rng.uniform(0, 50, 2700)]
    rows = pd.DataFrame({"calm": rng.normal(size=3000), "wild": x})
    model = okl.river.KernelRegressor(scale="standard")
    with pytest.warns(
        okl.HealthWarning,
        match=r"column 'wild': 9\d % of the last [\d,]+ values were at or beyond the limit of 8",
    ) as caught:
        model.learn_many(rows[:2000], pd.Series(np.sin(x[:2000] / 5)))
        model.learn_many(rows[2000:], pd.Series(np.sin(x[2000:] / 5), index=rows.index[2000:]))
    assert [w.category for w in caught] == [okl.HealthWarning]


def test_advice_fits_what_was_found():
    """A date is not encoded, a large number is not filled in, and a missing value is."""
    from datetime import date, timedelta

    for value, advice in (
        ("red", "encode it first"),
        (None, "fill it in first"),
        (float("nan"), "fill it in first"),
        (float("inf"), "replace it, or leave the feature out"),
        (1e20, "rescale this feature"),
        (date(2026, 1, 1), "make a number of it first in a compose.FuncTransformer"),
        (timedelta(days=1), "make a number of it first"),
    ):
        model = okl.river.KernelRegressor()
        with pytest.raises((TypeError, ValueError), match=f"feature 'x': found .*{advice}"):
            model.learn_one({"x": value}, 1.0)
        with pytest.raises((TypeError, ValueError), match=f"column 'x': found .*{advice}"):
            model.learn_many(
                pd.DataFrame({"x": [0.5, value] if advice[0] in "fr" else [value] * 2}), pd.Series([1.0, 2.0])
            )
    times = pd.DataFrame({"x": pd.to_timedelta([1, 2], unit="ns")})
    for call in (lambda m: m.learn_many(times, pd.Series([1.0, 2.0])), lambda m: m.predict_many(times)):
        with pytest.raises(TypeError, match="column 'x': found Duration.*make a number of it first"):
            call(okl.river.KernelRegressor())


def test_weights_of_another_number_are_refused():
    frame = pd.DataFrame({"x": [0.5, 1.5]})
    for model, y in ((okl.river.KernelClassifier(), ["a", "b"]), (okl.river.KernelRegressor(), [1.0, 2.0])):
        with pytest.raises(ValueError, match="w has 1 values, X has 2 rows"):
            model.learn_many(frame, pd.Series(y), w=pd.Series([1.0]))


def test_an_interrupted_rehearsal_has_learned_nothing(monkeypatch):
    """A copy learns a frame with new columns first. If that is interrupted, the model has learned no row."""
    X = pd.DataFrame({"a": np.arange(600.0)})
    model = okl.river.KernelRegressor()

    def stops(learner, *_, **__):
        assert learner is not model.learner
        stop = KeyboardInterrupt()
        stop.rows_learned = 256
        stop.add_note("okl: the first 256 of 600 rows have been learned")
        raise stop

    monkeypatch.setattr(model, "_learn_matrix", stops)
    with pytest.raises(KeyboardInterrupt) as stop:
        model.learn_many(X, X["a"])
    assert stop.value.rows_learned == model.learner.examples == 0
    assert stop.value.__notes__ == ["okl: the first 0 of 600 rows have been learned"]


def test_rows_before_the_first_feature_are_rows_of_zeros():
    early, zeros = okl.river.KernelRegressor(), okl.river.KernelRegressor()
    assert early.predict_one({}) == 0.0
    for target in (1.0, 2.0):
        early.learn_one({}, target)
        zeros.learn_one({"a": 0.0, "b": 0.0}, target)
    assert early.predict_one({}) == zeros.predict_one({}) != 0.0
    for i in range(300):
        for model in (early, zeros):
            model.learn_one({"a": i % 7, "b": i % 3}, float(i % 5))
    assert early.feature_names == zeros.feature_names == ["a", "b"]
    assert early.learner.to_bytes() == zeros.learner.to_bytes()


def test_a_time_series_begins_without_features():
    """SNARIMAX passes an empty row first. x[t] = 2 cos(1) x[t-1] - x[t-2] for x[t] = sin(t)."""
    from river import time_series

    model = time_series.SNARIMAX(p=2, d=0, q=0, regressor=okl.river.KernelRegressor())
    for t in range(1500):
        model.learn_one(math.sin(t))
    assert abs(model.forecast(1)[0] - math.sin(1500)) < 0.05


@pytest.mark.parametrize(
    ("estimator", "loss", "of"),
    [
        (okl.river.KernelClassifier, "squared", "KernelRegressor"),
        (okl.river.KernelClassifier, "quantile:0.9", "KernelRegressor"),
        (okl.river.KernelClassifier, "absolute,huber", "KernelRegressor"),
        (okl.river.KernelClassifier, {"density": {"nu": 0.1}}, "NoveltyDetector"),
        (okl.river.KernelRegressor, "hinge", "KernelClassifier"),
        (okl.river.KernelRegressor, "softmax", "KernelClassifier"),
        (okl.river.KernelRegressor, "density", "NoveltyDetector"),
    ],
)
def test_a_loss_of_another_kind_of_estimator_is_refused(estimator, loss, of):
    """A classifier with the squared loss had learned names of classes as numbers, and predicted by their sign."""
    with pytest.raises(ValueError, match=f"loss.*which is a loss of {of}$"):
        estimator(loss=loss)


def test_every_loss_belongs_to_one_estimator():
    from okl.river._base import LOSSES

    with pytest.raises(ValueError, match="choose one of") as error:
        okl.Learner(loss="none such")
    known = str(error.value).partition("choose one of ")[2].split(", ")
    assert sorted(known) == sorted(name for names in LOSSES.values() for name in names)


def test_a_number_that_no_float_holds_is_refused_with_its_feature():
    large = 10**400
    models = [
        (okl.river.KernelClassifier(), (True,)),
        (okl.river.KernelRegressor(), (1.0,)),
        (okl.river.KernelRegressor(hash_bits=4), (1.0,)),
        (okl.river.NoveltyDetector(), ()),
    ]
    said = "feature 'a': found a whole number beyond 1e308, expected a finite number below 1e15; rescale this feature"
    for model, target in models:
        for known in (False, True):
            with pytest.raises(ValueError, match=said):
                model.learn_one({"a": large}, *target)
            if target and known:
                with pytest.raises(ValueError, match=said):
                    model.predict_one({"a": large})
            model.learn_one({"a": 1.0}, *target)
        if target:
            frame = pd.DataFrame({"b": [1, 2], "a": [1, large]})
            with pytest.raises(ValueError, match="column 'a': found a whole number beyond 1e308 in row 1"):
                model.learn_many(frame, pd.Series([*target, *target]))
    with pytest.raises(ValueError, match="the target is a whole number beyond 1e308"):
        okl.river.KernelRegressor().learn_one({"a": 1.0}, large)
