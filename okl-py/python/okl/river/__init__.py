"""okl's learners as River estimators.

`KernelClassifier`, `KernelRegressor` and `NoveltyDetector` take dictionaries, whose features may differ from row to
row, and data frames (`learn_many`). Learning a frame gives the same model as learning its rows one by one, to the
last bit.
"""

from okl.river._classifier import KernelClassifier
from okl.river._detector import NoveltyDetector
from okl.river._regressor import KernelRegressor

__all__ = ["KernelClassifier", "KernelRegressor", "NoveltyDetector"]
