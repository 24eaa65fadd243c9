"""scikit-learn's own checks, on the defaults and on other losses, kernels and rules."""

import pytest

pytest.importorskip("sklearn")

from sklearn.utils.estimator_checks import parametrize_with_checks

from okl.sklearn import KernelClassifier, KernelRegressor, NoveltyDetector

ESTIMATORS = [
    KernelClassifier(),
    KernelClassifier(loss="log_loss", gamma="scale", budget=None),
    KernelClassifier(loss="max_margin", kernel="poly", learning_rate="optimal", average=False),
    KernelRegressor(),
    KernelRegressor(loss="epsilon_insensitive", kernel="laplacian", learning_rate="invscaling", budget=150),
    KernelRegressor(loss="nu_huber", learning_rate="adaptive", scale=None, max_iter=20),
    NoveltyDetector(),
    NoveltyDetector(kernel="matern52", threshold="norma", budget="window:100"),
]

EXPECTED = {
    f"check_sample_weight_equivalence_on_{kind}_data": "weight 2 is one step of twice the size, not two steps"
    for kind in ("dense", "sparse")
}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda estimator: EXPECTED)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
