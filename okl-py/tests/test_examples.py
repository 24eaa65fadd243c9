"""The examples, as a user runs them, and what their output must show."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
SERVED = ("watched_sensor.py", "delayed_clicks.py")
"""Examples that need a server: they are run by test_client.py."""
OBJECTS = ("strings.py", "sequences.py")
"""Examples of kernels over objects, which draw no picture."""


@pytest.fixture
def run(tmp_path):
    """Runs an example that draws a picture; returns the lines that it prints."""

    def run(name, *arguments):
        picture = tmp_path / "picture.png"
        command = [sys.executable, str(EXAMPLES / name), *arguments, "--plot", str(picture)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert picture.read_bytes().startswith(b"\x89PNG")
        return done.stdout.splitlines()

    return run


def numbers(line):
    return [
        float(word.rstrip("%")) for word in line.split() if word.rstrip("%").replace(".", "", 1).isdigit()
    ]


def test_every_example_is_tested():
    drawn = {"digits_drift.py", "river_streams.py", "multi_output.py", "detector.py"}
    tested = {*drawn, *OBJECTS, *SERVED}
    assert {file.name for file in EXAMPLES.glob("*.py")} == tested


def test_digits_drift(run):
    """SVMD gets there from any first step, and none of the schedules does."""
    _, *rows = run("digits_drift.py")
    table = {row.split()[0]: numbers(row)[-4:] for row in rows}
    assert list(table) == ["SVMD", "constant", "decay", "1/sqrt(t)"]
    worst = {rule: min(accuracies) for rule, accuracies in table.items()}
    assert worst["SVMD"] > 70
    assert all(worst[rule] < 50 for rule in worst if rule != "SVMD")


def test_river_streams(run):
    """Better than guessing, as good as a linear model where that is enough, far better where it is not."""
    header, *rows = run("river_streams.py", "--rows", "400")
    accuracy = {row[:24].strip(): numbers(row[24:])[::2] for row in rows}
    assert header.split() == ["Bananas", "Phishing", "ImageSegments"]
    for stream in range(3):
        assert accuracy["okl"][stream] > accuracy["prior"][stream] + 10
        assert accuracy["okl"][stream] > accuracy["logistic regression"][stream] - 1
    assert accuracy["okl"][0] > accuracy["logistic regression"][0] + 10


def test_multi_output(run):
    """Outputs that know of each other need fewer rows; too much of it does harm."""
    _, alone, half, much = [numbers(line) for line in run("multi_output.py")]
    assert [line[0] for line in (alone, half, much)] == [0.0, 0.5, 0.9]
    assert half[2] < 0.75 * alone[2]
    assert half[2] < much[2]


def test_detector(run):
    asked, raised, unusual = [numbers(line) for line in run("detector.py")]
    assert asked == [5.0]
    assert abs(raised[0] - 5.0) < 0.5
    assert unusual[0] > 3 * 7.0, "alerts are hardly better than rows at random"


def mistaken(name):
    """The shares of mistakes that an example of objects prints."""
    done = subprocess.run([sys.executable, str(EXAMPLES / name)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [
        float(line.split(":")[1].split("%")[0]) for line in done.stdout.splitlines() if "mistaken" in line
    ]


def test_strings():
    """The numbers of okl/examples/strings.rs, whose kernel runs inside the engine."""
    assert mistaken("strings.py") == [20.6, 17.0, 16.2, 17.8]


def test_sequences():
    first, _, last = mistaken("sequences.py")
    assert last < first < 10.0, "half of all guesses would be right"
