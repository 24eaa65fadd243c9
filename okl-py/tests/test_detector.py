"""NoveltyDetector: the sign of its scores, and an alert rate that is what nu says.

The certificate is exact (algorithms.md 3.5): after T rows that met the threshold,
rate = nu - ln(th_T / th_0) / (speed T).
Measured here, of rows 257 to 20,000 as they came: the rate (its bound) without a change, and with a shift by
10 deviations at row 10,000, of which the last columns show the alerts in the 200 rows after it and the rate
of all 10,000:

    nu      stationary           with a shift         200 rows    10,000 rows
    0.01    0.0099  (0.0008)     0.0099  (0.0012)     13          0.0100
    0.05    0.0500  (0.0009)     0.0500  (0.0020)     27          0.0499
    0.20    0.2000  (0.0012)     0.1999  (0.0026)     72          0.2000
"""

import pickle
import re
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel

from okl._sklearn.detector import away_from_scores
from okl.sklearn import NoveltyDetector

ROWS = 20_000
SPEED = 0.05
WARMUP = 256
CENTRES = np.array([[0.0, 0.0], [5.0, 5.0], [-6.0, 4.0]])


def normal_rows(count, seed=0):
    return make_blobs(count, centers=CENTRES, random_state=seed)[0]


def stream(shift):
    X = normal_rows(ROWS)
    X[ROWS // 2 :] += shift
    return X


def watched(detector, X, pieces=37):
    """The alerts as they came, and the threshold before each piece and at the end."""
    alerts, thresholds = [], []
    for part in np.array_split(X, pieces):
        thresholds.append((sum(map(len, alerts)), getattr(detector, "offset_", 0.0)))
        alerts.append(detector.partial_fit_predict(part) == -1)
    return np.concatenate(alerts), [*thresholds, (len(X), detector.offset_)]


@pytest.mark.parametrize("shift", [0.0, 1.0, 10.0])
@pytest.mark.parametrize("nu", [0.01, 0.05, 0.2])
def test_the_alert_rate_is_what_nu_says(nu, shift):
    detector = NoveltyDetector(nu)
    alerts, _ = watched(detector, stream(shift))
    certificate = detector.alert_rate_
    assert certificate.nu == nu
    assert not alerts[:WARMUP].any()
    rate = alerts[WARMUP:].mean()
    assert rate == pytest.approx(certificate.rate, rel=1e-12)
    assert abs(rate - nu) <= certificate.bound + 1e-9
    # A jump takes the threshold down by a factor of 20 or so and back: that is all the harm the shift has done.
    assert certificate.bound <= np.log(50) / (SPEED * (ROWS - WARMUP))


@pytest.mark.parametrize("shift", [0.0, 10.0])
@pytest.mark.parametrize("nu", [0.01, 0.05, 0.2])
def test_the_certificate_is_exact_for_every_stretch_of_the_stream(nu, shift):
    alerts, thresholds = watched(NoveltyDetector(nu, threshold=f"tracker:{SPEED}"), stream(shift))
    for first, start in thresholds[2::7]:
        for last, end in thresholds[5::7]:
            if last > first > WARMUP:
                rate = alerts[first:last].mean()
                assert rate == pytest.approx(nu - np.log(end / start) / (SPEED * (last - first)), abs=1e-9)


@pytest.mark.parametrize("nu", [0.01, 0.05, 0.2])
def test_a_shift_is_an_alarm_at_once_and_normal_in_the_end(nu):
    alerts, _ = watched(NoveltyDetector(nu), stream(30.0))
    after = alerts[ROWS // 2 :]
    # The fifth row after the shift has at most four rows near, of weight 1/500 each: under 1 % of the rows.
    assert after[:5].all()
    assert abs(after.mean() - nu) < 0.003
    assert abs(after[-5000:].mean() - nu) < 0.3 * nu


def test_nu_has_no_effect_on_the_scores():
    X = normal_rows(2000)
    few, many = (NoveltyDetector(nu, random_state=0) for nu in (0.01, 0.3))
    assert np.array_equal(few.fit(X).score_samples(X), many.fit(X).score_samples(X))
    assert np.array_equal(few._learn_report(X)["scores"], many._learn_report(X)["scores"])
    assert few.alert_rate_.rate < 0.1 < many.alert_rate_.rate


def test_alerts_are_the_rows_of_the_tail():
    X = np.random.default_rng(0).normal(size=(ROWS, 2))
    nu = 0.05
    in_tail = (X**2).sum(axis=1) > -2 * np.log(nu)  # the chi-square tail of two degrees
    alerts = NoveltyDetector(nu).partial_fit_predict(X) == -1
    # Chance is nu; theta itself, the textbook's threshold, finds 0.34 at this step size (algorithms.md 3.5).
    assert in_tail[alerts].mean() > 0.7
    textbook = NoveltyDetector(nu, threshold="norma", average=False).partial_fit_predict(X) == -1
    assert in_tail[alerts].mean() > 2 * in_tail[textbook].mean()


def test_high_scores_are_normal():
    detector = NoveltyDetector(0.05, random_state=0).fit(normal_rows(1000))
    normal, novel = detector.score_samples(CENTRES), detector.score_samples(CENTRES + [0.0, -15.0])
    assert normal.min() > novel.max() >= 0
    assert np.array_equal(detector.predict(CENTRES), [1, 1, 1])
    assert np.array_equal(detector.predict(CENTRES + [0.0, -15.0]), [-1, -1, -1])
    X = normal_rows(100, seed=1)
    assert np.array_equal(detector.decision_function(X), detector.score_samples(X) - detector.offset_)
    assert np.array_equal(detector.predict(X), np.where(detector.decision_function(X) < 0, -1, 1))


@pytest.mark.parametrize("rows", [40, 300, 5000])
@pytest.mark.parametrize("nu", [0.01, 0.05, 0.2])
def test_fit_leaves_a_share_of_nu_below_the_threshold(rows, nu):
    X = normal_rows(rows)
    novel = NoveltyDetector(nu, random_state=0).fit_predict(X) == -1
    assert novel.sum() == int(nu * rows + 1e-9)


def test_fit_counts_shares_by_weight():
    X = normal_rows(400)
    weights = np.where(X[:, 0] < 0, 3.0, 1.0)
    detector = NoveltyDetector(0.1, random_state=0).fit(X, sample_weight=weights)
    share = weights[detector.predict(X) == -1].sum() / weights.sum()
    assert 0.1 - 3 / weights.sum() <= share <= 0.1
    with pytest.raises(ValueError, match="zero for every row"):
        NoveltyDetector().fit(X, sample_weight=np.zeros(400))


def test_unseen_rows_are_novel_at_the_rate_of_nu():
    detector = NoveltyDetector(0.1, random_state=0).fit(normal_rows(5000))
    assert abs((detector.predict(normal_rows(5000, seed=1)) == -1).mean() - 0.1) < 0.02


@pytest.mark.parametrize(("rows", "features"), [(100, 2), (300, 10), (500, 40), (2000, 60)])
def test_fit_says_where_new_rows_are_novel_far_more_often(rows, features):
    """The score of a learned row contains the row itself. Measured for nu = 0.05: 17 %, 18 %, 53 % and 17 % of new rows."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(rows, features)), rng.normal(size=(4000, features))
    with pytest.warns(UserWarning, match=r"will be alerts, and not nu = 0.05: .* of its own") as warned:
        detector = NoveltyDetector(0.05, random_state=0).fit(X)
    said = float(re.match(r"of new rows about (\d+)%", str(warned[0].message))[1]) / 100
    assert abs((detector.predict(new) == -1).mean() - said) < 0.1
    assert ("learn with partial_fit" in str(warned[0].message)) == (rows > WARMUP)
    if rows > WARMUP:
        stream = NoveltyDetector(0.05).partial_fit(X)
        assert abs((stream.predict(new) == -1).mean() - 0.05) < 0.04


@pytest.mark.parametrize(
    "given",
    [
        {"budget": None},
        {"budget": "merge:500"},
        {"max_iter": 2},
        {"threshold": "norma"},
        {"budget": "window:70"},
    ],
    ids=str,
)
def test_fit_says_so_whatever_the_budget_and_the_passes(given):
    """Measured for nu = 0.05: 37, 37, 37, 25 and 34 % of new rows. With terms that were merged, `fit` cannot tell."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(60 if "budget" not in given else 80, 5)), rng.normal(size=(8000, 5))
    with pytest.warns(UserWarning, match=r"of new rows about \d+%") as warned:
        detector = NoveltyDetector(0.05, random_state=0, **given).fit(X)
    said = float(re.match(r"of new rows about (\d+)%", str(warned[0].message))[1]) / 100
    assert abs((detector.predict(new) == -1).mean() - said) < 0.12


@pytest.mark.parametrize("make", ["die", "bits", "constant"])
def test_fit_says_nothing_of_rows_that_come_again(make):
    """A new row has the score of the learned rows that equal it, and is no alert."""
    rng = np.random.default_rng(5)
    draw = {
        "die": lambda rows: rng.integers(1, 7, (rows, 1)) * 1.0,
        "bits": lambda rows: rng.integers(0, 2, (rows, 3)) * 1.0,
        "constant": lambda rows: np.ones((rows, 2)),
    }[make]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        detector = NoveltyDetector(random_state=0).fit(draw(300))
    assert (detector.predict(draw(2000)) == 1).all()


def test_fit_says_nothing_where_new_rows_are_novel_at_the_rate_of_nu():
    X = normal_rows(5000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NoveltyDetector(0.05, random_state=0).fit(X)
        NoveltyDetector(0.05, random_state=0, budget=100).fit(X[:1000])
        NoveltyDetector(0.05, random_state=0).fit(X[:1000], sample_weight=np.tile([0.5, 1.5], 500))
        NoveltyDetector(0.05, random_state=0).fit(X[:1])


def test_with_a_width_that_suits_it_tells_novelty_as_well_as_a_forest():
    rng = np.random.default_rng(0)
    X = np.r_[normal_rows(1000, seed=1), rng.uniform(-12, 12, size=(1000, 2))]
    normal = np.repeat([1, 0], 1000)
    detector = NoveltyDetector(gamma=2.0, random_state=0).fit(normal_rows(2000))
    forest = IsolationForest(random_state=0).fit(normal_rows(2000))
    assert (
        roc_auc_score(normal, detector.score_samples(X))
        > roc_auc_score(normal, forest.score_samples(X)) - 0.01
    )


def test_partial_fit_goes_on_from_fit_with_the_threshold_of_the_stream():
    detector = NoveltyDetector(0.05, random_state=0).fit(normal_rows(2000))
    assert detector.alert_rate_ is not None
    alerts = detector.partial_fit_predict(normal_rows(5000, seed=1)) == -1
    assert abs(alerts.mean() - 0.05) < 0.01
    assert detector.offset_ == detector.learner_.threshold


def test_no_alerts_before_there_is_a_threshold():
    X = normal_rows(600)
    detector = NoveltyDetector(0.05).partial_fit(X[:255])
    assert detector.offset_ == 0.0
    assert detector.alert_rate_ is None
    assert (detector.predict(X) == 1).all()
    detector.partial_fit(X[255:256])
    assert detector.offset_ > 0
    assert detector.alert_rate_ is None
    detector.partial_fit(X[256:257])
    assert detector.alert_rate_ is not None


def test_scores_are_the_kernel_sum_over_support_vectors():
    X = normal_rows(500)
    detector = NoveltyDetector(0.1, gamma=0.4, random_state=0).fit(X)
    shift, factor = detector.learner_.frame
    gram = rbf_kernel((X - shift) * factor, (detector.support_vectors_ - shift) * factor, gamma=0.4)
    assert detector.dual_coef_.shape == (1, detector.learner_.terms)
    assert np.allclose(gram @ detector.dual_coef_[0], detector.score_samples(X), atol=1e-6)


def test_pickles_keep_the_threshold():
    X = normal_rows(300)
    for model in (NoveltyDetector(random_state=0).fit(X), NoveltyDetector().partial_fit(X)):
        copy = pickle.loads(pickle.dumps(model))
        assert copy.offset_ == model.offset_
        assert np.array_equal(copy.predict(X), model.predict(X))


def test_nothing_is_known_before_fit():
    detector = clone(NoveltyDetector())
    for method in ("predict", "decision_function", "score_samples"):
        with pytest.raises(NotFittedError):
            getattr(detector, method)([[0.0, 0.0]])
    for attribute in ("offset_", "alert_rate_", "support_vectors_", "dual_coef_"):
        assert not hasattr(detector, attribute)


def test_an_exported_detector_of_a_set_raises_the_same_alerts():
    """No row's score is so near to the threshold that the rounding of another runtime decides."""
    onnxruntime = pytest.importorskip("onnxruntime")
    for seed in range(6):
        X = np.random.default_rng(seed).normal(size=(300, 3))
        detector = NoveltyDetector(0.05, random_state=seed, max_iter=5).fit(X)
        session = onnxruntime.InferenceSession(detector.to_onnx())
        (novel,) = session.run(["novel"], {"x": X})
        assert np.array_equal(novel.ravel() == 1, detector.predict(X) == -1)
        assert (detector.predict(X) == -1).sum() == 15
        assert np.abs(detector.decision_function(X)).min() > 1e-7


def test_a_threshold_stays_between_the_same_scores():
    scores = np.array([3.0, 1.0, 2.0, 2.0])
    assert away_from_scores(2.0, scores) == 1.5
    assert away_from_scores(1.0, scores) == 1.0, "nothing is below"
    near = np.array([1.0, np.nextafter(1.0, 2.0)])
    assert away_from_scores(near[1], near) == near[1], "there is no number between them"


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_a_kernel_that_is_no_kernel_of_distance_is_warned_of(kernel):
    rows = np.random.default_rng(0).normal(size=(60, 2))
    for learn in ("fit", "partial_fit"):
        with pytest.warns(UserWarning, match="far away can look normal; use a kernel of distance") as warned:
            getattr(NoveltyDetector(kernel=kernel), learn)(rows)
        assert sum("far away" in str(each.message) for each in warned) == 1


def test_scores_are_within_the_bounds_that_are_stated():
    """Equal rows have the largest score: 1, or the weight / alpha."""
    X = np.ones((3000, 2))
    for weight, alpha in ((1.0, "auto"), (3.0, "auto"), (0.5, "auto"), (1.0, 0.5), (3.0, 2.0)):
        detector = NoveltyDetector(0.1, alpha=alpha, budget=None).partial_fit(
            X, sample_weight=np.full(3000, weight)
        )
        most = weight / (1.0 if alpha == "auto" else alpha)
        [score] = detector.score_samples(X[:1])
        assert 0.9 * most < score <= most * (1 + 1e-6)
        assert detector.score_samples([[50.0, 50.0]]) >= 0
    said = " ".join(NoveltyDetector.__doc__.split())
    assert "between 0 and 1 without weights, and between 0 and the largest weight / `alpha` otherwise" in said


@pytest.mark.parametrize("average", ["auto", True])
def test_alerts_of_a_stream_are_those_of_predict_with_either_threshold(average):
    """Under `norma` theta follows the last hypothesis; what is counted is the alert of the score that is shown."""
    X = np.random.default_rng(5).normal(size=(2500, 2))
    for threshold in ("norma", "tracker"):
        detector = NoveltyDetector(nu=0.1, threshold=threshold, average=average).partial_fit(X[:1000])
        before = detector.alert_rate_.rate * 1000 if threshold == "norma" else None
        said, counted = [], []
        for row in X[1000:]:
            said.append(detector.predict(row[None])[0])
            counted.append(detector.partial_fit_predict(row[None])[0])
        assert said == counted and -1 in said
        rate = detector.alert_rate_
        assert abs(rate.rate - rate.nu) <= rate.bound
        if threshold == "norma":
            assert rate.rate * 2500 == pytest.approx(before + counted.count(-1))
        if average == "auto":
            assert abs(counted.count(-1) / len(counted) - 0.1) < 0.03
