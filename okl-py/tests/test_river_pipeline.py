"""The estimators among River's: pipelines, progressive validation, clones, copies, ensembles."""

import copy
import doctest
import importlib
import pickle

import numpy as np
import pandas as pd
import pytest
from river import (
    base,
    datasets,
    dummy,
    ensemble,
    evaluate,
    linear_model,
    metrics,
    multioutput,
    preprocessing,
    stats,
)

import okl.river


def test_pipeline_and_progressive_validation():
    scaled = preprocessing.StandardScaler() | okl.river.KernelClassifier(scale="none")
    metric = metrics.Accuracy() + metrics.ROCAUC()
    evaluate.progressive_val_score(datasets.Phishing(), scaled, metric)
    linear = preprocessing.StandardScaler() | linear_model.Perceptron()
    baseline = evaluate.progressive_val_score(datasets.Phishing(), linear, metrics.Accuracy())
    accuracy, area = metric
    assert accuracy.get() > baseline.get()
    assert area.get() > accuracy.get()


def test_many_classes_in_progressive_validation():
    dataset = datasets.ImageSegments()
    kernel = evaluate.progressive_val_score(dataset, okl.river.KernelClassifier(), metrics.MacroF1())
    linear = preprocessing.StandardScaler() | linear_model.SoftmaxRegression()
    assert kernel.get() > evaluate.progressive_val_score(dataset, linear, metrics.MacroF1()).get()


def test_regression_in_progressive_validation():
    dataset = datasets.TrumpApproval()
    kernel = evaluate.progressive_val_score(dataset, okl.river.KernelRegressor(), metrics.MAE())
    linear = preprocessing.StandardScaler() | linear_model.LinearRegression(intercept_lr=0.1)
    for baseline in (linear, dummy.StatisticRegressor(stats.Mean())):
        assert kernel.get() < evaluate.progressive_val_score(dataset, baseline, metrics.MAE()).get()


def test_a_pipeline_learns_and_predicts_frames():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(5, 2, (200, 3)), columns=list("abc"))
    y = pd.Series(X["a"] * 1.0 > X["b"])
    model = preprocessing.StandardScaler() | okl.river.KernelClassifier(scale="none")
    for part in np.array_split(np.arange(200), 10):
        model.learn_many(X.iloc[part], y.iloc[part])
    assert (model.predict_many(X) == y).mean() > 0.9
    assert model.predict_proba_many(X).shape == (200, 2)


MODELS = [
    okl.river.KernelClassifier(loss="softmax", step="smd", terms=50, mu=0.1),
    okl.river.KernelRegressor(loss="huber", sigma=0.5, kernel="matern52"),
    okl.river.NoveltyDetector(nu=0.1, threshold={"tracker": {"speed": 0.05}}),
]


def learn(model, rows=300):
    for x, y in datasets.Phishing().take(rows):
        model.learn_one(x, y) if model._supervised else model.learn_one(x)
    return model


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_a_clone_has_the_parameters_and_not_the_data(model):
    model = learn(model.clone())
    clone = model.clone()
    assert clone._get_params() == model._get_params()
    assert clone.learner.examples == 0
    assert pickle.dumps(clone) == pickle.dumps(type(model)(**model._get_params()))
    assert model.clone({"lam": 0.01}).learner.config["lambda"] == 0.01


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"]
)
def test_a_copy_goes_on_to_the_same_bits(model, duplicate):
    model = learn(model.clone(), rows=100)
    other = duplicate(model)
    assert pickle.dumps(learn(model)) == pickle.dumps(learn(other))
    assert model.learner is not other.learner


def test_settings_of_the_learner_are_forwarded():
    model = okl.river.KernelClassifier(
        kernel="polynomial", degree=2, coef0=0.5, step="smd", mu=0.2, budget="window", terms=7
    )
    config = model.learner.config
    assert config["kernel"] == {"polynomial": {"degree": 2, "gamma": 1.0, "coef0": 0.5}}
    assert config["step"]["smd"]["mu"] == 0.2
    assert config["budget"] == {"window": {"terms": 7}}
    assert "degree=2" in repr(model) or "'degree': 2" in repr(model)


@pytest.mark.parametrize(
    ("kernel", "budget"), [("gaussian", "merge"), ("matern32", "merge"), ("linear", "transfer")]
)
def test_terms_alone_go_to_the_budget_of_the_engine(kernel, budget):
    assert okl.river.KernelRegressor(kernel=kernel, terms=30).learner.config["budget"] == {
        budget: {"terms": 30}
    }
    assert okl.river.KernelRegressor(kernel=kernel, step="decay", eta=0.2).learner.config["step"] == {
        "decay": {"eta": 0.2, "tau": 1000.0}
    }


def test_a_setting_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="gama"):
        okl.river.KernelClassifier(gama=1.0)


def test_ensembles_and_chains_take_them():
    bagged = ensemble.BaggingClassifier(okl.river.KernelClassifier(terms=50), n_models=3, seed=1)
    assert (
        evaluate.progressive_val_score(datasets.Phishing().take(400), bagged, metrics.Accuracy()).get() > 0.8
    )
    chain = multioutput.RegressorChain(okl.river.KernelRegressor(scale="none", gamma=1.0), order=["y", "z"])
    for i in range(500):
        x = 7 * i % 10 / 10
        chain.learn_one({"x": x}, {"y": x, "z": -x})
    assert chain.predict_one({"x": 0.5}) == pytest.approx({"y": 0.5, "z": -0.5}, abs=0.05)


def test_they_are_what_river_takes_them_for():
    assert isinstance(okl.river.KernelClassifier(), base.MiniBatchClassifier)
    assert (
        okl.river.KernelClassifier()._multiclass
        and not okl.river.KernelClassifier(loss="logistic")._multiclass
    )
    assert isinstance(okl.river.KernelRegressor(), base.MiniBatchRegressor)
    assert isinstance(okl.river.NoveltyDetector(), base.AnomalyDetector)
    assert not okl.river.NoveltyDetector()._supervised


def test_the_memory_that_river_reports_is_the_engines():
    model = learn(preprocessing.StandardScaler() | okl.river.KernelClassifier())
    assert model[-1].learner.bytes < model._raw_memory_usage < model[-1].learner.bytes + 50_000


@pytest.mark.parametrize("part", ["_classifier", "_regressor", "_detector"])
def test_examples_in_docstrings(part):
    results = doctest.testmod(importlib.import_module(f"okl.river.{part}"))
    assert results.attempted > 3 and results.failed == 0


def test_with_nothing_set_kernels_and_losses_learn_in_parallel():
    config = okl.river.KernelClassifier().learner.config
    assert config["heads"] == "broad" and config["loss"] == [{"max_margin": {}}, {"softmax": {}}]
    assert okl.river.KernelRegressor().learner.config["heads"] == "broad"
    # Whoever describes a kernel, a step or a tied budget gets one kernel and one loss.
    for given in (
        {"gamma": 0.5},
        {"kernel": "gaussian"},
        {"step": "decay", "eta": 0.2},
        {"loss": "nu_hinge"},
    ):
        config = okl.river.KernelClassifier(**given).learner.config
        assert "heads" not in config or config["heads"] == "grid", given
        assert isinstance(config["loss"], dict) and "gaussian" in config["kernel"], given
    assert okl.river.KernelClassifier(loss="softmax").learner.config["loss"] == {"softmax": {}}
