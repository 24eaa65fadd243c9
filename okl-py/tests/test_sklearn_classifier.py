"""KernelClassifier: labels, scores, probabilities, weights, several passes."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn")

from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel

import okl
from okl import plot
from okl.sklearn import KernelClassifier

X2, Y2 = make_moons(300, noise=0.2, random_state=0)
X3, Y3 = load_iris(return_X_y=True)


def in_frame(model, X):
    """Rows as the kernel sees them."""
    shift, factor = model.learner_.frame
    return (X - shift) * factor


@pytest.mark.parametrize(
    ("X", "y", "loss", "outputs"), [(X2, Y2, "hinge", 1), (X2, Y2, "max_margin", 1), (X3, Y3, "hinge", 3)]
)
def test_scores_are_the_kernel_sum_over_support_vectors(X, y, loss, outputs):
    model = KernelClassifier(loss, gamma=0.7, random_state=0).fit(X, y)
    terms = model.learner_.terms
    assert model.support_vectors_.shape == (terms, X.shape[1])
    assert model.dual_coef_.shape == (outputs, terms)
    assert model.intercept_.shape == (outputs,)
    gram = rbf_kernel(in_frame(model, X), in_frame(model, model.support_vectors_), gamma=0.7)
    scores = gram @ model.dual_coef_.T + model.intercept_
    # Single precision, over coefficients of this size.
    assert np.allclose(
        model.decision_function(X).reshape(scores.shape), scores, atol=1e-4 * np.abs(model.dual_coef_).sum()
    )


@pytest.mark.parametrize(
    "names", [["no", "yes"], [3, 7], [-1, 1], [1.0, 2.0], [False, True], np.array(["a", "b"], dtype=object)]
)
@pytest.mark.parametrize("how", ["fit", "partial_fit"])
def test_labels_of_every_kind(names, how):
    def learned(labels, classes):
        model = KernelClassifier(random_state=0)
        return model.fit(X2, labels) if how == "fit" else model.partial_fit(X2, labels, classes=classes)

    named, numbered = learned(np.array(names)[Y2], names[::-1]), learned(Y2, [0, 1])
    assert named.classes_.tolist() == list(names)
    assert np.array_equal(named.decision_function(X2), numbered.decision_function(X2))
    assert np.array_equal(named.predict(X2), np.array(names)[numbered.predict(X2)])
    assert np.array_equal(named.predict(X2) == names[1], named.decision_function(X2) > 0)


def test_the_learner_names_classes_as_the_user_does():
    assert KernelClassifier().fit(X2, np.array(["no", "yes"])[Y2]).learner_.classes == ["no", "yes"]
    assert KernelClassifier().fit(X2, np.array([3, 7])[Y2]).learner_.classes == [3, 7]


def test_classes_that_are_given_stay():
    model = KernelClassifier()
    model.partial_fit(X2[:1], Y2[:1], classes=[1, 0]).partial_fit(X2, Y2)
    with pytest.raises(ValueError, match="not the same as on the first call"):
        model.partial_fit(X2, Y2, classes=[0, 1, 2])
    with pytest.raises(
        ValueError, match="row [0-9]+ of y: found the label [0-9], which is none of the classes"
    ):
        model.partial_fit(X2, Y2 + 1)
    with pytest.raises(ValueError, match="number of classes has to be greater than one; got 1 class"):
        KernelClassifier().fit(X2, np.ones(300))


UNKNOWN = [
    (["v1", "v2"], "v10"),
    (["no", "yes"], "yesterday"),
    ([False, True], 7),
    (np.array([0, 1], np.uint8), 256),
    (np.array([0, 1], np.int8), -1),
    ([0, 1], 2.0),
    (np.array(["a", "b"], object), "ab"),
]


@pytest.mark.parametrize(("classes", "label"), UNKNOWN)
def test_an_unknown_label_is_never_taken_for_a_class(classes, label):
    """Converted to the type of the classes, these labels would be "v1", "yes", True, 0 and so on."""
    known = np.asarray(classes)[Y2[:40]]
    said = re.escape(f"row 5 of y: found the label {label!r}, which is none of the classes")
    unknown = [label if row == 5 else name for row, name in enumerate(known.tolist())]
    streams = [KernelClassifier().partial_fit(X2[:40], known, classes=classes)]
    streams += [KernelClassifier(max_iter=1, tol=None, warm_start=True, random_state=0).fit(X2[:40], known)]
    for model in streams:
        before = model.learner_.to_bytes()
        for learn in (model.partial_fit, model.fit, plot.History(model).learn):
            if learn != model.fit or model.warm_start:
                with pytest.raises(ValueError, match=said):
                    learn(X2[:40], np.array(unknown))
        assert model.learner_.to_bytes() == before
    with pytest.raises(ValueError, match=said):
        KernelClassifier().partial_fit(X2[:40], unknown, classes=classes)


def test_labels_of_another_type_are_the_same_classes():
    """Numbers are equal by value, and text of another length is equal text."""
    for classes, labels in (
        ([0, 1], Y2 * 1.0),
        ([0, 1], Y2 > 0),
        (["a", "bcd"], np.array(["a", "bcd"], object)[Y2]),
    ):
        model = KernelClassifier().partial_fit(X2, labels, classes=classes)
        assert model.score(X2, labels) > 0.8
        assert model.classes_.tolist() == classes


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
@pytest.mark.parametrize("names", [["x", "m", "a"], [9, 5, 7], [2.0, 0.0, 1.0]])
def test_classes_are_discovered(loss, names):
    """As they come, in any order; `classes_` and all columns are sorted. The learner is the one that a stream of labels makes."""
    labels = np.array(names)[Y3]
    order = np.argsort(Y3, kind="stable")  # one class after the other
    model, seen = KernelClassifier(loss), set()
    for part in np.array_split(order, 7):
        model.partial_fit(X3[part], labels[part])
        seen |= set(labels[part].tolist())
        assert model.classes_.tolist() == sorted(seen)
        assert set(model.predict(X3)) <= set(model.classes_)
    named = names if type(names[0]) is str else [int(name) for name in names]  # whole numbers also as floats
    twin = okl.Learner(model.learner_.config)
    twin.learn(X3[order], np.array(named)[Y3][order])
    assert twin.to_bytes() == model.learner_.to_bytes()
    by_name = dict(zip(names, twin.predict(X3).T, strict=True))
    assert np.array_equal(model.decision_function(X3), np.column_stack([by_name[c] for c in model.classes_]))
    assert np.array_equal(model.predict(X3), model.classes_[model.decision_function(X3).argmax(axis=1)])
    if loss == "log_loss":
        assert np.allclose(model.predict_proba(X3).sum(axis=1), 1)


def test_two_discovered_classes_have_one_column():
    shuffled = np.random.default_rng(0).permutation(len(X2))
    model = KernelClassifier().partial_fit(X2[shuffled], np.array(["yes", "no"])[Y2][shuffled])
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.decision_function(X2).shape == (len(X2),)
    assert np.array_equal(model.decision_function(X2) > 0, model.predict(X2) == "yes")
    assert (model.predict(X2) == np.array(["yes", "no"])[Y2]).mean() > 0.8
    assert model.dual_coef_.shape[0] == 1 and model.intercept_.shape == (1,)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("loss", ["hinge", "log_loss", "max_margin"])
def test_the_positive_score_is_the_class_that_sorts_last(first, loss):
    """Whatever class came first, in `fit` and in `partial_fit`, with classes given or discovered."""
    order = np.argsort(Y2 != first, kind="stable")
    X, y = X2[order], np.array([-1, 1])[Y2[order]]
    models = [
        KernelClassifier(loss, random_state=0).fit(X, y),
        KernelClassifier(loss).partial_fit(X, y, classes=[1, -1]),
        KernelClassifier(loss).partial_fit(X, y),
    ]
    for model in models:
        assert model.classes_.tolist() == [-1, 1]
        decision = model.decision_function(X)
        assert np.array_equal(np.where(decision > 0, 1, -1), model.predict(X))
        assert decision[y == 1].mean() > decision[y == -1].mean()


def test_discovered_classes_that_are_refused_change_nothing():
    model = KernelClassifier().partial_fit(X2, Y2)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="sample_weight"):
        model.partial_fit(X2, Y2 + 5, sample_weight=np.full(len(X2), -1.0))
    assert pickle.dumps(model) == before
    with pytest.raises(ValueError, match="the first call to partial_fit had no classes"):
        model.partial_fit(X2, Y2, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="loss='perceptron' separates two classes, which have to be known"):
        KernelClassifier("perceptron").partial_fit(X2, Y2)


def test_progressive_errors_are_among_the_classes_known_before_a_row():
    """In one call or in calls of one row, and as predicting before each row tells it."""
    X, y = X3[::5], Y3[::5]
    whole = KernelClassifier()._learn_report(X, y)["wrong"]
    model, wrong = KernelClassifier(), []
    for i in range(len(X)):
        wrong.append(i == 0 or model.predict(X[i : i + 1])[0] != y[i])
        assert model._learn_report(X[i : i + 1], y[i : i + 1])["wrong"].tolist() == wrong[-1:]
    assert whole.tolist() == wrong


def test_partial_fit_goes_on_from_fit():
    model = KernelClassifier(random_state=0).fit(X2[:100], Y2[:100])
    terms = model.learner_.examples
    assert model.partial_fit(X2[100:], Y2[100:]).learner_.examples == terms + 200


def test_classes_that_come_late_in_the_stream():
    order = np.argsort(Y3, kind="stable")
    model = KernelClassifier().partial_fit(X3[order], Y3[order], classes=[0, 1, 2])
    assert model.decision_function(X3).shape == (150, 3)


@pytest.mark.parametrize(("X", "y"), [(X2, Y2), (X3, Y3)])
@pytest.mark.parametrize("loss", ["log_loss", "softmax"])
def test_probabilities(X, y, loss):
    model = KernelClassifier(loss, random_state=0).fit(X, y)
    p = model.predict_proba(X)
    assert p.shape == (len(X), len(model.classes_))
    assert np.allclose(p.sum(axis=1), 1, atol=1e-12)
    assert np.array_equal(p.argmax(axis=1), model.predict(X))
    assert np.allclose(np.log(p), model.predict_log_proba(X))
    decision = model.decision_function(X)
    if decision.ndim == 1:
        assert np.allclose(p[:, 1], 1 / (1 + np.exp(-decision)))
    # Better than knowing the shares of the classes only.
    shares = np.bincount(y) / len(y)
    assert log_loss(y, p) < 0.5 * log_loss(y, np.tile(shares, (len(y), 1)))


def test_probabilities_are_those_of_noisy_labels():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(1000, 1))
    y = rng.random(1000) < np.where(X[:, 0] > 0, 0.9, 0.3)
    p = (
        KernelClassifier("log_loss", alpha=1e-3, random_state=0)
        .fit(X, y)
        .predict_proba([[-0.6], [0.6]])[:, 1]
    )
    assert abs(p[0] - 0.3) < 0.1
    assert abs(p[1] - 0.9) < 0.1


def test_no_probabilities_where_the_loss_gives_none():
    model = KernelClassifier().fit(X2, Y2)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "predict_log_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        model.predict_proba(X2)


def test_a_loss_for_two_classes_refuses_more():
    for loss in ("perceptron", "nu_hinge", "hinge:0.5"):
        KernelClassifier(loss).fit(X2, Y2)
        words = rf"loss='{loss}' separates exactly two classes, found 3 \(.*\): use 'hinge', 'log_loss'"
        with pytest.raises(ValueError, match=words):
            KernelClassifier(loss).fit(X3, Y3)
        with pytest.raises(ValueError, match=words):
            KernelClassifier(loss).partial_fit(X3, Y3)
        with pytest.raises(ValueError, match=words):
            KernelClassifier(loss).partial_fit(X3, Y3, classes=np.unique(Y3))


def test_class_weights():
    X, y = make_blobs([900, 100], centers=[[0.0, 0.0], [1.2, 1.2]], cluster_std=1.0, random_state=0)

    def recall(weights):
        model = KernelClassifier(class_weight=weights, gamma=0.1, alpha=1e-2, random_state=0).fit(X, y)
        return (model.predict(X)[y == 1] == 1).mean()

    assert recall("balanced") > recall(None) + 0.2
    same = [
        KernelClassifier(class_weight=weights, random_state=0).fit(X, y).decision_function(X)
        for weights in ("balanced", {0: 1000 / 1800, 1: 1000 / 200})
    ]
    assert np.array_equal(*same)


def test_class_weights_multiply_sample_weights():
    weighted = KernelClassifier(class_weight={0: 0.5, 1: 0.75}).partial_fit(
        X2, Y2, classes=[0, 1], sample_weight=np.full(300, 0.5)
    )
    by_hand = KernelClassifier().partial_fit(
        X2, Y2, classes=[0, 1], sample_weight=np.where(Y2 == 0, 0.25, 0.375)
    )
    assert weighted.learner_.to_bytes() == by_hand.learner_.to_bytes()


def test_balanced_classes_of_a_stream_are_those_of_the_learner():
    settings = {"gamma": 0.5, "scale": None, "average": False, "alpha": 1e-4, "learning_rate": "constant"}
    stream = KernelClassifier(class_weight="balanced", **settings)
    stream.partial_fit(X2[:7], Y2[:7], classes=[0, 1]).partial_fit(X2[7:], Y2[7:])
    plain = KernelClassifier(**settings).partial_fit(X2, Y2, classes=[0, 1]).learner_.config
    learner = okl.Learner({**plain, "class_weight": "balanced"})
    learner.learn(X2, Y2)
    assert learner.to_bytes() == stream.learner_.to_bytes()


def test_class_weights_of_a_stream_are_those_of_one_pass():
    """What `partial_fit` finds less of a rare class than `fit`, it lacks passes for: the weights are the same."""
    settings = {"gamma": 0.5, "scale": None, "average": False, "class_weight": {0: 1, 1: 20}}
    one_pass = KernelClassifier(max_iter=1, shuffle=False, **settings).fit(X2, Y2)
    stream = KernelClassifier(**settings).partial_fit(X2, Y2, classes=[0, 1])
    assert (one_pass.decision_function(X2) == stream.decision_function(X2)).all()


def test_class_weights_above_one_are_divided_by_the_largest():
    above, below = {0: 1.0, 1: 32.0}, {0: 1 / 32, 1: 1.0}
    one, other = (KernelClassifier(class_weight=weights).partial_fit(X2, Y2) for weights in (above, below))
    assert one.learner_.to_bytes() == other.learner_.to_bytes()
    # The heavy class is not known in the first call: the cut does not matter.
    order = np.argsort(Y2, kind="stable")
    X, y = X2[order], Y2[order]
    whole, cut = (KernelClassifier(class_weight=above) for _ in range(2))
    whole.partial_fit(X, y)
    cut.partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    assert whole.learner_.to_bytes() == cut.learner_.to_bytes()


def test_rows_of_weight_zero_are_not_there():
    weights = np.r_[np.ones(200), np.zeros(100)]
    with_them = KernelClassifier(random_state=0).fit(X2, Y2, sample_weight=weights)
    without = KernelClassifier(random_state=0).fit(X2[:200], Y2[:200])
    assert np.array_equal(with_them.decision_function(X2), without.decision_function(X2))
    with pytest.raises(ValueError, match="zero for every row"):
        KernelClassifier().fit(X2, Y2, sample_weight=np.zeros(300))
    with pytest.raises(ValueError, match=r"must not be negative, found -1.0 in row 299"):
        KernelClassifier().fit(X2, Y2, sample_weight=np.r_[np.ones(299), -1.0])
    with pytest.raises(ValueError, match=r"one weight per row, shape \(300,\), found shape \(2,\)"):
        KernelClassifier().fit(X2, Y2, sample_weight=[1, 1])


def test_passes_add_onto_terms_instead_of_costing_memory():
    model = KernelClassifier(budget=None, max_iter=8, tol=None, random_state=0).fit(X2, Y2)
    assert model.n_iter_ == 8
    assert 300 < model.learner_.examples <= 8 * 300
    assert model.learner_.terms <= 300


def test_passes_end_when_they_no_longer_help():
    easy = np.r_[X2[Y2 == 0] - 20, X2[Y2 == 1] + 20]
    for step in ("auto", "decay"):
        model = KernelClassifier(learning_rate=step, n_iter_no_change=3, max_iter=100)
        assert 3 < model.fit(easy, np.repeat([0, 1], 150)).n_iter_ < 100
    assert KernelClassifier(tol=None, max_iter=100).fit(easy, np.repeat([0, 1], 150)).n_iter_ == 100


def test_auto_passes_learn_a_hundred_thousand_examples():
    big = np.tile(X2, (200, 1))
    assert KernelClassifier(tol=None, budget=20, random_state=0).fit(big, np.tile(Y2, 200)).n_iter_ == 2
    assert KernelClassifier(tol=None).fit(X2[:50], Y2[:50]).n_iter_ == 100


def test_orders_come_from_random_state():
    scores = [KernelClassifier(random_state=seed).fit(X2, Y2).decision_function(X2) for seed in (0, 0, 1)]
    assert np.array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])
    in_order = [
        KernelClassifier(shuffle=False, random_state=seed).fit(X2, Y2).decision_function(X2)
        for seed in (0, 1)
    ]
    assert np.array_equal(*in_order)


def test_warm_start_goes_on():
    once = KernelClassifier(max_iter=6, tol=None, shuffle=False).fit(X2, Y2)
    model = KernelClassifier(max_iter=3, tol=None, shuffle=False, warm_start=True)
    model.fit(X2, Y2)
    first = model.learner_.examples
    model.fit(X2 + 0.0, Y2)
    assert model.learner_.examples == 2 * first == once.learner_.examples
    cold = model.set_params(warm_start=False).fit(X2, Y2)
    assert cold.learner_.examples == first


def test_warm_start_takes_other_rows_and_keeps_classes():
    model = KernelClassifier(warm_start=True, random_state=0).fit(X2[:100], Y2[:100])
    model.fit(X2[100:], Y2[100:])
    assert model.score(X2, Y2) > 0.9
    with pytest.raises(
        ValueError, match="row [0-9]+ of y: found the label [0-9], which is none of the classes"
    ):
        model.fit(X2, Y2 + 5)


def test_nothing_is_known_before_fit():
    model = KernelClassifier("log_loss")
    for method in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
        with pytest.raises(NotFittedError):
            getattr(model, method)(X2)
    for attribute in ("support_vectors_", "dual_coef_", "intercept_", "learner_", "classes_"):
        assert not hasattr(model, attribute)


def test_a_pickle_predicts_the_same():
    model = KernelClassifier("log_loss", random_state=0, n_jobs=2).fit(X3, Y3)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict_proba(X3), model.predict_proba(X3))
    assert copy.learner_.threads == 2


def test_the_model_file_is_the_engines(tmp_path):
    import okl

    model = KernelClassifier(random_state=0).fit(X3, np.array(["a", "b", "c"])[Y3])
    model.learner_.save(tmp_path / "m.okl")
    learner = okl.load(tmp_path / "m.okl")
    assert learner.classes == ["a", "b", "c"]
    assert np.array_equal(learner.predict(X3), model.decision_function(X3))


def test_bool_labels_stay_bools():
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = X[:, 0] > 0
    for form in (y, y.tolist(), y.astype(object), pd.Series(y), pd.Series(y, dtype="boolean")):
        for model in (okl.KernelClassifier().fit(X, form), okl.KernelClassifier().partial_fit(X, form)):
            assert model.classes_.dtype == model.predict(X).dtype == bool
            assert {type(name) for name in model.learner_.classes} == {bool}
            assert (model.predict(X) == y).mean() > 0.8
