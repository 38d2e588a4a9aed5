"""`tagma bench adaptive`: the search over whole runs."""

import csv
import json

import pytest

from tagma.bench import adaptive_search
from tagma.bench.runner import Outcome
from tagma.errors import TagmaError
from tests.conftest import SMALL

FEW = ["--alphas", "0.25", "--tries", "6", "--trials", "2", "--fresh", "1", "--workers", "1"]


@pytest.fixture
def settings_of_runs(monkeypatch):
    """No run: the served error is the settings' `distance` (else 2), the oracle's 0.5."""
    seen = []

    def run_cells(cells, kept, *, workers, progress):
        outcomes = []
        for cell in cells:
            attack = cell.settings.choice("attack")
            seen.append((cell.method, cell.settings.seed, attack))
            error = 0.5 if cell.method == "oracle" else attack.get("distance", 2.0)
            outcomes.append(Outcome(cell, {"metrics": {"served_error": error}}, None))
        return outcomes

    monkeypatch.setattr(adaptive_search, "run_cells", run_cells)
    return seen


def searched(folder, *arguments):
    adaptive_search.main([*FEW, *SMALL, "--out", str(folder), *arguments])
    with (folder / "adaptive.csv").open() as file:
        tries = list(csv.DictReader(file))
    return json.loads((folder / "adaptive.json").read_text())["worst"], tries


def test_it_finds_the_worst_parameters_and_tries_them_on_fresh_seeds(tmp_path, settings_of_runs):
    (row,), tries = searched(tmp_path, "--attacks", "imposters")
    assert (row["attack"], row["fraction"]) == ("imposters", 0.25)
    assert row["as given"] == pytest.approx(5.0 / 0.5)
    assert row["searched"] == pytest.approx(max(float(one["ratio"]) for one in tries))
    assert row["searched"] > 15
    assert row["on fresh seeds"] == pytest.approx(row["searched"], rel=1e-2)
    assert len(tries) == 6 + 5
    tried = [(seed, given) for method, seed, given in settings_of_runs if method == "imposters"]
    assert [seed for seed, _ in tried] == [0] * 6 + [1] * 5 + [2]
    assert tried[-1][1] in [given for _, given in tried[:-1]]


def test_what_an_attack_does_later_is_searched_as_well(tmp_path, settings_of_runs):
    (row, named), _ = searched(tmp_path, "--attacks", "flood,imposters+tilt")
    for one in (row, named):
        (later,) = [text for text in one["settings"] if text.startswith("attack.later=")]
        assert later.startswith("attack.later={name:tilt,angle:")
    laters = [given["later"] for method, _, given in settings_of_runs if method == "flood"]
    assert laters[0] == {
        "name": "tilt", "angle": None, "length": 1.0, "direction": "away", "patience": 0,
    }  # fmt: skip
    assert len({json.dumps(later) for later in laters}) == 6


def test_a_range_of_the_command_line_replaces_that_of_the_attack(tmp_path, settings_of_runs):
    searched(tmp_path, "--attacks", "imposters", "--range", "clusters=2:2,distance=1:2")
    given = [given for method, _, given in settings_of_runs if method == "imposters"]
    assert {one["clusters"] for one in given} == {2}
    assert given[0]["distance"] == 2
    assert all(1 <= one["distance"] <= 2 for one in given)
    with pytest.raises(TagmaError, match="--range scatter=1: must be like"):
        searched(tmp_path, "--attacks", "imposters", "--range", "scatter=1")


def test_an_attack_with_a_line_search_of_its_own_is_tried_with_and_without(
    tmp_path, settings_of_runs
):
    searched(tmp_path, "--attacks", "alie,sign_flip")
    given = [given for method, _, given in settings_of_runs if method == "alie"]
    assert {one["optimise"] for one in given} == {False, True}
    assert sum(method == "sign_flip" for method, _, _ in settings_of_runs) == 1 + 1


def test_the_oracle_has_the_task_and_not_the_defence(tmp_path, settings_of_runs):
    searched(tmp_path, "--attacks", "sign_flip", "preset=tagma", "clustering.smallest=4")
    assert {method for method, _, _ in settings_of_runs} == {"sign_flip", "oracle"}


@pytest.mark.multiprocess
def test_real_runs_are_kept_and_not_run_again(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ["--attacks", "shrink", "--alphas", "0.25", "--tries", "2", "--trials", "1",
               "--fresh", "1", "--workers", "1", *SMALL, "preset=tagma"]  # fmt: skip
    adaptive_search.main(command)
    shown = capsys.readouterr().out
    assert "served error, in units of that without Byzantine clients" in shown
    assert "shrink, 0.25: attack=shrink attack.fraction=0.25 attack.clusters=" in shown
    cells = sorted((tmp_path / "outputs/bench/adaptive/cells").glob("*.json"))
    before = [cell.stat().st_mtime_ns for cell in cells]
    adaptive_search.main(command)
    assert capsys.readouterr().out == shown
    assert [cell.stat().st_mtime_ns for cell in cells] == before
