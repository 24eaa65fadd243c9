"""The model that new keys start from, on Ray and on Spark."""

from typing import Any

import okl


def start_bytes(start: Any) -> bytes | None:
    """The model file of a learner, or the bytes that were given; None if keys start from a new learner."""
    if start is None or isinstance(start, bytes):
        return start
    if isinstance(start, okl.Learner):
        return start.to_bytes()
    raise TypeError(
        f"start: found {start!r} ({type(start).__name__}), expected an okl.Learner or the bytes of a model file"
    )


def settings_of(config: dict[str, Any] | None, start: bytes | None) -> dict[str, Any]:
    """The settings of every model. A model that starts from another one has the settings of that one, so those that are given must be the same."""
    given = None if start is None else okl.Learner.from_bytes(start).config
    settings = given if config is None and given is not None else okl.Learner(config).config
    if given is not None and given != settings:
        raise ValueError(
            "config: start has other settings, which every model would have: give the settings of start, start.config"
        )
    return settings
