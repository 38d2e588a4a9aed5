"""`tagma resume` of a folder named from here, on an engine whose server runs elsewhere."""

import csv
import json
import os
from pathlib import Path

import pytest

from tagma.client.app import app as client_app
from tagma.errors import EngineError
from tagma.launch.engines.inprocess_grid import InProcessGrid
from tagma.server.federation import run_federation
from tagma.settings import compose, join_overrides
from tests.command import tagma
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
