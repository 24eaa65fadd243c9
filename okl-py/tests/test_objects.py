"""Objects with a kernel of the caller: a function over two lists, or rows of a Gram matrix."""

from __future__ import annotations

import copy
import functools
import pickle
import subprocess
import sys
import threading
from collections import Counter
from typing import Any

import numpy as np
import pytest

import okl

PLAIN = {"loss": "hinge", "step": "constant:0.5", "lam": 0.01, "budget": "window:20", "offset": True}


@functools.cache
def pairs(text: str) -> Counter[str]:
    return Counter(text[i : i + 2] for i in range(len(text) - 1))


def shared(a: str, b: str) -> float:
    """The number of common pairs of letters, over the root of the numbers of their own: a whole number over a root."""
    dot = sum(count * pairs(b)[pair] for pair, count in pairs(a).items())
    square = [sum(count**2 for count in pairs(text).values()) for text in (a, b)]
    return dot / max(1.0, (square[0] * square[1]) ** 0.5)


def spectrum(a: list[str], b: list[str]) -> np.ndarray:
    return np.array([[shared(s, t) for t in b] for s in a])


def dots(a: list[np.ndarray], b: list[np.ndarray]) -> np.ndarray:
    return np.array([[float(x @ y) for y in b] for x in a])


@pytest.fixture
def words(rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
    y = rng.choice([-1.0, 1.0], size=150)
    letters = {-1.0: list("abcab"), 1.0: list("bacde")}
    return ["".join(rng.choice(letters[side], size=rng.integers(2, 9))) for side in y], y


def norma(x: list[Any], y: np.ndarray, kernel: Any, window: int, eta: float, lam: float) -> list[float]:
    """NORMA with the hinge loss, an offset and a window, in double precision."""
    terms: list[tuple[Any, float]] = []
    scores, b = [], 0.0
    for row, target in zip(x, y, strict=True):
        z = sum(a * kernel(row, other) for other, a in terms) + b
        scores.append(z)
        terms = [(other, (1 - eta * lam) * a) for other, a in terms]
        if target * z < 1:
            terms = [*terms, (row, eta * target)][-window:]
            b += eta * target
    return scores


def test_scores_are_those_of_a_plain_twin(words: Any) -> None:
    x, y = words
    m = okl.Learner(kernel=spectrum, **PLAIN)
    scores = m.learn(x, y)
    np.testing.assert_allclose(scores, norma(x, y, shared, 20, 0.5, 0.01), atol=2e-6)
    assert m.terms == len(m.objects) == 20
    by_hand = m.offset + np.array([shared("abcde", word) for word in m.objects]) @ m.coefficients[:, 0]
    assert m.predict(["abcde"]) == pytest.approx([by_hand], abs=1e-6)


@pytest.mark.parametrize(
    "settings",
    [
        PLAIN,
        {**PLAIN, "budget": "transfer:15", "step": "smd:eta=0.3", "average": "uniform"},
        {"loss": "logistic", "budget": "transfer:10"},
        {"loss": "perceptron", "budget": "forgetron:9", "step": "constant:1", "lam": 0},
        {"loss": "nu_novelty:0.2", "step": "constant:0.1", "lam": 0.1, "budget": "age:30"},
    ],
)
def test_the_cut_does_not_matter(words: Any, settings: dict[str, Any]) -> None:
    x, y = words
    told = {} if settings["loss"].startswith("nu_") else {"y": y}
    at_once, one_by_one, in_parts = (okl.Learner(kernel=spectrum, **settings) for _ in range(3))
    scores = at_once.learn(x, **told)
    single = [
        one_by_one.learn([x[i]], **{key: all_[[i]] for key, all_ in told.items()})[0] for i in range(150)
    ]
    parts = [
        in_parts.learn(x[i : i + 47], **{key: all_[i : i + 47] for key, all_ in told.items()})
        for i in range(0, 150, 47)
    ]
    assert scores.tolist() == single == np.concatenate(parts).tolist()
    assert at_once.to_bytes() == one_by_one.to_bytes() == in_parts.to_bytes()
    assert at_once.objects == one_by_one.objects == in_parts.objects
    assert at_once.predict(x).tolist() == one_by_one.predict(x).tolist()


def test_a_kernel_of_rows_is_the_built_in_one(rng: np.random.Generator) -> None:
    """Inner products of small whole numbers are exact, so all bits agree."""
    X, y = rng.integers(-3, 4, size=(120, 3)).astype(float), rng.choice([-1.0, 1.0], size=120)
    built_in, own = (
        okl.Learner(kernel="linear", form="terms", scale="none", **PLAIN),
        okl.Learner(kernel=dots, **PLAIN),
    )
    gram = okl.Learner(kernel="precomputed", **PLAIN)
    scores = built_in.learn(X, y)
    assert own.learn(list(X), y).tolist() == scores.tolist() == own_scores(gram, X @ X.T, y)
    assert own.coefficients.tolist() == built_in.coefficients.tolist() == gram.coefficients.tolist()
    assert np.array_equal(X[gram.objects], built_in.centres) and np.array_equal(own.objects, built_in.centres)
    assert (
        gram.predict(X[:7] @ X.T).tolist() == built_in.predict(X[:7]).tolist() == own.predict(X[:7]).tolist()
    )
    assert own.truncation_error == built_in.truncation_error and own.norm2 == built_in.norm2


def own_scores(m: okl.Learner, gram: np.ndarray, y: np.ndarray) -> list[float]:
    """The scores of the rows of a Gram matrix, in two calls with ids."""
    return [*m.learn(gram[:50], y[:50], ids=range(50)), *m.learn(gram[50:], y[50:], ids=range(50, len(y)))]


def test_rows_of_a_gram_matrix(words: Any) -> None:
    x, y = words
    gram = spectrum(x, x)
    m = okl.Learner(kernel="precomputed", loss="hinge", step="constant:0.5", lam=0.01, budget="unlimited")
    m.learn(gram, y)  # square: row i is item i
    terms = m.terms
    m.learn(gram, y)  # a second pass adds onto the terms of the same items
    assert terms <= m.terms <= 150 == len(set(m.objects)) + 150 - m.terms
    by_hand = gram[:, m.objects] @ m.coefficients[:, 0]
    np.testing.assert_allclose(m.predict(gram), by_hand, atol=1e-5)
    # Columns of later items may be missing.
    few = okl.Learner(kernel="precomputed", **PLAIN)
    few.learn(gram[:10, :10], y[:10])
    few.learn(gram[10:12, :12], y[10:12], ids=[10, 11])
    assert few.examples == 12


class Box:
    """An object that cannot be compared."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        raise AssertionError("objects are not compared")

    __hash__ = None  # type: ignore[assignment]


def boxes(a: list[Box], b: list[Box]) -> np.ndarray:
    return np.exp(-np.abs(np.subtract.outer([x.value for x in a], [x.value for x in b])))


def test_objects_need_neither_equality_nor_a_hash() -> None:
    m = okl.Learner(kernel=boxes, loss="squared", step="constant:0.5", lam=0.0, budget="unlimited")
    x = [Box(v) for v in (0.0, 1.0, 0.0)]
    m.learn(x, [1.0, 2.0, 3.0], ids=[7, 8, 7])  # the first and the third are one point by their kernel values
    assert m.terms == 2 and m.objects[0] is x[0] and m.objects[1] is x[1]
    assert m.health()["ids_taken_over"] == 0


def test_classes_and_reports(words: Any) -> None:
    x, y = words
    names = np.where(y > 0, "high", "low")
    m = okl.Learner(kernel=spectrum, loss="softmax", step="constant:0.5", lam=0.01, budget="window:30")
    report = m.learn_report(x, names)
    assert report["scores"].shape == (150, 2) and m.classes == sorted({*names}, key=list(names).index)
    assert np.all(report["loss"] >= 0.0) and np.mean(report["loss"][100:]) < report["loss"][0]
    assert m.predict(["ab", "de"]).shape == (2, 2)
    assert m.learn([], []).shape == (0, 2) and m.predict([]).shape == (0, 2)


def unchanged(m: okl.Learner, error: type[Exception], match: str, *arguments: Any, **more: Any) -> None:
    before, objects = m.to_bytes(), m.objects
    with pytest.raises(error, match=match):
        m.learn(*arguments, **more)
    assert m.to_bytes() == before and m.objects == objects


class Fails:
    """A kernel that returns something else from its call number `at` on."""

    def __init__(self, at: int, result: Any) -> None:
        self.calls, self.at, self.result = 0, at, result

    def __call__(self, a: list[str], b: list[str]) -> Any:
        self.calls += 1
        return self.result(a, b) if self.calls >= self.at else spectrum(a, b)


def raises(a: list[str], b: list[str]) -> Any:
    raise KeyError("from the kernel")


def changed(place: tuple[int, int], value: float) -> Any:
    def result(a: list[str], b: list[str]) -> np.ndarray:
        values = spectrum(a, b)
        values[place] = value
        return values

    return result


@pytest.mark.parametrize(
    ("result", "error", "match"),
    [
        (raises, KeyError, "from the kernel"),
        (lambda a, b: spectrum(b, a), ValueError, r"kernel: expected an array of shape \(5, .*found shape"),
        (lambda a, b: 1.0, ValueError, r"found shape \(\)"),
        (lambda a, b: spectrum(a, b).astype(str), TypeError, "kernel: expected real numbers"),
        (lambda a, b: spectrum(a, b) * 1j, TypeError, "kernel: expected real numbers"),
        (
            changed((3, -1), np.nan),
            ValueError,
            "row 35: the kernel value against row 36 is NaN, expected a finite number",
        ),
        (
            changed((4, -1), -1.0),
            ValueError,
            r"row 36: the kernel value against itself is -1, expected k\(x, x\) >= 0",
        ),
        (
            changed((4, -2), 0.123),
            ValueError,
            "row 36: the kernel value against row 35 is 0.123, expected .* symmetric",
        ),
        (
            changed((1, 0), 5.0),
            ValueError,
            "row 33: the kernel value against row 12 is 5, expected at most 1 .*distance",
        ),
        (lambda a, b: 1 - spectrum(a, b), ValueError, "a distance is not"),
    ],
)
def test_a_kernel_that_fails_changes_nothing(words: Any, result: Any, error: Any, match: str) -> None:
    """The second block of the call fails, so the first one must not have been learned either."""
    x, y = words
    kernel = Fails(3, result)
    m = okl.Learner(kernel=kernel, **PLAIN)
    m.learn(x[:10], y[:10])
    unchanged(m, error, match, x[10:47], y[10:47])
    kernel.at = 10**9
    again = okl.Learner(kernel=spectrum, **PLAIN)
    again.learn(x[:10], y[:10])
    assert m.learn(x[10:47], y[10:47]).tolist() == again.learn(x[10:47], y[10:47]).tolist()


def test_misuse_is_named(words: Any) -> None:
    x, y = words
    m = okl.Learner(kernel=spectrum, **PLAIN)
    m.learn(x[:5], y[:5])
    unchanged(m, TypeError, "X is a str, expected a sequence of objects.*one text is", "abc", [1.0])
    unchanged(m, TypeError, "X is a dict", {"a": 1}, [1.0])
    unchanged(m, ValueError, "y has 2 rows, X has 3", x[:3], y[:2])
    unchanged(m, ValueError, "row 35: target 3, expected -1", x[:40], [*y[:35], 3.0, *y[:4]])
    unchanged(m, ValueError, "weights: expected 3", x[:3], y[:3], weights=[1.0])
    unchanged(m, ValueError, "row 34: weight -1", x[:40], y[:40], weights=[*np.ones(34), -1.0, *np.ones(5)])
    with pytest.raises(ValueError, match="objects, not rows of features: see the attribute `objects`"):
        _ = m.centres
    with pytest.raises(ValueError, match="precomputed.*cannot be exported"):
        m.to_onnx()
    with pytest.raises(ValueError, match="no features that could become more"):
        m.widen(3)
    assert okl.Learner(kernel="linear").objects is None


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"budget": "merge:10"}, "merge makes a centre between two terms"),
        ({"scale": "standard"}, "no columns to scale"),
        ({"gamma": "auto"}, "gamma: kernel `precomputed` has no such parameter"),
        ({"form": "weights"}, "weights need kernel = linear"),
        ({"memory": "1MB"}, "memory"),
    ],
)
def test_settings_that_need_features_are_refused(settings: dict[str, Any], match: str) -> None:
    for kernel in (spectrum, "precomputed"):
        with pytest.raises(ValueError, match=match):
            okl.Learner(kernel=kernel, **settings)


def test_misuse_of_a_gram_matrix_is_named(words: Any) -> None:
    x, y = words
    gram = spectrum(x, x)
    m = okl.Learner(kernel="precomputed", **PLAIN)
    m.learn(gram[:9, :9], y[:9])
    unchanged(m, ValueError, "X has 3 rows and 9 columns: give ids", gram[:3, :9], y[:3])
    unchanged(m, ValueError, "X has 2 columns, expected one for item", gram[:2, :2], y[:2])
    unchanged(
        m,
        ValueError,
        "X has 9 columns, expected one for item 12, a row of this call",
        gram[:1, :9],
        y[:1],
        ids=[12],
    )
    unchanged(m, ValueError, "ids: expected 2, one per row, found 1", gram[:2], y[:2], ids=[3])
    unchanged(m, TypeError, "X has dtype.*okl.load", [["a", "b"]], [1.0], ids=[1])
    unchanged(m, ValueError, "X has 1 dimension.*rows of a Gram matrix", gram[0], [1.0])
    bad = gram[:1, :20].copy()
    bad[0, 19] = np.inf
    unchanged(m, ValueError, "row 0: the kernel value against item 19 is inf", bad, y[:1], ids=[0])
    with pytest.raises(ValueError, match="X has 3 columns, expected one for item .*, a term"):
        m.predict(gram[:2, :3])


def test_a_kernel_cannot_use_its_learner(words: Any) -> None:
    x, y = words

    def kernel(a: list[str], b: list[str]) -> np.ndarray:
        m.predict(["ab"])
        return spectrum(a, b)

    m = okl.Learner(kernel=kernel, **PLAIN)
    with pytest.raises(RuntimeError, match="in the middle of a call"):
        m.learn(x[:2], y[:2])
    assert m.examples == 0


def test_calls_of_several_threads_wait_for_each_other(words: Any) -> None:
    x, y = words
    m = okl.Learner(kernel=spectrum, **PLAIN)
    threads = [threading.Thread(target=m.learn, args=(x[i::3], y[i::3])) for i in range(3)]
    threads += [threading.Thread(target=m.predict, args=(x[:40],)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert m.examples == 150 and all(word in x for word in m.objects)


def test_pickles_copies_and_files_continue(words: Any, tmp_path: Any) -> None:
    x, y = words
    m = okl.Learner(kernel=spectrum, **{**PLAIN, "budget": "transfer:12"})
    m.learn(x[:80], y[:80])
    path, saved = tmp_path / "m.okl", m.objects
    m.save(path)
    others = [
        pickle.loads(pickle.dumps(m)),
        copy.deepcopy(m),
        okl.load(path, kernel=spectrum, objects=m.objects),
        okl.Learner.from_bytes(m.to_bytes(), kernel=spectrum, objects=tuple(m.objects)),
    ]
    scores = m.learn(x[80:], y[80:]).tolist()
    for other in others:
        assert other.learn(x[80:], y[80:]).tolist() == scores
        assert other.to_bytes() == m.to_bytes() and other.objects == m.objects
    assert m.config["kernel"] is spectrum
    assert okl.Learner(m.config).learn(x[:3], y[:3]).shape == (3,)
    assert m.freeze().predict(x).tolist() == m.predict(x).tolist()
    # Without its kernel, the model takes the values of its items.
    columns = np.zeros((1, 80))
    columns[0, okl.load(path).objects] = spectrum(["abc"], saved)
    assert okl.load(path).predict(columns) == okl.load(path, kernel=spectrum, objects=saved).predict(["abc"])


def test_rows_without_a_target_are_only_predicted(words: Any) -> None:
    x, y = words
    m, alone = (okl.Learner(kernel=spectrum, **PLAIN) for _ in range(2))
    known = np.arange(60) % 3 != 1
    weights = np.where(np.arange(60) % 7 == 2, 0.0, 1.0)
    m.learn(x[:60], y[:60], known=known, weights=weights)
    learned = np.flatnonzero(known & (weights > 0))
    alone.learn([x[i] for i in learned], y[learned])
    assert m.to_bytes() == alone.to_bytes() and m.objects == alone.objects


def test_files_with_other_objects_are_refused(words: Any, tmp_path: Any) -> None:
    x, y = words
    m = okl.Learner(kernel=spectrum, **PLAIN)
    m.learn(x, y)
    path = tmp_path / "m.okl"
    m.save(path)
    for objects, match in [
        (m.objects[1:], "objects: expected 20"),
        (m.objects[::-1], "it was .* when the model was saved"),
    ]:
        with pytest.raises(ValueError, match=match):
            okl.load(path, kernel=spectrum, objects=objects)
    with pytest.raises(ValueError, match="give both kernel and objects"):
        okl.load(path, kernel=spectrum)
    with pytest.raises(
        TypeError, match="kernel: expected the function .* Gram matrix .* without kernel and objects"
    ):
        okl.load(path, kernel="precomputed", objects=m.objects)
    assert "the function spectrum" in repr(m) and "precomputed" in repr(okl.load(path))
    # No table has objects: the command line says so before it reads one.
    for command in (
        ["predict", path, "no.csv"],
        ["evaluate", path, "no.csv"],
        ["learn", "no.csv", "--resume", path],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "okl", *map(str, command)], capture_output=True, text=True
        )
        assert done.returncode == 2 and "takes no rows of a table" in " ".join(done.stderr.split())
    with pytest.raises(ValueError, match="rows of a Gram matrix.*okl.load"):
        okl.load(path).predict(["abc"])
    okl.Learner(kernel="linear").save(path)
    with pytest.raises(ValueError, match="leave them out"):
        okl.load(path, kernel=spectrum, objects=[])
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda|local"):
        pickle.dumps(okl.Learner(kernel=lambda a, b: spectrum(a, b)))


@pytest.mark.parametrize("name", ["KernelClassifier", "KernelRegressor", "NoveltyDetector"])
@pytest.mark.parametrize("kernel", [spectrum, "precomputed"])
def test_estimators_refuse_own_kernels(name: str, kernel: Any) -> None:
    pytest.importorskip("sklearn")
    X, y = np.eye(4), [0, 1, 0, 1]
    for given in ({"kernel": kernel}, {"learner_params": {"kernel": kernel}}):
        for rows in (X, ["cat", "dog", "cow", "ant"]):
            with pytest.raises(ValueError, match=r"use okl.Learner\(kernel=...\)"):
                getattr(okl, name)(**given).fit(rows, y)


def test_river_estimators_refuse_own_kernels() -> None:
    pytest.importorskip("river")
    for kernel in (spectrum, "precomputed"):
        with pytest.raises(ValueError, match=r"use okl.Learner\(kernel=...\)"):
            okl.river.KernelClassifier(kernel=kernel).learn_one({"a": 1.0}, True)
