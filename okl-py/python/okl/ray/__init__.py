"""okl on a Ray cluster.

`KeyedLearners` holds a model per key (sensor, user, shop), for any number of keys, and learns every row exactly once. `score` runs a model
over a Ray Data dataset. `ShardedLearner` is one model whose terms are divided between processes. `sweep` compares settings. The models and scores have the same bits as on one machine.
"""

from importlib.util import find_spec

if find_spec("ray") is None:
    raise ModuleNotFoundError("okl.ray needs Ray, which is not installed: pip install 'okl[ray]'", name="ray")

from okl.ray._keyed import KeyedLearners, Outputs
from okl.ray._keys import shard_of
from okl.ray._readers import FileReader, KafkaReader, Reader, Rows
from okl.ray._score import score
from okl.ray._sharded import ShardedLearner
from okl.ray._store import Fenced
from okl.ray._sweep import sweep

__all__ = [
    "Fenced",
    "FileReader",
    "KafkaReader",
    "KeyedLearners",
    "Outputs",
    "Reader",
    "Rows",
    "ShardedLearner",
    "score",
    "shard_of",
    "sweep",
]
