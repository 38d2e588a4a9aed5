"""Something goes wrong in the containers every third round, by a seed: the models stay the same.

Containers are killed and started, taken off their network and paused. Nodes may miss rounds by it;
the models must be those of a run in one process in which the same clients miss the same rounds, to
rounding: the image has other libraries. `TAGMA_CHAOS` is how many rounds, then the seeds; by
default a node is killed, another cut off, then the SuperLink killed, then the executor.
"""

import os
import random
import subprocess
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import yaml

from compose_tests import stack
from compose_tests.stack import Run, container, docker, rounds_done, wait_until_running
from compose_tests.test_compose import TASK, WHERE
from tests.launch.chaos.schedule import faults, missed, models_of, models_without_faults

ROUNDS, *SEEDS = (int(part) for part in os.environ.get("TAGMA_CHAOS", "20 28").split())
KINDS = {
    "kill superlink": 2, "kill proxy": 2, "kill executor": 1, "kill node": 1, "cut node": 2,
    "pause proxy": 1, "pause node": 1,
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def containers():
    with stack.stack():
        yield


def happens(kind: str, drawn: random.Random) -> None:
    what, _, service = kind.partition(" ")
    if service == "node":
        service = f"node-{drawn.randrange(6)}"
    network = f"{stack.PROJECT}_fleet"
    name = container(service)
    if what == "kill":
        docker("kill", name)
        time.sleep(drawn.uniform(0, 3))
        docker("start", name)
    elif what == "cut":
        docker("network", "disconnect", network, name)
        time.sleep(drawn.uniform(3, 15))
        docker("network", "connect", "--alias", service, network, name)
    else:
        docker("pause", name)
        time.sleep(drawn.uniform(3, 10))
        docker("unpause", name)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_models_are_those_of_a_run_without_faults_that_the_same_clients_missed(seed, tmp_path):
    folder = f"/results/chaos-{seed}"
    own = [*TASK, "oracle=false", "evaluate=false", f"rounds={ROUNDS}", f"seed={seed}"]
    # Node n is started as a Byzantine client or as none, whatever the seed.
    own += [f"attack.clients={byzantine_nodes()}"]
    own = [text for text in own if not text.startswith("attack.fraction")]
    drawn, started = random.Random(seed + 1), time.monotonic()
    resumed = 0
    with closing(Follower(folder, tmp_path / "journal")) as follower:
        run = Run("tagma", "run", *WHERE, *own, f"hydra.run.dir={folder}", "round_timeout=120")
        for number, kind in [*faults(KINDS, ROUNDS, seed), (ROUNDS + 1, "")]:
            while (done := max(rounds_done(folder), follower.rounds())) < number:
                if run.process.poll() is not None:
                    if run.wait() == 0:
                        break
                    resumed += 1
                    assert resumed < 10, run.text
                    wait_until_running("superlink")
                    run = Run("tagma", "resume", folder)
                assert time.monotonic() < started + 120 * ROUNDS, run.text
                time.sleep(0.5)
            if kind:
                print(f"{time.strftime('%X')} round {done}: {kind}", flush=True)
                happens(kind, drawn)
        assert run.wait() == 0, run.text
        away = follower.missed()
    counted = Counter(client for gone in away.values() for client in gone)
    print(
        f"\nseed {seed}: {ROUNDS + 1} rounds in {time.monotonic() - started:.0f} s, resumed "
        f"{resumed} times, rounds missed by client {dict(sorted(counted.items()))}"
    )
    assert sorted(away) == list(range(1, ROUNDS + 2))
    assert counted.total() < 3 * (ROUNDS + 1)
    docker("cp", f"{container('executor')}:{folder}/models.safetensors", str(tmp_path))
    found = models_of(tmp_path)
    for name, expected in models_without_faults(own, away, tmp_path / "replayed").items():
        np.testing.assert_allclose(found[name], expected, rtol=1e-9, atol=1e-12)


def byzantine_nodes() -> list[int]:
    """The nodes that the file starts as Byzantine clients."""
    services = yaml.safe_load((stack.ROOT / "docker-compose.yml").read_text())["services"]
    return [n for n in range(6) if "--byzantine" in services[f"node-{n}"]["command"]]


class Follower:
    """The lines of a run's journal, as they are written, in a file of this computer."""

    def __init__(self, folder: str, copy: Path) -> None:
        self._copy = copy
        self._output = copy.open("w")
        journal = f"{folder}/checkpoint.rounds.jsonl"
        wait = f"until [ -e {journal} ]; do sleep 0.2; done; exec tail -q -n +1 -f {journal}"
        name = f"{stack.PROJECT}-follower"
        docker("rm", "-f", name, check=False)
        volume = f"{stack.PROJECT}_results:/results:ro"
        self._process = subprocess.Popen(
            ["docker", "run", "--rm", "--name", name, "--network", "none", "-v", volume,
             stack.PROJECT, "sh", "-c", wait], stdout=self._output,
        )  # fmt: skip

    def missed(self) -> dict[int, frozenset[int]]:
        with self._copy.open() as lines:
            return missed(lines)

    def rounds(self) -> int:
        return max(self.missed(), default=0)

    def close(self) -> None:
        docker("rm", "-f", f"{stack.PROJECT}-follower", check=False)
        self._process.wait(30)
        self._output.close()
