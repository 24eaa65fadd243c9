"""A kernel over strings of one's own: words of two invented languages are told apart after one pass.

The same words, kernel and settings as okl/examples/strings.rs, with the same numbers.
"""

from collections import Counter
from functools import cache
from math import sqrt

import numpy as np

import okl

SYLLABLES = (
    ("ka", "lo", "mi", "tu", "na", "re", "so", "vi"),
    ("str", "ach", "ung", "ber", "elt", "orn", "ist", "kra"),
)


@cache
def counts(text: str) -> Counter[str]:
    """The pairs of letters of a word."""
    return Counter(text[i : i + 2] for i in range(len(text) - 1))


def spectrum(a: list[str], b: list[str]) -> np.ndarray:
    """k(s, t) = <counts of s, counts of t> / (|.| |.|), over all pairs of letters."""

    def value(s: Counter[str], t: Counter[str]) -> float:
        shared = sum(n * t[pair] for pair, n in s.items())
        squares = sum(n * n for n in s.values()) * sum(n * n for n in t.values())
        return shared / sqrt(squares) if shared else 0.0

    return np.array([[value(counts(s), counts(t)) for t in b] for s in a])


def words(count: int) -> tuple[list[str], list[float]]:
    seed = 7

    def below(n: int) -> int:
        nonlocal seed
        seed = (seed * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % 2**64
        return (seed >> 33) % n

    texts, languages = [], []
    for _ in range(count):
        language = below(2)
        # One syllable in five is borrowed from the other language.
        syllables = [
            SYLLABLES[1 - language if below(5) == 0 else language][below(8)] for _ in range(2 + below(3))
        ]
        texts.append("".join(syllables))
        languages.append(2.0 * language - 1.0)
    return texts, languages


def main() -> None:
    x, y = words(2000)
    m = okl.Learner(
        kernel=spectrum, loss="hinge", budget="transfer:100", step="inverse_sqrt:1", lam=1e-3, offset=True
    )
    mistaken = m.learn(x, y) * y <= 0
    for first in range(0, 2000, 500):
        share = mistaken[first : first + 500].mean()
        print(f"words {first:4} to {first + 499:4}: {100 * share:4.1f} % mistaken before they were learned")
    heaviest = [m.objects[i] for i in np.argsort(m.coefficients[:, 0], kind="stable")]
    print(
        f"{m.terms} words are kept; most of the one language: {' '.join(heaviest[:4])}; "
        f"of the other: {' '.join(heaviest[-4:])}"
    )


if __name__ == "__main__":
    main()
