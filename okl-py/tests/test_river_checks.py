"""River's own conformance checks, every one of them."""

import random

import pytest
from river import checks, datasets, utils
from river.checks import common

import okl.river

ESTIMATORS = [
    estimator(**params)
    for estimator in (okl.river.KernelClassifier, okl.river.KernelRegressor, okl.river.NoveltyDetector)
    for params in estimator._unit_test_params()
]


class Transactions:
    """In place of River's CreditCard, which would be downloaded: 30 features, and rare rows elsewhere."""

    def take(self, rows):
        rng = random.Random(5)
        for _ in range(rows):
            fraud = rng.random() < 0.02
            yield {f"V{i}": rng.gauss(3.0 * fraud, 1.0) for i in range(30)}, int(fraud)


@pytest.fixture(autouse=True)
def nothing_is_downloaded(monkeypatch):
    monkeypatch.setattr(datasets, "CreditCard", Transactions)


def name(model):
    return f"{type(model).__name__}-{model.loss}"


@pytest.mark.parametrize("model", ESTIMATORS, ids=name)
def test_check_estimator(model):
    assert model._unit_test_skips() == set()
    checks.check_estimator(model)


@pytest.mark.parametrize("model", ESTIMATORS, ids=name)
def test_checks_that_need_pandas_are_not_left_out(model):
    assert utils.pandas.PANDAS_INSTALLED
    run = {check.__name__ for check in checks.yield_checks(model)}
    expected = {"check_learn_one", "check_emerging_features", "check_pickling", "check_bounded_memory_growth"}
    if isinstance(model, okl.river.NoveltyDetector):
        expected |= {"check_roc_auc"}
    else:
        expected |= {"check_learn_many_matches_learn_one", "check_predict_many_matches_predict_one"}
    assert expected <= run


def test_the_detector_learns_frames_as_rows():
    """River runs this check for classifiers, regressors and transformers only."""
    for dataset in (Transactions().take(100), datasets.Phishing().take(100)):
        common.check_learn_many_matches_learn_one(okl.river.NoveltyDetector(), dataset)
