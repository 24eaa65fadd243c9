"""Estimators for scikit-learn: `KernelClassifier`, `KernelRegressor`, `NoveltyDetector`."""

from okl._sklearn.classifier import KernelClassifier
from okl._sklearn.detector import NoveltyDetector
from okl._sklearn.regressor import KernelRegressor

__all__ = ["KernelClassifier", "KernelRegressor", "NoveltyDetector"]
