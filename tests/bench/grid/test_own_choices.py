"""Choices and plugins of the user's own in a grid, also in the processes that run its cells."""

import csv
import json
import sys

import pytest

from tagma.bench.bench_command import main
from tagma.bench.grid.expand import expand
from tagma.bench.grid.plan import read_plan
from tagma.errors import TagmaError

ATTACK = """
from tagma.attacks.base import LocalAttack


class Mine(LocalAttack):
    def __init__(self, *, times: float = 1.0) -> None:
        self.times = times

    def forge(self, honest, view):
        return self.times * honest
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder with an attack of one's own, by name; its file does not say who attacks."""
    folder = tmp_path / "conf" / "attack"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("# Mine.\n_target_: attack_of_a_user.Mine\ntimes: -9.0\n")
    (folder / "several.yaml").write_text(
        "# Several.\nattacks:\n  - {_target_: attack_of_a_user.Mine, fraction: 0.1}\n"
    )
    (tmp_path / "attack_of_a_user.py").write_text(ATTACK)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "attack_of_a_user", raising=False)
    return f"hydra.searchpath=[file://{tmp_path / 'conf'}]"


def attacks_of(path, *arguments):
    places = expand(read_plan(path, [*arguments, "seeds=1", "defence=plain"]))
    return {place.values["attack"]: place.cell.settings.choice("attack") for place in places}


def test_what_every_attack_takes_reaches_one_of_the_users_own(grid_file, own):
    names = "attack=[none,sign_flip,mine,several]"
    found = attacks_of(grid_file(), own, names, "attack.start=2")
    shares = {name: settings.get("fraction") for name, settings in found.items()}
    assert shares == {"none": None, "sign_flip": 0.2, "mine": 0.2, "several": None}
    assert (found["mine"]["start"], found["mine"]["times"]) == (2, -9.0)


def test_it_can_be_an_axis(grid_file, own):
    places = expand(
        read_plan(grid_file(), [own, "attack=[mine]", "attack.fraction=0.1,0.3", "seeds=1"])
    )
    assert {p.cell.settings.choice("attack")["fraction"] for p in places} == {0.1, 0.3}


def test_a_setting_that_no_attack_has_is_still_a_mistake(grid_file, own):
    with pytest.raises(TagmaError, match=r"^attack.fractoin=0.1: there is no such setting"):
        attacks_of(grid_file(), own, "attack=[none,mine]", "attack.fractoin=0.1")


@pytest.mark.multiprocess
def test_its_cells_run_in_other_processes_and_anew_when_the_plugin_changes(
    grid_file, own, tmp_path
):
    options = [own, "attack=[mine]", "defence=plain", "seeds=1", "bench.workers=1"]
    options += [f"bench.folder={tmp_path / 'out'}"]

    def error():
        main([grid_file(), *options])
        with (tmp_path / "out" / "table.csv").open() as file:
            (row,) = csv.DictReader(file)
        kept = json.loads((tmp_path / "out" / "cells" / f"{row['cell']}.json").read_text())
        assert sum(one["byzantine"] for one in kept["metrics"]["clusters"]) == 4
        return float(row["estimation_error"])

    harmful = error()
    plugin = tmp_path / "attack_of_a_user.py"
    plugin.write_text(ATTACK.replace("self.times * honest", "honest"))
    assert error() < harmful
    assert len(list((tmp_path / "out").glob("cells/*.json"))) == 2


@pytest.mark.multiprocess
def test_a_picture_is_made_when_another_seed_comes_first(grid_file, tmp_path):
    options = [grid_file(), "attack=none", "defence=plain", f"bench.folder={tmp_path}/out"]
    for seeds in ("[0,1]", "[1,0]"):
        main([*options, "bench.workers=1", f"seeds={seeds}"])
        with (tmp_path / "out" / "table.csv").open() as file:
            first = next(csv.DictReader(file))
        assert first["seed"] == seeds[1]
        assert (tmp_path / "out" / "cells" / first["cell"] / "clusters.csv").exists()
