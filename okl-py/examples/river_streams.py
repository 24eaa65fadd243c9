"""okl beside River's own models, on three streams that come inside River's wheel.

Progressive validation: every row is predicted, then learned. All models have their defaults (and a scaler
where they need one), but for one line of okl with a narrower kernel. Accuracy in per cent, seconds for the
whole stream.
"""

import argparse
import time

import numpy as np
import pandas as pd
from river import (
    datasets,
    dummy,
    evaluate,
    forest,
    linear_model,
    metrics,
    multiclass,
    neighbors,
    preprocessing,
    tree,
)

import okl

STREAMS = [datasets.Bananas, datasets.Phishing, datasets.ImageSegments]


def models():
    scaler = preprocessing.StandardScaler
    return {
        "okl": okl.river.KernelClassifier(),
        "okl, gamma=1": okl.river.KernelClassifier(gamma=1.0),
        "prior": dummy.PriorClassifier(),
        "logistic regression": scaler() | multiclass.OneVsRestClassifier(linear_model.LogisticRegression()),
        "Hoeffding adaptive tree": tree.HoeffdingAdaptiveTreeClassifier(seed=1),
        "adaptive random forest": forest.ARFClassifier(seed=1),
        "nearest neighbours": scaler() | neighbors.KNNClassifier(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1000, help="rows of each stream; the longest has 5300")
    parser.add_argument("--plot", metavar="PATH", help="a picture of what okl, gamma=1 makes of the bananas")
    args = parser.parse_args()

    print(f"{'':<24}" + "".join(f"{stream.__name__:>18}" for stream in STREAMS))
    for name in models():
        cells = []
        for stream in STREAMS:
            start = time.perf_counter()
            accuracy = evaluate.progressive_val_score(
                stream().take(args.rows), models()[name], metrics.Accuracy()
            )
            cells.append(f"{100 * accuracy.get():>10.1f}{time.perf_counter() - start:>6.1f} s")
        print(f"{name:<24}" + "".join(cells))

    if args.plot:
        draw_bananas(args.rows, args.plot)


def draw_bananas(rows, path):
    model = models()["okl, gamma=1"]
    X, y = (list(part) for part in zip(*datasets.Bananas().take(rows)))
    model.learn_many(pd.DataFrame(X), pd.Series(y))
    okl.plot.decision_regions(model.learner, pd.DataFrame(X).to_numpy(), np.array(y)).figure.savefig(path)


if __name__ == "__main__":
    main()
