"""Estimators for scikit-learn: `KernelClassifier`, `KernelRegressor`, `NoveltyDetector`."""

from importlib.util import find_spec

if find_spec("sklearn") is None:
    raise ModuleNotFoundError(
        "okl.sklearn needs scikit-learn, which is not installed: pip install 'okl[sklearn]'", name="sklearn"
    )

from okl._sklearn.classifier import KernelClassifier
from okl._sklearn.detector import NoveltyDetector
from okl._sklearn.regressor import KernelRegressor

__all__ = ["KernelClassifier", "KernelRegressor", "NoveltyDetector"]
