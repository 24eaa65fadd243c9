"""A detector in ten lines: sensors of a space shuttle, of whose readings 7 % are unusual.

The stream comes inside River's wheel.
"""

import argparse

import pandas as pd
from river import datasets

import okl


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--plot", metavar="PATH", help="a picture of the rate of alerts")
    args = parser.parse_args()

    detector = okl.river.NoveltyDetector(nu=0.05)
    alerts = []
    for x, unusual in datasets.Shuttle().take(args.rows):
        if detector.is_novel_one(x):
            alerts.append(unusual)
        detector.learn_one(x)

    rate = detector.alert_rate
    print(f"alerts asked for  {rate.nu:.2%}")
    print(f"alerts raised     {rate.rate:.2%}  (certified: within {rate.bound:.2%} of what was asked for)")
    print(f"really unusual    {sum(alerts) / len(alerts):.1%} of the alerts")

    if args.plot:
        X = pd.DataFrame([x for x, _ in datasets.Shuttle().take(args.rows)]).to_numpy()
        history = okl.plot.History(detector.clone().learner, every=250).learn(X)
        okl.plot.alert_rate(history).figure.savefig(args.plot)


if __name__ == "__main__":
    main()
