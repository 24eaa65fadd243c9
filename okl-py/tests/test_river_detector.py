"""The detector: the sign of its score, its rate of alerts, River's filters around it."""

import pickle
import random

import numpy as np
import pandas as pd
import pytest
from river import anomaly, datasets, evaluate, metrics, preprocessing

import okl
import okl.river


def rows(count, seed=4, shift=0.0):
    rng = random.Random(seed)
    return [{"a": rng.gauss(shift, 1), "b": rng.gauss(-shift, 2)} for _ in range(count)]


def learned(count=1000, **settings):
    detector = okl.river.NoveltyDetector(**settings)
    for x in rows(count):
        detector.learn_one(x)
    return detector


def test_the_score_is_threshold_over_threshold_and_score():
    detector = learned(nu=0.05)
    threshold = detector.learner.threshold
    for x in rows(50, seed=9):
        [score] = detector.learner.predict(np.array([[x["a"], x["b"]]]))
        assert detector.score_one(x) == pytest.approx(threshold / (threshold + score), rel=1e-12)
        assert detector.is_novel_one(x) == (score < threshold) == (detector.score_one(x) > 0.5)
    assert 0.99 < detector.score_one({"a": 1e6}) <= 1.0


@pytest.mark.parametrize("shift", [3.0, 0.0], ids=["threshold above 0", "threshold below 0"])
def test_scores_of_either_sign(shift):
    """A linear kernel has them: scores are not negative, alerts are above 0.5, and the order is kept."""
    detector = okl.river.NoveltyDetector(kernel="linear", scale="none", warmup=20)
    rng = random.Random(3)
    for _ in range(500):
        detector.learn_one({"a": rng.gauss(shift, 1.0)})
    assert (detector.learner.threshold > 0) == (shift > 0)
    places = [{"a": a / 4} for a in range(-40, 41)]
    scores = [detector.score_one(x) for x in places]
    assert min(scores) >= 0.0
    assert [score > 0.5 for score in scores] == [detector.is_novel_one(x) for x in places]
    assert len({score > 0.5 for score in scores}) == 2
    by_score = sorted(places, key=detector.score_one)
    assert by_score in (places, places[::-1])


def test_what_is_far_is_more_novel():
    detector = learned()
    near, edge, far = ({"a": a, "b": 0.0} for a in (0.0, 3.0, 9.0))
    assert detector.score_one(near) < detector.score_one(edge) < detector.score_one(far)
    assert detector.is_novel_one(far) and not detector.is_novel_one(near)


@pytest.mark.parametrize("nu", [0.01, 0.05, 0.2])
def test_alerts_come_at_the_rate_that_was_asked_for(nu):
    """Counted from outside: by the flag before each row is learned."""
    detector = okl.river.NoveltyDetector(nu=nu)
    stream = rows(1000) + rows(3000, seed=5, shift=2.0) + rows(2000, seed=6, shift=-1.0)
    flags = []
    for x in stream:
        flags.append(detector.is_novel_one(x))
        detector.learn_one(x)
    rate = detector.alert_rate
    met = len(stream) - detector.warmup
    assert rate.nu == nu
    assert rate.rate == pytest.approx(sum(flags) / met, abs=1e-12)
    assert abs(rate.rate - nu) <= rate.bound * (1 + 1e-9)
    assert abs(rate.rate - nu) < 0.3 * nu


def test_nothing_is_an_alert_while_the_threshold_is_not_known():
    detector = okl.river.NoveltyDetector(warmup=50)
    assert detector.alert_rate is None
    for x in rows(50):
        assert not detector.is_novel_one(x) and detector.score_one(x) == 0.0
        detector.learn_one(x)
    assert detector.learner.threshold is not None
    assert detector.score_one({"a": 50.0, "b": 50.0}) > 0.5


def test_frames_are_rows_one_by_one():
    one, many = learned(600), okl.river.NoveltyDetector()
    for part in np.array_split(np.arange(600), [1, 100, 300, 301]):
        many.learn_many(pd.DataFrame(rows(600)).iloc[part])
    assert pickle.dumps(one) == pickle.dumps(many)
    fresh = rows(20, seed=8)
    scores = many.score_many(pd.DataFrame(fresh, index=range(20, 40)))
    assert scores.tolist() == [one.score_one(x) for x in fresh]
    assert scores.index.tolist() == list(range(20, 40))


@pytest.mark.parametrize(
    "given", [{"loss": "novelty", "margin": 0.5}, {"loss": "novelty:0.5", "threshold": "norma"}]
)
def test_a_fixed_margin(given):
    detector = okl.river.NoveltyDetector(nu=None, gamma=0.5, scale="none", **given)
    assert detector.clone().learner.config == detector.learner.config
    for x in rows(500):
        detector.learn_one(x)
    assert detector.alert_rate is None
    assert detector.learner.threshold == 0.5
    assert detector.is_novel_one({"a": 50.0}) and not detector.is_novel_one({"a": 0.0, "b": 0.0})


def stream_with_faults():
    rng = random.Random(11)
    for x in rows(1500, seed=12):
        fault = rng.random() < 0.03
        yield (
            {name: value + fault * rng.choice((-1, 1)) * rng.uniform(6, 30) for name, value in x.items()},
            fault,
        )


def alerts(model, classify):
    """Of the last thousand rows: faults, faults that were caught, false alarms."""
    found = []
    for x, fault in stream_with_faults():
        found.append((fault, classify(model.score_one(x))))
        model.learn_one(x)
    last = found[500:]
    return (
        sum(fault for fault, _ in last),
        sum(fault and alert for fault, alert in last),
        sum(alert and not fault for fault, alert in last),
    )


def test_rivers_threshold_filter():
    """It keeps the extremes from the detector."""
    model = anomaly.ThresholdFilter(okl.river.NoveltyDetector(nu=0.05), threshold=2 / 3)
    faults, caught, false_alarms = alerts(model, model.classify)
    assert caught > 0.9 * faults
    assert false_alarms < 0.05 * 1000


def test_rivers_quantile_filter_in_a_pipeline():
    filter = anomaly.QuantileFilter(
        okl.river.NoveltyDetector(scale="none"), q=0.96, protect_anomaly_detector=False
    )
    model = preprocessing.StandardScaler() | filter
    faults, caught, false_alarms = alerts(model, filter.classify)
    assert caught > 0.9 * faults
    assert false_alarms < 0.05 * 1000


def test_progressive_validation():
    auc = evaluate.progressive_val_score(
        stream_with_faults(), okl.river.NoveltyDetector(), metrics.RollingROCAUC(window_size=1000)
    )
    assert auc.get() > 0.95


@pytest.mark.parametrize(
    "keep_out",
    [
        lambda detector: anomaly.QuantileFilter(detector, q=0.98),
        lambda detector: anomaly.ThresholdFilter(detector, threshold=0.9),
    ],
    ids=["quantile", "threshold"],
)
def test_a_filter_keeps_few_rows_from_the_classifier_after_it(keep_out):
    def accuracy(model):
        return evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy()).get()

    scaled = preprocessing.MinMaxScaler()
    plain = accuracy(scaled.clone() | okl.river.KernelClassifier())
    filtered = accuracy(scaled | keep_out(okl.river.NoveltyDetector()) | okl.river.KernelClassifier())
    assert plain > 0.85
    assert filtered > plain - 0.02


@pytest.mark.parametrize("loss", ["density:0.2", {"density": {"nu": 0.2}}, {"nu_novelty": {"nu": 0.2}}])
def test_a_loss_with_another_nu_is_refused(loss):
    """It was replaced by the nu of the detector, 0.05 if none was given."""
    for settings in [{}, {"nu": 0.1}]:
        with pytest.raises(
            ValueError, match=r"has nu = 0\.2, but the nu of the detector is 0\.(05|1); give nu=0\.2"
        ):
            okl.river.NoveltyDetector(loss=loss, **settings)
    for nu in [0.2, None]:
        (found,) = okl.river.NoveltyDetector(loss=loss, nu=nu).learner.config["loss"].values()
        assert found["nu"] == 0.2
    (found,) = okl.river.NoveltyDetector(loss="nu_novelty", nu=0.2).learner.config["loss"].values()
    assert found["nu"] == 0.2
