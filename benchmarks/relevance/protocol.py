"""What is measured. Written and committed before the first run.

Learners have nothing set but the task (loss `max_margin` or `squared`, an offset, as the estimators have it). BANKS names two: the
bank with nothing set (Gaussian kernels), and `kernel = auto` (Gaussian and matern32 kernels). One pass, every row is predicted
before it is learned.

Base units: the rows as the plain learner scales them (the frame that its warm-up of 256 rows fixed), clipped as it clips them.

    plain    rows as they are, nothing else set. Gives the frame and, where it stands, the frozen leader whose gradient is taken.
    none     base units, scale = none.                The control: it differs from `damped` and `full` in the weights alone.
    damped   base units times w = (M / mean M)^(1/4), at least 0.1.      The main question.
    full     base units times w = (M / mean M)^(1/2), at least 0.1.
    events   base units; after 1,024, 2,048 and 4,096 rows the damped weights are computed from the learner at this count, and a
             new learner with these weights learns all rows so far again, in order, and goes on.
    guarded  `none` and `events` side by side: from 2^k to 2^(k+1) - 1 (k >= 11) the rows are predicted by the one with less error
             from 2^(k-1) to 2^k - 1; before 2,048 and when equal by `none`.

M is the mean over SAMPLE rows, evenly spaced among the rows learned so far. Kernel widths are found again from the weighted rows,
as in every warm-up. A learner with weights learns all rows from the first on; nothing of it is kept from before.

Second half: weights from the first half of the rows; the progressive error over the second half. `none` is the same without.
Held out:    weights from the first nine tenths, which are then learned again; the error on the last tenth.
Whole:       `events` and `guarded` against `none`, the progressive error over all rows.

Streams:     the twenty streams and seeds of nothing_set/definition.toml, defined when the figures of seed 1 of the sets above were
             known and before any run on them. `none` against `events` (damped), `events, full` and `guarded` (between `none`
             and `events`), the progressive error over all rows. The counts begin at 512, since four streams have fewer than
             1,300 rows: 512, 1,024, 2,048 and 4,096; `guarded` chooses from 1,024 on.

Follow:      the same streams, nothing set, defined when all figures above were known and before any run of this part. Can the
             weights follow a drift, and is a quicker guard better? The progressive error over all rows over that of `none`.
             followed: between `none` and `events` (damped): each row is predicted by the one with the smaller discounted error
             (each row's error counts 0.99 of the next one's; `none` when equal).
             recent: weights also after every further 2,048 rows, from the last 2,048 rows; a new learner learns the last 4,096
             rows again and goes on.
             recent, followed: the same choice between `none` and `recent`.

Seeds 1 to 5 shuffle a set, or are the generator's; seed 0 is the file's order (second half and whole only).
Verdict: the mean over seeds 1 to 5 of error / error of `none`. Helps: at most 0.98 and at least 4 of 5 seeds below 1. Hurts: at
least 1.02 and at least 4 of 5 above 1. A setting is worth it if it helps on more sets than it hurts and never costs above 5 %.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relevance.gradient import Function, relevance, weights

Array = NDArray[Any]

BANKS: dict[str, dict[str, Any]] = {"nothing set": {}, "kernel = auto": {"kernel": "auto"}}
TASKS = {"classes": {"loss": "max_margin", "offset": True}, "numbers": {"loss": "squared", "offset": True}}
POWERS = {"damped": 0.5, "full": 1.0}
FLOOR = 0.1
SAMPLE = 512
EVENTS = (1024, 2048, 4096)
STREAM_EVENTS = (512, *EVENTS)
EVERY, REPLAY = 2048, 4096
DISCOUNT = 0.99


def sample(rows: int) -> Array:
    """Places of at most SAMPLE rows, evenly spaced."""
    return np.unique(np.linspace(0, rows - 1, min(rows, SAMPLE)).astype(int))


def errors_of(scores: Array, y: Array, first: int, numbers: bool, seen: int = -1) -> Array:
    """Squared errors, or mistakes. Only classes that occurred before a row can be its prediction; `seen` is the last one before y."""
    part = y[first : first + len(scores)]
    if numbers:
        return (scores.reshape(len(scores)) - part) ** 2
    known = np.maximum.accumulate(y)
    before = np.maximum(seen, np.concatenate([[-1], known]))[first : first + len(scores)]
    allowed = np.arange(scores.shape[1]) <= before[:, None]
    best = np.where(allowed, scores, -np.inf).argmax(1)
    return ((best != part) | (before < 0)).astype(np.float64)


class Course:
    """A learner on its way through the rows, and the error of every row so far."""

    def __init__(self, X: Array, y: Array, settings: dict[str, Any], numbers: bool, seen: int = -1) -> None:
        import okl

        self.X, self.y, self.numbers, self.seen = X, y, numbers, seen
        self.learner = okl.Learner(**settings)
        self.learner.threads = 1
        self.errors = np.zeros(0)

    def to(self, row: int) -> Course:
        """Learns up to this row."""
        first = len(self.errors)
        scores = self.learner.learn(self.X[first:row], self.y[first:row])
        scores = self.by_class(np.asarray(scores).reshape(row - first, -1))
        self.errors = np.append(self.errors, errors_of(scores, self.y, first, self.numbers, self.seen))
        return self

    def by_class(self, scores: Array) -> Array:
        """The learner has its classes in the order in which it met them; here column c is class c."""
        if self.numbers:
            return scores
        known = self.learner.classes
        out = np.full((len(scores), max(known) + 1), -np.inf)
        out[:, known] = scores
        return out

    def on(self, first: int) -> float:
        """The mean error on the rows from `first` on, none of them learned."""
        scores = np.asarray(self.learner.predict(self.X[first:]))
        scores = self.by_class(scores.reshape(len(self.y) - first, -1))
        if self.numbers:
            return float(np.mean((scores[:, 0] - self.y[first:]) ** 2))
        return float(np.mean(scores.argmax(1) != self.y[first:]))

    def relevance(self, units: Array | float = 1.0, last: int | None = None) -> Array:
        """M over the `last` rows so far, in units of the columns before they were multiplied by `units`."""
        function, rows = Function(self.learner.freeze()), len(self.errors)
        count = min(last or rows, rows)
        places = rows - count + sample(count)
        return relevance(function, function.scaled(self.X[places])) * np.square(units)


class Trial:
    """All learners on the rows of one set with one seed."""

    def __init__(self, X: Array, y: Array, numbers: bool, bank: str) -> None:
        self.y, self.numbers, self.rows = y, numbers, len(X)
        self.settings = BANKS[bank] | TASKS["numbers" if numbers else "classes"]
        self.half, self.tenth = self.rows // 2, self.rows - self.rows // 10
        self.seconds: dict[str, float] = {}
        self.plain = Course(X, y, self.settings, numbers)
        self.plain.to(self.half)
        began = time.process_time()
        self.m_half = self.plain.relevance()
        self.seconds["relevance"] = time.process_time() - began
        self.kernel = self.plain.learner.freeze().config["kernel"]
        self.base = Function(self.plain.learner.freeze()).scaled(X)

    def weighted(self, w: Array | float, first: int = 0) -> Course:
        """A learner that begins at row `first`."""
        seen = int(self.y[:first].max(initial=-1)) if not self.numbers else -1
        settings = self.settings | {"scale": "none"}
        return Course(self.base[first:] * w, self.y[first:], settings, self.numbers, seen)

    def run(self, held_out: bool) -> dict[str, Any]:
        began = time.process_time()
        none = self.weighted(1.0).to(self.tenth)
        out = {"none": none.on(self.tenth)} if held_out else {}
        none.to(self.rows)
        self.seconds["none"] = time.process_time() - began
        second = {"none": none.errors[self.half :]}
        self.plain.to(self.tenth)
        m_tenth = self.plain.relevance()
        second["plain"] = self.plain.to(self.rows).errors[self.half :]
        for name, power in POWERS.items():
            course = self.weighted(weights(self.m_half, power, FLOOR)).to(self.rows)
            second[name] = course.errors[self.half :]
            if held_out:
                out[name] = self.weighted(weights(m_tenth, power, FLOOR)).to(self.tenth).on(self.tenth)
        began = time.process_time()
        events = self.events(EVENTS)
        self.seconds["events"] = time.process_time() - began
        whole = {
            "none": none.errors,
            "events": events,
            "guarded": guarded(none.errors, events, 2 * EVENTS[0]),
        }
        return {
            "rows": self.rows,
            "second_half": means(second),
            "held_out": out,
            "whole": means(whole),
            "kernel": self.kernel,
            "m": [float(f"{each:.4g}") for each in self.m_half],
            "seconds": {name: round(value, 3) for name, value in self.seconds.items()},
        }

    def on_stream(self) -> dict[str, Any]:
        """The whole stream only, with more events."""
        none = self.weighted(1.0).to(self.rows).errors
        events = self.events(STREAM_EVENTS)
        whole = {
            "none": none,
            "events": events,
            "events, full": self.events(STREAM_EVENTS, "full"),
            "guarded": guarded(none, events, 2 * STREAM_EVENTS[0]),
        }
        return {"rows": self.rows, "whole": means(whole), "kernel": self.kernel}

    def following(self) -> dict[str, Any]:
        none = self.weighted(1.0).to(self.rows).errors
        events, recent = self.events(STREAM_EVENTS), self.recent()
        whole = {
            "none": none,
            "followed": followed(none, events),
            "recent": recent,
            "recent, followed": followed(none, recent),
        }
        return {"rows": self.rows, "whole": means(whole), "kernel": self.kernel}

    def recent(self) -> Array:
        """The errors of every row, with weights that are estimated again as long as there are rows."""
        w: Array | float = 1.0
        first, course, errors = 0, self.weighted(w), np.zeros(0)
        for count in (*STREAM_EVENTS[:2], *range(EVERY, self.rows, EVERY)):
            if count < self.rows:
                errors = np.append(errors, course.to(count - first).errors[len(errors) - first :])
                w = weights(course.relevance(w, EVERY), POWERS["damped"], FLOOR)
                first = max(0, count - REPLAY)
                course = self.weighted(w, first).to(count - first)
        return np.append(errors, course.to(self.rows - first).errors[len(errors) - first :])

    def events(self, counts: tuple[int, ...], power: str = "damped") -> Array:
        """The errors of every row; those of a replay do not count."""
        w: Array | float = 1.0
        course, errors = self.weighted(w), np.zeros(0)
        for count in (each for each in counts if each < self.rows):
            errors = np.append(errors, course.to(count).errors[len(errors) :])
            w = weights(course.relevance(w), POWERS[power], FLOOR)
            course = self.weighted(w).to(count)
        return np.append(errors, course.to(self.rows).errors[len(errors) :])


def guarded(none: Array, events: Array, start: int) -> Array:
    """At `start`, 2 `start`, ... rows: whichever had less error since the count before goes on."""
    errors = none.copy()
    while start < len(errors):
        since, end = start // 2, 2 * start
        if events[since:start].sum() < none[since:start].sum():
            errors[start:end] = events[start:end]
        start = end
    return errors


def followed(none: Array, other: Array) -> Array:
    """The error of whichever has the smaller discounted error before each row."""
    errors, ahead = none.copy(), 0.0
    for row in range(len(errors)):
        if ahead > 0:
            errors[row] = other[row]
        ahead = DISCOUNT * ahead + none[row] - other[row]
    return errors


def means(of: dict[str, Array]) -> dict[str, float]:
    return {name: float(errors.mean()) for name, errors in of.items()}
