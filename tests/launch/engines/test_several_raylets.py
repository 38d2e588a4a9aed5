"""A run on a Ray cluster of two raylets: its numbers, its clients' data, and one raylet lost."""

import json
import os
import subprocess
import sys
import time
from collections import Counter

import pytest
from safetensors.numpy import load_file

from tests.command import tagma_process
from tests.conftest import SMALL
from tests.raylets import raylets

pytestmark = [pytest.mark.multiprocess, pytest.mark.full]

COUNTED = '''
import os
from pathlib import Path

from tagma.tasks.mixture_regression import MixtureRegression


class Counted(MixtureRegression):
    """Notes in a file which process makes whose data."""

    def train(self, client):
        with open(Path(__file__).with_name("made"), "a") as file:
            file.write(f"{os.getpid()} {client}\\n")
        return super().train(client)
'''
RUN = ["run", *SMALL, "oracle=false", "attack=none"]


def models(folder):
    return load_file(folder / "models.safetensors")["models"]


def test_two_raylets_give_the_numbers_of_one_process_and_keep_their_clients_data(tmp_path):
    (tmp_path / "mine.py").write_text(COUNTED)
    run = [*RUN, "rounds=6", "task._target_=mine.Counted"]
    done = tagma_process(*run, "hydra.run.dir=inprocess", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "made").unlink()
    with raylets(2) as cluster:
        done = tagma_process(*run, "engine=ray", "hydra.run.dir=ray", cwd=tmp_path, **cluster.env)
    assert done.returncode == 0, done.stderr
    assert models(tmp_path / "ray") == pytest.approx(models(tmp_path / "inprocess"), rel=1e-9)
    ray, alone = (
        json.loads((tmp_path / engine / "metrics.json").read_text())
        for engine in ("ray", "inprocess")
    )
    for exact in ("misclustering_per_iteration", "replies", "messages"):
        assert ray[exact] == alone[exact]
    made = Counter((tmp_path / "made").read_text().splitlines())
    actors = {line.split()[0] for line in made}
    assert len(actors) == 2
    assert {line.split()[1] for line in made} == {str(client) for client in range(20)}
    assert set(made.values()) == {1}  # not once a round: an actor keeps what it has made


def test_a_run_that_loses_a_raylet_breaks_off_and_goes_on_with_the_others(tmp_path):
    all_of_them = ["rounds=60", "quorum=1", "quorum_timeout=5"]
    done = tagma_process(*RUN, *all_of_them, "hydra.run.dir=whole", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    command = "import sys; sys.argv[0] = 'tagma'; from tagma.launch.cli import main; main()"
    with raylets(2) as cluster:
        with subprocess.Popen(
            [sys.executable, "-c", command, *RUN, *all_of_them, "engine=ray", "hydra.run.dir=out"],
            cwd=tmp_path, env=os.environ | cluster.env, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            history = tmp_path / "out/history.csv"
            deadline = time.monotonic() + 240
            while not (history.exists() and history.read_text().count("\n") > 3):
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.1)
            cluster.lose_one()
            _, errors = process.communicate(timeout=300)
        assert process.returncode not in (0, 130), errors
        last = errors.splitlines()[-1]
        assert last.startswith("tagma: error: "), errors
        assert "quorum=1" in last
        assert not (tmp_path / "out/metrics.json").exists()
        done = tagma_process("resume", "out", cwd=tmp_path, **cluster.env)
        assert done.returncode == 0, done.stderr
    assert models(tmp_path / "out") == pytest.approx(models(tmp_path / "whole"), rel=1e-9)
