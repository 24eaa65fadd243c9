"""What the tests of the core share."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import okl


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261115)


@pytest.fixture
def command_line() -> list[str]:
    """The command `okl`: the binary that the environment names, or the one in the package."""
    path = os.environ.get("OKL_BIN")
    return [str(Path(path).resolve())] if path else [sys.executable, "-m", "okl"]


@pytest.fixture
def regressor() -> okl.Learner:
    return okl.Learner(
        loss="squared", kernel="gaussian", gamma=0.7, step="constant", eta=0.3, lam=1e-3, budget="unlimited"
    )


@pytest.fixture
def circle(rng: np.random.Generator) -> tuple[Any, Any]:
    """Two classes, -1 inside the unit circle and +1 outside."""
    X = rng.normal(size=(400, 2))
    return X, np.where((X**2).sum(axis=1) > 1.0, 1.0, -1.0)
