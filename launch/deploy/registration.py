"""`tagma register`: tell a SuperLink which node keys it may let in.

One connection for all keys, instead of one `flwr supernode register` process for each. A key that
is registered already is fine.
"""

from pathlib import Path

import httpx
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.serialization import load_ssh_public_key

from tagma.errors import EngineError, TagmaError
from tagma.launch.command_line import CommandLine
from tagma.launch.console import say
from tagma.launch.deploy.keys import CA
from tagma.server.transport.flower_control import (
    ApiErrorCode,
    ControlHttpClient,
    FlowerError,
    RegisterNodeRequest,
    RuntimeVersionHttpInterceptor,
    public_key_to_bytes,
)

_HELP = """Tell a SuperLink which node keys it may let in.

FOLDER is what `tagma keys` made for this purpose. A key that is registered already is fine.

  tagma register keys/control --superlink superlink.example.org:8000"""


def main(arguments: list[str]) -> None:
    """Register every key of a folder."""
    parser = CommandLine("register", _HELP)
    parser.add_argument(
        "folder", type=Path, metavar="FOLDER", help=f"has {CA} and the nodes' *.pub"
    )
    parser.add_argument("--superlink", required=True, metavar="HOST:PORT", help="where it answers")
    given = parser.read(arguments)
    if not (given.folder / CA).is_file():
        raise TagmaError(f"{given.folder}: has no {CA}; make one with `tagma keys`")
    count = register_nodes(given.folder, given.superlink)
    say(f"{count} nodes are registered with {given.superlink}")


def register_nodes(folder: Path, address: str) -> int:
    """Register the public keys in a folder over TLS; return how many there are."""
    client = ControlHttpClient.from_server_address(
        server_address=address,
        insecure=False,
        root_certificates=(folder / CA).read_bytes(),
        interceptors=[RuntimeVersionHttpInterceptor(component_name="flwr CLI")],
    )
    files = sorted(folder.glob("*.pub"))
    try:
        for file in files:
            _register(client, file)
    except httpx.TransportError as problem:
        raise EngineError(f"the SuperLink at {address} cannot be reached: {problem}") from None
    finally:
        client.close()
    return len(files)


def _register(client: ControlHttpClient, file: Path) -> None:
    key = load_ssh_public_key(file.read_bytes())
    assert isinstance(key, EllipticCurvePublicKey)
    request = RegisterNodeRequest(public_key=public_key_to_bytes(key), name=file.stem)
    try:
        client.RegisterNode(request)
    except httpx.HTTPStatusError as problem:
        error = FlowerError.from_json(problem.response.text)
        if error is None or error.code != ApiErrorCode.PUBLIC_KEY_ALREADY_IN_USE:
            raise EngineError(f"{file.name} cannot be registered: {error or problem}") from None
