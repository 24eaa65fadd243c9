"""A whole run of the harness on generated rows, with programs that need numpy only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import data, drive, pages, processes, record
from harness.definitions import Experiment, entry

QUICK = drive.SIZES["quick"]


def scope(folder: Path, **changes: Any) -> drive.Scope:
    return drive.Scope(**(QUICK | {"size": "quick", "source": folder, "work": folder} | changes))


def experiment(kind: str, *entries: dict[str, Any]) -> Experiment:
    made = [entry({"program": "baseline", "role": "okl", **each}) for each in entries]
    return Experiment("some", "Some", "A test.", kind, "checkerboard", "", 2, 0, {}, made)


def arrays(folder: Path) -> dict[str, np.ndarray[Any, Any]]:
    return {key: array[:1500] for key, array in data.checkerboard(folder).items()}


def test_one_pass_gives_the_error_on_the_test_rows(tmp_path: Path) -> None:
    ran = drive.drive(experiment("one_pass", {"name": "most", "method": "majority"}), scope(tmp_path))
    known = arrays(tmp_path)
    label = 1.0 if (known["train_y"] > 0).mean() > 0.5 else -1.0
    [result] = [result for result in ran["results"] if result["threads"] == 1]
    assert result["error"] == pytest.approx(np.mean(known["test_y"] != label))
    assert ran["rows"] == 1500 and result["processor"] >= 0 and result["memory"] >= 0


def test_progressive_predicts_before_it_learns(tmp_path: Path) -> None:
    ran = drive.drive(experiment("progressive", {"name": "last", "method": "no_change"}), scope(tmp_path))
    y = arrays(tmp_path)["train_y"]
    assert ran["results"][0]["error"] == pytest.approx(np.mean(np.append(0.0, y[:-1]) != y))


def test_a_failure_is_a_result_and_the_others_go_on(tmp_path: Path) -> None:
    broken, sound = {"name": "broken", "method": "no_change"}, {"name": "sound", "method": "majority"}
    ran = drive.drive(experiment("one_pass", broken, sound), scope(tmp_path))
    first, second = ran["results"]
    assert "cannot learn" in first["failed"] and "error" not in first
    assert "error" in second


def test_settings_with_the_lowest_error_are_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def answer(
        program: str, specs: list[dict[str, Any]], threads: int, seconds: float
    ) -> list[dict[str, Any]]:
        asked.extend(specs)
        return [
            {"error": abs(spec["settings"]["gamma"] - 2), "processor": 1.0, "wall": 1.0} for spec in specs
        ]

    monkeypatch.setattr(processes, "run", answer)
    tried = experiment("one_pass", {"name": "x", "method": "majority", "grid": {"gamma": [1, 2]}})
    ran = drive.drive(tried, scope(tmp_path))
    assert ran["tuned"][0]["settings"] == {"gamma": 2} and ran["tuned"][0]["errors"] == [1, 0]
    assert ran["results"][0]["settings"] == {"gamma": 2}
    for spec in asked[:2]:
        part, first, last = spec["test"]
        assert part == "train" and spec["rows"] <= first < last <= 1500, (
            "validation rows are training rows that were not learned"
        )
    assert asked[-1]["test"][0] == "test"


def test_a_run_that_takes_too_long_says_so(tmp_path: Path) -> None:
    folder = data.prepared("checkerboard", tmp_path, tmp_path)
    spec = drive.Driver(experiment("one_pass", {"name": "x", "method": "majority"}), scope(tmp_path)).spec
    asked = spec(entry({"name": "x", "program": "baseline", "method": "majority"}), {}, 1)
    assert str(folder) == asked["data"]
    assert processes.run("baseline", [asked, asked], 1, 0.001) == [{"failed": "not done after 0 s"}] * 2


def test_the_record_and_the_pages_hold_what_was_measured(tmp_path: Path) -> None:
    ran = drive.drive(experiment("one_pass", {"name": "okl", "method": "majority"}), scope(tmp_path))
    made = record.made({"some": ran}, ["A remark."])
    assert json.loads(record.text(made)) == made
    assert {"date", "machine", "versions", "experiments"} <= made.keys() and ran["size"] == "quick"
    page = pages.html(made)
    assert page.count("<svg") == 2 and "http" not in page, "the page needs nothing from elsewhere"
    error = f"{100 * ran['results'][0]['error']:.2f} %"
    assert error.replace(" ", "&nbsp;") in page and error in pages.markdown(made)
    assert "A remark." in page and "A remark." in pages.markdown(made)


def test_fewer_tries_are_spread_over_the_grid() -> None:
    assert drive.spread([1, 2, 3, 4, 5, 6], 3) == [1, 3, 5]
    assert drive.spread([1, 2], 6) == [1, 2]


def test_a_failure_is_on_the_page(tmp_path: Path) -> None:
    ran = drive.drive(experiment("one_pass", {"name": "broken", "method": "no_change"}), scope(tmp_path))
    made = record.made({"some": ran}, ["A remark."])
    assert "cannot learn" in pages.markdown(made) and "cannot learn" in pages.html(made)


def test_entries_that_are_run_again_replace_only_themselves(tmp_path: Path) -> None:
    most, last = {"name": "most", "method": "majority"}, {"name": "last", "method": "no_change"}
    whole = experiment("one_pass", most, last)
    old = {
        "about": "as it was",
        "results": [
            {"entry": name, "size": None, "threads": threads, "error": 2.0}
            for name in ("most", "last")
            for threads in (1, 2)
        ],
    }
    again = drive.drive(drive.part(whole, ["most"]), scope(tmp_path))
    assert {row["entry"] for row in again["results"]} == {"most"}
    merged = record.merged(old, again)
    new, *others = merged["results"]
    assert new["error"] == again["results"][0]["error"] < 1 and len(new["date"]) == 10
    assert merged["about"] == "as it was" and others == old["results"][1:]
