"""Cells of a grid under a tracker: one tracked run each, with its place on the axes."""

import json
from pathlib import Path

import pytest

from tagma.bench.grid.expand import expand
from tagma.bench.grid.plan import read_plan
from tagma.errors import TagmaError
from tests.command import tagma

TRACKER = """
import json
from pathlib import Path

from tagma.launch.tracking.tracker import NoTracker


class Notes(NoTracker):
    '''Writes down what it is told.'''

    def prepare(self):
        with open("prepared", "a") as file:
            file.write("once\\n")

    def begin(self, settings, folder, tags=None):
        self.place, self.told = folder, {"tags": dict(tags), "rounds": 0, "seed": settings.seed}

    def round(self, event):
        self.told["rounds"] += 1

    def end(self, metrics, folder):
        self.told["kept"] = sorted(file.name for file in folder.iterdir() if file.is_file())
        self.told["error"] = metrics and metrics["estimation_error"]
        self.place.mkdir(parents=True)
        (self.place / "told.json").write_text(json.dumps(self.told))
"""
GRID = (
    "attack=[none,sign_flip]", "defence=[paper,tagma]", "seeds=[4]", "rounds=1",
    "task.clients=20", "task.clusters=2", "task.dim=5", "task.noise=0.5",
)  # fmt: skip
OWN = ("tracking=none", "tracking._target_=notes.Notes")


def test_every_cell_is_one_tracked_run(tmp_path: Path) -> None:
    (tmp_path / "notes.py").write_text(TRACKER)
    words = ["bench", "quick", *GRID, *OWN, "bench.workers=1", "bench.folder=out"]
    done = tagma(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    folders = sorted((tmp_path / "out" / "tracking").iterdir())
    told = {
        one.name.rpartition(",")[0]: json.loads((one / "told.json").read_text()) for one in folders
    }
    assert sorted(told) == [
        "attack=none,defence=paper,seed=4",
        "attack=none,defence=tagma,seed=4",
        "attack=sign_flip,defence=paper,seed=4",
        "attack=sign_flip,defence=tagma,seed=4",
        "reference,attack=none,seed=4",
        "reference,attack=sign_flip,seed=4",
    ]
    one = told["attack=sign_flip,defence=tagma,seed=4"]
    assert one["tags"] == {
        "grid": "quick", "attack": "sign_flip", "defence": "tagma", "role": "cell", "seed": "4",
    }  # fmt: skip
    assert (one["rounds"], one["seed"]) == (2, 4)
    assert one["error"] > 0
    assert {"metrics.json", "history.csv"} <= set(one["kept"])
    assert (tmp_path / "prepared").read_text() == "once\n"
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("told.json")}
    assert tagma(*words, cwd=tmp_path).returncode == 0  # nothing is run or tracked twice
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("told.json")} == before


def test_a_cell_without_a_tracker_leaves_nothing(tmp_path: Path) -> None:
    plan = read_plan("quick", [*GRID, f"bench.folder={tmp_path}"])
    expand(plan)[0].cell.run()
    assert not [*tmp_path.iterdir()]


def test_a_tracker_that_cannot_begin_is_why_a_cell_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_notes.py").write_text(TRACKER.replace("self.place, self.told =", "1 / 0,"))
    monkeypatch.syspath_prepend(tmp_path)
    own = ["tracking=none", "tracking._target_=broken_notes.Notes"]
    plan = read_plan("quick", [*GRID, *own, f"bench.folder={tmp_path}"])
    with pytest.raises(TagmaError, match=r"tracking: cannot begin \(ZeroDivisionError"):
        expand(plan)[0].cell.run()
