"""A click model with delayed labels: pages are scored at once, and learned when it is known who has clicked.

Start a server first (`okl serve models`). The server keeps the rows that wait, so this program only keeps their ids.
"""

import argparse
import heapq

import numpy as np

import okl


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", default="http://127.0.0.1:7878")
    parser.add_argument("--token")
    parser.add_argument("--pages", type=int, default=3000)
    args = parser.parse_args()

    client = okl.Client(args.url, args.token)
    client.create("clicks", {"loss": "hinge"})
    generator = np.random.default_rng(0)
    X = generator.normal(size=(args.pages, 3))
    # Readers click if topic and time of day fit together; one in twenty clicks by chance.
    clicked = (X[:, 0] * X[:, 1] > 0) ^ (generator.uniform(size=args.pages) < 0.05)
    delay = generator.integers(10, 200, size=args.pages)
    names = np.array(["none", "click"])
    client.learn("clicks", X[:20], names[clicked[:20].astype(int)])

    waiting: list[tuple[int, int, int]] = []
    right = []
    for start in range(20, args.pages, 20):
        shown = client.predict("clicks", X[start : start + 20], remember="1d")
        for page, label, row in zip(range(start, args.pages), shown.labels, shown.ids, strict=False):
            right.append((label == "click") == clicked[page])
            heapq.heappush(waiting, (page + delay[page], row, page))
        arrived = []
        while waiting and waiting[0][0] <= start:
            arrived.append(heapq.heappop(waiting))
        if arrived:
            targets = names[clicked[[page for *_, page in arrived]].astype(int)]
            client.label("clicks", [row for _, row, _ in arrived], targets)

    told = client.model("clicks")
    print(f"labels that arrived   {told['labelled']}, still waiting {told['waiting']}")
    print(f"right, first 500      {np.mean(right[:500]):.1%}")
    print(f"right, last 500       {np.mean(right[-500:]):.1%}")


if __name__ == "__main__":
    main()
