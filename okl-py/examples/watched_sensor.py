"""A sensor that is watched: a server learns what is usual, and says which readings are not and why.

Start a server first (`okl serve models`). The readings are of a made-up boiler whose valve sticks now and then.
"""

import argparse

import numpy as np

import okl

NAMES = ("temperature", "pressure", "flow")


def readings(count, seed=0):
    """Readings of a burner that goes on and off, and which of them are of a valve that sticks: hardly any flow."""
    generator = np.random.default_rng(seed)
    minute = np.arange(count)
    temperature = 70 + 8 * np.sin(minute * 2 * np.pi / 60) + generator.normal(size=count)
    pressure = 2 + 0.02 * (temperature - 70) + 0.05 * generator.normal(size=count)
    flow = 12 + 0.3 * (temperature - 70) + 0.5 * generator.normal(size=count)
    stuck = (np.arange(count) > count // 2) & (generator.uniform(size=count) < 0.01)
    flow[stuck] = 0.5
    return np.column_stack([temperature, pressure, flow]), stuck


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", default="http://127.0.0.1:7878")
    parser.add_argument("--token")
    parser.add_argument("--rows", type=int, default=6000)
    args = parser.parse_args()

    client = okl.Client(args.url, args.token)
    client.create("boiler", {"loss": "density", "nu": 0.02})
    X, stuck = readings(args.rows)
    alerts = np.zeros(args.rows, dtype=bool)
    reasons = []
    for start in range(0, args.rows, 50):
        batch = [dict(zip(NAMES, row, strict=True)) for row in X[start : start + 50]]
        found = client.predict("boiler", batch).alerts or [] if start > 0 else []
        alerts[[start + row for row in found]] = True
        for row in [row for row in found if stuck[start + row]]:
            (why,) = client.explain("boiler", [batch[row]])
            reasons.append(why["nearest"]["columns"][0]["column"])
        # `offset` makes it safe to start this program again: rows that the server has are not learned twice.
        client.learn("boiler", batch, stream="readings", offset=start)

    later = np.arange(args.rows) > args.rows // 2
    print(f"stuck readings found  {alerts[stuck].mean():.0%} of {stuck.sum()}")
    print(f"alerts on the others  {alerts[later & ~stuck].mean():.1%}")
    print(f"what is unusual       {reasons[0]}")


if __name__ == "__main__":
    main()
