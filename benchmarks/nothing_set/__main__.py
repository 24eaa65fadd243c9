"""Runs what definition.toml asks for, one run at a time, and writes benchmarks/nothing_set.md.

python -m nothing_set peers --data DIR              # what the record does not have yet; may be stopped and started
python -m nothing_set okl --label today --data DIR  # okl on all streams and seeds, under a name of its own
python -m nothing_set page
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from nothing_set import plan
from nothing_set.plan import Run

HERE = Path(__file__).parent
PACKAGES = {"river": "river", "capymoa": "capymoa", "okl": "okl", "baseline": "numpy"}
ONE_THREAD = {
    "JAVA_TOOL_OPTIONS": "-XX:+UseSerialGC -XX:ActiveProcessorCount=1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
}


def record_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def append(file: Path, line: dict[str, Any]) -> None:
    with file.open("a") as record:
        record.write(json.dumps(line) + "\n")


def one(spec: dict[str, Any]) -> dict[str, Any]:
    """One run, in this process."""
    from nothing_set import learners, streams

    [stream] = [each for each in plan.read().streams if each.name == spec["stream"]]
    X, y = streams.rows_of(stream, spec["seed"], Path(spec["data"]))
    numbers = stream.task == "numbers"
    make = learners.PROGRAMS[spec["program"]]
    learner = make(spec["learner"], spec["settings"], X, y, numbers, spec["seed"])
    began = time.process_time()
    if spec.get("in_one_call"):
        outcome = learners.in_one_call(learner.model, X, y, numbers)
    else:
        outcome = learners.progressive(learner, y, numbers, began + spec["limit"])
    outcome["processor"] = round(time.process_time() - began, 3)
    if not all(map(math.isfinite, outcome.values())):
        raise ArithmeticError("the error is not finite")
    if spec["program"] == "okl":
        outcome["terms"] = learner.model.learner.terms
        if not spec["in_one_call"]:
            again = learners.in_one_call(learners.named(spec["learner"])(**spec["settings"]), X, y, numbers)
            if not math.isclose(again["error"], outcome["error"], rel_tol=1e-9):
                raise ArithmeticError(f"{outcome['error']} row by row, {again['error']} in one call")
            outcome |= cost(learner.model, X, y)
    return outcome | {"rows": len(X), "columns": X.shape[1]}


def cost(learned: Any, X: Any, y: Any) -> dict[str, Any]:
    """The time of a bank over that of a plain learner with the settings it settled on: the fastest of three."""
    import okl

    plain = learned.learner.freeze().config
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for nothing_set in [True, False] * 3:
        learner = learned.clone().learner if nothing_set else okl.Learner(plain)
        learner.threads = 1
        began = time.process_time()
        learner.learn(X, y)
        seconds[nothing_set].append(time.process_time() - began)
    return {"cost": round(min(seconds[True]) / min(seconds[False]), 2), "plain_terms": learner.terms}


def serve() -> None:
    """Answers each line of standard input with one line; whatever goes wrong in a run is its result."""
    for line in sys.stdin:
        try:
            outcome = one(json.loads(line))
        except Exception as error:
            outcome = {"failed": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps(outcome), flush=True)


class Workers:
    """A process per program, which imports its package once; one run at a time."""

    def __init__(self) -> None:
        self.running: dict[str, subprocess.Popen[str]] = {}

    def run(self, spec: dict[str, Any]) -> dict[str, Any]:
        worker = self.running.get(spec["program"])
        if worker is None or worker.poll() is not None:
            worker = self.running[spec["program"]] = self.start()
        assert worker.stdin and worker.stdout
        try:
            worker.stdin.write(json.dumps(spec) + "\n")
            worker.stdin.flush()
        except BrokenPipeError:
            return {"failed": "its process ended"}
        while answer := worker.stdout.readline():
            if answer.startswith("{"):
                return json.loads(answer)
        return {"failed": f"its process ended with {worker.wait()}"}

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "nothing_set", "serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=HERE.parent,
            env=os.environ | ONE_THREAD,
        )


def spec_of(definition: plan.Definition, run: Run, data: Path) -> dict[str, Any]:
    [stream] = [each for each in definition.streams if each.name == run.stream]
    [peer] = [each for each in definition.peers if each.name == run.peer]
    return common(definition, run, data) | {
        "program": peer.program,
        "learner": peer.learners[stream.task],
        "settings": peer.tries()[run.attempt],
    }


def common(definition: plan.Definition, run: Run, data: Path) -> dict[str, Any]:
    return {"stream": run.stream, "seed": run.seed, "data": str(data.resolve()), "limit": definition.limit}


def run_and_record(
    workers: Workers, spec: dict[str, Any], run: Run, more: dict[str, Any], file: Path
) -> None:
    key = {"stream": run.stream, "seed": run.seed, "peer": run.peer, "try": run.attempt}
    package = PACKAGES[spec["program"]]
    line = key | {"settings": spec["settings"]} | more | workers.run(spec)
    line |= {"version": f"{package} {version(package)}", "date": time.strftime("%F")}
    append(file, line)
    print(*key.values(), line.get("failed") or f"{line['error']:.4g} in {line['processor']} s", flush=True)


def peers(definition: plan.Definition, data: Path, file: Path) -> None:
    waiting = plan.waiting(plan.runs(definition), record_of(file))
    workers = Workers()
    for place, run in enumerate(waiting):
        print(f"{place + 1} of {len(waiting)}", end=" ")
        run_and_record(workers, spec_of(definition, run, data), run, {}, file)


def okl(definition: plan.Definition, data: Path, file: Path, label: str, given: dict[str, Any]) -> None:
    """`given` has settings by task: none, but for a look at what a setting would do, in a column of its own."""
    asked = [
        Run(stream.name, seed, f"okl {label}", 0)
        for stream in definition.streams
        for seed in definition.seeds_of(stream)
    ]
    tasks = {stream.name: stream.task for stream in definition.streams}
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True, check=False
    )
    workers = Workers()
    for run in plan.waiting(asked, record_of(file)):
        spec = common(definition, run, data) | {
            "program": "okl",
            "learner": definition.okl[tasks[run.stream]],
            "settings": given.get(tasks[run.stream], {}),
            "in_one_call": run.seed != definition.seeds[0],
        }
        run_and_record(workers, spec, run, {"commit": commit.stdout.strip()}, file)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["peers", "okl", "page", "serve"])
    parser.add_argument(
        "--data", type=Path, default=Path("."), help="the folder with elec2, weather, covtype"
    )
    parser.add_argument("--record", type=Path, default=HERE / "record.jsonl")
    parser.add_argument("--label", default="today", help="of `okl`: the name of its column")
    parser.add_argument("--settings", type=json.loads, default={}, help="of `okl`: JSON, settings by task")
    given = parser.parse_args()
    if given.what == "serve":
        serve()
    elif given.what == "peers":
        peers(plan.read(), given.data, given.record)
    elif given.what == "okl":
        okl(plan.read(), given.data, given.record, given.label, given.settings)
    else:
        from nothing_set import page

        (HERE.parent / "nothing_set.md").write_text(page.page(plan.read(), record_of(given.record)))


if __name__ == "__main__":
    main()
