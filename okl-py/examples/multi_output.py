"""Eight thermometers in one room: several outputs that know of each other.

Every reading is what all thermometers share, a little of its own, and noise. An operator J says how much they
share: with J = (1 - c) I + c 1, c = 0 learns eight functions on their own, c = 0.5 lets every reading speak
for all. Each gets the best of three first step sizes. Mean squared error against the truth, which the learner
does not see, before each update.
"""

import argparse

import numpy as np

import okl

SENSORS, ROWS = 8, 2000


def readings(seed=1):
    rng = np.random.default_rng(seed)
    place = rng.uniform(-3, 3, (ROWS, 2))
    shared = np.sin(2 * place[:, 0]) * np.cos(place[:, 1])
    own = 0.2 * np.sin(place @ rng.normal(size=(2, SENSORS)))
    truth = shared[:, None] + own
    return place, truth + rng.normal(0, 0.7, truth.shape), truth


def coupling(c):
    """J with largest eigenvalue 1, so that one step size means the same for every c."""
    J = (1 - c) * np.eye(SENSORS) + c
    return J / np.linalg.eigvalsh(J)[-1]


def learner(c, eta):
    return okl.Learner(
        loss="squared",
        kernel="gaussian",
        gamma=1.0,
        step="inverse_sqrt",
        eta=eta,
        lam=1e-4,
        operator=coupling(c),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--plot", metavar="PATH", help="a picture of the first thermometer as c = 0.5 sees it"
    )
    args = parser.parse_args()

    X, y, truth = readings()
    print("    c   step       all   second half   terms")
    for c in (0.0, 0.5, 0.9):
        runs = []
        for eta in (1.0, 2.0, 4.0):
            model = learner(c, eta)
            error = ((model.learn(X, y) - truth) ** 2).mean(axis=1)
            runs.append((error.mean(), error[ROWS // 2 :].mean(), eta, model.terms))
        whole, half, eta, terms = min(runs)
        print(f"{c:>5} {eta:>6} {whole:>9.4f} {half:>13.4f} {terms:>7}")

    if args.plot:
        model = learner(0.5, 2.0)
        model.learn(X, y)
        okl.plot.decision_regions(model, X, truth).figure.savefig(args.plot)


if __name__ == "__main__":
    main()
