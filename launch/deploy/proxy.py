"""`tagma proxy`: what nodes reach instead of the SuperLink; it passes on the fleet's requests only.

A SuperLink serves nodes, the server and its operators on one port, and whoever reaches the port may
start runs and register keys. So nodes get this proxy: it takes POST requests to /v1/fleet/NAME over
TLS and passes them to the SuperLink over TLS, verifying its certificate. Everything else is 403. It
does not decode, normalise or rewrite paths: what is not literally such a path is refused. Who a
node is, the SuperLink decides by the node's signature, which passes through.

A request is passed on when all of it is here, and has a time to get here: TLS, head and body each
have a deadline. How much one address may keep busy: `connection_limits`.
"""

import asyncio
import re
import signal
import socket
import ssl
import struct
from asyncio import sslproto
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import h11
import httpx

from tagma.errors import EngineError, TagmaError
from tagma.launch.command_line import CommandLine, at_least
from tagma.launch.deploy.connection_limits import (
    ByteBudget,
    Connection,
    Connections,
    Limits,
    source,
)
from tagma.launch.deploy.http_exchange import CHUNK, Exchange, header
from tagma.launch.deploy.keys import CA

_FLEET = re.compile(rb"/v1/fleet/[a-z-]+")
_LARGEST = 16 * 2**20
"""Bytes of a request; Flower sends arrays in pieces of 5 MB."""
_SMALL = 2**16
"""Bytes of a body that need no place in the budget: those of all that is not an array."""
_RESET, _FINISH = struct.pack("ii", 1, 0), struct.pack("ii", 0, 0)
"""How a connection ends that is closed, as `SO_LINGER` says it."""
_TLS_BUFFER = 2**15
"""Bytes to read into of every connection, for which Python takes 256 kB."""
_OF_ONE_CONNECTION = {
    b"connection", b"keep-alive", b"transfer-encoding", b"te", b"trailer", b"upgrade", b"host",
    b"content-length", b"proxy-authorization", b"proxy-authenticate", b"expect",
}  # fmt: skip
"""Headers that are not passed on."""

_HELP = """What nodes reach instead of the SuperLink; only the fleet's requests are passed on.

  tagma proxy keys/proxy --superlink superlink.example.org:8000 --host 0.0.0.0 --port 8443"""


@dataclass(frozen=True)
class Deadlines:
    """Seconds that others may take."""

    handshake: float = 10.0
    head: float = 10.0
    """Of the first request."""
    idle: float = 45.0
    """Until all of the next request's head is here; nodes say something every 30 s."""
    room: float = 20.0
    """To wait for memory; a node asks again after that."""
    transfer: float = 15.0
    """Of a body or an answer, ..."""
    bytes_per_second: float = 2**17
    """... and a second more for each of these bytes."""
    superlink: float = 60.0
    linger: float = 2.0
    """To read what is sent to no purpose, so that a refusal is not lost."""

    def of(self, size: int) -> float:
        """The time in which so many bytes must pass."""
        return self.transfer + size / self.bytes_per_second


def main(arguments: list[str]) -> None:
    """Serve until told to stop."""
    parser = CommandLine("proxy", _HELP)
    parser.add_argument(
        "keys", type=Path, metavar="KEYS", help=f"folder with server.crt, server.key and {CA}"
    )
    parser.add_argument("--superlink", required=True, metavar="HOST:PORT", help="where it answers")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8443)
    parser.add_argument(
        "--connections", type=at_least(1), default=Limits.connections, metavar="N",
        help=f"at once, from all addresses (default: {Limits.connections})",
    )  # fmt: skip
    parser.add_argument(
        "--per-address", type=at_least(1), default=Limits.per_address, metavar="N",
        help=f"of these, from one; a node needs up to 4 (default: {Limits.per_address})",
    )  # fmt: skip
    given = parser.read(arguments)
    limits = Limits(connections=given.connections, per_address=given.per_address)
    _allow_files(2 * limits.connections + 64)
    proxy = Proxy(given.superlink, given.keys, limits)
    asyncio.run(_until_ended(proxy, given.host, given.port))


async def _until_ended(proxy: "Proxy", host: str, port: int) -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    async with proxy.listening(host, port):
        await ended.wait()


class _RefusedError(Exception):
    """A request that is not passed on; its connection is closed after the answer."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Proxy:
    """Accepts connections and answers their requests."""

    def __init__(
        self,
        superlink: str,
        keys: Path,
        limits: Limits | None = None,
        deadlines: Deadlines | None = None,
    ) -> None:
        self._superlink = f"https://{superlink}"
        self._limits = limits or Limits()
        self._within = deadlines or Deadlines()
        sslproto.SSLProtocol.max_size = _TLS_BUFFER
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            self._tls.load_cert_chain(keys / "server.crt", keys / "server.key")
            self._trust = ssl.create_default_context(cafile=keys / CA)
        except OSError as problem:  # among them all of ssl's
            files = f"{keys}: server.crt, server.key or {CA}"
            raise TagmaError(f"{files} cannot be used ({problem.strerror or problem})") from None
        self._budget = ByteBudget(self._limits.body_bytes)
        self.connections = Connections(self._limits)
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def listening(self, host: str, port: int) -> AsyncIterator[int]:
        """While it serves, on the port that it gives."""
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            listener = socket.create_server((host, port), family=family, backlog=1024)
        except OSError as problem:
            raise EngineError(f"{host}:{port}: cannot listen there: {problem.strerror}") from None
        listener.setblocking(False)
        async with httpx.AsyncClient(
            verify=self._trust,
            trust_env=False,
            timeout=self._within.superlink,
            limits=httpx.Limits(max_connections=256, max_keepalive_connections=50),
        ) as self._client:
            accepting = asyncio.create_task(self._accept(listener))
            try:
                yield listener.getsockname()[1]
            finally:
                for task in (accepting, *self._tasks):
                    task.cancel()
                await asyncio.gather(accepting, *self._tasks, return_exceptions=True)
                listener.close()

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(0)  # those that are there have their turn as well
            try:
                plain, peer = await loop.sock_accept(listener)
            except OSError:  # it is gone again, or there are too many open files
                await asyncio.sleep(0.1)
                continue
            self._welcome(plain, source(peer[0]))

    def _welcome(self, plain: socket.socket, address: str) -> None:
        """Serve a new connection, or refuse it before its handshake costs anything."""
        # A reset is what a node takes for a reason to try again; an end within TLS is not.
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)

        def close() -> None:
            task.cancel()

        connection = self.connections.admit(address, close, monotonic())
        if connection is None:
            plain.close()
            return
        task = asyncio.create_task(self._serve(plain, connection))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, plain: socket.socket, connection: Connection) -> None:
        """One connection, from the handshake to its end."""
        async with AsyncExitStack() as stack:
            stack.callback(self.connections.remove, connection)
            stack.callback(plain.close)
            with suppress(OSError, TimeoutError, h11.ProtocolError):
                plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                loop = asyncio.get_running_loop()
                reader = asyncio.StreamReader(CHUNK)
                protocol = asyncio.StreamReaderProtocol(reader)
                transport, _ = await loop.connect_accepted_socket(
                    lambda: protocol, plain, ssl=self._tls,
                    ssl_handshake_timeout=self._within.handshake,
                    ssl_shutdown_timeout=self._within.linger,
                )  # fmt: skip
                stack.callback(transport.abort)
                writer = asyncio.StreamWriter(transport, protocol, reader, loop)
                exchange = Exchange(reader, writer)
                first = True
                while first or exchange.goes_on():
                    head = self._within.head if first else self._within.idle
                    await self._answer_next(exchange, connection, head)
                    first = False
                plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _FINISH)
                await exchange.close(self._within.linger)

    async def _answer_next(self, exchange: Exchange, connection: Connection, within: float) -> None:
        """Wait for a request and answer it."""
        try:
            async with asyncio.timeout(within):
                request = await exchange.request()
            if request is None:
                return
            key = header(request, b"flwr-public-key").decode("latin-1")
            with self.connections.request(connection, key) as allowed:
                if not allowed:
                    raise _RefusedError(503, "too many requests at once with this key")
                await self._pass_on(exchange, request, connection)
        except _RefusedError as refusal:
            async with asyncio.timeout(self._within.transfer):
                await exchange.refuse(refusal.status, f"{refusal}\n".encode())
        except h11.RemoteProtocolError as problem:
            async with asyncio.timeout(self._within.transfer):
                await exchange.refuse(problem.error_status_hint, b"this is no request\n")

    async def _pass_on(
        self, exchange: Exchange, request: h11.Request, connection: Connection
    ) -> None:
        if request.method != b"POST" or not _FLEET.fullmatch(request.target):
            raise _RefusedError(403, "only nodes' requests pass here")
        length = header(request, b"content-length")
        if not length.isdigit() or header(request, b"transfer-encoding"):
            raise _RefusedError(411, "its length must be said")
        if len(length) > 20 or (size := int(length)) > _LARGEST:
            raise _RefusedError(413, "too large")
        async with AsyncExitStack() as stack:
            if size > _SMALL:
                try:
                    async with asyncio.timeout(self._within.room):
                        await stack.enter_async_context(
                            self._budget.reserved(connection.address, size)
                        )
                except TimeoutError:
                    raise _RefusedError(503, "too much at once") from None
            async with asyncio.timeout(self._within.of(size)):
                body = await exchange.body()
            with self.connections.answering(connection):
                await self._ask_superlink(exchange, request, body)

    async def _ask_superlink(self, exchange: Exchange, request: h11.Request, body: bytes) -> None:
        url = self._superlink + request.target.decode("ascii")
        headers = [(k, v) for k, v in request.headers if k not in _OF_ONE_CONNECTION]
        try:
            async with self._client.stream("POST", url, content=body, headers=headers) as answer:
                given = [(k.lower(), v) for k, v in answer.headers.raw]
                kept = [(k, v) for k, v in given if k not in _OF_ONE_CONNECTION]
                size = [(k, v) for k, v in given if k == b"content-length"]
                expected = int(size[0][1]) if size else _LARGEST
                async with asyncio.timeout(self._within.of(expected)):
                    await exchange.send(
                        h11.Response(status_code=answer.status_code, headers=kept + size)
                    )
                    async for part in answer.aiter_raw():
                        await exchange.send(h11.Data(data=part))
                    await exchange.send(h11.EndOfMessage())
        except httpx.TransportError:
            if exchange.is_answered():
                raise TimeoutError from None  # half an answer: no more can be said
            raise _RefusedError(502, "the SuperLink does not answer") from None


def _allow_files(count: int) -> None:
    """As many open files as the connections need, as far as this process may."""
    import resource  # not on every system that the command line runs on

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
