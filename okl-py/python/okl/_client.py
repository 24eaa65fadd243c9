"""A client of `okl serve`, with the standard library only."""

import http.client
import json
import math
import ssl
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import numpy as np

from ._columns import (
    FILL_MASKED,
    as_numbers,
    check_unmasked,
    is_arrow,
    is_missing,
    numbers,
    said_of,
    with_none,
)
from ._warnings import warn_of_health


class ServerError(Exception):
    """A request that the server refused. The server has changed nothing.

    `status` is the HTTP status, `code` a word that does not change between versions, `details` the rest of the answer
    (for example `row`, the row that is wrong).
    """

    def __init__(self, status: int, code: str, message: str, details: Mapping[str, Any]):
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.details = dict(details)


@dataclass
class Prediction:
    """The answer to `Client.predict`."""

    scores: np.ndarray
    """The score of each row; one row of scores per row for a model with several outputs."""
    labels: list[Any] | None
    """The predicted classes, for models with classes."""
    alerts: list[int] | None
    """The rows that are unlike the rows before, for novelty detectors."""
    ids: list[int] | None
    """An id per row, with `remember`."""
    positive: Any = None
    """The class of positive scores, where two classes share one score."""


# Answers after which a request is sent again: the server is starting, stopping or busy, or its disk has a problem.
_AGAIN = frozenset((408, 429, 502, 503, 504, 507))


class Client:
    """Models that learn and predict on a server (`okl serve`).

    Every request that learns has a key, so a request that is sent again after a lost connection is learned once.

    >>> client = okl.Client("http://127.0.0.1:7878")  # doctest: +SKIP
    >>> client.create("clicks", {"loss": "hinge"})  # doctest: +SKIP
    >>> scores = client.learn("clicks", X, y)  # doctest: +SKIP

    `retries` is the number of times that a request is sent again; the pause doubles from 0.1 seconds on.
    `ca_file` is a PEM file with the certificate that signs that of the server; by default those of the system hold.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 60.0,
        retries: int = 6,
        ca_file: str | None = None,
    ):
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url: expected http://HOST:PORT or https://HOST:PORT, found {url!r}")
        self._parts = parts
        self._token = token
        self._timeout = timeout
        self._retries = retries
        self._ca_file = ca_file

    def __repr__(self) -> str:
        return f"Client({self._parts.geturl()!r})"

    def _connection(self, timeout: float | None) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "https":
            context = ssl.create_default_context(cafile=self._ca_file)
            return http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
        return http.client.HTTPConnection(host, port, timeout=timeout)

    def _headers(self, kind: str, more: Mapping[str, str]) -> dict[str, str]:
        headers = {"Content-Type": kind, **more}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        return headers

    def _once(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        connection = self._connection(self._timeout)
        try:
            connection.request(method, self._parts.path.rstrip("/") + path, body=body, headers=dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def _send(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        kind: str = "application/json",
        key: str | None = None,
    ) -> bytes:
        headers = self._headers(kind, {} if key is None else {"Idempotency-Key": key})
        pause = 0.1
        for left in range(self._retries, -1, -1):
            try:
                status, answer = self._once(method, path, body, headers)
            except (OSError, http.client.HTTPException) as error:
                if left == 0:
                    error.add_note(
                        f"okl.Client: no answer from {self._parts.geturl()}; does `okl serve` run there?"
                    )
                    raise
            else:
                if status < 300:
                    return answer
                if status not in _AGAIN or left == 0:
                    raise _refusal(status, answer)
            time.sleep(pause)
            pause = min(2 * pause, 5.0)
        raise AssertionError("the loop ends with an answer or an error")

    def _json(self, method: str, path: str, body: Any = None, *, key: str | None = None) -> dict[str, Any]:
        content = b"" if body is None else json.dumps(body, allow_nan=False).encode()
        return _object(self._send(method, path, content, key=key))

    def models(self) -> list[dict[str, Any]]:
        """The figures of all models that the token may see."""
        listed: list[dict[str, Any]] = self._json("GET", "/v1/models")["models"]
        return listed

    def model(self, name: str) -> dict[str, Any]:
        """The figures of one model."""
        return self._json("GET", _path(name))

    def inspect(self, name: str) -> dict[str, Any]:
        """Settings, figures and certificates of a model."""
        return self._json("GET", _path(name, "inspect"))

    def create(
        self,
        name: str,
        config: Mapping[str, Any] | None = None,
        *,
        task: str | None = None,
        sparse: bool = False,
    ) -> dict[str, Any]:
        """Creates a model. Without a loss and a task, the first rows decide.

        With `sparse`, a number that is absent from a row is 0, and a new name is a new column. With `missing` in the configuration
        (as `okl.Learner` has it), rows may have NaN, None in a dictionary, or names that are absent.
        """
        body: dict[str, Any] = {"config": dict(config or {}), "sparse": sparse}
        if task is not None:
            body["task"] = task
        return self._json("PUT", _path(name), body)

    def upload(
        self, name: str, model: bytes, *, finished: bool = False, sparse: bool = False
    ) -> dict[str, Any]:
        """Creates a model from a model file.

        With `finished`, a file whose features are made by rules of `okl learn` (such as `--log`) is accepted: rows must then have
        the finished features, whose names `inspect` lists. With `sparse`, a number that is absent from a row is 0, and a new name is
        a new column.
        """
        query = urlencode(
            {key: "true" for key, given in (("finished", finished), ("sparse", sparse)) if given}
        )
        path = _path(name) + (f"?{query}" if query else "")
        return _object(self._send("PUT", path, model, kind="application/octet-stream"))

    def download(self, name: str) -> bytes:
        """The model file of a model."""
        return self._send("GET", _path(name, "snapshot"))

    def delete(self, name: str) -> None:
        """Deletes a model and its files."""
        self._send("DELETE", _path(name))

    def learn(
        self,
        name: str,
        X: Any,
        y: Any = None,
        *,
        weights: Any = None,
        ids: Any = None,
        stream: str | None = None,
        offset: int | None = None,
    ) -> np.ndarray:
        """Learns rows and returns their scores from before each update, once the rows are on disk.

        X is an array of numbers, a list of dictionaries with numbers by name, or a frame, whose columns are found by
        name. A row whose target is missing (NaN or None) is predicted and not learned, and an `okl.HealthWarning` has the
        number of such rows. The scores have the shape (rows,), or (rows, outputs) for a model with several outputs. With `stream` and
        `offset` (the number of the first row in the stream), rows that were learned before are recognised even by
        another process. Where two classes share one score, `model(name)["positive"]` is the class of positive scores: the
        one that sorts last, or the second of `classes`. If it changes at one of the rows, an `okl.HealthWarning` names the row.
        """
        if (stream is None) != (offset is None):
            given, missing = ("stream", "offset") if offset is None else ("offset", "stream")
            raise ValueError(
                f"{given} is given without {missing}: give both, stream=NAME and offset=N (the number of the first of "
                "these rows in the stream, from 0), or none of them"
            )
        body: dict[str, Any] = {"rows": _rows(X)}
        for what, value, read in (
            ("targets", y, _targets),
            ("weights", weights, _weights),
            ("ids", ids, _ids),
        ):
            if value is not None:
                body[what] = read(value)
        if stream is not None:
            body |= {"stream": stream, "offset": offset}
        key = uuid.uuid4().hex if stream is None else None
        answer = self._json("POST", _path(name, "learn"), body, key=key)
        _warn_of_missing(body.get("targets", []), answer)
        return _learned(answer)

    def predict(
        self, name: str, X: Any, *, fresh: bool = False, remember: str | int | None = None
    ) -> Prediction:
        """The scores of rows, without learning.

        `fresh` waits until all rows sent before are learned. With `remember` (a time such as "1d"), the rows wait so
        long for their targets; `Prediction.ids` has their ids for `label`. Rows that are remembered before the model has learned
        anything have NaN as scores.
        """
        query = {
            key: value
            for key, value in (("fresh", "true" if fresh else None), ("remember", remember))
            if value
        }
        path = _path(name, "predict") + (f"?{urlencode(query)}" if query else "")
        answer = self._json("POST", path, {"rows": _rows(X)})
        return Prediction(
            _scores(answer),
            answer.get("labels"),
            answer.get("alerts"),
            answer.get("ids"),
            answer.get("positive"),
        )

    def explain(self, name: str, X: Any, *, top: int = 5) -> list[dict[str, Any]]:
        """What adds to the score of each row: `offset`, the `top` terms and the `top` columns that add the most, and all others.

        A score is `offset`, plus `adds` of each of `terms` and of each of `columns`, plus `others_add`: what the terms and
        the columns that are not listed add. With nothing set, a model of dense rows has both, because weight vectors learn
        beside the terms. A model without weight vectors has `terms` only, and one with a linear kernel `columns` only.
        `nearest` is the stored term with the smallest distance, with the columns in which the row differs from it the most.
        """
        path = _path(name, "explain") + f"?top={top}"
        rows: list[dict[str, Any]] = self._json("POST", path, {"rows": _rows(X)})["rows"]
        return rows

    def label(self, name: str, ids: Sequence[int], targets: Any) -> np.ndarray:
        """Learns remembered rows whose targets have arrived, in this order; returns their scores from before each update."""
        body = {"ids": [int(i) for i in _ids(ids)], "targets": _targets(targets)}
        return _learned(self._json("POST", _path(name, "label"), body, key=uuid.uuid4().hex))

    def events(self, name: str) -> Iterator[dict[str, Any]]:
        """The events of a model as they happen. Ends if the server stops.

        `type` is "figures" (all figures: at first, then at most four times a second when they have changed), "alert", "drift", or
        "missed" with the number of alerts and drifts that were lost because they were not read in time: 16,384 of them wait,
        or all of the last request if these are more.
        """
        connection = self._connection(None)
        try:
            connection.request(
                "GET", self._parts.path.rstrip("/") + _path(name, "events"), headers=self._headers("", {})
            )
            answer = connection.getresponse()
            if answer.status != 200:
                raise _refusal(answer.status, answer.read())
            for line in answer:
                if line.startswith(b"data: {"):
                    yield json.loads(line[6:])
        finally:
            connection.close()


def _path(name: str, what: str = "") -> str:
    return f"/v1/models/{quote(name, safe='')}" + (f"/{what}" if what else "")


def _object(answer: bytes) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(answer)
    return parsed


def _refusal(status: int, answer: bytes) -> ServerError:
    try:
        error = json.loads(answer)["error"]
        details = {key: value for key, value in error.items() if key not in ("code", "message")}
        return ServerError(status, error["code"], error["message"], details)
    except (ValueError, KeyError, TypeError):
        return ServerError(status, "unknown", answer[:200].decode(errors="replace"), {})


def _list(values: Any) -> list[Any]:
    """A list for JSON; numpy numbers become numbers."""
    values = values.tolist() if hasattr(values, "tolist") else list(values)
    return [v.item() if hasattr(v, "item") else v for v in values]


def _columns(values: Any) -> list[Any] | None:
    """The columns of a frame of pandas, polars or pyarrow; None for anything else. A frame as a sequence would be its column names."""
    if is_arrow(values):
        return [column.to_pylist() for column in values.columns]
    if hasattr(values, "get_columns"):
        return [column.to_list() for column in values.get_columns()]
    if hasattr(values, "iloc") and hasattr(values, "columns"):
        return [values.iloc[:, at] for at in range(len(values.columns))]
    return None


def _ids(ids: Any) -> list[Any]:
    check_unmasked("ids", ids)
    columns = _columns(ids)
    if columns is not None and len(columns) != 1:
        raise ValueError(f"ids: expected one id per row, found a frame of {len(columns)} columns")
    return _list(ids if columns is None else columns[0])


def _targets(y: Any) -> list[Any]:
    """The targets for JSON; a missing one (NaN, None, pandas' NA, or a masked value) is null. A frame has one target per column."""
    columns = _columns(y)
    if columns is not None:
        targets = [_targets(column) for column in columns]
        return targets[0] if len(targets) == 1 else [list(row) for row in zip(*targets, strict=True)]
    y = with_none(y)
    if getattr(getattr(y, "dtype", None), "kind", "") in ("m", "M"):
        y = list(np.asarray(y))  # as a list of numpy, dates would be numbers
    return [_target(row, value) for row, value in enumerate(_list(y))]


def _target(row: int, value: Any) -> Any:
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_target(row, one) for one in _list(value)]
    if is_missing(value) or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"y: row {row}: found {value}, expected a finite number")
    if not isinstance(value, (str, bool, int, float)):
        raise TypeError(
            f"y: row {row}: found {value} of type {type(value).__name__}, expected a number, text, a bool, or None"
        )
    return value


def _weights(weights: Any) -> list[float]:
    check_unmasked("weights", weights)
    values = np.asarray(weights, dtype=float).ravel()
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(wrong):
        raise ValueError(
            f"weights: row {wrong[0]}: found {values[wrong[0]]}, expected a finite number of at least 0"
        )
    return list(values.tolist())


def _warn_of_missing(targets: Sequence[Any], answer: Mapping[str, Any]) -> None:
    missing = [
        row
        for row, target in enumerate(targets)
        if target is None or (isinstance(target, list) and None in target)
    ]
    if missing and answer.get("not_learned"):
        warn_of_health(
            f"{len(missing)} of {len(targets)} rows were not learned because their target is missing, the first is row {missing[0]}; "
            "they were only predicted. Fill the targets in, or leave these rows out"
        )


def _rows(X: Any) -> list[Any]:
    if isinstance(X, Mapping):
        raise TypeError("X: found a dictionary, expected rows; give a list of dictionaries, one for each row")
    if isinstance(X, Sequence) and X and isinstance(X[0], Mapping):
        return [_named(at, row) for at, row in enumerate(X)]
    if hasattr(X, "tocsr"):
        raise TypeError(
            "X: found a sparse matrix, expected rows of numbers; give X.toarray(), or a list of dictionaries with the numbers "
            "that are not 0 by name, for a model that was created with sparse=True"
        )
    check_unmasked("X", X, FILL_MASKED)
    names = _names(X)
    rows = np.asarray(as_numbers(X))
    rows = np.asarray(rows if rows.dtype.kind in "fiub" else numbers(X), dtype=float)
    if rows.ndim != 2:
        raise ValueError(f"X: expected rows and columns, found an array of shape {rows.shape}")
    if np.isinf(rows).any():
        row, column = np.argwhere(np.isinf(rows))[0]
        raise ValueError(
            f"X: row {row}, column {column}: found {rows[row, column]}, expected a finite number"
        )
    cells = rows.tolist()
    if np.isnan(rows).any():
        cells = [[None if value != value else value for value in row] for row in cells]
    if names is not None:
        return [dict(zip(names, row, strict=True)) for row in cells]
    return list(cells)


def _named(at: int, row: Mapping[Any, Any]) -> dict[str, float | None]:
    """A row of numbers by name; a value that is missing is None."""
    return {str(name): _number(at, name, value) for name, value in row.items()}


def _number(at: int, name: Any, value: Any) -> float | None:
    if is_missing(value):
        return None
    if (words := said_of(value)) is not None:
        raise TypeError(
            f"X: row {at}, column {name!r}: found {value!r} ({words[0]}), expected a number; {words[1]}"
        )
    if math.isinf(value):
        raise ValueError(f"X: row {at}, column {name!r}: found {value}, expected a finite number")
    return None if math.isnan(value) else float(value)


def _names(X: Any) -> list[str] | None:
    """The names of the columns of a frame; None if there are none, or if they are not text, as the numbers of pandas."""
    names = list(X.column_names if is_arrow(X) else getattr(X, "columns", ()))
    if not names or not all(isinstance(name, str) for name in names):
        return None
    if len(set(names)) < len(names):
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise ValueError(f"X: two columns have the name {twice!r}; rename one of them")
    return names


def _learned(answer: Mapping[str, Any]) -> np.ndarray:
    """The scores of rows that were learned; warns if the class of positive scores changes among them."""
    before = answer.get("positive_before")
    if before is not None:
        earlier = "before it" if before["row"] else "in earlier calls"
        warn_of_health(
            f"row {before['row']} brought the second class: from this row on positive scores mean {answer['positive']!r}, {earlier} "
            f"they mean {before['class']!r}; give the model both classes when it is created, as {{'classes': [first, second]}}, to "
            "fix the sign"
        )
    return _scores(answer)


def _scores(answer: Mapping[str, Any]) -> np.ndarray:
    """The scores as `Learner.learn` returns them; NaN for repeated rows whose scores the server no longer has."""
    rows = answer["scores"]
    width = max((len(row) for row in rows if row is not None), default=1)
    scores = np.array([[np.nan] * width if row is None else row for row in rows], dtype=float)
    return scores.reshape((len(rows),) if width == 1 else (len(rows), width))
