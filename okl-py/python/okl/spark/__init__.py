"""okl on Spark: `score` adds a model's columns to a frame, `keyed` keeps a model per key in the state of a stream."""

from importlib.util import find_spec

if find_spec("pyspark") is None:
    raise ModuleNotFoundError(
        "okl.spark needs pyspark, which is not installed: pip install 'okl[spark]'", name="pyspark"
    )

from okl.spark._keyed import keyed
from okl.spark._score import score

__all__ = ["keyed", "score"]
