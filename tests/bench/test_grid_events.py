"""A grid that is under way: what its folder says, and its page."""

import json
from pathlib import Path

import pytest

from tagma.bench.grid.expand import expand
from tagma.bench.grid.grid_command import run_grid
from tagma.bench.grid.metric import with_metric
from tagma.bench.grid.plan import read_plan
from tagma.launch.watch.live_source import LiveSource
from tagma.report.live_grid import LiveGridPage

GRID = {
    "axes": {
        "attack": {"none": ["attack=none"], "flip": ["attack=sign_flip", "attack.fraction=0.2"]},
        "defence": {"mean": ["aggregation=mean"], "trimmed": ["aggregation=trimmed_mean"]},
    },
    "roles": {"attack": "attack", "defence": "defence"},
    "seeds": 1,
    "common": ["engine=vectorised", "task.clients=10", "task.clusters=2", "task.dim=3",
               "task.samples=30", "rounds=1", "oracle=false"],
    "workers": 1,
}  # fmt: skip


class Quiet:
    def __enter__(self):
        return self

    def __exit__(self, *why):
        pass

    def show(self, done, total, more):
        pass


@pytest.fixture(scope="module")
def grid(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("grid") / "bench"
    plan = read_plan(GRID | {"folder": str(folder)}, [])
    points = expand(plan)
    run_grid(with_metric(plan, points), points, "tagma bench", Quiet())
    return folder


def lines(grid: Path) -> list[dict]:
    return [json.loads(line) for line in (grid / "cells.jsonl").read_text().splitlines()]


def until(grid: Path, folder: Path, count: int, *more: dict) -> LiveGridPage:
    text = "".join(json.dumps(line) + "\n" for line in [*lines(grid)[:count], *more])
    (folder / "cells.jsonl").write_text(text)
    return LiveGridPage(folder)


def test_every_cell_begins_and_ends_with_what_the_grid_ranks_by(grid):
    first, *cells = lines(grid)
    assert first["event"] == "grid"
    assert len(first["points"]) == 4
    states = [line["state"] for line in cells]
    assert states.count("running") == states.count("ok") == 4
    assert all("estimation_error" in line["numbers"] for line in cells if line["state"] == "ok")


def test_the_page_counts_and_ranks_what_is_over(grid, tmp_path):
    parts = until(grid, tmp_path, 1).parts()
    assert "0 of 4 runs are over" in parts["head"]
    assert parts["board"] == ""
    parts = until(grid, tmp_path, len(lines(grid))).parts()
    assert "4 of 4 runs are over" in parts["head"]
    assert parts["board"].count('<th scope="row">') == 2


def test_a_failure_is_on_the_page_with_its_reason(grid, tmp_path):
    key = lines(grid)[0]["points"][0][0]
    failed = {"event": "cell", "at": 1.0, "key": key, "state": "failed", "reason": "<b>no</b>"}
    parts = until(grid, tmp_path, 1, failed).parts()
    assert "failed, &lt;b&gt;no" in parts["log"]


@pytest.mark.parametrize(
    "hostile",
    [{"event": "grid"}, {"event": "cell", "key": 1, "state": "ok"}, {"event": "cell"}, [1], 5,
     {"event": "cell", "key": "x", "state": "ok", "numbers": {"a": [1]}, "at": "x"},
     {"event": "grid", "name": "", "title": "", "metric": "", "better": 1, "axes": [], "runs": 1,
      "points": [[1]]}],
)  # fmt: skip
def test_lines_that_are_anything_break_no_page(grid, tmp_path, hostile):
    page = until(grid, tmp_path, 3, hostile)
    assert "<h1>" in page.parts()["head"]
    assert "<table" in page.shell("<x>")


def test_cells_of_a_grid_that_nobody_named_break_no_page(grid, tmp_path):
    text = "".join(json.dumps(line) + "\n" for line in lines(grid)[1:])
    (tmp_path / "cells.jsonl").write_text(text)
    assert LiveGridPage(tmp_path).parts()["board"] == ""


def test_a_grid_that_is_over_ends_as_its_report_and_one_that_begins_again_does_not(grid):
    source = LiveSource(grid)
    assert source.ended
    assert "Leaderboard" in source.report()
    page = grid / "cells.jsonl"
    text = page.read_text()
    index = (grid / "bench.json").stat().st_mtime
    page.unlink()
    page.write_text(text)
    assert page.stat().st_mtime >= index
    assert not source.ended or page.stat().st_mtime == index
