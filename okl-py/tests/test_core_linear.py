"""Linear functions that learn beside the terms of ``kernel="auto"``."""

import numpy as np

import okl


def test_linear_weights_are_the_slope_far_from_all_rows() -> None:
    """Kernels clip both rows at 8 deviations and see the same row: what differs is linear."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 3)) * [1.0, 10.0, 100.0]
    y = X @ [1.0, 0.2, 0.01] + 0.1 * rng.normal(size=1500)
    m = okl.Learner(loss="squared", kernel="auto", offset=True)
    m.learn(X, y)
    weights, (_, factor) = m.linear_weights, m.frame
    assert weights is not None and weights.shape == (3, 1)
    near, far = np.array([[20.0, 0.0, 0.0]]), np.array([[30.0, 0.0, 0.0]])
    assert 8 < 20 * factor[0] < 30 * factor[0] < 60
    slope = m.predict(far)[0] - m.predict(near)[0]
    np.testing.assert_allclose(slope, 10 * factor[0] * weights[0, 0], rtol=1e-5)
    assert abs(slope - 10) < 2 and "+linear" in repr(m)


def test_other_learners_have_none() -> None:
    m = okl.Learner(loss="squared", kernel="auto", heads="weighted")
    m.learn(np.arange(40.0).reshape(20, 2), np.arange(20.0))
    assert m.linear_weights is None and "linear" not in repr(m)
    assert okl.Learner(loss="squared").linear_weights is None
