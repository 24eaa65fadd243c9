"""Random Fourier features: okl's form = fourier:1000 beside scikit-learn's RBFSampler(1000) and SGDClassifier.

One pass over up to 20,000 shuffled training rows in chunks of 1,000, six settings each. The setting with the smallest error on the last fifth of the
training rows (not learned then) learns all of them; the error is on the test rows. The rate is that of this last run, features and
updates together, on one thread: the better of two runs, of which those of the two programs alternate.

    python benchmarks/fourier.py DATA
"""

from __future__ import annotations

import gzip
import io
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier

import okl

SIZE, CHUNK, MOST = 1000, 1000, 20_000


def libsvm(path: Path, features: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = load_svmlight_file(io.BytesIO(gzip.open(path).read()), n_features=features)
    return X.toarray(), y.astype(int)


def table(path: Path) -> tuple[np.ndarray, np.ndarray]:
    header = gzip.open(path, "rt").readline().strip().split(",")
    target = header.index("digit") if "digit" in header else 0
    rows = np.loadtxt(gzip.open(path, "rt"), delimiter=",", skiprows=1)
    return np.delete(rows, target, axis=1), rows[:, target].astype(int)


def with_okl(X, y, classes, gamma, setting):
    eta, average = setting
    loss = "hinge" if len(classes) == 2 else "max_margin"
    learner = okl.Learner(
        loss=loss, kernel=f"gaussian:{gamma}", form=f"fourier:{SIZE}", step=f"decay:eta={eta},tau=10000", lam=1e-6,
        implicit=True, offset=True, average=average, scale="none", anchor="none", classes=[int(c) for c in classes],
    )  # fmt: skip
    for first in range(0, len(X), CHUNK):
        learner.learn(X[first : first + CHUNK], y[first : first + CHUNK])
    return lambda rows: classes[(learner.predict(rows) > 0).astype(int) if len(classes) == 2 else learner.predict(rows).argmax(1)]


def with_sklearn(X, y, classes, gamma, setting):
    alpha, average = setting
    sampler = RBFSampler(gamma=gamma, n_components=SIZE, random_state=0).fit(X[:1])
    model = SGDClassifier(alpha=alpha, average=average, random_state=0)
    for first in range(0, len(X), CHUNK):
        model.partial_fit(sampler.transform(X[first : first + CHUNK]), y[first : first + CHUNK], classes=classes)
    return lambda rows: model.predict(sampler.transform(rows))


PROGRAMS = {
    "okl": (with_okl, [(eta, average) for eta in (0.5, 2.0, 8.0) for average in ("none", "exponential:0.0005")]),
    "scikit-learn": (with_sklearn, [(alpha, average) for alpha in (1e-4, 1e-5, 1e-6) for average in (False, True)]),
}


def main(folder: Path) -> None:
    data = {
        "usps": (table(folder / "usps_train.csv.gz"), table(folder / "usps_test.csv.gz"), 0.0078),
        "a9a": (libsvm(folder / "a9a.gz", 123), libsvm(folder / "a9a.t.gz", 123), 0.02),
        "ijcnn1": (libsvm(folder / "ijcnn1.gz", 22), libsvm(folder / "ijcnn1.t.gz", 22), 2.0),
    }
    print("| data | program | setting | error on the test rows | rows/s | ratio |\n|---|---|---|---|---|---|")
    for name, ((X, y), (Xt, yt), gamma) in data.items():
        order = np.random.default_rng(0).permutation(len(X))
        X, y, classes = X[order[:MOST]], y[order[:MOST]], np.unique(y)
        cut = len(X) * 4 // 5
        best = {}
        for program, (learn, settings) in PROGRAMS.items():
            errors = [(learn(X[:cut], y[:cut], classes, gamma, s)(X[cut:]) != y[cut:]).mean() for s in settings]
            best[program] = settings[int(np.argmin(errors))]
        seconds, wrong = {program: [] for program in PROGRAMS}, {}
        for _ in range(2):
            for program, (learn, _settings) in PROGRAMS.items():
                start = time.perf_counter()
                predict = learn(X, y, classes, gamma, best[program])
                seconds[program].append(time.perf_counter() - start)
                wrong[program] = (predict(Xt) != yt).mean()
        rate = {program: len(X) / min(times) for program, times in seconds.items()}
        for program in PROGRAMS:
            ratio = rate[program] / rate["scikit-learn"]
            print(f"| {name} | {program} | {best[program]} | {wrong[program]:.2%} | {rate[program]:,.0f} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
