"""Out of the box the estimators are as good as batch kernel machines, and better than linear ones."""

from functools import cache

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_circles,
    make_friedman1,
    make_moons,
)
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from okl.sklearn import KernelClassifier, KernelRegressor

SETS = {
    "digits": tuple(values[::5] for values in load_digits(return_X_y=True)),
    "iris": load_iris(return_X_y=True),
    "breast cancer": load_breast_cancer(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "moons": make_moons(600, noise=0.25, random_state=0),
    "circles": make_circles(600, noise=0.1, factor=0.5, random_state=0),
}


def accuracy(model, name):
    return cross_val_score(model, *SETS[name], cv=StratifiedKFold(3, shuffle=True, random_state=0)).mean()


@cache
def accuracy_of_okl(name):
    return accuracy(KernelClassifier(random_state=0), name)


@pytest.mark.parametrize("name", SETS)
def test_classification_is_within_two_points_of_a_support_vector_machine(name):
    svc = make_pipeline(StandardScaler(), SVC())
    assert accuracy_of_okl(name) > accuracy(svc, name) - 0.02


@pytest.mark.parametrize("name", ["digits", "moons", "circles"])
def test_classification_beats_a_linear_machine(name):
    sgd = make_pipeline(StandardScaler(), SGDClassifier(random_state=0))
    assert accuracy_of_okl(name) > accuracy(sgd, name) + 0.02


def test_a_tenth_of_the_terms_is_nearly_as_good():
    """A fold learns 400 rows."""
    few = KernelClassifier(budget=40, random_state=0)
    assert accuracy(few, "moons") > accuracy_of_okl("moons") - 0.03


@pytest.mark.parametrize(
    ("X", "y"),
    [load_diabetes(return_X_y=True), make_friedman1(600, noise=1.0, random_state=0)],
    ids=["diabetes", "friedman"],
)
def test_regression_is_as_good_as_support_vectors(X, y):
    def r2(model):
        return cross_val_score(model, X, y, cv=KFold(3, shuffle=True, random_state=0)).mean()

    svr = TransformedTargetRegressor(make_pipeline(StandardScaler(), SVR()), transformer=StandardScaler())
    assert r2(KernelRegressor(random_state=0)) > r2(svr) - 0.02


def test_raw_columns_of_any_unit():
    X, y = load_wine(return_X_y=True)
    units = 10.0 ** np.arange(-6, 7)
    assert cross_val_score(KernelClassifier(random_state=0), X * units, y, cv=3).mean() > 0.93


def test_a_stream_that_turns_around_is_relearned():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 2))
    y = (X[:, 0] * X[:, 1] > 0) ^ (np.arange(6000) >= 3000)
    model = KernelClassifier()
    wrong = np.concatenate(
        [
            model._learn_report(X[i : i + 50], y[i : i + 50], classes=[False, True])["wrong"]
            for i in range(0, 6000, 50)
        ]
    )
    before, turned, after = wrong[2000:3000].mean(), wrong[3000:3050].mean(), wrong[5000:].mean()
    assert before < 0.05
    assert turned > 0.5
    assert after < 0.05
