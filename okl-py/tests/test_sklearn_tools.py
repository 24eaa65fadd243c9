"""The estimators inside scikit-learn's tools, and with pandas."""

import doctest
import importlib
import inspect
import re
import subprocess
import sys
import warnings

import joblib
import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone, is_classifier, is_outlier_detector, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris, make_moons
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from okl.sklearn import KernelClassifier, KernelRegressor, NoveltyDetector

MOONS = make_moons(300, noise=0.2, random_state=0)
IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
ALL = [KernelClassifier(random_state=0), KernelRegressor(random_state=0), NoveltyDetector(random_state=0)]


def test_pipeline():
    inside = make_pipeline(StandardScaler(), KernelClassifier(scale=None, random_state=0)).fit(*MOONS)
    alone = KernelClassifier(random_state=0).fit(*MOONS)
    assert (inside.predict(MOONS[0]) == alone.predict(MOONS[0])).mean() > 0.99


def test_cross_validation():
    assert cross_val_score(KernelClassifier(random_state=0), *IRIS, cv=3).mean() > 0.9
    assert cross_val_score(KernelRegressor(kernel="linear", random_state=0), *DIABETES).mean() > 0.4
    model = KernelClassifier("log_loss", kernel="rbf", max_iter=8, random_state=0)
    proba = cross_val_predict(model, *IRIS, cv=3, method="predict_proba")
    assert proba.shape == (150, 3)


def test_grid_search():
    grid = {"gamma": [1e-4, "auto", "scale"], "kernel": ["rbf"], "budget": [50, "window:50"], "alpha": [1e-4]}
    search = GridSearchCV(KernelClassifier(random_state=0, max_iter=4), grid, cv=2).fit(*MOONS)
    assert search.best_params_["gamma"] != 1e-4
    assert search.score(*MOONS) > 0.9


def test_grid_search_over_a_pipeline_of_a_regressor():
    pipeline = make_pipeline(StandardScaler(), KernelRegressor(random_state=0, max_iter=5))
    search = GridSearchCV(
        pipeline, {"kernelregressor__kernel": ["linear", "rbf"], "kernelregressor__loss": ["huber"]}, cv=3
    )
    assert search.fit(*DIABETES).best_score_ > 0.3


def test_joblib_gives_the_same_in_every_process_and_thread():
    fits = {
        backend: joblib.Parallel(n_jobs=2, backend=backend)(
            joblib.delayed(clone(model).fit)(*DIABETES)
            for model in (KernelRegressor(random_state=0), NoveltyDetector(random_state=0))
        )
        for backend in ("sequential", "threading", "loky")
    }
    for backend in ("threading", "loky"):
        for a, b in zip(fits[backend], fits["sequential"]):
            assert a.learner_.to_bytes() == b.learner_.to_bytes()


def test_joblib_predicts_from_many_threads():
    model = KernelClassifier("log_loss", random_state=0).fit(*IRIS)
    whole = model.predict_proba(IRIS[0])
    parts = joblib.Parallel(n_jobs=4, backend="threading")(
        joblib.delayed(model.predict_proba)(row[None]) for row in IRIS[0]
    )
    assert np.array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("model", ALL)
def test_clone_and_parameters(model):
    other = clone(model).set_params(gamma=0.25, budget="window:10")
    assert other.get_params()["gamma"] == 0.25
    assert model.get_params()["gamma"] == "auto"
    fitted = clone(model).fit(*DIABETES) if isinstance(model, KernelRegressor) else clone(model).fit(*MOONS)
    assert not hasattr(clone(fitted), "learner_")
    assert clone(fitted).get_params() == model.get_params()


def test_kinds():
    classifier, regressor, detector = ALL
    assert is_classifier(classifier) and is_regressor(regressor) and is_outlier_detector(detector)


@pytest.mark.parametrize("model", ALL)
def test_feature_names(model):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(MOONS[0], columns=["across", "up"])
    for how in ("fit", "partial_fit"):
        named = clone(model)
        more = {"classes": [0, 1]} if how == "partial_fit" and isinstance(model, KernelClassifier) else {}
        getattr(named, how)(X, pd.Series(MOONS[1]), **more)
        assert named.feature_names_in_.tolist() == ["across", "up"]
        assert named.n_features_in_ == 2
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            named.predict(X)
        with pytest.raises(ValueError, match="feature names"):
            named.predict(X[["up", "across"]])
        with pytest.raises(ValueError, match="feature names"):
            named.predict(X.assign(more=0.0))


def test_a_table_with_words_and_numbers():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"colour": rng.choice(["red", "blue"], 300), "size": rng.normal(size=300), "id": np.arange(300)}
    )
    y = np.where(table["colour"] == "red", table["size"], -table["size"]) > 0
    columns = make_column_transformer(
        (OneHotEncoder(), ["colour"]), ("passthrough", ["size"]), sparse_threshold=0
    )
    model = make_pipeline(columns, KernelClassifier(random_state=0)).fit(table[:200], y[:200])
    assert model.score(table[200:], y[200:]) > 0.9


@pytest.mark.parametrize("layout", ["csr_array", "csc_matrix", "coo_array"])
def test_sparse_rows_are_dense_rows(layout):
    """fit, partial_fit, predict and decision_function give the same numbers for the same rows, whatever their layout."""
    sparse = getattr(pytest.importorskip("scipy.sparse"), layout)
    X, labels = np.where(np.abs(MOONS[0]) < 0.4, 0.0, MOONS[0])[:90], MOONS[1][:90]
    numbers = X @ [1.0, -2.0]
    for anchor in ("first", "none"):
        settings = {"gamma": 0.5, "random_state": 0, "max_iter": 2, "learner_params": {"anchor": anchor}}
        for estimator, y in ((KernelClassifier, labels), (KernelRegressor, numbers)):
            dense, thin = estimator(**settings).fit(X, y), estimator(**settings).fit(sparse(X), y)
            assert np.array_equal(dense.predict(X), thin.predict(sparse(X)))
            dense, thin = estimator(**settings), estimator(**settings)
            for part in (slice(0, 50), slice(50, 90)):
                dense.partial_fit(X[part], y[part])
                thin.partial_fit(sparse(X[part]), y[part])
            assert np.array_equal(dense.predict(X), thin.predict(sparse(X)))
        model = KernelClassifier(**settings).fit(sparse(X), labels)
        assert np.array_equal(model.decision_function(sparse(X)), model.decision_function(X))
        dense, thin = (NoveltyDetector(**settings).fit(rows) for rows in (X, sparse(X)))
        assert np.array_equal(dense.score_samples(X), thin.score_samples(sparse(X)))


def test_sparse_rows_with_many_columns():
    """200,000 columns stay sparse with anchor none; otherwise the message says so, in the parameters of the estimator."""
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(0)
    X = sparse.random_array((200, 200_000), density=1e-4, format="csr", rng=rng)
    y = np.asarray(X[:, :100_000].sum(axis=1)).ravel() > 5
    model = KernelClassifier(gamma=0.1, budget=50, max_iter=1, learner_params={"anchor": "none"}).fit(X, y)
    assert model.predict(X).shape == (200,)
    with pytest.raises(ValueError, match=r"give learner_params=\{.anchor.: .none.\}"):
        KernelClassifier(gamma=0.1, budget=50, max_iter=1).fit(X, y)


def test_random_features():
    """A weight vector over random features has no budget and makes passes."""
    for form in ("fourier:200", {"fourier": {"size": 200, "seed": 1}}):
        model = KernelClassifier(random_state=0, learner_params={"form": form}).fit(*MOONS)
        assert model.score(*MOONS) > 0.9 and model.learner_.terms == 0


def test_other_tools():
    calibrated = CalibratedClassifierCV(KernelClassifier(random_state=0, max_iter=5), cv=3).fit(*MOONS)
    assert calibrated.predict_proba(MOONS[0]).shape == (300, 2)
    several = MultiOutputClassifier(KernelClassifier(random_state=0)).fit(
        MOONS[0], np.column_stack([MOONS[1], 1 - MOONS[1]])
    )
    assert several.predict(MOONS[0]).shape == (300, 2)
    model = KernelClassifier(random_state=0).fit(*MOONS)
    assert (permutation_importance(model, *MOONS, n_repeats=2, random_state=0).importances_mean > 0).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["classifier", "regressor", "detector"])
def test_the_examples_in_the_documentation(name):
    done = doctest.testmod(importlib.import_module(f"okl._sklearn.{name}"))
    assert done.attempted > 0
    assert done.failed == 0


def test_lazily_from_the_package():
    import okl

    assert okl.KernelClassifier is KernelClassifier
    assert okl.KernelRegressor is KernelRegressor
    assert okl.NoveltyDetector is NoveltyDetector


@pytest.mark.parametrize("estimator", [KernelClassifier, KernelRegressor, NoveltyDetector])
def test_everything_is_documented(estimator):
    """Parameters in their order, shared texts filled in; what methods take and give back."""
    parameters = list(inspect.signature(estimator).parameters)
    text = inspect.getdoc(estimator)
    assert not re.findall(r"^ *<[a-z ]+>$", text, flags=re.MULTILINE)
    section = text.partition("Parameters\n----------")[2].partition("Attributes\n----------")[0]
    assert re.findall(r"^([a-z_0-9]+) : ", section, flags=re.MULTILINE) == parameters
    for name in ("fit", "partial_fit", "predict", "decision_function", "score_samples", "predict_proba"):
        if method := vars(estimator).get(name):
            text = inspect.getdoc(method.fn if hasattr(method, "fn") else method)
            assert "Parameters\n----------\nX : array-like" in text, name
            assert "Returns\n-------" in text, name


IN_ANOTHER_PROCESS = """
import multiprocessing, sys
import numpy as np
from okl import KernelClassifier

X = np.random.default_rng(0).normal(size=(1500, 20))
y = (X[:, 0] * X[:, 1] > 0).astype(int)

def predict(model, answers):
    answers.put(model.decision_function(X).tobytes())

if __name__ == "__main__":
    model = KernelClassifier(n_jobs=2, max_iter=1, random_state=0).fit(X, y)
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        answers = context.Queue()
        child = context.Process(target=predict, args=(model, answers), daemon=True)
        child.start()
        assert answers.get(timeout=120) == model.decision_function(X).tobytes()
        child.join()
    print("the same")
"""


def test_a_model_with_threads_predicts_in_another_process(tmp_path):
    """A forked process has the model and none of its threads; a spawned one gets a pickle."""
    (tmp_path / "program.py").write_text(IN_ANOTHER_PROCESS)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(tmp_path / "program.py")], capture_output=True, text=True
    )
    assert done.stdout == "the same\n", done.stderr
