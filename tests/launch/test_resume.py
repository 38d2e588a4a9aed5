"""`tagma resume`: after a kill, for every algorithm, and where the server runs elsewhere."""

import csv
import json
import os
import signal
from pathlib import Path

import pytest

from tagma.client.app import app as client_app
from tagma.errors import EngineError
from tagma.launch.engines.inprocess_grid import InProcessGrid
from tagma.server.federation import run_federation
from tagma.settings import compose, join_overrides
from tests.algorithms import ALGORITHMS, TINY
from tests.command import tagma, tagma_process
from tests.server.test_checkpoint import run


@pytest.fixture
def broken_off(tmp_path):
    """A run that died in its fourth round, in the folder `out`, beside one that did not."""
    run(tmp_path / "whole", "oracle=false")
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "out", "oracle=false", dies_in=4)
    return tmp_path


def test_a_server_elsewhere_goes_on_from_a_folder_that_is_named_from_here(
    broken_off, monkeypatch, tmp_path_factory
):
    def elsewhere(overrides, clients, on_line, **options):
        here = Path.cwd()
        os.chdir(tmp_path_factory.mktemp("elsewhere"))
        try:
            settings = compose(overrides)
            grid = InProcessGrid(client_app, clients, join_overrides(overrides))
            run_federation(grid, settings, Path(settings.output), [], "ray")
        finally:
            os.chdir(here)

    monkeypatch.setattr("tagma.launch.engines.ray.run_on_ray", elsewhere)
    done = tagma("resume", "out", "engine=ray", cwd=broken_off)
    assert done.returncode == 0, done.stderr
    models = [(broken_off / name / "models.safetensors").read_bytes() for name in ("out", "whole")]
    assert models[0] == models[1]
    metrics = json.loads((broken_off / "out/metrics.json").read_text())
    assert metrics["engine"] == "ray"
    assert metrics["participation"]["resumed_before_round"] == [4]


def test_a_resume_that_fails_takes_nothing_away(broken_off, monkeypatch):
    def fails(*arguments, **options):
        raise EngineError("no SuperLink today")

    monkeypatch.setattr("tagma.launch.engines.ray.run_on_ray", fails)
    before = (broken_off / "out/history.csv").read_text()
    assert [row["round"] for row in csv.DictReader(before.splitlines())] == ["1", "2", "3"]
    done = tagma("resume", "out", "engine=ray", cwd=broken_off)
    assert done.returncode != 0
    assert "no SuperLink today" in done.stderr
    assert (broken_off / "out/history.csv").read_text() == before
    assert tagma("resume", "out", cwd=broken_off).returncode == 0


KILLED = """
import os, signal
from pathlib import Path
from tagma.attacks.local.sign_flip import SignFlip


class Killed(SignFlip):
    # Flips signs; in the first run its process is killed while the fourth round is on.
    def forge(self, honest, view):
        if view.round == 4 and not Path("again").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        return super().forge(honest, view)
"""


def history(folder):
    """The rows of history.csv but for the seconds, and the bytes of each."""
    with (folder / "history.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        del row["seconds"]
    return rows, [[int(row.pop(way)) for way in ("bytes_down", "bytes_up")] for row in rows]


@pytest.mark.multiprocess
@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS.keys() - {"tagma"}))
def test_a_run_that_is_killed_goes_on_as_if_it_had_not_been(algorithm, tmp_path):
    (tmp_path / "mine.py").write_text(KILLED)
    own = [*TINY, *ALGORITHMS[algorithm], "attack=sign_flip", "attack._target_=mine.Killed",
           "rounds=6", "oracle=false", "evaluate_every=1"]  # fmt: skip
    killed = tagma_process("run", *own, "hydra.run.dir=killed", cwd=tmp_path)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert len(history(tmp_path / "killed")[0]) == 3
    assert not (tmp_path / "killed/metrics.json").exists()
    (tmp_path / "again").touch()
    for arguments in (["resume", "killed", "--trust"], ["run", *own, "hydra.run.dir=whole"]):
        done = tagma(*arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    metrics = json.loads((tmp_path / "killed/metrics.json").read_text())
    assert metrics["participation"]["resumed_before_round"] == [4]
    folders = [tmp_path / "killed", tmp_path / "whole"]
    models, clusters = (
        [(folder / name).read_bytes() for folder in folders]
        for name in ("models.safetensors", "clusters.csv")
    )
    assert models[0] == models[1]
    assert clusters[0] == clusters[1]
    (rows, sent), (whole, usual) = map(history, folders)
    assert len(rows) == 7
    assert rows == whole
    assert [*sent[:3], *sent[4:]] == [*usual[:3], *usual[4:]]
    # Before the round that is played again, who has a place shows its local model once more.
    assert all(more >= least for more, least in zip(sent[3], usual[3], strict=True))
