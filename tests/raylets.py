"""A Ray cluster of several raylets on this computer, one processor each; one of them may be killed.

It lives in a process of its own, which ends it when its standard input closes, also when the tests
are killed. Only its token lets anybody submit work to it.
"""

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from tempfile import TemporaryDirectory

import psutil

_CLUSTER = """
import os, sys
from ray.cluster_utils import Cluster

cluster = Cluster(
    initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
)
for _ in range(int(sys.argv[1]) - 1):
    node = cluster.add_node(num_cpus=1)
print("address", cluster.address, flush=True)
print("raylet", node.all_processes["raylet"][0].process.pid, flush=True)
sys.stdin.read()
cluster.shutdown()
"""
_SOON = {"RAY_health_check_period_ms": "500", "RAY_health_check_failure_threshold": "4"}
"""A raylet that is gone is noticed within seconds."""
_SPARED = {"RAY_memory_monitor_refresh_ms": "0"}
"""Ray kills workers when the computer has little memory left, whoever uses it."""


@dataclass(frozen=True)
class Raylets:
    """A running cluster."""

    env: dict[str, str]
    """What a process that is to use it needs in its environment."""
    last: psutil.Process
    """The raylet that was started last."""

    def lose_one(self) -> None:
        """Kill the last raylet and its workers, as when a computer fails."""
        lost = [self.last, *self.last.children(recursive=True)]
        for process in lost:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(lost, 30)


@contextmanager
def raylets(count: int) -> Iterator[Raylets]:
    """So many raylets, for the while; no process of theirs is left afterwards."""
    with TemporaryDirectory(dir="/tmp", prefix="t") as scratch:  # sockets need short names
        env = {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
        }
        with open(os.path.join(scratch, "log"), "w") as log:
            cluster = subprocess.Popen(
                [sys.executable, "-c", _CLUSTER, str(count)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                env=os.environ | env | _SOON | _SPARED
                | {"RAY_TMPDIR": scratch, "TMPDIR": scratch},
            )  # fmt: skip
        started: list[psutil.Process] = []
        try:
            said = dict(line.split() for line in _two(cluster, "address", "raylet"))
            started = psutil.Process(cluster.pid).children(recursive=True)
            address = {"RAY_ADDRESS": said["address"]}
            yield Raylets(env | address, psutil.Process(int(said["raylet"])))
        finally:
            with suppress(psutil.NoSuchProcess):
                started += psutil.Process(cluster.pid).children(recursive=True)
            with suppress(subprocess.TimeoutExpired):
                cluster.communicate(timeout=60)
            cluster.kill()
            cluster.wait()
            for process in started:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(started, 30)


def _two(cluster: subprocess.Popen[str], *names: str) -> Iterator[str]:
    """The lines of these names; others are Ray's own."""
    assert cluster.stdout is not None
    for name in names:
        line = next(line for line in cluster.stdout if line.startswith(f"{name} "))
        yield line
