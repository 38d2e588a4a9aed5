"""Cells on two raylets: one is lost, and its cell is run on the other."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.raylets import raylets

pytestmark = [pytest.mark.multiprocess, pytest.mark.full]

CELLS = """
import json, os, sys, time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tagma.bench.ray_workers import RayWorkers
from tagma.bench.runner import run_cells

FOLDER = Path(sys.argv[1])


@dataclass(frozen=True)
class FakeCell:
    key: str
    does: str
    method: str = "fake"
    trial: int = 0

    def run(self):
        if self.does == "die":
            os._exit(7)
        (FOLDER / f"{self.key}-{os.getpid()}").write_text(str(os.getppid()))
        while self.does == "wait" and not (FOLDER / "go on").exists():
            time.sleep(0.05)
        return {"parent": os.getppid()}

    def whole(self, result):
        return "parent" in result


cells = [FakeCell(f"cell{number}", does) for number, does in enumerate(sys.argv[2:])]
with closing(RayWorkers(None, FOLDER)) as workers:
    outcomes = run_cells(cells, FOLDER, workers=workers, progress=lambda counts: None)
print(json.dumps([[each.result and each.result["parent"], each.error] for each in outcomes]))
"""


def test_the_cells_of_a_raylet_that_is_lost_are_finished_on_the_other(tmp_path):
    def begun() -> list[Path]:
        return list(tmp_path.glob("cell?-*"))

    with (
        raylets(2) as cluster,
        subprocess.Popen(
            [sys.executable, "-c", CELLS, tmp_path, "wait", "wait", "quick", "die"],
            env=os.environ | cluster.env, stdout=subprocess.PIPE, text=True,
        ) as process,
    ):  # fmt: skip
        deadline = time.monotonic() + 120
        while len(begun()) < 2 or not all(path.read_text() for path in begun()):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        parents = {int(path.read_text()) for path in begun()}
        assert len(parents) == 2  # each on a raylet of its own
        cluster.lose_one()
        (tmp_path / "go on").touch()
        output, _ = process.communicate(timeout=240)
    assert process.returncode == 0
    *fine, bad = json.loads(output.splitlines()[-1])
    [left] = parents - {cluster.last.pid}
    assert fine == [[left, None]] * 3
    assert bad[0] is None
    assert "died" in bad[1]
