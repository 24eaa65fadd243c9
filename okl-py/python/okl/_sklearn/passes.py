"""Passes over a fixed set with steps that fall to zero, and the step size of what is learned after them.

The step size is eta (1 - t / T) over T = passes x rows examples, so the last hypothesis is close to the minimum of the regularised loss. After
that it would stay near zero. So the model is given a short constant step size for the rows that come later.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from okl._okl import Learner, xxh3_64
from okl._sklearn.refusal import rows_named

ROWS_AT_ONCE = 8192
"""Rows that are gathered for one call of the learner; what is learned does not depend on it."""


LATER = 1 / 64
"""What the first step size is multiplied by for the rows that come after the passes. Longer steps follow the noise of every row: with 1/4 and as much
noise as signal, R² fell from 0.52 to 0.1 within ten rows. With 1/64, targets that change their sign are followed within 400 rows."""


def falling(eta: float, passes: int, rows: int, learned: int = 0) -> dict[str, Any]:
    """The setting `step` of so many passes, which begins with eta after the examples that were `learned`."""
    more = passes * rows
    return {"linear": {"eta": eta * (learned + more) / more, "horizon": learned + more}}


def later(eta: float) -> dict[str, Any]:
    """The setting `step` of rows that come after passes that began with eta."""
    return {"constant": {"eta": LATER * eta}}


def learn_passes(
    learner: Learner,
    rows: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None,
    next_order: Callable[[], np.ndarray],
    passes: int,
    first_id: int = 0,
) -> None:
    """Learns all rows in so many passes. A row that comes again updates its own term; rows have ids from `first_id` on."""
    order = np.concatenate([next_order() for _ in range(passes)])
    for part in np.split(order, range(ROWS_AT_ONCE, len(order), ROWS_AT_ONCE)):
        with rows_named(part):
            learner.learn(
                rows[part], y[part], weights=None if weights is None else weights[part], ids=first_id + part
            )


def with_settings(learner: Learner, settings: dict[str, Any]) -> Learner:
    """The same model with other settings for what comes later: a step size, or the scale of its targets and scores."""
    pickled: Any = learner.__reduce__()
    rebuilt, (data,), names = pickled
    (length,) = struct.unpack("<Q", data[:8])
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    about = json.loads(header["__metadata__"]["okl"])
    about["config"] |= settings
    header["__metadata__"]["okl"] = json.dumps(about, separators=(",", ":"))
    at = header["checksum"]["data_offsets"][0]
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    begin = struct.pack("<Q", len(text)) + text
    unchecked = begin + body[:at] + b"\0" * 8 + body[at + 8 :]
    place = len(begin) + at
    changed: Any = rebuilt(unchecked[:place] + struct.pack("<Q", xxh3_64(unchecked)) + unchecked[place + 8 :])
    changed.__setstate__(names)
    return cast(Learner, changed)
