"""`okl.ray.KeyedLearners` with workers in this process: what the driver does with rows that are refused, sent again, or out of order."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import okl

pytest.importorskip("ray")

from okl.ray import FileReader, Rows  # noqa: E402

CONFIG = {
    "loss": "squared",
    "kernel": "gaussian:0.5",
    "step": "constant:0.3",
    "lambda": 1e-3,
    "budget": "window:20",
}
HINGE = {**CONFIG, "loss": "hinge", "classes": ["a", "b"]}
KEYS = [f"k{number}" for number in range(12)]


def keyed(path: Path, config: dict[str, Any] | None = CONFIG, **options: Any) -> Any:
    return okl.ray.KeyedLearners(config, path, **{"shards": 8, "workers": 2, "patience": 5.0, **options})


def digests(config: dict[str, Any], keys: list[str], X: Any, y: Any) -> dict[bytes, str]:
    """The models of one machine."""
    found = {}
    for key in set(keys):
        mine = [row for row, name in enumerate(keys) if name == key]
        learner = okl.Learner(config)
        learner.learn(np.asarray(X)[mine], np.asarray(y)[mine])
        found[key.encode()] = hashlib.sha256(learner.to_bytes()).hexdigest()
    return found


def rows(seed: int, count: int = 60) -> tuple[list[str], np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 2))
    return [KEYS[number] for number in rng.integers(0, len(KEYS), count)], X, np.where(X[:, 0] > 0, "a", "b")


@pytest.mark.parametrize("place", [{}, {"partition": "p", "offset": 0}], ids=["without", "with offset"])
@pytest.mark.parametrize("mend", ["corrected", "left out", "skipped"])
def test_a_batch_with_a_refused_row_is_learned_by_no_shard(
    local_ray: Any, tmp_path: Path, place: dict[str, Any], mend: str
) -> None:
    """A label that is not known. The batch is sent again with the label corrected, or without the row."""
    keys, X, y = rows(1)
    wrong = y.astype("U9")
    wrong[17] = "unknown"
    with keyed(tmp_path, HINGE) as learners:
        for _ in range(2):
            with pytest.raises(ValueError, match="unknown.*No shard has learned a row of this batch"):
                learners.learn(keys, X, wrong, **place)
            assert len(learners) == 0 and learners.position("p") == 0
        keep = np.arange(60) if mend == "corrected" else np.delete(np.arange(60), 17)
        its_keys = [keys[row] for row in keep]
        if mend == "skipped":
            outputs = learners.learn(keys, X, wrong, on_error="skip", **place)
            assert np.flatnonzero(outputs.refused).tolist() == [17]
        else:
            outputs = learners.learn(its_keys, X[keep], y[keep], **place)
        assert not outputs.duplicate.any()
        assert learners.digests() == digests(HINGE, its_keys, X[keep], y[keep])
        # Further rows follow.
        more = {**place, "offset": len(outputs.offsets)} if place else {}
        learners.learn(keys, X, y, **more)
        twice = [*its_keys, *keys], np.concatenate([X[keep], X]), np.concatenate([y[keep], y])
        assert learners.digests() == digests(HINGE, *twice)


def test_the_rows_of_a_call_without_an_answer_are_recognised_in_the_next_call(
    local_ray: Any, tmp_path: Path
) -> None:
    keys, X, y = rows(2)
    silent = iter(["silent"])
    with keyed(tmp_path, HINGE) as learners:
        learners.learn(keys, X, y)
        local_ray.fault = lambda method: next(silent, None) if method == "learn" else None
        with pytest.raises(TimeoutError, match="worker 0 did not answer"):
            learners.learn(keys, X, y)
        again = learners.learn(keys, X, y)
        assert again.duplicate.all() and np.isfinite(again.scores).all()
        third = learners.learn(keys, X, y)  # The same rows once more, after an answer, are new rows.
        assert not third.duplicate.any()
        thrice = keys * 3, np.concatenate([X] * 3), np.concatenate([y] * 3)
        assert learners.digests() == digests(HINGE, *thrice)


@pytest.mark.parametrize("fault", ["before", "after"])
@pytest.mark.parametrize("dying", ["check", "learn"])
def test_a_worker_dies_while_a_batch_is_checked_or_learned(
    local_ray: Any, tmp_path: Path, fault: str, dying: str
) -> None:
    keys, X, y = rows(3)
    with keyed(tmp_path, HINGE) as learners:
        for part in (slice(0, 20), slice(20, 40), slice(40, 60)):
            faults = iter([fault, None, fault])
            local_ray.fault = lambda method, left=faults: next(left, None) if method == dying else None
            assert not learners.learn(keys[part], X[part], y[part]).refused.any()
        assert learners.digests() == digests(HINGE, keys, X, y)
        assert "check" in local_ray.calls


def test_targets_that_are_not_finite_are_refused_before_anything_is_learned(
    local_ray: Any, tmp_path: Path
) -> None:
    keys, X, _ = rows(4, 30)
    y = X[:, 0].copy()
    with keyed(tmp_path) as learners:
        local_ray.calls.clear()
        for wrong, words in (
            (np.where(np.arange(30) == 7, np.nan, y), "y: found nan in row 7, expected a finite number"),
            (np.where(np.arange(30) == 7, -np.inf, y).tolist(), "y: found -inf in row 7, expected a finite"),
            (np.array([*y[:7], np.nan, *y[8:]], object), "y: found nan in row 7, expected a finite"),
            (np.stack([y, np.full(30, np.inf)], 1), "y: found inf in row 0, column 1, expected a finite"),
            (y[:29], r"y: found shape \(29,\), expected 30 targets, one per key"),
            (1.0, r"y: found shape \(\), expected 30 targets"),
            (y.reshape(30, 1, 1), r"y: found shape \(30, 1, 1\), expected 30 targets"),
            (np.ma.array(y, mask=np.arange(30) == 7), "y has masked values, the first in row 7"),
        ):
            with pytest.raises(ValueError, match=words):
                learners.learn(keys, X, wrong)
        assert not local_ray.calls and len(learners) == 0
        # A row without a target is only predicted, and a row that is left out is recorded.
        known: list[Any] = [None if row == 7 else value for row, value in enumerate(y)]
        learners.learn(keys, X, known)
        y[7] = np.nan
        outputs = learners.learn(keys, X, y, on_error="skip", partition="p", offset=0)
        assert np.flatnonzero(outputs.refused).tolist() == [7] and len(learners.refused()) == 1


@pytest.mark.parametrize("kind", ["numbers and text", "bools and text", "missing", "two targets"])
def test_targets_have_the_bits_of_one_machine(local_ray: Any, tmp_path: Path, kind: str) -> None:
    pandas = pytest.importorskip("pandas")
    keys, X, _ = rows(14)
    up = X[:, 0] > 0
    y: Any = {
        "numbers and text": [7 if value else "z" for value in up],
        "bools and text": [True if value else "z" for value in up],
        "missing": pandas.array([None if row % 9 == 0 else row for row in range(60)], dtype="Int64"),
        "two targets": X.tolist(),
    }[kind]
    config = {**CONFIG, "loss": "max_margin" if "text" in kind else "squared"}
    with keyed(tmp_path, config) as learners:
        learners.learn(keys, X, y)
        for key in set(keys):
            mine, alone = [row for row, name in enumerate(keys) if name == key], okl.Learner(config)
            alone.learn(X[mine], y[mine] if kind == "missing" else [y[row] for row in mine])
            assert learners.export(key) == alone.to_bytes()


def test_a_gap_and_rows_before_the_first_one_are_refused(local_ray: Any, tmp_path: Path) -> None:
    keys, X, y = rows(5)
    with keyed(tmp_path, HINGE) as learners:
        first = learners.learn(keys[:20], X[:20], y[:20], partition="p", offset=100)
        for offset, words in (
            (
                130,
                "offset: found 130, expected 120: partition 'p' .* from offset 120 to 129 were not learned",
            ),
            (90, "offset: found 90, expected at least 100: partition 'p' began there"),
        ):
            with pytest.raises(ValueError, match=words):
                learners.learn(keys[20:40], X[20:40], y[20:40], partition="p", offset=offset)
        # Older offsets: rows that were learned are not learned again, rows behind them are.
        both = learners.learn(keys[:40], X[:40], y[:40], partition="p", offset=100)
        assert both.duplicate.tolist() == [True] * 20 + [False] * 20
        np.testing.assert_array_equal(both.scores[:20], first.scores)
    with keyed(tmp_path, HINGE) as learners:  # Another driver knows the same places.
        assert learners.position("p") == 140
        with pytest.raises(ValueError, match="expected 140"):
            learners.learn(keys[40:], X[40:], y[40:], partition="p", offset=141)
        with pytest.raises(ValueError, match="expected at least 100"):
            learners.learn(keys[40:], X[40:], y[40:], partition="p", offset=0)
        learners.learn(keys[40:], X[40:], y[40:], partition="p", offset=140)
        assert learners.digests() == digests(HINGE, keys, X, y)


def test_the_driver_dies_before_the_first_outputs_of_a_partition(local_ray: Any, tmp_path: Path) -> None:
    """Rows that were learned and not delivered come again from the first offset of the partition, which need not be 0."""
    keys, X, y = rows(6)
    learners = keyed(tmp_path, HINGE)

    def die(partition: str, next_: int) -> None:
        raise KeyboardInterrupt

    learners.folder.deliver = die
    with pytest.raises(KeyboardInterrupt):
        learners.learn(keys[:30], X[:30], y[:30], partition="p", offset=7)
    with keyed(tmp_path, HINGE) as learners:
        assert learners.position("p") == 7
        assert (
            learners.learn(keys, X, y, partition="p", offset=7).duplicate.tolist()
            == [True] * 30 + [False] * 30
        )
        assert learners.digests() == digests(HINGE, keys, X, y)


def test_a_driver_that_was_replaced_gets_an_error_from_every_call(local_ray: Any, tmp_path: Path) -> None:
    keys, X, y = rows(7)
    with keyed(tmp_path, HINGE) as first, keyed(tmp_path, HINGE) as second:
        second.learn(keys, X, y)
        for call in (
            lambda: first.learn(keys, X, y),
            lambda: first.predict(keys, X),
            lambda: first.inspect(keys[0]),
            lambda: first.export(keys[0]),
            lambda: len(first),
            lambda: first.position("p"),
            first.digests,
            first.refused,
        ):
            with pytest.raises(okl.ray.Fenced, match="another driver has opened this folder since"):
                call()
        assert second.predict(keys, X).shape == (60,)
        assert second.digests() == digests(HINGE, keys, X, y)
    for call in (lambda: second.position("p"), lambda: second.predict(keys, X)):
        with pytest.raises(ValueError, match="these learners were closed"):
            call()


def test_the_name_of_rows_without_a_partition_can_be_printed(local_ray: Any, tmp_path: Path) -> None:
    with keyed(tmp_path, HINGE) as learners:
        outputs = learners.learn(["k", "k"], [[0.0, 1.0]] * 2, ["a", "unknown"], on_error="skip")
        ((name, offset, key, _),) = learners.refused()
        assert outputs.partition == name == "no partition, driver 1" and (offset, key) == (1, b"k")
    with keyed(tmp_path, HINGE) as learners:
        assert learners.learn(["k"], [[0.0, 1.0]], ["a"]).partition == "no partition, driver 2"


def test_a_refused_row_that_comes_again_is_a_duplicate_without_a_score(
    local_ray: Any, tmp_path: Path
) -> None:
    with keyed(tmp_path, HINGE) as learners:
        place: dict[str, Any] = {"on_error": "skip", "partition": "p", "offset": 0}
        for refused, duplicate in ((True, False), (False, True)):
            found = learners.learn(["k"], [[0.0, 1.0]], ["unknown"], **place)
            assert (found.refused.tolist(), found.duplicate.tolist()) == ([refused], [duplicate])
            assert np.isnan(found.scores).all() and len(learners.refused()) == 1


def test_a_clash_of_columns_is_raised_when_score_is_called(local_ray: Any) -> None:
    """The columns of the dataset are known before it is executed, or they are not; then the rows are checked."""
    model = okl.Learner(HINGE)
    model.learn([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])

    class Dataset:
        def __init__(self, names: list[str] | None):
            self.names = names

        def schema(self, fetch_if_missing: bool) -> Any:
            assert not fetch_if_missing
            return None if self.names is None else self

        def map_batches(self, work: Any, **_: Any) -> str:
            return "scored"

    for names in (["u", "v", "label"], ["score", "u", "v"]):
        with pytest.raises(ValueError, match="the model adds a column .* but the input has a column"):
            okl.ray.score(Dataset(names), model, features=["u", "v"])
        assert okl.ray.score(Dataset(names), model, features=["u", "v"], prefix="okl_") == "scored"
    assert okl.ray.score(Dataset(None), model, features=["u", "v"]) == "scored"
    for features in (None, ["data"]):  # A column of arrays.
        assert okl.ray.score(Dataset(["data"]), model, features=features) == "scored"
    with pytest.raises(ValueError, match="features: there is no column 'w'; there are 'u', 'v'"):
        okl.ray.score(Dataset(["u", "v"]), model, features=["u", "w"])


def test_the_number_of_shards_is_that_of_the_folder(local_ray: Any, tmp_path: Path) -> None:
    with keyed(tmp_path / "a", shards=8):
        pass
    with keyed(tmp_path / "a", None, shards=None) as learners:
        assert learners.shards == 8
    with keyed(tmp_path / "b", shards=None) as learners:
        assert learners.shards == 64
    with pytest.raises(ValueError, match="shards: the models in .* have 8, found 64"):
        keyed(tmp_path / "a", shards=64)


def write(path: Path, keys: list[str], X: np.ndarray, y: Any) -> None:
    with path.open("a") as file:
        if path.suffix == ".csv":
            if not file.tell():
                file.write("k,a,b,y\n")
            file.writelines(f"{k},{x[0]!r},{x[1]!r},{t}\n" for k, x, t in zip(keys, X.tolist(), y))
        else:
            lines = ({"k": k, "a": x[0], "b": x[1], "y": str(t)} for k, x, t in zip(keys, X.tolist(), y))
            file.writelines(json.dumps(line) + "\n" for line in lines)


def reader(*paths: str) -> FileReader:
    return FileReader(list(paths), key="k", target="y", features=["a", "b"])


def test_a_refused_row_of_a_file(local_ray: Any, tmp_path: Path) -> None:
    """Batches after the refused one are under way. After the correction every row is learned once, and nothing waits for rows that do not come."""
    keys, X, y = rows(8)
    wrong = y.astype("U9")
    wrong[17] = "unknown"
    path = tmp_path / "rows.csv"
    write(path, keys, X, wrong)
    with keyed(tmp_path / "models", HINGE) as learners:
        with pytest.raises(ValueError, match="offset 17 to|to 17|unknown"):
            list(learners.pull(reader(str(path)), rows=10))
        assert sum(lane.restarts for lane in learners.lanes) == 0
        path.unlink()
        write(path, keys, X, y)
        found = list(learners.pull(reader(str(path)), rows=10))
        assert [int(output.offsets[0]) for output in found] == [10, 20, 30, 40, 50]
        assert learners.digests() == digests(HINGE, keys, X, y)


def test_a_file_is_one_partition_by_any_path(
    local_ray: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys, X, y = rows(9)
    data = tmp_path / "data"
    data.mkdir()
    write(data / "e.csv", keys, X, y)
    (tmp_path / "link").symlink_to(data)
    monkeypatch.chdir(data)
    paths = ["e.csv", "./e.csv", "../data/e.csv", str(data / "e.csv"), f"{data}//e.csv", "../link/e.csv"]
    with keyed(tmp_path / "models", HINGE) as learners:
        assert reader(*paths).partitions() == [str(data / "e.csv")]
        for path in paths:
            list(learners.pull(reader(path)))
            list(learners.pull(reader(path), partitions=[path]))
        assert learners.digests() == digests(HINGE, keys, X, y)


@pytest.mark.parametrize("typed", ["e.csv", "./e.csv"])
def test_a_folder_of_an_earlier_version_continues_with_the_path_that_was_typed(
    local_ray: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    keys, X, y = rows(10)
    write(tmp_path / "e.csv", keys, X, y)
    monkeypatch.chdir(tmp_path)
    with keyed(tmp_path / "models", HINGE) as learners:
        learners.learn(keys[:20], X[:20], y[:20], partition=typed, offset=0)
    with keyed(tmp_path / "models", HINGE) as learners:
        (output,) = learners.pull(reader("../" + tmp_path.name + "/*.csv"))
        assert output.partition == typed and output.offsets.tolist() == list(range(20, 60))
        assert learners.digests() == digests(HINGE, keys, X, y)


@pytest.mark.parametrize("ending", ["csv", "ndjson"])
def test_rows_that_are_added_are_learned_when_their_line_is_complete(
    local_ray: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr("okl.ray._keyed.LOOK", 0.0)
    keys, X, y = rows(11)
    path = tmp_path / f"0.{ending}"
    write(path, [], X[:0], y[:0])  # Nothing, or a header.
    half = tmp_path / "half"
    steps: list[Any] = [
        lambda: write(path, keys[:20], X[:20], y[:20]),
        lambda: write(path, keys[20:30], X[20:30], y[20:30]),
        lambda: cut(path, half, 30),
        lambda: write(tmp_path / f"1.{ending}", keys[40:], X[40:], y[40:]),
    ]

    def cut(path: Path, half: Path, row: int) -> None:
        """A line in two pieces: the first is not learned before the second has come."""
        text = path.read_text()
        write(path, keys[row:40], X[row:40], y[row:40])
        added = path.read_text()[len(text) :]
        place = added.index("\n", len(added) // 2) - 5
        path.write_text(text + added[:place])
        half.write_text(added[place:])
        steps.insert(0, lambda: path.write_text(path.read_text() + half.read_text()))

    def wait(seconds: float) -> None:
        if steps:
            steps.pop(0)()

    monkeypatch.setattr("okl.ray._keyed.time.sleep", wait)
    found: list[int] = []
    with keyed(tmp_path / "models", HINGE) as learners:
        for output in learners.pull(reader(str(tmp_path / f"*.{ending}")), rows=7, follow=True):
            found += [int(offset) for offset in output.offsets]
            if len(found) == 60:
                break
        assert not steps and found == [*range(40), *range(20)]
        assert learners.digests() == digests(HINGE, keys, X, y)


def test_files_that_change_in_another_way_are_refused(
    local_ray: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pandas = pytest.importorskip("pandas")
    keys, X, y = rows(12)
    frame = pandas.DataFrame({"k": keys, "a": X[:, 0], "b": X[:, 1], "y": y})
    for name, make, change, words in (
        (
            "a.parquet",
            lambda path: frame[:30].to_parquet(path),
            lambda path: frame.to_parquet(path),
            "a.parquet: this file has changed since .* Rows cannot be added to a Parquet file: write them to",
        ),
        (
            "b.csv",
            lambda path: write(path, keys[:30], X[:30], y[:30]),
            lambda path: os.truncate(path, 100),
            "b.csv: the file has 100 bytes, but .* were read before",
        ),
    ):
        path = tmp_path / name
        make(path)
        with monkeypatch.context() as patch, keyed(tmp_path / f"models-{name}", HINGE) as learners:
            patch.setattr("okl.ray._keyed.time.sleep", lambda seconds, change=change, path=path: change(path))
            pulled: Iterator[Any] = learners.pull(reader(str(path)), follow=True)
            assert len(next(pulled).offsets) == 30
            with pytest.raises(ValueError, match=words):
                next(pulled)


def write_targets(path: Path, keys: list[str], X: np.ndarray, y: list[Any]) -> None:
    """Rows with targets of any kind; None is an empty cell, or null."""
    pandas = pytest.importorskip("pandas")
    if path.suffix == ".parquet":
        frame = pandas.DataFrame({"k": keys, "a": X[:, 0], "b": X[:, 1]})
        frame.assign(y=pandas.array(y, "string" if "a" in y else "Float64")).to_parquet(path)
    elif path.suffix == ".csv":
        path.unlink(missing_ok=True)
        write(path, keys, X, ["" if value is None else value for value in y])
    else:
        lines = [{"k": k, "a": x[0], "b": x[1], "y": t} for k, x, t in zip(keys, X.tolist(), y)]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize("ending", ["csv", "ndjson", "parquet"])
@pytest.mark.parametrize(
    ("bad", "found"), [("oops", "'oops'"), (None, "no value"), (float("inf"), "inf")], ids=str
)
def test_a_target_that_is_no_number_refuses_its_own_row(
    local_ray: Any, tmp_path: Path, ending: str, bad: Any, found: str
) -> None:
    if ending == "parquet" and bad == "oops":
        pytest.skip("a column of Parquet has one type")
    keys, X, _ = rows(15)
    path = tmp_path / f"rows.{ending}"
    y: list[Any] = [*map(float, range(30)), *X[30:, 0].tolist()]
    write_targets(path, keys, X, [*y[:17], bad, *y[18:]])
    reason = f"column 'y': found {found}, expected a number"
    keep = np.delete(np.arange(60), 17)
    alone = digests(CONFIG, [keys[row] for row in keep], X[keep], np.array(y)[keep])
    with keyed(tmp_path / "skip") as learners:
        outputs = list(learners.pull(reader(str(path)), rows=10, on_error="skip"))
        assert np.flatnonzero(np.concatenate([output.refused for output in outputs])).tolist() == [17]
        assert learners.refused() == [(str(path), 17, keys[17].encode(), reason)]
        assert learners.digests() == alone
    with keyed(tmp_path / "raise") as learners:
        with pytest.raises(ValueError, match=f"rows.{ending}, row 17, {reason}. .*on_error='skip'"):
            list(learners.pull(reader(str(path)), rows=10))
        write_targets(path, keys, X, y)
        list(learners.pull(reader(str(path)), rows=10))
        assert learners.digests() == digests(CONFIG, keys, X, y)


@pytest.mark.parametrize("ending", ["csv", "ndjson", "parquet"])
def test_a_row_of_a_file_without_a_class_is_refused(local_ray: Any, tmp_path: Path, ending: str) -> None:
    keys, X, y = rows(16)
    path = tmp_path / f"rows.{ending}"
    write_targets(path, keys, X, [*y[:17].tolist(), None, *y[18:].tolist()])
    with keyed(tmp_path / "models", HINGE) as learners:
        with pytest.raises(ValueError, match="row 17, column 'y': found no value, expected a class"):
            list(learners.pull(reader(str(path)), rows=10))
        outputs = list(learners.pull(reader(str(path)), rows=10, on_error="skip"))
        assert sum(int(output.refused.sum()) for output in outputs) == 1
        keep = np.delete(np.arange(60), 17)
        assert learners.digests() == digests(HINGE, [keys[row] for row in keep], X[keep], y[keep])


def test_a_loss_that_reads_no_target_refuses_no_row_of_a_file(local_ray: Any, tmp_path: Path) -> None:
    keys, X, y = rows(17)
    write(tmp_path / "rows.csv", keys, X, [""] * 60)
    files = FileReader(str(tmp_path / "rows.csv"), key="k", target=None, features=["a", "b"])
    with keyed(tmp_path / "models", {**CONFIG, "loss": "novelty"}) as learners:
        (outputs,) = learners.pull(files, on_error="skip")
        assert len(outputs.offsets) == 60 and not outputs.refused.any()
    with (
        keyed(tmp_path / "numbers") as learners,
        pytest.raises(ValueError, match="this loss reads a target: give y"),
    ):
        list(learners.pull(files))


@pytest.mark.parametrize("ending", ["csv", "ndjson", "parquet"])
@pytest.mark.parametrize("follow", [False, True])
def test_a_file_that_has_lost_rows_is_refused_after_the_folder_was_opened_again(
    local_ray: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, follow: bool
) -> None:
    def wait(seconds: float) -> None:
        raise AssertionError("rows are awaited")

    monkeypatch.setattr("okl.ray._keyed.time.sleep", wait)
    keys, X, _ = rows(18)
    path, y = tmp_path / f"rows.{ending}", X[:, 1].tolist()
    write_targets(path, keys, X, y)
    with keyed(tmp_path / "models") as learners:
        list(learners.pull(reader(str(path))))
    for count in (0, 1, 40, 59):
        write_targets(path, keys[:count], X[:count], y[:count])
        with keyed(tmp_path / "models") as learners:
            with pytest.raises(ValueError, match=f"the file has {count} rows, but (60 were|it had 60)"):
                next(learners.pull(reader(str(path)), follow=follow))


def test_a_last_line_without_a_line_break_is_no_lost_row(
    local_ray: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is learned without `follow`. Afterwards `follow` waits for its line break."""
    keys, X, _ = rows(19)
    path, y = tmp_path / "rows.csv", X[:, 1].tolist()
    write_targets(path, keys[:30], X[:30], y[:30])
    os.truncate(path, path.stat().st_size - 1)
    with keyed(tmp_path / "models") as learners:
        list(learners.pull(reader(str(path))))
        steps = iter([None, "\n", None])

        def wait(seconds: float) -> None:
            if (text := next(steps)) is not None:
                path.write_text(path.read_text() + text)
                write(path, keys[30:], X[30:], y[30:])

        monkeypatch.setattr("okl.ray._keyed.time.sleep", wait)
        assert next(learners.pull(reader(str(path)), follow=True)).offsets.tolist() == list(range(30, 60))
        assert learners.digests() == digests(CONFIG, keys, X, y)


def test_a_parquet_file_with_another_number_of_rows_is_refused(local_ray: Any, tmp_path: Path) -> None:
    """Also after the folder was opened again. Rows that were not learned yet may be corrected. A folder of an earlier version goes on."""
    keys, X, _ = rows(20)
    path, y = tmp_path / "rows.parquet", X[:, 1].tolist()
    write_targets(path, keys[:40], X[:40], y[:40])
    with keyed(tmp_path / "models") as learners:
        next(learners.pull(reader(str(path)), rows=10))
        write_targets(path, keys[:30], X[:30], y[:30])  # No outputs were taken.
        assert len(list(learners.pull(reader(str(path)), rows=10))) == 3
    write_targets(path, keys, X, y)
    with keyed(tmp_path / "models") as learners:
        with pytest.raises(
            ValueError, match="rows.parquet: the file has 60 rows, but it had 30 when its first"
        ):
            list(learners.pull(reader(str(path))))
        assert learners.position(str(path)) == 30
        learners.folder.base.execute("DROP TABLE lengths")
    with keyed(tmp_path / "models") as learners:
        list(learners.pull(reader(str(path))))
        assert learners.position(str(path)) == 60


class Memory:
    """A reader of rows in memory, with offsets of its own."""

    def __init__(self, keys: list[str], X: np.ndarray, y: np.ndarray, offsets: list[int]):
        self.rows, self.offsets = (keys, X, y), np.array(offsets)

    def partitions(self) -> list[str]:
        return ["m"]

    def read(self, partition: str, offset: int, n: int) -> Rows:
        keys, X, y = self.rows
        at = np.flatnonzero(self.offsets >= offset)[:n]
        return Rows([keys[row] for row in at], X[at], y[at], self.offsets[at])


def test_offsets_of_a_reader_may_have_gaps_and_ascend(local_ray: Any, tmp_path: Path) -> None:
    keys, X, y = rows(13, 6)
    with keyed(tmp_path, HINGE) as learners:
        for wrong in ([0, 1, 3, 2, 4, 5], [0, 1, 1, 2, 3, 4]):
            with pytest.raises(
                ValueError, match="partition 'm', 6 rows from offset 0 on: offsets of the reader: found"
            ):
                list(learners.pull(Memory(keys, X, y, wrong)))
        assert len(learners) == 0
        found = list(learners.pull(Memory(keys, X, y, [3, 4, 9, 10, 20, 21]), rows=2))
        assert len(found) == 3 and learners.digests() == digests(HINGE, keys, X, y)


class Storm:
    """Batches without and with offsets, a file that grows, refused rows, workers that die or do not answer, and drivers that are replaced, in random order."""

    def __init__(self, seed: int, folder: Path, local_ray: Any):
        self.rng, self.folder, self.faults = np.random.default_rng(seed), folder, 0.0
        self.learned: list[Any] = []
        self.placed: list[Any] = []
        self.path = folder / "rows.ndjson"
        self.path.touch()
        local_ray.fault = self.fault
        self.open()

    def fault(self, method: str) -> str | None:
        answered = method not in ("learn", "check", "positions")
        kinds = ["before", "after"] if answered else ["before", "after", "silent"]
        return str(self.rng.choice(kinds)) if self.rng.random() < self.faults else None

    def open(self) -> None:
        self.faults = 0.0
        hot_bytes, workers = int(self.rng.choice([0, 20_000, 1 << 28])), int(self.rng.integers(1, 4))
        self.learners = keyed(self.folder / "models", HINGE, workers=workers, hot_bytes=hot_bytes)

    def batch(self, prefix: str, least: int = 1) -> list[Any]:
        """Rows of keys that no other source has: there is no order between sources."""
        rng = self.rng
        return [
            (f"{prefix}{rng.integers(9)}", rng.normal(size=2), str(rng.choice(["a", "b"])))
            for _ in range(rng.integers(least, 30))
        ]

    def send(self, batch: list[Any], **place: Any) -> Any:
        """Sends a batch until it is confirmed."""
        keys, X, y = zip(*batch)
        while True:
            self.faults = float(self.rng.choice([0.0, 0.15]))
            try:
                return self.learners.learn(keys, np.array(X), np.array(y), **place)
            except TimeoutError:
                continue
            finally:
                self.faults = 0.0

    def refused(self, batch: list[Any], **place: Any) -> list[Any]:
        """Sometimes a label is not known. The row is corrected or left out."""
        if self.rng.random() < 0.6:
            return batch
        row = int(self.rng.integers(len(batch)))
        with pytest.raises(ValueError, match="unknown"):
            self.send([*batch[:row], (*batch[row][:2], "unknown"), *batch[row + 1 :]], **place)
        return batch if len(batch) == 1 or self.rng.random() < 0.5 else batch[:row] + batch[row + 1 :]

    def without_offset(self) -> None:
        batch = self.refused(self.batch("o"))
        self.send(batch)
        self.learned += batch

    def with_offset(self) -> None:
        """Some rows come again."""
        batch = self.refused(self.batch("p"), partition="p", offset=5 + len(self.placed))
        again = int(self.rng.integers(len(self.placed) + 1)) if self.rng.random() < 0.5 else 0
        first = len(self.placed) - again
        outputs = self.send(self.placed[first:] + batch, partition="p", offset=5 + first)
        assert np.flatnonzero(outputs.duplicate).tolist()[:again] == list(range(again))
        self.placed += batch

    def from_file(self) -> None:
        batch = self.batch("f", 0)
        write(
            self.path,
            [row[0] for row in batch],
            np.array([row[1] for row in batch]),
            [row[2] for row in batch],
        )
        self.learned += batch
        self.faults = float(self.rng.choice([0.0, 0.1]))
        try:
            pulled = self.learners.pull(reader(str(self.path)), rows=int(self.rng.integers(1, 20)))
            for _ in zip(range(self.rng.integers(1, 5)), pulled):
                pass
            pulled.close()
        except TimeoutError:
            pass
        self.faults = 0.0

    def another_driver(self) -> None:
        before = self.learners
        self.open()
        for call in (
            lambda: before.learn(["o1"], [[1.0, 2.0]], ["a"]),
            lambda: before.predict(["o1"], [[1.0, 2.0]]),
        ):
            with pytest.raises(okl.ray.Fenced):
                call()

    def check(self) -> None:
        list(self.learners.pull(reader(str(self.path))))
        keys, X, y = zip(*self.learned, *self.placed)
        assert self.learners.digests() == digests(HINGE, list(keys), X, y)


@pytest.mark.parametrize("seed", range(4))
def test_every_row_is_learned_once_whatever_happens(local_ray: Any, tmp_path: Path, seed: int) -> None:
    storm = Storm(seed, tmp_path, local_ray)
    storm.without_offset()
    for _ in range(20):
        move = storm.rng.integers(6)
        [
            storm.without_offset,
            storm.with_offset,
            storm.from_file,
            storm.without_offset,
            storm.with_offset,
            storm.another_driver,
        ][move]()
    storm.check()
