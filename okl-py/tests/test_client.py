"""`okl.Client` against a server in another process."""

import contextlib
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import okl

CONFIG = {
    "loss": "hinge",
    "kernel": "gaussian:0.7",
    "step": "constant:0.3",
    "lambda": 0.001,
    "budget": "merge:40",
}


class Server:
    def __init__(self, folder, port=0):
        command = [sys.executable, "-m", "okl", "serve", str(folder), "--listen", f"127.0.0.1:{port}"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            event = json.loads(line) if line.startswith("{") else {}
            if event.get("event") == "listening":
                self.url = event["url"]
                return
        pytest.skip("this build of okl has no server")

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait()


@pytest.fixture
def server(tmp_path):
    server = Server(tmp_path)
    yield server
    server.end(signal.SIGKILL)


def rows(count, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(count, 2))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "in", "out")


def test_upload_takes_the_settings_of_its_route(server, tmp_path):
    table, model = tmp_path / "t.csv", tmp_path / "m.okl"
    table.write_text("q,y\n1,1\n10,2\n100,3\n1000,4\n")
    learn = [
        sys.executable,
        "-m",
        "okl",
        "learn",
        table,
        "--target",
        "y",
        "--task",
        "numbers",
        "--log",
        "q",
        "-o",
        model,
    ]
    subprocess.run([str(word) for word in learn], check=True, capture_output=True)
    client = okl.Client(server.url)
    with pytest.raises(okl.ServerError, match="finished=true"):
        client.upload("m", model.read_bytes())
    told = client.upload("m", model.read_bytes(), finished=True, sparse=True)
    assert told["examples"] == 4
    assert told["settings"]["sparse"]


def test_the_scores_are_those_of_a_learner(server):
    client = okl.Client(server.url)
    client.create("m", CONFIG)
    X, y = rows(200)
    settings = {("lam" if key == "lambda" else key): value for key, value in CONFIG.items()}
    plain = okl.Learner(**settings)
    expected = plain.learn(X, y)
    assert client.learn("m", X[:50], y[:50]).tolist() == expected[:50].tolist()
    named = [{"b": b, "a": a} for a, b in X[50:]]
    with pytest.raises(okl.ServerError, match="have no names") as refused:
        client.learn("m", named, y[50:])
    assert refused.value.status == 422
    assert client.learn("m", X[50:], y[50:], stream="s", offset=0).tolist() == expected[50:].tolist()
    assert client.learn("m", X[50:], y[50:], stream="s", offset=0).tolist() == expected[50:].tolist()
    assert client.model("m")["examples"] == 200
    assert client.predict("m", X, fresh=True).scores.tolist() == plain.predict(X).tolist()
    client.upload("copy", client.download("m"))
    assert [model["name"] for model in client.models()] == ["copy", "m"]
    client.delete("copy")
    assert client.inspect("m")["examples"] == 200


def test_missing_values_are_filled_as_a_learner_fills_them(server):
    client, (X, _) = okl.Client(server.url), rows(40)
    y, gaps = X[:, 0] * X[:, 1], np.random.default_rng(3).random(X.shape) < 0.2
    X[gaps] = np.nan
    settings = {**CONFIG, "loss": "squared", "missing": "mean+indicator"}
    learner = okl.Learner(settings)
    client.create("m", settings)
    client.create("named", settings)
    dictionaries = [
        {name: None if value != value else value for name, value in zip("ab", row, strict=True)}
        for row in X.tolist()
    ]
    scores = learner.learn(X[:30], y[:30])
    assert np.array_equal(client.learn("m", X[:30], y[:30]), scores)
    assert np.array_equal(client.learn("named", dictionaries[:30], y[:30]), scores)
    for name, ask in (("m", X[30:]), ("named", dictionaries[30:]), ("named", [{"b": 1.0}])):
        expected = learner.predict([[np.nan, 1.0]] if len(ask) == 1 else X[30:])
        assert np.array_equal(client.predict(name, ask, fresh=True).scores, expected)
    # The file comes back with the rule and the values, and a file of Python goes there.
    assert np.array_equal(okl.Learner.from_bytes(client.download("m")).predict(X), learner.predict(X))
    client.upload("up", learner.to_bytes())
    assert np.array_equal(client.learn("up", X[30:], y[30:]), learner.learn(X[30:], y[30:]))
    client.create("refuse", CONFIG)
    with pytest.raises(okl.ServerError, match="row 1, column 1: no value") as refused:
        client.learn("refuse", [[1.0, 2.0], [3.0, np.nan]], [1, -1])
    assert refused.value.details == {"row": 1, "column": 1}


def test_labels_arrive_later(server):
    client = okl.Client(server.url)
    client.create("m", CONFIG)
    X, y = rows(30)
    client.learn("m", X[:10], y[:10])
    ids = client.predict("m", X[10:], remember="1h").ids
    client.label("m", ids, y[10:])
    assert client.model("m")["labelled"] == 20
    with pytest.raises(okl.ServerError) as refused:
        client.label("m", ids, y[10:])
    assert (refused.value.code, refused.value.details) == ("not_waiting", {"id": ids[0]})


def test_a_request_is_sent_again_and_learned_once(tmp_path):
    first = Server(tmp_path)
    port = int(first.url.rsplit(":", 1)[1])
    client = okl.Client(first.url)
    client.create("m", CONFIG)
    X, y = rows(300)
    sent = []

    def send():
        for at in range(0, 300, 3):
            client.learn("m", X[at : at + 3], y[at : at + 3])
            sent.append(at)

    sender = threading.Thread(target=send)
    sender.start()
    while len(sent) < 20:
        sender.join(0.001)
    first.end(signal.SIGKILL)
    second = Server(tmp_path, port)
    sender.join()
    assert client.model("m")["examples"] == 300
    settings = {("lam" if key == "lambda" else key): value for key, value in CONFIG.items()}
    plain = okl.Learner(**settings)
    plain.learn(X, y)
    assert client.predict("m", X, fresh=True).scores.tolist() == plain.predict(X).tolist()
    assert second.end() == 143


def test_alerts_are_events(server):
    client = okl.Client(server.url)
    client.create(
        "m",
        {
            "loss": "nu_novelty:0.1",
            "kernel": "gaussian:1",
            "step": "constant:0.1",
            "lambda": 0.1,
            "theta0": 0.5,
        },
    )
    events = client.events("m")
    assert next(events)["name"] == "m"
    client.learn("m", [[0.0], [0.0], [0.0], [50.0]])
    alert = next(event for event in events if event.get("type") == "alert" and event["alert"]["row"] == 3)
    assert alert["alert"]["score"] < alert["alert"]["threshold"]


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="url: expected"):
        okl.Client("127.0.0.1:7878")
    client = okl.Client("http://127.0.0.1:9", retries=0)
    with pytest.raises(ValueError, match="row 1, column 0: found inf"):
        client.learn("m", [[0.0], [np.inf]])
    with pytest.raises(OSError, match="refused") as refused:
        client.models()
    assert any("http://127.0.0.1:9" in note for note in refused.value.__notes__)


DAY = np.datetime64("2024-01-31")


@pytest.mark.parametrize(
    ("X", "y", "weights", "said"),
    [
        (np.array([[DAY]]), None, None, r"column 0: found 2024-01-31 \(a date\) in row 0"),
        ([[0.0], ["x"]], None, None, r"column 0: found 'x' \(text\) in row 1"),
        ([[0.0], [None]], None, None, r"column 0: found None \(missing\) in row 1"),
        (np.array([[1.0 + 2.0j]]), None, None, r"found \(1\+2j\) \(complex\) in row 0"),
        ([{"a": 1.0}, {"a": -np.inf}], None, None, "X: row 1, column 'a': found -inf"),
        ([{"a": 1.0}, {"a": "x"}], None, None, r"X: row 1, column 'a': found 'x' \(text\)"),
        ([[0.0], [0.0]], [1.0, np.inf], None, "y: row 1: found inf"),
        ([[0.0], [0.0]], np.array([DAY, DAY]), None, "y: row 0: found 2024-01-31 of type"),
        ([[0.0], [0.0]], [1.0, 2.0], [1.0, np.nan], "weights: row 1: found nan"),
    ],
)
def test_wrong_values_are_named_before_they_are_sent(X, y, weights, said):
    client = okl.Client("http://127.0.0.1:9", retries=0)
    with pytest.raises((TypeError, ValueError), match=said):
        client.learn("m", X, y, weights=weights)


def test_masked_values_are_refused():
    """Under a mask are numbers that nobody has measured."""
    client, X = okl.Client("http://127.0.0.1:9", retries=0), np.ma.array(np.ones((5, 3)), mask=False)
    X[3, 2] = np.ma.masked
    for masked in (X, list(X)):
        for send in (client.predict, client.learn, client.explain):
            with pytest.raises(
                ValueError, match="X has masked values, the first in row 3, column 2: fill them in"
            ):
                send("m", masked)
    for name in ("weights", "ids"):
        with pytest.raises(ValueError, match=f"{name} has masked values, the first in row 3:"):
            client.learn("m", X.data, np.ones(5), **{name: X[:, 2]})
    with pytest.raises(ValueError, match="ids has masked values, the first in row 3:"):
        client.label("m", X[:, 2], np.ones(5))


def test_a_sparse_matrix_is_refused():
    with pytest.raises(TypeError, match=r"X: found a sparse matrix.*X.toarray\(\).*sparse=True"):
        okl.Client("http://127.0.0.1:9", retries=0).predict("m", pytest.importorskip("scipy.sparse").eye(3))


def test_missing_targets_are_counted(server):
    client = okl.Client(server.url)
    client.create("m", {"loss": "squared"})
    pandas = pytest.importorskip("pandas")
    X = rows(4)[0]
    for y in ([1.0, np.nan, 2.0, None], pandas.Series([1, None, 2, None], dtype="Int64")):
        with pytest.warns(okl.HealthWarning, match="2 of 4 rows were not learned .* the first is row 1"):
            client.learn("m", X, y)
    assert (client.model("m")["rows"], client.model("m")["examples"]) == (8, 4)


@pytest.mark.parametrize(("given", "missing"), [({"stream": "s"}, "offset"), ({"offset": 5}, "stream")])
def test_stream_and_offset_belong_together(given, missing):
    client = okl.Client("http://127.0.0.1:9", retries=0)
    with pytest.raises(ValueError, match=f"without {missing}: give both"):
        client.learn("m", [[0.0]], [1.0], **given)


class Sent(okl.Client):
    """A client whose requests are kept and answered with scores of one output, without a server."""

    def _once(self, method, path, body, headers):
        self.body = json.loads(body)
        return 200, json.dumps({"scores": [[0.5], None], "labels": None}).encode()


def test_a_frame_is_sent_with_its_names():
    pandas = pytest.importorskip("pandas")
    client = Sent("http://127.0.0.1:9")
    frame = pandas.DataFrame({"b": [1.0, 2.0], "a": [3, 4]})
    for send in (client.learn, client.predict):
        send("m", frame)
        assert client.body["rows"] == [{"b": 1.0, "a": 3.0}, {"b": 2.0, "a": 4.0}]
    client.predict("m", pandas.DataFrame(frame.to_numpy()))
    assert client.body["rows"] == [[1.0, 3.0], [2.0, 4.0]]
    with pytest.raises(ValueError, match="two columns have the name 'a'"):
        client.predict("m", frame.rename(columns={"b": "a"}))


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_frame_of_targets_has_the_targets_and_not_the_names(server, kind):
    X, y = rows(60)

    def frame(columns):
        table = pd.DataFrame(columns)
        return {"pandas": table, "polars": pl.from_pandas(table), "pyarrow": pa.Table.from_pandas(table)}[
            kind
        ]

    def cut(table, at):
        return table.iloc[at : at + 1] if kind == "pandas" else table[at : at + 1]

    client, said = okl.Client(server.url), np.asarray(y)
    client.create("array")
    expected = client.learn("array", X, said)
    client.create("whole")
    assert client.learn("whole", X, frame({"target": said})).tolist() == expected.tolist()
    client.create("rows")
    one = frame({"target": said})
    for at in range(60):
        client.learn("rows", X[at : at + 1], cut(one, at))
    assert client.model("rows")["classes"] == client.model("array")["classes"]
    assert sorted(client.model("rows")["classes"]) == ["in", "out"]
    assert client.predict("rows", X).scores.tolist() == client.predict("array", X).scores.tolist()
    # Several targets: as many columns as rows.
    client.create("both", {"loss": "squared"})
    client.create("same", {"loss": "squared"})
    two = frame({"a": X[:2, 1], "b": X[:2, 0]})
    scores = client.learn("both", X[:2], two)
    assert scores.tolist() == client.learn("same", X[:2], X[:2, ::-1]).tolist()
    # Targets that arrive later, and ids.
    client.create("late")
    ids = client.predict("late", X[:1], remember="1d").ids
    client.label("late", frame({"id": ids}), cut(one, 0))
    assert client.model("late")["classes"] == [said[0]]
    with pytest.raises(ValueError, match="one id per row, found a frame of 2 columns"):
        client.learn("late", X[:2], said[:2], ids=frame({"a": [1, 2], "b": [3, 4]}))
    with pytest.raises(TypeError, match="X: found a dictionary, expected rows"):
        client.predict("late", {"a": 1.0})


def test_scores_of_one_output_have_one_dimension():
    client = Sent("http://127.0.0.1:9")
    scores = [
        client.learn("m", [[0.0], [1.0]]),
        client.predict("m", [[0.0]]).scores,
        client.label("m", [1], [1]),
    ]
    for found in scores:
        np.testing.assert_array_equal(found, [0.5, np.nan])


def test_truth_values_and_the_positive_class(server):
    client = okl.Client(server.url)
    X, _ = rows(40)
    X[:2, 0] = -1.0
    y = X[:, 0] > 0
    for name, settings in (("learned", CONFIG), ("softmax", CONFIG | {"loss": "softmax"})):
        settings = {("lam" if key == "lambda" else key): value for key, value in settings.items()}
        plain = okl.Learner(**settings)
        with pytest.warns() if name == "learned" else contextlib.nullcontext():
            plain.learn(X, y)
        client.upload(name, plain.to_bytes())
        client.learn(name, X, y)
        assert client.model(name)["classes"] == [0, 1]
        back = okl.Learner.from_bytes(client.download(name))
        back.learn(X, y)
        back.learn(X, y.astype(int))
        back.learn(X, np.where(y, "true", "false"))
        assert len(back.classes) == 2
    client.create("new", CONFIG)
    with pytest.warns(okl.HealthWarning, match=f"row {y.argmax()} brought the second class"):
        client.learn("new", X, y)
    predicted = client.predict("new", X, fresh=True)
    assert (predicted.labels == y).mean() > 0.9 and predicted.positive is True
    back = okl.Learner.from_bytes(client.download("new"))
    back.learn(X, y)
    back.learn(X, y.astype(int))
    assert back.classes == ["false", "true"]


def test_the_parts_of_a_score(server):
    client = okl.Client(server.url)
    client.create(
        "m",
        {"loss": "squared", "kernel": "gaussian:1", "step": "constant:0.5", "lambda": 0, "scale": "none"},
    )
    client.learn("m", [[0.0], [5.0]], [2.0, 4.0])
    (row,) = client.explain("m", [[4.0]], top=1)
    assert row["terms"][0]["adds"] == pytest.approx([2 * np.exp(-1)], rel=1e-6)
    assert row["nearest"]["columns"][0]["stored"] == 5.0


def example(server, name):
    """Runs an example against the server; returns the values that it prints."""
    file = Path(__file__).parents[1] / "examples" / name
    done = subprocess.run([sys.executable, str(file), "--url", server.url], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [line[22:].split() for line in done.stdout.splitlines()]


def test_watched_sensor(server):
    """Most readings of the stuck valve are found, few others are reported, and the reason is the flow."""
    found, others, reason = example(server, "watched_sensor.py")
    assert float(found[0].rstrip("%")) > 70
    assert float(others[0].rstrip("%")) < 5
    assert reason == ["flow"]


def test_delayed_clicks(server):
    """The model improves although every label arrives late."""
    arrived, first, last = example(server, "delayed_clicks.py")
    assert int(arrived[0].rstrip(",")) + int(arrived[3]) == 2980
    assert float(last[0].rstrip("%")) > 85
    assert float(last[0].rstrip("%")) > float(first[0].rstrip("%")) + 5
