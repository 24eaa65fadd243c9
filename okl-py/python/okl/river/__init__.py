"""okl's learners as River estimators.

`KernelClassifier`, `KernelRegressor` and `NoveltyDetector` take dictionaries whose features come and go, and
frames with `learn_many`: learning a frame is learning its rows one by one, to the last bit.
"""

from okl.river._classifier import KernelClassifier
from okl.river._detector import NoveltyDetector
from okl.river._regressor import KernelRegressor

__all__ = ["KernelClassifier", "KernelRegressor", "NoveltyDetector"]
