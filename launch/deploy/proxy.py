"""`tagma proxy`: what nodes reach instead of the SuperLink; it passes on the fleet's requests only.

A SuperLink serves nodes, the server and its operators on one port, and whoever reaches the port may
start runs and register keys. So nodes get this proxy: it takes POST requests to /v1/fleet/NAME over
TLS and passes them to the SuperLink over TLS, verifying its certificate. Everything else is 403. It
does not decode, normalise or rewrite paths: what is not literally such a path is refused. Who a
node is, the SuperLink decides by the node's signature, which passes through.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from ssl import create_default_context

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from tagma.launch.command_line import CommandLine
from tagma.launch.deploy.keys import CA

_FLEET = re.compile(rb"/v1/fleet/[a-z-]+")
_LARGEST = 16 * 2**20
"""Bytes of a request; Flower sends arrays in pieces of 5 MB."""
_CONNECTION_ONLY = {
    "connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "host",
    "content-length", "proxy-authorization", "proxy-authenticate",
}  # fmt: skip
"""Headers that belong to one connection and are not passed on."""
_UNPACKED = {"content-encoding"}
"""What no longer holds of an answer, whose body comes unpacked."""

_HELP = """What nodes reach instead of the SuperLink; only the fleet's requests are passed on.

  tagma proxy keys/proxy --superlink superlink.example.org:8000 --host 0.0.0.0 --port 8443"""


def main(arguments: list[str]) -> None:
    """Serve until told to stop."""
    parser = CommandLine("proxy", _HELP)
    parser.add_argument(
        "keys", type=Path, metavar="KEYS", help=f"folder with server.crt, server.key and {CA}"
    )
    parser.add_argument("--superlink", required=True, metavar="HOST:PORT", help="where it answers")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8443)
    given = parser.read(arguments)
    uvicorn.run(
        Proxy(f"https://{given.superlink}", given.keys / CA),
        host=given.host,
        port=given.port,
        ssl_certfile=given.keys / "server.crt",
        ssl_keyfile=str(given.keys / "server.key"),
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=30,
        limit_concurrency=1000,
    )


class Proxy(Starlette):
    """An ASGI application with one rule."""

    def __init__(self, superlink: str, root_certificates: Path) -> None:
        super().__init__()
        self._superlink = superlink
        self._root_certificates = root_certificates
        self._client: httpx.AsyncClient | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; there are no routes, so that no router interprets the path."""
        if scope["type"] == "lifespan":
            await super().__call__(scope, receive, send)
        elif scope["type"] == "http":
            response = await self._answer(Request(scope, receive))
            await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        path: bytes = request.scope["raw_path"]
        query = request.scope["query_string"]
        if request.method != "POST" or query or not _FLEET.fullmatch(path):
            return PlainTextResponse("only nodes' requests pass here\n", status_code=403)
        try:
            body = await _body(request)
        except ClientDisconnect:
            return Response(status_code=400)
        if body is None:
            return PlainTextResponse("too large\n", status_code=413)
        try:
            answer = await self._upstream().post(
                self._superlink + path.decode(), content=body, headers=_passed_on(request.headers)
            )
        except httpx.TransportError:
            return PlainTextResponse("the SuperLink does not answer\n", status_code=502)
        headers = _passed_on(answer.headers, _CONNECTION_ONLY | _UNPACKED)
        return Response(answer.content, answer.status_code, headers)

    def _upstream(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = httpx.AsyncClient(
                verify=create_default_context(cafile=self._root_certificates),
                trust_env=False,
                timeout=60,
                limits=httpx.Limits(max_connections=200, max_keepalive_connections=50),
            )
        return self._client


async def _body(request: Request) -> bytes | None:
    """The request's body, or None if it is too large."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > _LARGEST:
            return None
        parts.append(part)
    return b"".join(parts)


def _passed_on(headers: Mapping[str, str], but: set[str] = _CONNECTION_ONLY) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in but}
