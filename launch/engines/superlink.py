"""A SuperLink: its environment, its start, and Flower's commands against it.

`flwr run` alone would start a SuperLink on a fixed port, share it between runs and leave it
behind. Ours has a free port, its own home and database in the run's working folder, and
ends with the run. It imports Tagma along the launcher's own import path, so that the code that
runs is the code that launched, whatever folder either was started from.
"""

import os
import secrets
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from ssl import create_default_context
from typing import IO
from urllib.error import URLError
from urllib.request import HTTPSHandler, ProxyHandler, build_opener

import tomli_w

import tagma
from tagma.errors import EngineError
from tagma.launch.engines.process_guard import Shelter

CONNECTION = "tagma"
START_SECONDS = 60.0
POLL_SECONDS = 0.05


@dataclass(frozen=True)
class SuperLink:
    """A running SuperLink, reached by Flower's command line."""

    shelter: Shelter
    env: Mapping[str, str]

    def flwr(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a `flwr` command, its output (stdout and stderr) in a pipe."""
        return self.shelter.start(
            [command_path("flwr", self.env), *arguments], self.env, subprocess.PIPE
        )


def start_simulation(shelter: Shelter, threads: int, output: IO[str]) -> SuperLink:
    """Start a SuperLink for simulations that writes to `output`; return when it answers."""
    port = free_port()
    superlink = connect(shelter, f"127.0.0.1:{port}", threads=threads)
    command = [
        command_path("flower-superlink", superlink.env),
        *("--insecure", "--simulation", "--disable-runtime-dependency-installation"),
        *("--host", "127.0.0.1", "--port", str(port)),
        *("--database", str(shelter.folder / "state.db")),
    ]
    process = shelter.start(command, superlink.env, output)
    wait_until_healthy(process, f"http://127.0.0.1:{port}/health")
    return superlink


def connect(
    shelter: Shelter, address: str, *, threads: int = 1, root_certificates: Path | None = None
) -> SuperLink:
    """A SuperLink by its address; over TLS if it has certificates, else for loopback only."""
    env = superlink_environment(shelter.folder, threads)
    home = Path(env["FLWR_HOME"])
    for folder in (home, Path(env["TMPDIR"])):
        folder.mkdir()
    connection: dict[str, object] = {"address": address}
    if root_certificates is None:
        connection["insecure"] = True
    else:
        connection["root-certificates"] = str(root_certificates.resolve())
    config = {"superlink": {"default": CONNECTION, CONNECTION: connection}}
    (home / "config.toml").write_text(tomli_w.dumps(config))
    return SuperLink(shelter, env)


def wait_until_healthy(
    superlink: subprocess.Popen[str], url: str, root_certificates: Path | None = None
) -> None:
    """Return when the SuperLink answers; an error if it ends or takes too long."""
    trust = None if root_certificates is None else create_default_context(cafile=root_certificates)
    opener = build_opener(ProxyHandler({}), HTTPSHandler(context=trust))
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if superlink.poll() is not None:
            raise EngineError(f"the SuperLink ended at once with exit code {superlink.returncode}")
        try:
            opener.open(url, timeout=1).close()
            return
        except (URLError, OSError):
            time.sleep(POLL_SECONDS)
    raise EngineError(f"the SuperLink did not answer within {START_SECONDS:.0f} s")


def superlink_environment(folder: Path, threads: int) -> dict[str, str]:
    """The launcher's environment, with everything Flower and Ray write kept in the folder."""
    temporary = str(folder / "tmp")
    direct = os.environ.get("no_proxy") or os.environ.get("NO_PROXY")
    direct = ",".join(filter(None, [direct, "127.0.0.1", "localhost"]))
    blas = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    # Ray listens on every interface: let nobody but this run submit work to it.
    own_ray = {
        "RAY_ADDRESS": "local",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
    }
    return {
        **dict.fromkeys(blas, str(threads)),
        **os.environ,
        "PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")]),
        "PYTHONPATH": _import_path(folder),
        "PYTHONUNBUFFERED": "1",
        "COLUMNS": "200",
        "NO_PROXY": direct,
        "no_proxy": direct,
        "TMPDIR": temporary,
        "FLWR_HOME": str(folder / "home"),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        **({} if os.environ.get("RAY_ADDRESS") else own_ray),
        "RAY_TMPDIR": temporary,
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    }


def _import_path(folder: Path) -> str:
    """The launcher's own import path, in its order.

    Where Tagma is not found along it, as in an editable install, a folder comes first that has
    Tagma and nothing else: the checkout itself has folders by names that users' modules may have.
    """
    path = [os.path.abspath(entry) for entry in sys.path]
    found = PathFinder.find_spec("tagma", path)
    if found is None or found.origin != tagma.__file__:
        alone = folder / "import"
        alone.mkdir()
        (alone / "tagma").symlink_to(Path(tagma.__file__).parent, target_is_directory=True)
        path.insert(0, str(alone))
    return os.pathsep.join(path)


def command_path(name: str, env: Mapping[str, str]) -> str:
    """The full path of a command of Flower's."""
    found = shutil.which(name, path=env["PATH"])
    if found is None:
        raise EngineError(f"the command {name} is missing: pip install 'flwr[simulation]'")
    return found


def free_port() -> int:
    """A port of the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
