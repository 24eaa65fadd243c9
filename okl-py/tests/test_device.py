"""The device is a matter of speed: it is not saved, no bit depends on it, and a device that is not there is refused."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import okl


def learner() -> okl.Learner:
    return okl.Learner(
        loss="squared", kernel="gaussian:1", step="constant:0.1", budget="unlimited", scale="none"
    )


def test_a_device_that_is_not_there_is_refused_and_changes_nothing() -> None:
    m = learner()
    for name in ("gpu", "cuda:", "cuda:one", "CUDA"):
        with pytest.raises(ValueError, match=r"device: .* is no device: cpu, cuda, or cuda:N"):
            m.device = name
    with pytest.raises(ValueError, match="device: there is no (NVIDIA driver|card number 4711)"):
        m.device = "cuda:4711"
    assert m.device == "cpu"
    m.device = "cpu"
    assert m.device == "cpu"


def test_a_card_gives_the_bits_of_the_processor(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(6000, 40)), rng.normal(size=6000)
    here, there = learner(), learner()
    try:
        there.device = "cuda"
    except ValueError as reason:
        pytest.skip(str(reason))
    scores = here.learn(X, y), there.learn(X, y)
    assert np.array_equal(*scores) and here.to_bytes() == there.to_bytes()
    assert np.array_equal(here.predict(X), there.predict(X))
    others = [copy.copy(there), pickle.loads(pickle.dumps(there)), there.freeze()]
    assert there.device == "cuda" and {other.device for other in others} == {"cpu"}
    with pytest.warns(okl.HealthWarning, match=r"did not do all of the work, the processor did: .*budget"):
        m = okl.Learner(loss="squared", kernel="gaussian:1", budget="merge:100", scale="none")
        m.device = "cuda:0"
