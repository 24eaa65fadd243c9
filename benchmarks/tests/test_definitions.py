"""The definition files are complete and fair; what is wrong in one is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import data, definitions, processes

EXPERIMENTS = definitions.all_of([])


def written(folder: Path, entry: str) -> Path:
    file = folder / "some.toml"
    file.write_text(
        f'title = "t"\nabout = "a"\nkind = "one_pass"\ndata = "usps"\ntries = 2\n[[entry]]\n{entry}\n'
    )
    return file


def test_every_file_is_read() -> None:
    assert {experiment.name for experiment in EXPERIMENTS} == {
        file.stem for file in definitions.FOLDER.glob("*.toml")
    }


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_rows_and_programs_exist(experiment: definitions.Experiment) -> None:
    assert {experiment.data, experiment.tune_data} - {""} <= data.DATA.keys()
    for entry in experiment.entries:
        assert list(definitions.PROGRAMS.glob(f"{entry.program}.*")), entry.name
    assert len({entry.name for entry in experiment.entries}) == len(experiment.entries)


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_okl_has_no_more_tries_than_its_peers(experiment: definitions.Experiment) -> None:
    roles = {entry.role for entry in experiment.entries}
    assert {"okl", "online"} <= roles
    tuned = [entry for entry in experiment.entries if entry.grid]
    assert {len(entry.tries()) for entry in tuned} <= {experiment.tries}
    if experiment.kind in ("one_pass", "progressive", "novelty"):
        untuned = [
            entry.name for entry in experiment.entries if entry.role in ("online", "batch") and not entry.grid
        ]
        assert not untuned, "a peer that is compared has to be tuned"


def test_a_grid_of_another_length_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path, 'name = "x"\nprogram = "okl"\nmethod = "m"\ngrid = { gamma = [1, 2, 3] }')
    with pytest.raises(ValueError, match="some.toml: x has 3 tries, everyone has 2"):
        definitions.read(file)


def test_an_unknown_key_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path, 'name = "x"\nprogram = "okl"\nmethod = "m"\nsetings = { gamma = 1 }')
    with pytest.raises(ValueError, match="some.toml: x: unknown keys setings"):
        definitions.read(file)


def test_every_size_has_its_settings() -> None:
    entry = definitions.entry(
        {"name": "x", "program": "okl", "method": "m", "settings": {"a": 1}, "sizes": {"terms": [10, 20]}}
    )
    assert entry.each_size() == [(10, {"a": 1, "terms": 10}), (20, {"a": 1, "terms": 20})]


def test_what_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(processes.PACKAGES, "river", "no_such_package")
    assert processes.available("river") == "no_such_package is not installed"
    assert processes.available("baseline") is None
