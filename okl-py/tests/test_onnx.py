"""Models as ONNX graphs: what onnxruntime computes is what the model predicts."""

import json
from pathlib import Path

import numpy as np
import pytest

import okl

onnxruntime = pytest.importorskip("onnxruntime")

RNG = np.random.default_rng(5)
X = RNG.normal(size=(400, 3))
NUMBERS = 1000 + 50 * np.sin(X[:, 0]) + X[:, 1]
NAMES = np.array(["low", "mid", "top"])[np.digitize(X[:, 0], [-0.5, 0.5])]


def run(model: bytes | str) -> dict[str, np.ndarray]:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"x": X}), strict=True))


def test_a_learner(tmp_path: Path) -> None:
    learner = okl.Learner(loss="squared", kernel="gaussian", gamma=0.5)
    with pytest.raises(ValueError, match="not learned any row yet"):
        learner.to_onnx()
    learner.learn(X, np.sin(X[:, 0]))
    model = learner.to_onnx()
    assert np.allclose(run(model)["scores"][:, 0], learner.predict(X), atol=1e-5)
    assert learner.to_onnx(tmp_path / "m.onnx") is None
    assert (tmp_path / "m.onnx").read_bytes() == model
    with pytest.raises(FileNotFoundError):
        learner.to_onnx(tmp_path / "nowhere" / "m.onnx")


def test_random_features() -> None:
    """One kernel width, and a bank of several; numbers, classes, and an operator that couples two outputs."""
    two = np.column_stack([np.sin(X[:, 0]), X[:, 1]])
    cases: list[tuple[dict[str, object], np.ndarray]] = [
        ({"loss": "squared", "kernel": "gaussian:0.5", "step": "constant:0.3", "lam": 1e-3}, two[:, 0]),
        ({"loss": "squared", "kernel": "matern32:0.5", "operator": [1.0, 0.5, 0.5, 1.0]}, two),
        ({"loss": "softmax"}, NAMES),
        ({"loss": "hinge", "kernel": "exponential:0.4", "offset": True}, np.where(X[:, 0] > 0, 1.0, -1.0)),
    ]
    for settings, y in cases:
        learner = okl.Learner(form="fourier:100", **settings)  # type: ignore[arg-type]
        learner.learn(X, y)
        scores = learner.predict(X)
        assert np.allclose(run(learner.to_onnx())["scores"], scores.reshape(len(X), -1), atol=1e-4)
        assert np.abs(scores).max() > 0.3


def test_scikit_learns_estimators() -> None:
    pytest.importorskip("sklearn")
    classifier = okl.KernelClassifier(random_state=0).fit(X, NAMES)
    assert np.allclose(run(classifier.to_onnx())["scores"], classifier.decision_function(X), atol=1e-4)
    assert run(classifier.to_onnx())["label"].tolist() == classifier.predict(X).tolist()
    two = okl.KernelClassifier(random_state=0).fit(X, NAMES == "mid")
    assert np.allclose(run(two.to_onnx())["scores"].ravel(), two.decision_function(X), atol=1e-4)
    detector = okl.NoveltyDetector(random_state=0).fit(X)
    assert np.allclose(run(detector.to_onnx())["scores"].ravel(), detector.score_samples(X), atol=1e-4)
    # One of the rows is at the threshold itself, where roundings decide.
    clear, alerts = np.abs(detector.decision_function(X)) > 1e-4, detector.predict(X) == -1
    assert (run(detector.to_onnx())["novel"].ravel() == alerts)[clear].all()
    assert clear.sum() > 390 and 0 < alerts.sum() < len(X)
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        okl.KernelClassifier().to_onnx()


def test_labels_that_are_whole_floats() -> None:
    pytest.importorskip("sklearn")
    labels = np.where(X[:, 0] > 0, 7.0, -3.0)
    settings = {"gamma": 1.0, "max_iter": 1, "random_state": 0}
    for model in (
        okl.KernelClassifier(**settings).fit(X, labels),
        okl.KernelClassifier(**settings).partial_fit(X[:200], labels[:200]).partial_fit(X, labels),
        okl.KernelClassifier(**settings).partial_fit(X, labels, classes=[-3.0, 7.0]),
    ):
        exported = run(model.to_onnx())["label"]
        assert exported.dtype == np.int64
        assert exported.tolist() == model.predict(X).tolist()
        assert model.score(X, labels) > 0.9


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
@pytest.mark.parametrize("labels", [NAMES, np.where(NAMES == "mid", 2.0, 1.0), np.digitize(X[:, 0], [0.0])])
def test_scores_are_in_the_order_of_the_classes(loss: str, labels: np.ndarray) -> None:
    """Discovered classes come in any order; the exported scores are in that of `classes_`."""
    pytest.importorskip("sklearn")
    from scipy.special import softmax

    late = np.concatenate([np.flatnonzero(labels == label) for label in np.unique(labels)[::-1]])
    model = okl.KernelClassifier(loss, gamma=1.0).partial_fit(X[late], labels[late])
    assert model.learner_.classes != sorted(model.learner_.classes)
    scores = run(model.to_onnx())["scores"]
    assert scores.shape == (len(X), len(model.classes_))
    decision = model.decision_function(X)
    assert np.allclose(scores if decision.ndim == 2 else scores[:, 1] - scores[:, 0], decision, atol=1e-4)
    if loss == "log_loss":
        assert np.allclose(softmax(scores, axis=1), model.predict_proba(X), atol=1e-4)
    if labels is NAMES:
        session = onnxruntime.InferenceSession(model.to_onnx(), providers=["CPUExecutionProvider"])
        named = session.get_modelmeta().custom_metadata_map["okl.classes"]
        assert named == '["low","mid","top"]'
        assert run(model.to_onnx())["label"].tolist() == model.predict(X).tolist()


def test_an_order_of_scores() -> None:
    learner = okl.Learner(loss="max_margin", kernel="gaussian:1")
    learner.learn(X, NAMES)
    assert sorted(learner.classes) == ["low", "mid", "top"]
    order = ["top", "none", "low", "mid"]
    scores = run(learner.to_onnx(classes=order))["scores"]
    expected = dict(zip(learner.classes, learner.predict(X).T, strict=True))
    for column, name in enumerate(order):
        assert np.allclose(scores[:, column], expected.get(name, 0.0), atol=1e-5)
    with pytest.raises(ValueError, match="class mid is missing in the order of the scores"):
        learner.to_onnx(classes=["low", "top"])
    with pytest.raises(ValueError, match="classes is the order of the scores of max_margin and softmax"):
        two = okl.Learner(loss="hinge", kernel="gaussian:1")
        two.learn(X, NAMES == "low")
        two.to_onnx(classes=[False, True])


def test_rivers_estimators() -> None:
    pytest.importorskip("river")
    pd = pytest.importorskip("pandas")
    import okl.river

    model = okl.river.KernelRegressor()
    frame = pd.DataFrame(X, columns=["c", "b", "a"])
    model.learn_many(frame, pd.Series(NUMBERS))
    assert model.feature_names == ["a", "b", "c"]
    session = onnxruntime.InferenceSession(model.to_onnx(), providers=["CPUExecutionProvider"])
    [scores] = session.run(["scores"], {"x": frame[model.feature_names].to_numpy()})
    assert np.allclose(scores[:, 0], model.predict_many(frame), rtol=1e-5)


def test_features_have_their_names() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["c", "b", "a"])

    def names(model: bytes) -> list[str]:
        session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        return json.loads(session.get_modelmeta().custom_metadata_map["okl.features"])

    learner = okl.Learner(loss="squared", kernel="gaussian", gamma=0.5)
    learner.learn(X, NUMBERS)
    assert names(learner.to_onnx()) == ["1", "2", "3"]
    learner.learn(frame, NUMBERS)
    assert names(learner.to_onnx()) == ["c", "b", "a"]
    pytest.importorskip("sklearn")
    assert names(okl.KernelRegressor(max_iter=1).fit(frame, NUMBERS).to_onnx()) == ["c", "b", "a"]
    pytest.importorskip("river")
    from okl import river

    model = river.KernelRegressor()
    model.learn_many(frame, pd.Series(NUMBERS))
    assert names(model.to_onnx()) == ["a", "b", "c"]
