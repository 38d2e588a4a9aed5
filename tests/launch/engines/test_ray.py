"""The ray engine gives the same numbers as inprocess, and leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest
from safetensors.numpy import load_file

from tests.command import tagma_process
from tests.conftest import SMALL
from tests.server.test_checkpoint import run as run_small

pytestmark = pytest.mark.multiprocess

INTERRUPTIBLE = """
import signal
# Where tests run in the background, SIGINT is ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
from tagma.launch.cli import main
main()
"""


def processes_with(mark: str) -> list[psutil.Process]:
    """All processes that were started, at any remove, with this mark in their environment."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("MARK") == mark:
                found.append(process)
    return found


def metrics(folder: Path) -> dict:
    return json.loads((folder / "metrics.json").read_text())


ATTACKS = {
    "local": ("attack=poisoned_regression",),
    "remembering": ("attack=stale", "attack.delay=1"),
    "omniscient": ("attack=ipm",),
    "two-phase": ("attack=infiltrate", "attack.later=sign_flip"),
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_ray_and_inprocess_agree(attack, tmp_path):
    for engine in ("ray", "inprocess"):
        done = tagma_process(
            "run", *SMALL, *attack, f"engine={engine}", f"hydra.run.dir={engine}", cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
    ray, inprocess = metrics(tmp_path / "ray"), metrics(tmp_path / "inprocess")
    assert ray.pop("engine") == "ray"
    assert inprocess.pop("engine") == "inprocess"
    for exact in ("misclustering_per_iteration", "replies", "messages"):
        assert ray[exact] == inprocess[exact]
    errors = "estimation_error_per_round"
    assert ray[errors] == pytest.approx(inprocess[errors], rel=1e-9)
    columns = [
        [row.split(",")[:5] for row in (tmp_path / engine / "clusters.csv").read_text().split()]
        for engine in ("ray", "inprocess")
    ]
    assert columns[0] == columns[1]


def test_ray_goes_on_with_a_run_that_broke_off_elsewhere(tmp_path):
    run_small(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run_small(tmp_path / "out", dies_in=4)
    done = tagma_process("resume", "out", "engine=ray", "oracle=false", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert metrics(tmp_path / "out")["participation"]["resumed_before_round"] == [4]
    whole, out = (load_file(tmp_path / name / "models.safetensors") for name in ("whole", "out"))
    assert out["models"] == pytest.approx(whole["models"], rel=1e-9)


def test_ctrl_c_ends_a_run_and_everything_it_started(tmp_path):
    with TemporaryDirectory(dir="/tmp", prefix="t") as scratch:
        process = subprocess.Popen(
            [sys.executable, "-c", INTERRUPTIBLE, "run", *SMALL,
             "rounds=100000", "engine=ray", "oracle=false", "hydra.run.dir=out"],
            cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True,
            env=os.environ | {"MARK": scratch, "TMPDIR": scratch},
        )  # fmt: skip
        history = tmp_path / "out/history.csv"
        deadline = time.monotonic() + 120
        while not (history.exists() and history.read_text().count("\n") > 2):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.2)
        assert len(processes_with(scratch)) > 5
        assert list(Path(scratch).iterdir())
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 130
        assert errors.splitlines()[-1] == "tagma: error: interrupted"
        assert processes_with(scratch) == []
        assert list(Path(scratch).iterdir()) == []
    assert not (tmp_path / "out/metrics.json").exists()


def test_a_federation_that_fails_is_one_line_with_the_reason(tmp_path):
    (tmp_path / "mine.py").write_text(
        "def broken(vectors, initial, *, k, iterations, fraction):\n"
        "    raise ValueError('no clusters today')\n"
    )
    done = tagma_process(
        "run", *SMALL, "engine=ray", "clustering=kmeans", "clustering._target_=mine.broken",
        "hydra.run.dir=out", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode != 0
    last = done.stderr.splitlines()[-1]
    assert last.startswith("tagma: error: ")
    assert "no clusters today" in last
    assert not (tmp_path / "out/metrics.json").exists()
