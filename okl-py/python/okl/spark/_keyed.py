"""`keyed`: a model per key in the state of a stream (Structured Streaming, `transformWithStateInPandas`).

The state of a key is its model file. Spark commits the state with the offsets of the stream, so that after a restart from the checkpoint
the rows of an unfinished micro-batch are learned again from the models before it: the same bits.
"""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

import okl
from okl._starts import settings_of, start_bytes

STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def keyed(
    frame: Any,
    key: str,
    config: dict[str, Any],
    *,
    features: Sequence[str],
    target: str | None,
    order: str,
    start: bytes | okl.Learner | None = None,
) -> Any:
    """Learns the rows of a stream, each with the model of its key.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        A streaming frame.
    key : str
        The column of the key.
    config : dict
        Settings of each model, as `okl.Learner` takes them.
    features, target : sequence of str, and str
        The columns; target None for novelty.
    order : str
        A column that orders the rows of a key within a micro-batch, such as a Kafka offset: Spark shuffles them. It must differ between the rows of a key.
    start : bytes or okl.Learner, optional
        The model that a new key starts from.

    Returns
    -------
    pyspark.sql.DataFrame
        A stream with the key, the order column, and `scores`: the scores of each row before it was learned, as an array.
    """
    if isinstance(features, (str, bytes)):
        raise TypeError(f"features: found {features!r}, expected a list of columns")
    needed = [key, order, *features, *([target] if target else [])]
    for name in needed:
        if name not in frame.columns:
            raise ValueError(f"there is no column {name!r}; there are {', '.join(map(repr, frame.columns))}")
    session = frame.sparkSession
    provider = session.conf.get("spark.sql.streaming.stateStore.providerClass", "")
    if provider != STORE:
        raise ValueError(
            f"okl.spark.keyed needs the state store RocksDB: set spark.sql.streaming.stateStore.providerClass to {STORE}, found {provider!r}"
        )
    given = start_bytes(start)
    processor = Models(settings_of(config, given), list(features), target, key, order, given, okl.__version__)
    types = {field.name: field.dataType.simpleString() for field in frame.schema}
    schema = f"`{key}` {types[key]}, `{order}` {types[order]}, scores array<double>"
    grouped = frame.select(*dict.fromkeys(needed)).groupBy(key)
    return grouped.transformWithStateInPandas(processor, schema, "Append", "None")


class Models(StatefulProcessor):
    """A model per key."""

    def __init__(
        self,
        config: dict[str, Any],
        features: list[str],
        target: str | None,
        key: str,
        order: str,
        start: bytes | None,
        version: str,
    ):
        self.config, self.features, self.target, self.key, self.order = config, features, target, key, order
        self.start, self.version = start, version

    def init(self, handle: StatefulProcessorHandle) -> None:
        if okl.__version__ != self.version:
            raise RuntimeError(
                f"the driver has okl {self.version}, this worker has okl {okl.__version__}: install one version"
            )
        self.model = handle.getValueState("model", "model binary")

    def handleInputRows(
        self, key: Any, rows: Iterator[pandas.DataFrame], timerValues: Any
    ) -> Iterator[pandas.DataFrame]:
        frame = pandas.concat(rows).sort_values(self.order, kind="stable")
        if frame[self.order].duplicated().any():
            twice = frame[self.order][frame[self.order].duplicated()].iloc[0]
            raise ValueError(
                f"key {key[0]!r}: two rows have {self.order} = {twice!r}: there is no order between them"
            )
        learner = self.opened()
        X = frame[self.features].to_numpy(dtype=np.float64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", okl.HealthWarning)
            try:
                scores = learner.learn(X, None if self.target is None else frame[self.target].to_numpy())
            except (TypeError, ValueError) as error:
                first, last = frame[self.order].iloc[[0, -1]]
                where = f"key {key[0]!r}, its {len(frame)} rows with {self.order} from {first} to {last}"
                raise type(error)(f"{where}: {error} (rows are counted within these)") from None
        self.model.update((learner.to_bytes(),))
        yield pandas.DataFrame(
            {self.key: key[0], self.order: frame[self.order], "scores": list(scores.reshape(len(frame), -1))}
        )

    def opened(self) -> okl.Learner:
        if self.model.exists():
            return okl.Learner.from_bytes(bytes(self.model.get()[0]))
        return okl.Learner(self.config) if self.start is None else okl.Learner.from_bytes(self.start)

    def close(self) -> None:
        pass
