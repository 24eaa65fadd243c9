"""A kernel over sequences of different lengths: event logs of two machines are told apart by the order of their events.

Both machines have the same events equally often; only what follows what differs. The kernel counts pairs of similar
places, each with the event before it, so sequences need neither the same length nor an alignment.
"""

import numpy as np

import okl

EVENTS = 4


def steps(sequence: list[int]) -> np.ndarray:
    """How often each event follows each other one, divided by its norm."""
    found = np.zeros((EVENTS, EVENTS))
    np.add.at(found, (sequence[:-1], sequence[1:]), 1.0)
    return (found / max(1.0, np.linalg.norm(found))).ravel()


def transitions(a: list[list[int]], b: list[list[int]]) -> np.ndarray:
    """k(s, t) = exp(<steps of s, steps of t> - 1)."""
    left, right = [steps(s) for s in a], [steps(t) for t in b]
    return np.array([[np.exp((s * t).sum() - 1.0) for t in right] for s in left])


def logs(count: int, rng: np.random.Generator) -> tuple[list[list[int]], list[str]]:
    """Events go round, forwards or backwards, and one in three is random."""
    sequences, machines = [], []
    for _ in range(count):
        forwards = rng.random() < 0.5
        sequence = [int(rng.integers(EVENTS))]
        for _ in range(int(rng.integers(5, 30))):
            step = 1 if forwards else -1
            after = (sequence[-1] + step) % EVENTS
            sequence.append(int(rng.integers(EVENTS)) if rng.random() < 1 / 3 else after)
        sequences.append(sequence)
        machines.append("forwards" if forwards else "backwards")
    return sequences, machines


def main() -> None:
    x, y = logs(600, np.random.default_rng(3))
    m = okl.Learner(
        kernel=transitions, loss="logistic", budget="window:60", classes=["backwards", "forwards"]
    )
    scores = m.learn(x, y)
    right = (scores > 0) == (np.array(y) == "forwards")
    for first in range(0, 600, 200):
        share = 1.0 - right[first : first + 200].mean()
        print(f"logs {first:3} to {first + 199:3}: {100 * share:4.1f} % mistaken before they were learned")
    new, truth = logs(200, np.random.default_rng(4))
    share = np.mean((m.predict(new) > 0) == (np.array(truth) == "forwards"))
    print(f"new logs: {100 * share:.1f} % right with {m.terms} terms")


if __name__ == "__main__":
    main()
