"""200 rounds of a deployment on loopback in which something goes wrong every fourth round.

Processes are killed, links are cut, slowed down and broken, the disk of the results is full. Nodes
may miss rounds by it; the models must be those of a run in one process in which the same clients
miss the same rounds, bit by bit. `TAGMA_CHAOS` is how many rounds, then the seeds: "200 0 1 2".
"""

import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import psutil
import pytest

from tagma.launch.engines import loopback
from tagma.launch.engines.process_guard import guarded
from tests.launch.chaos.relay import Links
from tests.launch.chaos.schedule import (
    OpenJournal,
    bits,
    faults,
    models_of,
    models_without_faults,
)

pytestmark = [pytest.mark.full, pytest.mark.multiprocess]

NODES = 5
TASK = [
    f"task.clients={NODES}", "task.clusters=1", "task.dim=5", "task.samples=60", "task.noise=0.5",
    "attack=sign_flip", "attack.fraction=0.2", "oracle=false", "evaluate=false",
    "optimiser.step=0.05",
]  # fmt: skip
ROUNDS, *SEEDS = (int(part) for part in os.environ.get("TAGMA_CHAOS", "200 0").split())
KINDS = {
    "kill the SuperLink": 7, "kill the server's executor": 4, "kill the proxy": 6,
    "kill a node": 4, "kill a client": 6, "cut a node off": 6, "cut all off": 5,
    "slow a link down": 5, "break all connections": 5, "fill the disk": 2,
}  # fmt: skip
_HANG = 900
"""Seconds without a new round after which something hangs."""


class Federation:
    """A deployment with links that can be cut, one run on it, and what can go wrong."""

    def __init__(self, folder: Path, overrides: list[str], seed: int) -> None:
        self.folder = folder
        self.overrides = overrides
        self.journal: OpenJournal | None = None
        self.happened: Counter[str] = Counter()
        self.resumed = 0
        self._drawn = random.Random(seed + 1)
        self._process: subprocess.Popen[str] | None = None

    @contextmanager
    def running(self):
        """Start everything; on the way out end it."""
        with ExitStack() as stack:
            scratch = Path(stack.enter_context(TemporaryDirectory(dir="/tmp", prefix="t")))
            log = stack.enter_context((self.folder.parent / "deployment.log").open("w"))
            self.links = Links()
            stack.callback(self.links.close)
            real = loopback._start_node

            def through_a_link(keeper, superlink, keys, shims, address, *more):
                real(keeper, superlink, keys, shims, self.links.to(address), *more)

            stack.enter_context(patch.object(loopback, "_start_node", through_a_link))
            self._shelter = stack.enter_context(guarded())
            superlink = stack.enter_context(loopback.loopback(self._shelter, NODES, log))
            config = (Path(superlink.env["FLWR_HOME"]) / "config.toml").read_text()
            address = config.partition('address = "')[2].partition('"')[0]
            self._where = [
                "engine=deployment", f"engine.address={address}",
                f"engine.root_certificates={self._shelter.folder / 'keys/ca.crt'}",
            ]  # fmt: skip
            self._env = os.environ | {"TMPDIR": str(scratch)}
            try:
                yield self
            finally:
                self._end()

    def _start(self, *command: str) -> None:
        """Run `tagma` with these words."""
        log = (self.folder.parent / "run.log").open("a")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tagma.launch.cli", *command],
            stdout=log, stderr=log, env=self._env, start_new_session=True,
        )  # fmt: skip
        log.close()

    def start_run(self) -> None:
        """Begin with the run."""
        own = ["round_timeout=120", f"hydra.run.dir={self.folder}"]
        self._start("run", *self.overrides, *self._where, *own)

    def is_over(self) -> bool:
        """Whether the run is complete; one that has broken off is resumed."""
        if self.journal is None and list(self.folder.glob("checkpoint.rounds.jsonl")):
            self.journal = OpenJournal(self.folder)
        if self._process.poll() is None:
            return False
        if (self.folder / "metrics.json").exists() and self._process.returncode == 0:
            return True
        assert self._process.returncode != 0, "a run that ended early says so"
        self.resumed += 1
        assert self.resumed < 40, "it ends again and again"
        self._start("resume", str(self.folder), *self._where)
        return False

    def play(self, schedule: list[tuple[int, str]]) -> None:
        """Play the run to its end with these faults; it is resumed as often as it ends early."""
        self.start_run()
        for number, kind in schedule:
            self._wait_for(number)
            print(f"{time.strftime('%X')} round {number}: {kind}", flush=True)
            self.happened[kind] += 1
            getattr(self, "_" + kind.replace(" ", "_").replace("'", ""))()
        self._wait_for(None)

    def _wait_for(self, number: int | None) -> None:
        """Until a round is over, or the run."""
        last, since = 0, time.monotonic()
        while True:
            over = self.is_over()
            done = self.journal.rounds() if self.journal else 0
            if over or (number is not None and done >= number):
                assert over == (number is None), f"the run was over before round {number}"
                return
            if done != last:
                last, since = done, time.monotonic()
            assert time.monotonic() < since + _HANG, f"no round since round {last}"
            time.sleep(0.1)

    def _end(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def found(self, *words: str) -> list[psutil.Process]:
        """The living processes of the deployment whose command lines have these words."""
        every = [
            child
            for process in self._shelter.processes
            if process.poll() is None
            for child in _family(process.pid)
        ]
        return [p for p in every if all(any(w in part for part in _command(p)) for w in words)]

    def _kill(self, *words: str) -> None:
        if found := self.found(*words):  # else it is being started again
            found[0].kill()

    def _kill_the_SuperLink(self) -> None:  # noqa: N802
        self._kill("flower-superlink")

    def _kill_the_servers_executor(self) -> None:
        self._kill("flower-superexec", "--superexec-auth-secret-file")

    def _kill_the_proxy(self) -> None:
        self._kill("tagma.launch.cli", "proxy")

    def _kill_a_node(self) -> None:
        self._kill("flower-supernode", f"node-{self._one()}")

    def _kill_a_client(self) -> None:
        """The youngest process of a node: it works on a message, or would on the next one."""
        node = self.found("flower-supernode", f"node-{self._one()}")
        if node and (young := _family(node[0].pid)[1:]):
            max(young, key=lambda process: process.create_time()).kill()

    def _cut_a_node_off(self) -> None:
        self.links.cut([self._one()], self._drawn.uniform(5, 25))

    def _cut_all_off(self) -> None:
        self.links.cut(range(NODES), self._drawn.uniform(3, 12))

    def _slow_a_link_down(self) -> None:
        self.links.slow_down([self._one()], self._drawn.uniform(10, 25), delay=0.5)

    def _break_all_connections(self) -> None:
        self.links.break_connections(range(NODES))

    def _fill_the_disk(self) -> None:
        """To the last byte, until the run has ended by it or for a minute."""
        ballast = self.folder / "ballast"
        with ballast.open("wb", buffering=0) as file:
            for size in (2**16, 1) if os.path.ismount(self.folder) else ():
                with suppress(OSError):
                    while file.write(bytes(size)):
                        pass
        until = time.monotonic() + 60
        while time.monotonic() < until and self._process.poll() is None:
            time.sleep(0.2)
        ballast.unlink()

    def _one(self) -> int:
        return self._drawn.randrange(NODES)


def _family(pid: int) -> list[psutil.Process]:
    try:
        first = psutil.Process(pid)
        return [first, *first.children(recursive=True)]
    except psutil.Error:
        return []


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@contextmanager
def small_disk(folder: Path):
    """A file system of its own for a folder, where this user may have one."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], check=False,
        capture_output=True,
    )  # fmt: skip
    if mounted.returncode != 0:
        print("no disk can be full here: only root can mount one")
    try:
        yield
    finally:
        if mounted.returncode == 0:
            shutil.copytree(folder, folder.with_name("kept"))
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_models_are_those_of_a_run_without_faults_that_the_same_clients_missed(seed, tmp_path):
    folder, started = tmp_path / "out", time.monotonic()
    overrides = [*TASK, f"rounds={ROUNDS}", f"seed={seed}"]
    with small_disk(folder):
        federation = Federation(folder, overrides, seed)
        with federation.running():
            federation.play(faults(KINDS, ROUNDS, seed))
        away = federation.journal.missed()
        missed = Counter(client for gone in away.values() for client in gone)
        print(
            f"\nseed {seed}: {max(away)} rounds in {time.monotonic() - started:.0f} s, resumed "
            f"{federation.resumed} times, rounds missed by client {dict(sorted(missed.items()))}, "
            f"faults {dict(federation.happened)}"
        )
        assert sorted(away) == list(range(1, ROUNDS + 2))
        assert missed.total() < len(away) * NODES / 2
        found = bits(models_of(folder))
    assert found == bits(models_without_faults(overrides, away, tmp_path / "replayed"))
