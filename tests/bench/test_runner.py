"""Cells run once, whatever interrupts them."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tagma.bench.cell_store import read_result, write_result
from tagma.bench.federation_cell import _PARTS, FederationCell
from tagma.bench.runner import run_cells
from tagma.settings import compose
from tests.conftest import SMALL

WHOLE = {
    "metrics": dict.fromkeys(_PARTS["metrics"]),
    "provenance": dict.fromkeys(_PARTS["provenance"]),
    "timing": dict.fromkeys(_PARTS["timing"]),
}


def cells(count):
    return FederationCell.trials("a", SMALL, seed=0, trials=count)


def test_the_key_is_that_of_the_resolved_configuration():
    def key(*overrides, seed=1):
        return FederationCell.trials("any", overrides, seed, trials=1)[0].key

    first = key("rounds=3")
    assert first == key("rounds=3", "attack.fraction=0.3")
    assert first == key("rounds=3", "output=elsewhere")
    assert first == key("seed=7", "rounds=3")
    assert first != key("rounds=3", seed=2)
    assert first != key("rounds=3", "attack.fraction=0.2")


@pytest.mark.slow
def test_finished_cells_are_not_run_again(tmp_path):
    work = cells(2)
    write_result(tmp_path, work[0].key, WHOLE)
    seen = []
    outcomes = run_cells(work, tmp_path, workers=1, progress=seen.append)
    assert outcomes[0].result == WHOLE
    assert outcomes[1].result["metrics"]["seed"] == 1
    assert list(dict.fromkeys((c.kept, c.done, c.total) for c in seen)) == [(1, 1, 2), (1, 2, 2)]
    assert seen[-1].shown == (2, 2, "runs, 1 there already, 0 running, 0 failed")
    assert read_result(tmp_path, work[1].key) == outcomes[1].result


@pytest.mark.slow
def test_a_cell_that_fails_is_reported_and_the_rest_goes_on(tmp_path):
    overrides = [*SMALL, "clustering.k=3", "clustering.init=partial"]
    broken = FederationCell("b", 0, compose(overrides))
    outcomes = run_cells([broken, *cells(1)], tmp_path, workers=1, progress=lambda counts: None)
    assert outcomes[0].result is None
    assert "clustering.init=partial" in outcomes[0].error
    assert outcomes[1].result is not None
    assert read_result(tmp_path, broken.key) is None


def test_half_a_result_is_never_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "replace", lambda *paths: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write_result(tmp_path, "key", {"x": 1})
    assert read_result(tmp_path, "key") is None


@pytest.mark.multiprocess
def test_after_kill_9_only_the_missing_trials_run_and_the_table_is_the_same(tmp_path):
    command = [
        sys.executable, "-c", "from tagma.launch.cli import main; main()", "reproduce",
        "misclustering", "--trials", "6", "--workers", "2", "task.dim=20", "task.samples=12",
    ]  # fmt: skip
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    process = subprocess.Popen([*command, "--out", str(killed)], cwd=tmp_path)
    deadline = time.monotonic() + 120
    while len(list(killed.glob("cells/*.json"))) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    finished = {p: p.stat().st_mtime_ns for p in killed.glob("cells/*.json")}
    assert len(finished) < 18
    for folder in (killed, whole):
        subprocess.run([*command, "--out", str(folder)], cwd=tmp_path, check=True)
    assert all(p.stat().st_mtime_ns == stamp for p, stamp in finished.items())
    for name in ("misclustering.csv", "misclustering.md", "misclustering.svg"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes()
    cell = json.loads(next(whole.glob("cells/*.json")).read_text())
    assert cell["metrics"]["engine"] == "vectorised"
