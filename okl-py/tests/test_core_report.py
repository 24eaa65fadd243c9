"""What `learn_report` says of every row, held against a computation of its own."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import okl


@pytest.mark.parametrize("bank", [False, True])
@pytest.mark.parametrize(
    "loss", ["hinge:margin=0.5", "perceptron", "epsilon:0.2", "huber:0.3", "squared", "logistic"]
)
def test_outside_is_a_margin_error_or_beyond_the_tube(
    loss: str, bank: bool, rng: np.random.Generator
) -> None:
    X = rng.normal(size=(300, 2))
    y = np.sign(X[:, 0]) if loss.startswith(("hinge", "perceptron", "logistic")) else X[:, 0]
    settings: dict[str, Any] = {} if bank else {"step": "constant:0.2", "lam": 1e-3, "average": "none"}
    report = okl.Learner(loss=loss, kernel="gaussian:1", **settings).learn_report(X, y)
    z, name = report["scores"], loss.partition(":")[0]
    expected = {
        "hinge": y * z < 0.5,
        "perceptron": y * z <= 0,
        "epsilon": np.abs(y - z) > 0.2,
        "huber": np.abs(y - z) > 0.3,
    }.get(name, np.zeros(300, bool))
    assert (report["outside"] == expected).all()
    assert expected.any() == (name not in ("squared", "logistic")) and not expected.all()


@pytest.mark.parametrize("threshold", ["tracker", "norma"])
def test_a_row_that_is_only_predicted_is_judged_by_the_threshold(
    threshold: str, rng: np.random.Generator
) -> None:
    m = okl.Learner(
        loss="nu_novelty:0.1", kernel="gaussian:1", step="constant:0.1", lam=0.1, threshold=threshold
    )
    m.learn(rng.normal(size=(2000, 2)) * 0.3)
    before, limit = m.to_bytes(), m.threshold
    rows = np.array([[0.0, 0.0], [9.0, 9.0]])
    for way in ({"weights": [0.0, 0.0]}, {"known": [False, False]}):
        report = m.learn_report(rows, **way)
        assert report["outside"].tolist() == [False, True]
        assert report["threshold"].tolist() == [limit, limit] and np.isnan(report["loss"]).all()
        assert (report["outside"] == (m.predict(rows) < limit)).all()
    assert m.to_bytes() == before


def test_the_detector_judges_rows_of_weight_0(rng: np.random.Generator) -> None:
    pytest.importorskip("sklearn")
    detector = okl.NoveltyDetector(nu=0.05).partial_fit(rng.normal(size=(1000, 2)))
    rows = [[0.0, 0.0], [50.0, 50.0]]
    assert detector.partial_fit_predict(rows, sample_weight=[0.0, 0.0]).tolist() == [1, -1]


def test_clipping_is_said_on_a_short_stream(rng: np.random.Generator) -> None:
    """Quiet for 300 rows, then fifty times as far, and over after 744 rows."""
    x = np.r_[rng.uniform(0, 1, 300), rng.uniform(0, 50, 444)]
    m = okl.Learner(loss="squared", scale="standard")
    with pytest.warns(okl.HealthWarning, match="compare the error with that of a model without the column"):
        m.learn(x.reshape(-1, 1), np.sin(x / 5))
    assert len(m.health()["findings"]) == 1


def test_the_positive_class_is_told_for_every_row(rng: np.random.Generator) -> None:
    """Class a comes first, alone; b sorts after it, and takes the positive sign over at row 2."""
    X = rng.normal(size=(6, 2))
    y = np.array(["a", "a", "b", "a", "b", "b"])
    m = okl.Learner(loss="hinge", kernel="gaussian:1")
    with pytest.warns(
        okl.HealthWarning,
        match="first 2 rows of this call are positive for class 'a', later ones for class 'b'",
    ):
        report = m.learn_report(X, y)
    assert report["positive"].tolist() == ["a", "a", "b", "b", "b", "b"]
    with pytest.warns(okl.HealthWarning, match="give classes="):
        okl.Learner(loss="hinge", kernel="gaussian:1").learn(X, y)
    given = okl.Learner(loss="hinge", kernel="gaussian:1", classes=["a", "b"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert given.learn_report(X, y)["positive"].tolist() == ["b"] * 6
        numbers = okl.Learner(loss="hinge", kernel="gaussian:1").learn_report(X, np.where(y == "a", -1, 1))
    assert numbers["positive"].tolist() == [None] * 6


def test_signs_are_warned_of_where_a_score_has_one(rng: np.random.Generator) -> None:
    """The first score is 0, which has no sign: nothing that was returned has changed its meaning."""
    X = rng.normal(size=(6, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = okl.Learner(loss="hinge", kernel="gaussian:1").learn_report(X, list("ababab"))
        assert report["scores"][0] == 0 and report["positive"].tolist() == list("abbbbb")
        one_by_one = okl.Learner(loss="hinge", kernel="gaussian:1")
        for x, y in zip(X, "ababab"):
            one_by_one.learn(x[None], [y])
    with pytest.warns(okl.HealthWarning, match=r"give classes=\[False, True\]"):
        okl.Learner(loss="hinge", kernel="gaussian:1").learn(X, [False, False, True, True, False, True])


@pytest.mark.parametrize(
    "cut, earlier",
    [(3, "earlier calls"), (2, "earlier calls and of the first 1 rows of this call")],
)
def test_signs_that_change_in_a_later_call_are_warned_of(
    rng: np.random.Generator, cut: int, earlier: str
) -> None:
    """Positive scores of the first call mean a. From row 3 on they mean b."""
    X, y = rng.normal(size=(6, 2)), list("aaabab")
    m = okl.Learner(loss="hinge", kernel="gaussian:1")
    m.learn(X[:cut], y[:cut])
    assert m.positive_class == "a"
    with pytest.warns(
        okl.HealthWarning, match=f"^scores of {earlier} are positive for class 'a', later ones for"
    ):
        m.learn(X[cut:], y[cut:])
    assert m.positive_class == "b"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m.learn(X, y)


def test_a_classifier_that_discovers_classes_does_not_warn_of_signs(rng: np.random.Generator) -> None:
    pytest.importorskip("sklearn")
    X = rng.normal(size=(40, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = okl.KernelClassifier().partial_fit(X, np.where(np.arange(40) < 20, "a", "b"))
        okl.KernelClassifier().partial_fit(X[:20], ["a"] * 20).partial_fit(X[20:], ["b"] * 20)
    assert model.classes_.tolist() == ["a", "b"]


def test_the_alert_rate_is_the_share_of_alerts_reported(rng: np.random.Generator) -> None:
    """Rows of the warm-up are learned again, and some are decided otherwise: what was reported counts."""
    m = okl.Learner(loss="nu_novelty:0.05", warmup=64)
    outside = [m.learn_report(part)["outside"] for part in np.split(rng.normal(size=(400, 2)), [10, 100])]
    rate = m.alert_rate
    assert rate is not None and rate.rate == np.concatenate(outside).mean()
    assert abs(rate.rate - 0.05) <= rate.bound
