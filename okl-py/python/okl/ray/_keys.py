"""Keys of models and their shards.

A key is text, bytes or a whole number. Text stands for its UTF-8 bytes and a whole number for its decimal digits, so 5 and "5"
are one key. A key belongs to the shard xxh3_64(bytes, seed 0) mod shards, for as long as its folder exists.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from okl._okl import xxh3_64

Key = str | bytes | int


def key_bytes(key: Any) -> bytes:
    """The bytes of a key, which are hashed and stored."""
    if isinstance(key, str):
        return key.encode()
    if isinstance(key, bytes):
        return key
    if isinstance(key, (int, np.integer)) and not isinstance(key, (bool, np.bool_)):
        return str(int(key)).encode()
    raise TypeError(f"found {key!r} ({type(key).__name__}), expected text, bytes or a whole number")


def all_key_bytes(keys: Iterable[Any]) -> list[bytes]:
    """The bytes of keys; an error names the row."""
    found = []
    for row, key in enumerate(keys.tolist() if isinstance(keys, np.ndarray) else keys):
        try:
            found.append(key_bytes(key))
        except TypeError as error:
            raise TypeError(f"key of row {row}: {error}") from None
    return found


def key_text(key: bytes) -> str:
    """A key for messages."""
    return repr(key.decode(errors="backslashreplace"))


def shard_of(key: bytes, shards: int) -> int:
    """The shard of a key."""
    return xxh3_64(key) % shards
