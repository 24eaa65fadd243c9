"""What `fit` chooses on a fixed set where nothing is given, what it keeps, what it costs, and when it warns."""

import pickle
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from okl._okl import Learner, learner_in_units
from okl._sklearn import base, search
from okl._sklearn.search import Candidate, automatic_terms, calibrated_loss, folds, spread
from okl.sklearn import KernelClassifier, KernelRegressor


def waves(rows, noise, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(rows, 1))
    return X, np.sin(2 * X[:, 0]) + noise * rng.normal(size=rows)


def alpha(rows, noise):
    return (
        KernelRegressor(kernel="rbf", gamma=1.0, random_state=0)
        .fit(*waves(rows, noise))
        .learner_.config["lambda"]
    )


def test_the_regulariser_follows_noise_and_number_of_rows():
    """At a given noise C = 1 / (alpha n) stays about the same, so alpha falls as the rows grow."""
    assert alpha(150, 1.0) > 5 * alpha(150, 0.01)
    assert alpha(30, 1.0) > 10 * alpha(600, 1.0)


def test_a_rough_function_has_a_rougher_kernel_than_a_smooth_one():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(200, 1))
    rough, smooth = np.sign(np.sin(6 * X[:, 0])), np.sin(X[:, 0]) + 0.3 * rng.normal(size=200)
    found = [KernelRegressor(random_state=0).fit(X, y).learner_.config["kernel"] for y in (rough, smooth)]
    assert [list(kernel) for kernel in found] == [["exponential"], ["gaussian"]]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"kernel": "matern52"}, lambda config: list(config["kernel"]) == ["matern52"]),
        ({"kernel": "rbf", "gamma": 0.3}, lambda config: config["kernel"] == {"gaussian": {"gamma": 0.3}}),
        ({"alpha": 0.02}, lambda config: config["lambda"] == 0.02),
        ({"learner_params": {"lam": 0.02}}, lambda config: config["lambda"] == 0.02),
        (
            {"learner_params": {"kernel": "gaussian:0.3"}},
            lambda config: config["kernel"] == {"gaussian": {"gamma": 0.3}},
        ),
        (
            {"learning_rate": "constant", "eta0": 0.1},
            lambda config: config["step"] == {"constant": {"eta": 0.1}},
        ),
        ({"budget": 20}, lambda config: config["budget"] == {"merge": {"terms": 20}}),
    ],
)
def test_what_is_given_is_kept_in_every_try(given, kept):
    model = KernelRegressor(random_state=0, **given).fit(*waves(60, 0.1))
    config = model.learner_.config
    assert kept(config)
    assert len(model.search_) > 1
    for tried in model.search_:
        assert kept({**config, "kernel": tried["kernel"], "lambda": tried["alpha"]})


def test_passes_that_are_given_are_kept():
    for passes in (3, 12):
        model = KernelRegressor(max_iter=passes, tol=None, random_state=0).fit(*waves(60, 0.1))
        assert model.n_iter_ == passes and model.learner_.examples == 60 * passes


def test_nothing_is_tried_where_nothing_is_open():
    given = {
        "kernel": "rbf",
        "gamma": 1.0,
        "alpha": 1e-3,
        "learning_rate": "decay",
        "max_iter": 4,
        "tol": None,
    }
    model = KernelRegressor(random_state=0, **given).fit(*waves(60, 0.1))
    assert model.search_ == [] and model.examples_ == 4 * 60


def test_the_cost_counts_every_pass_of_every_try():
    """On a small set each try learns two thirds of the rows three times."""
    model = KernelRegressor(random_state=0).fit(*waves(60, 0.1))
    tries = sum(tried["passes"] * 2 * 60 for tried in model.search_)
    assert model.examples_ == tries + model.n_iter_ * 60
    assert {tried["rows"] for tried in model.search_} == {40}
    best = min(tried["loss"] for tried in model.search_)
    chosen = [tried for tried in model.search_ if tried["kernel"] == model.learner_.config["kernel"]]
    assert min(tried["loss"] for tried in chosen) < 1.2 * best


def test_it_warns_when_passes_end_too_early(monkeypatch):
    X, y = waves(60, 0.0)
    with pytest.warns(
        ConvergenceWarning,
        match="fit stopped after 2 passes, and on rows that were not learned, more passes still lowered the loss: set max_iter=8",
    ):
        KernelRegressor(max_iter=2, random_state=0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="fit stopped after 4 passes"):
        # Twice the passes lower the loss by less than its noise, the usual number of passes by more.
        KernelClassifier(max_iter=4, random_state=0).fit(*load_iris(return_X_y=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelRegressor(random_state=0).fit(*waves(60, 1.0))
    monkeypatch.setattr(search, "MOST_PASSES", 64)
    with pytest.warns(ConvergenceWarning, match="fit stopped after 64 passes"):
        KernelRegressor(random_state=0).fit(X, y)


def test_more_passes_than_are_needed_change_nothing():
    """The passes that are given are the limit of the same doubling."""
    X, y = waves(60, 1.0)
    auto, more = (KernelRegressor(max_iter=passes, random_state=0).fit(X, y) for passes in ("auto", 1000))
    assert auto.n_iter_ < 128 and auto.learner_.to_bytes() == more.learner_.to_bytes()


def test_the_advice_of_the_warning_helps():
    X, y = waves(60, 0.0)
    few = KernelRegressor(max_iter=4, random_state=0)
    with pytest.warns(ConvergenceWarning, match="after 4 passes, .*: set max_iter=16, for instance"):
        few.fit(X, y)
    with pytest.warns(ConvergenceWarning, match="after 16 passes"):
        more = KernelRegressor(max_iter=16, random_state=0).fit(X, y)
    new = np.linspace(-2.5, 2.5, 50)
    errors = [np.abs(model.predict(new[:, None]) - np.sin(2 * new)).mean() for model in (few, more)]
    assert errors[1] < 0.7 * errors[0]


def test_the_last_try_of_the_chosen_settings_is_marked():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1100, 1))
    model = KernelRegressor(kernel="rbf", gamma=1.0, random_state=0).fit(
        X, X[:, 0] ** 2 + rng.normal(size=1100)
    )
    (chosen,) = [tried for tried in model.search_ if tried["chosen"]]
    assert chosen["passes"] == model.n_iter_
    assert chosen["alpha"] * chosen["rows"] == pytest.approx(model.learner_.config["lambda"] * 1100)
    # Three folds of 1000 rows, then one or two fifths of all.
    assert {tried["rows"] for tried in model.search_} == {666, 880}
    assert {tried["held_out"] for tried in model.search_} == {1000, 440, 220}


def test_a_fit_that_goes_on_has_tried_nothing():
    model = KernelRegressor(warm_start=True, max_iter=4, random_state=0)
    first = len(model.fit(*waves(60, 0.1)).search_)
    assert first > 0 and model.fit(*waves(60, 0.1)).search_ == []


def test_the_model_goes_on_learning_after_steps_that_fell_to_zero():
    X, y = waves(100, 0.1)
    model = KernelRegressor(random_state=0).fit(X, y)
    before = model.predict(X)
    for _ in range(10):
        model.partial_fit(X, -y)
    assert np.corrcoef(before, y)[0, 1] > 0.9
    assert np.corrcoef(model.predict(X), y)[0, 1] < -0.5


def test_the_same_random_state_chooses_the_same():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 3))
    y = X[:, 0] * X[:, 1] > 0
    one, same, other = (KernelClassifier(random_state=seed).fit(X, y) for seed in (0, 0, 1))
    assert one.learner_.to_bytes() == same.learner_.to_bytes() and one.search_ == same.search_
    assert one.search_ != other.search_


@pytest.mark.parametrize("given", [{}, {"scale": "standard"}, {"scale": None}, {"kernel": "linear"}])
def test_the_scale_of_the_columns_is_not_read_again_for_each_try(given, monkeypatch):
    """As a setting it is a list with a number for each column, which takes long to read where there are many."""
    X, y = load_iris(return_X_y=True)
    expected = pickle.dumps(KernelClassifier(random_state=0, **given).fit(X, y).learner_)
    lists, built = [], []

    def learner(config):
        (lists if isinstance(config.get("scale"), dict) else built).append(config)
        return Learner(config)

    def in_units(config, units):
        built.append(config)
        # The same learner, to the last bit, as one that reads the list.
        assert "scale" not in config
        listed = Learner({**config, "scale": units.config["scale"]})
        made = learner_in_units(config, units)
        assert made.config == listed.config and made.to_bytes() == listed.to_bytes()
        return made

    monkeypatch.setattr(base, "Learner", learner)
    monkeypatch.setattr(base, "learner_in_units", in_units, raising=False)
    model = KernelClassifier(random_state=0, **given).fit(X, y)
    assert len(built) > 3 * len(model.search_) > 9 and len(lists) < 8
    assert pickle.dumps(model.learner_) == expected


def test_folds_have_the_shares_of_the_classes():
    codes = np.r_[np.zeros(970, int), np.ones(30, int)]
    order = np.random.default_rng(0).permutation(1000)
    for learned, held in folds(order, codes, 3):
        assert codes[held].sum() == 10 and len(np.intersect1d(learned, held)) == 0
    assert 2 <= codes[spread(order, codes, 100)].sum() <= 4


def test_a_rare_class_is_found():
    """Outside of a circle are 5 % of the rows, exp(-3): less than half of them are missed or taken for others."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(400, 2)), rng.normal(size=(4000, 2))
    model = KernelClassifier(random_state=0).fit(X, (X**2).sum(axis=1) > 6)
    rare = (new**2).sum(axis=1) > 6
    assert (model.predict(new) != rare).mean() < 0.5 * np.exp(-3)
    assert model.predict(new)[rare].mean() > 0.6


def test_class_weights_count_in_the_error_that_is_compared():
    """With balanced weights a classifier that knows one class only has an error of one half in every try."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), np.arange(200) % 10 == 0  # nothing to learn
    plain, balanced = (
        KernelClassifier(class_weight=weight, random_state=0).fit(X, y).search_
        for weight in (None, "balanced")
    )
    assert all(tried["error"] == pytest.approx(tried["weighted_error"]) for tried in plain)
    assert np.mean([tried["weighted_error"] for tried in plain]) < 0.3
    assert np.mean([tried["weighted_error"] for tried in balanced]) > 0.35


def test_the_error_of_a_try_counts_every_row_once():
    """Weight 1000 on one class: all rows are taken for it, a share of 0.9 is wrong, and next to nothing by weight."""
    X, y = np.random.default_rng(0).normal(size=(100, 2)), np.arange(100) % 10 == 0
    model = KernelClassifier(class_weight={True: 1000.0}, max_iter=4, random_state=0).fit(X, y)
    (chosen,) = [tried for tried in model.search_ if tried["chosen"]]
    assert chosen["weighted_error"] < 0.05 and chosen["error"] > 0.6


def test_the_loss_that_is_compared_does_not_depend_on_the_size_of_scores():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 50)
    scores = rng.normal(size=(50, 3)) + 2 * np.eye(3)[codes]
    ones = np.ones(50)
    steps = 10.0**0.25  # the factors are so far apart
    assert calibrated_loss(scores, codes, ones) == pytest.approx(calibrated_loss(steps * scores, codes, ones))
    two = scores[:, 1] - scores[:, 0]
    by_hand = min(np.mean(np.logaddexp(0, -f * np.where(codes > 0, two, -two))) for f in search.FACTORS)
    assert calibrated_loss(two, (codes > 0).astype(int), ones) == pytest.approx(by_hand)


def test_all_rows_may_be_terms_up_to_twenty_thousand():
    assert automatic_terms(20_000) is None
    assert automatic_terms(50_000) == 8000 and automatic_terms(10**6) == 1000
    config = KernelRegressor(random_state=0).fit(*waves(60, 0.1)).learner_.config
    assert config["budget"] == {"unlimited": {}}
    stream = KernelRegressor().partial_fit(*waves(60, 0.1)).learner_.config
    assert stream["budget"] == {"merge": {"terms": 1000}} and "gaussian" in stream["kernel"]


def test_candidates_around_another():
    space = search.Space({}, Learner(), ("gaussian",), 2.0, True, 1.0, 8, 64)
    start = Candidate("gaussian", 1.0, 9.0, 8)
    assert {(near.width, near.cost) for near in space.neighbours(start)} == {
        (0.5, 9.0),
        (2.0, 9.0),
        (1.0, 3.0),
        (1.0, 27.0),
    }
    space.config["kernel"] = {"gaussian": {}}
    config = space.settings(start, 100)
    assert config["kernel"] == {"gaussian": {"gamma": 0.25}} and config["lambda"] == pytest.approx(1 / 900)
    assert config["step"] == {"linear": {"eta": 1.0, "horizon": 800}}
