"""Classes that are discovered, in the type in which they came, and their probabilities."""

import _thread
import math
import pickle
import random
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
from river import imblearn, multioutput

import okl.river

SETTINGS = {"gamma": 0.5, "scale": "none", "average": "none"}
LOSSES = ["max_margin", "softmax", "hinge", "logistic", "nu_hinge", "perceptron"]


def corners(labels, rounds=30, seed=2):
    """Points around the corners of a square, one label each."""
    rng = random.Random(seed)
    for _ in range(rounds):
        for i, label in enumerate(labels):
            yield {"a": 3 * (i % 2) + rng.gauss(0, 0.3), "b": 3 * (i // 2) + rng.gauss(0, 0.3)}, label


def learned(labels, **settings):
    model = okl.river.KernelClassifier(**SETTINGS | settings)
    for x, y in corners(labels):
        model.learn_one(x, y)
    return model


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "labels", [[False, True], [True, False], [0, 1], [7, -3], ["no", "yes"], [np.True_, np.False_]]
)
def test_two_classes_keep_their_type(loss, labels):
    model = learned(labels, loss=loss)
    plain = [label.item() if isinstance(label, np.generic) else label for label in labels]
    for x, y in corners(plain, rounds=3, seed=9):
        predicted = model.predict_one(x)
        assert predicted == y and type(predicted) is type(y)
        probabilities = model.predict_proba_one(x)
        assert max(probabilities, key=probabilities.get) == y
        assert [type(label) for label in probabilities] == [type(label) for label in plain]


@pytest.mark.parametrize("loss", ["max_margin", "softmax"])
@pytest.mark.parametrize("labels", [["a", "b", "c", "d"], [3, 1, 4, 15], ["1", 5, "True", 0]])
def test_many_classes_keep_their_type(loss, labels):
    model = learned(labels, loss=loss)
    for x, y in corners(labels, rounds=3, seed=9):
        predicted = model.predict_one(x)
        assert predicted == y and type(predicted) is type(y)


@pytest.mark.parametrize("loss", ["max_margin", "hinge"])
def test_labels_of_other_types_are_found_by_their_spelling(loss):
    for labels, others in (
        ((1, 0), ("1", "0")),
        ((False, True), ("false", "True")),
        (("true", "false"), (1, 0)),
    ):
        model = learned(list(labels), loss=loss)
        for x, y in corners(list(others), rounds=3, seed=9):
            model.learn_one(x, y)
        assert len(model.learner.classes) == 2
        for x, y in corners(list(labels), rounds=3, seed=9):
            assert model.predict_one(x) == y


def test_nothing_is_known_before_the_first_label():
    x = {"a": 1.0}
    model = okl.river.KernelClassifier(**SETTINGS)
    assert model.predict_one(x) is None and model.predict_proba_one(x) == {}
    assert model.predict_many(pd.DataFrame([x, x])).tolist() == [None, None]
    assert model.predict_proba_many(pd.DataFrame([x, x])).shape[1] == 0
    two = okl.river.KernelClassifier(loss="logistic")
    assert two.predict_one(x) is None and two.predict_proba_one(x) == {False: 0.5, True: 0.5}
    assert two.predict_many(pd.DataFrame([x, x])).tolist() == [None, None]
    assert two.predict_proba_many(pd.DataFrame([x])).to_dict("records") == [{False: 0.5, True: 0.5}]
    for loss in ("auto", "logistic"):
        told = okl.river.KernelClassifier(loss=loss, classes=["a", "b"])
        assert told.predict_one(x) == "a" and told.predict_proba_one(x) == {"a": 0.5, "b": 0.5}


@pytest.mark.parametrize("classes", [None, [False, True], [0, 1]])
def test_two_classes_have_probabilities_from_the_first_row_on(classes):
    """River's wrappers of classifiers of two classes read the probability of True before the first label."""
    kind = int if classes == [0, 1] else bool
    model = okl.river.KernelClassifier(loss="logistic", classes=classes)
    chain = multioutput.ClassifierChain(model.clone(), order=["high", "left"])
    hard = imblearn.HardSamplingClassifier(model.clone(), size=10, p=0.1, seed=1)
    for x, corner in corners([0, 1, 2, 3]):
        y = {"high": kind(corner // 2), "left": kind(corner % 2)}
        assert set(chain.predict_proba_one(x)["left"]) == {False, True}
        chain.learn_one(x, y)
        hard.learn_one(x, y["left"])
    assert chain.predict_one({"a": 3.0, "b": 0.0}) == {"high": False, "left": True}
    assert hard.predict_one({"a": 3.0, "b": 0.0}) == 1


def test_settings_that_are_no_settings_have_a_similar_name():
    for given, words in (
        ({"missing": "avg"}, 'missing: found "avg", expected refuse, mean, .*; did you mean mean\\?'),
        ({"step": "adaptve"}, 'step: unknown name "adaptve"; did you mean smd\\? choose one of'),
        ({"learning_rate": "adaptve"}, "learning_rate: no such setting; did you mean `step`\\?"),
        ({"loss": "nu_hing"}, 'loss: unknown name "nu_hing"; did you mean nu_hinge\\?'),
        (
            {"loss": "nu_hinge", "classes": ["a", "b", "c"]},
            "classes: the loss nu_hinge separates exactly two classes, found 3; use max_margin or softmax",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            okl.river.KernelClassifier(**given)


@pytest.mark.parametrize("loss", ["max_margin", "hinge"])
def test_one_class_is_certain(loss):
    model = okl.river.KernelClassifier(**SETTINGS, loss=loss)
    for i in range(5):
        model.learn_one({"a": float(i)}, "only")
    assert model.predict_one({"a": 1.0}) == "only"
    assert model.predict_proba_one({"a": 1.0}) == {"only": 1.0}


def test_a_bool_names_the_other_class_too():
    model = okl.river.KernelClassifier(**SETTINGS, loss="logistic")
    model.learn_one({"a": 1.0}, True)
    probabilities = model.predict_proba_one({"a": 1.0})
    assert list(probabilities) == [False, True] and probabilities[True] > 0.5


def test_a_class_may_appear_late():
    model = learned(["a", "b"])
    for x, _ in corners(["a", "b", "c"], rounds=5):
        assert model.predict_one(x) in ("a", "b")
    for x, y in corners(["a", "b", "c"]):
        model.learn_one(x, y)
    assert [model.predict_one(x) for x, _ in corners(["a", "b", "c"], rounds=1, seed=9)] == ["a", "b", "c"]


def test_probabilities_are_those_of_the_loss():
    """Softmax of the scores, and the logistic function of the one score."""
    x = {"a": 1.0, "b": 0.5}
    many = learned(["a", "b", "c"], loss="softmax")
    parts = [math.exp(z) for z in many.learner.predict(np.array([[1.0, 0.5]]))[0]]
    assert list(many.predict_proba_one(x).values()) == pytest.approx(
        [part / sum(parts) for part in parts], rel=1e-12
    )
    two = learned(["a", "b"], loss="logistic")
    [z] = two.learner.predict(np.array([[1.0, 0.5]]))
    assert two.predict_proba_one(x)["b"] == pytest.approx(1 / (1 + math.exp(-z)), rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_probabilities_order_rows_as_scores_do(loss):
    model = learned(["a", "b"], loss=loss)
    points = [x for x, _ in corners(["a", "b"], rounds=40, seed=9)]
    scores = model.learner.predict(np.array([list(x.values()) for x in points]))
    margins = scores if scores.ndim == 1 else scores[:, 1] - scores[:, 0]
    second = [model.predict_proba_one(x)["b"] for x in points]
    assert np.array_equal(np.argsort(second, kind="stable"), np.argsort(margins, kind="stable"))


@pytest.mark.parametrize("loss", ["max_margin", "softmax", "hinge", "logistic"])
@pytest.mark.parametrize("labels", [[False, True], [1, 0], ["b", "a"]])
def test_frames_of_labels_are_rows_one_by_one(loss, labels):
    one = learned(labels, loss=loss)
    many = okl.river.KernelClassifier(**SETTINGS, loss=loss)
    points, targets = map(list, zip(*corners(labels)))
    for part in np.array_split(np.arange(len(points)), [1, 2, 5, 37]):
        many.learn_many(pd.DataFrame([points[i] for i in part]), pd.Series([targets[i] for i in part]))
    assert pickle.dumps(one) == pickle.dumps(many)

    X = pd.DataFrame(points[:7])
    assert many.predict_many(X).tolist() == [one.predict_one(x) for x in points[:7]]
    assert many.predict_proba_many(X).to_dict("records") == [one.predict_proba_one(x) for x in points[:7]]


def test_weights():
    model, twin, light = (okl.river.KernelClassifier(**SETTINGS) for _ in range(3))
    points, targets = map(list, zip(*corners(["a", "b"])))
    weights = [0.5 if i % 3 else 2.0 for i in range(len(points))]
    for x, y, w in zip(points, targets, weights):
        model.learn_one(x, y, w=w)
    twin.learn_many(pd.DataFrame(points), pd.Series(targets), w=pd.Series(weights))
    light.learn_many(pd.DataFrame(points), pd.Series(targets))
    assert pickle.dumps(model) == pickle.dumps(twin) != pickle.dumps(light)


def test_a_label_of_weight_zero_is_not_learned():
    model = learned(["a", "b"])
    model.learn_one({"a": 9.0}, "never", w=0.0)
    model.learn_many(pd.DataFrame({"a": [9.0]}), pd.Series(["never"]), w=0)
    model.learn_one({"a": 9.0}, "c")
    assert list(model.predict_proba_one({"a": 9.0})) == model.learner.classes == ["a", "b", "c"]


@pytest.mark.parametrize("loss", ["max_margin", "hinge"])
def test_classes_may_be_given(loss):
    model = okl.river.KernelClassifier(**SETTINGS, loss=loss, classes=["no", "yes"])
    assert model.predict_proba_one({"a": 1.0}) == {"no": 0.5, "yes": 0.5}
    for x, y in corners(["yes", "no"]):
        model.learn_one(x, y)
    assert [model.predict_one(x) for x, _ in corners(["yes", "no"], rounds=1)] == ["yes", "no"]
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="label 'maybe', expected one of the given classes: 'no', 'yes'"):
        model.learn_one({"new": 1.0}, "maybe")
    assert pickle.dumps(model) == before
    assert model.clone().classes == ["no", "yes"]


def test_labels_that_are_refused_change_nothing():
    model = learned(["a", "b"], loss="hinge")
    before = pickle.dumps(model)
    with pytest.raises(
        ValueError, match="'c' is a third class beside 'a', 'b', and loss 'hinge' separates two"
    ):
        model.learn_one({"new": 1.0}, "c")
    for label in (1.5, None, ("a",), b"a"):
        with pytest.raises(TypeError, match="expected a bool, a whole number or a string"):
            model.learn_one({"new": 1.0}, label)
    with pytest.raises(ValueError, match="column 'a': found nan"):
        model.learn_many(pd.DataFrame({"a": [1.0, np.nan]}), pd.Series(["a", "b"]))
    assert pickle.dumps(model) == before


def test_a_refused_row_does_not_name_a_class():
    model = learned(["a", "b"])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="feature 'a'"):
        model.learn_one({"a": float("nan")}, "c")
    assert pickle.dumps(model) == before


def test_ctrl_c_leaves_the_classes_of_the_rows_that_were_learned():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # A process in the background ignores it.
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(150_000, 4)), columns=list("abcd"))
    y = pd.Series(np.where(X["a"] > 0, "right", "left"))
    y.iloc[-1] = "last"
    model = okl.river.KernelClassifier(gamma=0.5, scale="none", loss="softmax")
    model.learn_many(X[:10], y[:10])

    def interrupt():
        # Readers see the rows that were learned so far, so this does not depend on the speed of the machine.
        while model.learner.examples < 1_000:
            time.sleep(0.001)
        _thread.interrupt_main()

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt) as interrupted:
        model.learn_many(X, y)
    assert 0 < interrupted.value.rows_learned < len(X)
    assert list(model.predict_proba_one({"a": 1.0})) == model.learner.classes
    assert sorted(model.learner.classes) == ["left", "right"]
    model.learn_one({"a": 50.0}, "new")
    assert "new" in model.predict_proba_one({"a": 50.0})


def test_targets_that_cannot_be_learned_are_refused():
    model = okl.river.KernelRegressor()
    for target, found in [("3", "'3' is of type str"), (None, "None is of type NoneType")]:
        with pytest.raises(TypeError, match=f"target {found}, expected a number"):
            model.learn_one({"a": 1.0}, target)
    with pytest.raises(ValueError, match="target nan, expected a finite number"):
        model.learn_one({"a": 1.0}, float("nan"))
    assert model.learner.examples == 0
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
    for other, y in [(model, [1.0]), (okl.river.KernelClassifier(), ["x"])]:
        with pytest.raises(ValueError, match="y has 1 values, X has 3 rows"):
            other.learn_many(frame, pd.Series(y))
    with pytest.raises(ValueError, match="max_features must be a whole number of at least 1, found 1.5"):
        okl.river.KernelClassifier(max_features=1.5)


@pytest.mark.parametrize("loss", ["hinge", "logistic", "nu_hinge", "perceptron"])
@pytest.mark.parametrize("labels", [[1, 0], [0, 1], [7, -3], ["yes", "no"], ["no", "yes"], [True, False]])
def test_files_and_onnx_have_the_labels(loss, labels, tmp_path):
    """Whichever class came first, and without given classes."""
    onnxruntime = pytest.importorskip("onnxruntime")
    model = learned(labels, loss=loss)
    points, right = map(list, zip(*corners(labels, rounds=5, seed=9)))
    rows = np.array([[x[name] for name in model.feature_names] for x in points])
    assert [model.predict_one(x) for x in points] == right
    assert model.learner.classes == labels and model.learner.positive_class == max(labels)

    session = onnxruntime.InferenceSession(model.to_onnx(), providers=["CPUExecutionProvider"])
    assert session.run(["label"], {"x": rows})[0].tolist() == right
    model.learner.save(tmp_path / "m.okl")
    saved = okl.load(tmp_path / "m.okl")
    negative, positive = sorted(labels)
    assert saved.positive_class == positive
    assert np.where(saved.predict(rows) > 0, positive, negative).tolist() == right


def test_given_classes_are_those_of_the_learner():
    model = learned(["b", "a"], loss="hinge", classes=["b", "a"])
    assert model.learner.classes == ["b", "a"] and model.learner.positive_class == "a"
    assert [model.predict_one(x) for x, _ in corners(["b", "a"], rounds=1, seed=9)] == ["b", "a"]
