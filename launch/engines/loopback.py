"""A whole deployment on one computer: SuperLink, server executor, proxy and nodes as processes.

The same as in containers, for people without Docker and for tests: TLS, a key of its own for every
node, a proxy between nodes and SuperLink, process isolation of the server and a state database.
What is missing are the networks: everything listens on the loopback interface. A process that dies
is started again, as a container's restart policy would, so the federation survives the loss of any
of them but the server's executor, whose run is then resumed.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import IO

from tagma.launch.deploy.executor import shim
from tagma.launch.deploy.keys import CA, SECRET, make_keys
from tagma.launch.deploy.node import node_command, node_environment
from tagma.launch.deploy.registration import register_nodes
from tagma.launch.engines.process_guard import Shelter
from tagma.launch.engines.superlink import (
    SuperLink,
    command_path,
    connect,
    free_port,
    wait_until_healthy,
)

POLL_SECONDS = 0.5
RESTART_SECONDS = 2.0


class Keeper:
    """Starts processes and, until it is stopped, starts those that end again."""

    def __init__(self, shelter: Shelter, output: IO[str]) -> None:
        self._shelter = shelter
        self._output = output
        self._kept: list[tuple[Sequence[str], Mapping[str, str]]] = []
        self._running: list[subprocess.Popen[str]] = []
        self._stopped = Event()
        self._thread = Thread(target=self._watch, daemon=True)

    def start(self, command: Sequence[str], env: Mapping[str, str]) -> subprocess.Popen[str]:
        """Start a process that is to be kept."""
        process = self._shelter.start(command, env, self._output)
        self._kept.append((command, env))
        self._running.append(process)
        return process

    def watch(self) -> None:
        """Begin to look after the processes."""
        self._thread.start()

    def stop(self) -> None:
        """Let everything end."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def _watch(self) -> None:
        while not self._stopped.wait(POLL_SECONDS):
            for place, process in enumerate(self._running):
                if process.poll() is None or self._stopped.wait(RESTART_SECONDS):
                    continue
                command, env = self._kept[place]
                name, code = os.path.basename(command[0]), process.returncode
                with suppress(ValueError):  # the log may be closed already
                    self._output.write(f"{name} ended with exit code {code}; starting it again\n")
                self._running[place] = self._shelter.start(command, env, self._output)


@contextmanager
def loopback(
    shelter: Shelter, nodes: int, output: IO[str], data_path: str | None = None
) -> Iterator[SuperLink]:
    """A SuperLink with so many nodes; the shelter ends the processes.

    `data_path` is where each has its examples, `{client}` in it the node's number.
    """
    keys, port, proxy_port = shelter.folder / "keys", free_port(), free_port()
    address, here = f"127.0.0.1:{port}", ["localhost", "127.0.0.1"]
    make_keys(keys, nodes=nodes, superlink=here, proxy=here)
    superlink = connect(shelter, address, root_certificates=keys / CA)
    keeper = Keeper(shelter, output)
    process = keeper.start(
        [
            command_path("flower-superlink", superlink.env),
            *_server_options(keys / "superlink"),
            *("--host", "127.0.0.1", "--port", str(port)),
            *("--database", str(shelter.folder / "state.db")),
        ],
        superlink.env,
    )
    shims = shim(shelter.folder / "bin")
    try:
        wait_until_healthy(process, f"https://{address}/health", keys / CA)
        register_nodes(keys / "control", address)
        keeper.start(
            [
                command_path("flower-superexec", superlink.env),
                *("--runtime-api-address", address),
                *("--root-certificates", str(keys / "executor" / CA)),
                *("--superexec-auth-secret-file", str(keys / "executor" / SECRET)),
                *("--parent-pid", str(os.getpid())),
            ],
            superlink.env,
        )
        keeper.start(
            [
                *(sys.executable, "-P", "-m", "tagma.launch.cli", "proxy", str(keys / "proxy")),
                *("--superlink", address, "--port", str(proxy_port)),
                # All nodes have one address.
                *("--per-address", str(64 + 8 * nodes), "--connections", str(1000 + 8 * nodes)),
            ],
            superlink.env,
        )
        for number in range(nodes):
            data = None if data_path is None else data_path.replace("{client}", str(number))
            place = f"127.0.0.1:{proxy_port}"
            _start_node(keeper, superlink, keys, shims, place, number, nodes, data)
        keeper.watch()
        yield superlink
    finally:
        keeper.stop()


def _server_options(keys: Path) -> list[str]:
    return [
        *("--ssl-ca-certfile", str(keys / CA)),
        *("--ssl-certfile", str(keys / "server.crt")),
        *("--ssl-keyfile", str(keys / "server.key")),
        *("--isolation", "process", "--superexec-auth-secret-file", str(keys / SECRET)),
        *("--enable-supernode-auth", "--disable-runtime-dependency-installation"),
    ]


def _start_node(
    keeper: Keeper,
    superlink: SuperLink,
    keys: Path,
    shims: Path,
    address: str,
    number: int,
    nodes: int,
    data_path: str | None,
) -> None:
    """Each node has a home of its own: Flower unpacks the app there."""
    home = keys.parent / "homes" / str(number)
    home.mkdir(parents=True)
    env = node_environment(superlink.env, shims) | {"FLWR_HOME": str(home)}
    command = node_command(
        keys / f"node-{number}", address,
        number=number, of=nodes, port=free_port(), data_path=data_path,
    )  # fmt: skip
    keeper.start([command_path(command[0], env), *command[1:]], env)
