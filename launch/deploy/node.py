"""`tagma node`: one node of a deployment, as a Flower SuperNode.

It becomes `flower-supernode` with a connection over TLS, the node's own key, and the number of the
client that it plays. Clients are started by `tagma.launch.deploy.executor`.
"""

import json
import os
import shutil
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from tagma.attacks.attack_file import KEY as ATTACK_FILE
from tagma.errors import EngineError, TagmaError
from tagma.launch.command_line import CommandLine, at_least
from tagma.launch.deploy.executor import shim
from tagma.launch.deploy.keys import CA, KEY

_HELP = """One node of a deployment, as a Flower SuperNode, for one client of the federation.

  tagma node keys/node-3 --superlink superlink.example.org:8000 --number 3 --of 6
  tagma node keys/node-3 --superlink localhost:8000 --number 3 --of 6 --byzantine --port 9097"""


def main(arguments: list[str]) -> None:
    """Become the node."""
    parser = CommandLine("node", _HELP)
    parser.add_argument("keys", type=Path, metavar="KEYS", help=f"folder with {CA} and {KEY}")
    parser.add_argument(
        "--superlink", required=True, metavar="HOST:PORT", help="where it answers, or the proxy"
    )
    parser.add_argument(
        "--number", type=at_least(0), required=True, metavar="I", help="of the client, from 0"
    )
    parser.add_argument(
        "--of", type=at_least(1), required=True, metavar="N", help="how many clients there are"
    )
    role = parser.add_mutually_exclusive_group()
    role.add_argument(
        "--byzantine", action="store_true", help="run the attack of the settings, whatever number"
    )
    role.add_argument("--honest", action="store_true", help="never run it")
    parser.add_argument(
        "--data-path", metavar="PATH", help="the client's own examples, for task=images or table"
    )
    parser.add_argument(
        "--attack-file", metavar="FILE",
        help="for demonstrations: whatever local attack this file names is run, while it does",
    )  # fmt: skip
    parser.add_argument("--port", type=int, default=9094, help="for its own clients, on loopback")
    given = parser.read(arguments)
    for name in (CA, KEY):
        if not (given.keys / name).is_file():
            raise TagmaError(f"{given.keys}: has no {name}; make one with `tagma keys`")
    command = node_command(
        given.keys,
        given.superlink,
        number=given.number,
        of=given.of,
        port=given.port,
        # With neither, the settings decide by the number, as in a simulation.
        byzantine=True if given.byzantine else False if given.honest else None,
        data_path=given.data_path,
        attack_file=given.attack_file,
    )
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    # The image has the folder ready, since its containers can execute nothing that they write.
    ready = os.environ.get("TAGMA_SHIMS")
    shims = Path(ready) if ready else shim(cache / "tagma" / "bin")
    environment = node_environment(os.environ, shims)
    found = shutil.which(command[0], path=environment["PATH"])
    if found is None:
        raise EngineError(f"the command {command[0]} is missing: pip install flwr")
    sys.stdout.flush()
    os.execve(found, command, environment)


def node_command(
    keys: Path,
    superlink: str,
    *,
    number: int,
    of: int,
    port: int,
    byzantine: bool | None = None,
    data_path: str | None = None,
    attack_file: str | None = None,
) -> list[str]:
    """The command line of a SuperNode."""
    config = f"partition-id={number} num-partitions={of}"
    if byzantine is not None:
        config += f" byzantine={str(byzantine).lower()}"
    for key, path in (("data-path", data_path), (ATTACK_FILE, attack_file)):
        if path is not None:
            config += f" {key}={json.dumps(os.path.abspath(path))}"
    return [
        "flower-supernode",
        *("--superlink", superlink, "--root-certificates", str(keys / CA)),
        *("--auth-supernode-private-key", str(keys / KEY)),
        *("--node-config", config, "--host", "127.0.0.1", "--port", str(port)),
    ]


def node_environment(environment: Mapping[str, str], shims: Path) -> dict[str, str]:
    """The environment of a SuperNode: our executor comes first, and looks for tasks often."""
    path = [str(shims), sysconfig.get_path("scripts"), environment.get("PATH", "")]
    return {
        "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.25",
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        **environment,
        "PATH": os.pathsep.join(path),
    }
