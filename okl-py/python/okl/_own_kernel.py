"""Kernels of the caller, which only `okl.Learner` takes."""

from collections.abc import Mapping
from typing import Any


def refuse_own_kernel(kernel: Any) -> None:
    """Refuses a function and "precomputed" where rows are numbers."""
    named = (
        kernel if isinstance(kernel, str) else next(iter(kernel), "") if isinstance(kernel, Mapping) else ""
    )
    if callable(kernel) or named == "precomputed":
        found = "a function" if callable(kernel) else repr(kernel)
        raise ValueError(
            f"kernel: found {found}, but this estimator takes rows of numbers and computes its kernel itself; for kernel values of "
            "your own use okl.Learner(kernel=...)"
        )
