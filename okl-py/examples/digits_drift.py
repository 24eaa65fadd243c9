"""Digits that change their names: a step size that adapts itself (SVMD) against schedules.

scikit-learn's 1797 handwritten digits pass by four times. On every new pass each digit takes the name of the
next one: 0 is called 1, and so on; all that was learned is wrong. How large the steps must be to follow is
not known beforehand: a schedule is right for some first step sizes and useless for others, SVMD finds its way
from any of them. Accuracy in per cent, of predictions made before each update.
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits

import okl

PASSES = 4
FIRST_STEPS = [0.02, 0.1, 0.5, 2.0]
RULES = {
    "SVMD": "smd:mu=0.1,decay=0.95",
    "constant": "constant",
    "decay": "decay",
    "1/sqrt(t)": "inverse_sqrt",
}


def renamed_digits(seed=0):
    rng = np.random.default_rng(seed)
    X, y = load_digits(return_X_y=True)
    orders = [rng.permutation(len(X)) for _ in range(PASSES)]
    return X[np.concatenate(orders)], np.concatenate([(y[order] + i) % 10 for i, order in enumerate(orders)])


def learner(rule, first_step):
    return okl.Learner(
        loss="softmax",
        kernel="gaussian",
        gamma=1e-3,
        step=RULES[rule],
        eta=first_step,
        lam=1e-4,
        budget="merge",
        terms=500,
        offset=True,
    )


def accuracy(rule, first_step, X, y):
    model = learner(rule, first_step)
    scores = model.learn(X, y)
    return (np.array(model.classes)[scores.argmax(axis=1)] == y).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--plot", metavar="PATH", help="a picture of the error and the step size of SVMD from 0.1"
    )
    args = parser.parse_args()
    X, y = renamed_digits()
    print("first step     " + "".join(f"{first:>8}" for first in FIRST_STEPS))
    for rule in RULES:
        print(f"{rule:<15}" + "".join(f"{100 * accuracy(rule, first, X, y):>8.1f}" for first in FIRST_STEPS))

    if args.plot:
        history = okl.plot.History(learner("SVMD", 0.1)).learn(X, y)
        okl.plot.summary(history).savefig(args.plot)


if __name__ == "__main__":
    main()
