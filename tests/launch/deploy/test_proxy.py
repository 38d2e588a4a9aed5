"""The proxy under a flood: slow connections of one address, while nodes at others are answered."""

import asyncio
import shutil
import socket
import ssl
import struct
from contextlib import asynccontextmanager, suppress

import pytest

from tagma.errors import TagmaError
from tagma.launch.deploy.connection_limits import Limits
from tagma.launch.deploy.keys import make_keys
from tagma.launch.deploy.proxy import Deadlines, Proxy

ATTACKER, NODE = "127.0.0.66", "127.0.0.2"
SHORT = Deadlines(
    handshake=0.5, head=0.5, idle=0.5, transfer=0.5, room=0.5, linger=0.5, bytes_per_second=1e9
)
HEAD = b"POST /v1/fleet/pull-messages HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    make_keys(folder, nodes=0, superlink=["127.0.0.1"], proxy=["127.0.0.1"])
    return folder


@asynccontextmanager
async def proxy(keys, limits=None, deadlines=None, hold=None):
    """A proxy in front of a SuperLink that repeats what it is told, once `hold` is set."""

    async def answer(reader, writer):
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                body = await reader.readexactly(length)
                if hold is not None:
                    await hold.wait()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                await writer.drain()
        writer.close()

    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trust.load_cert_chain(keys / "superlink/server.crt", keys / "superlink/server.key")
    superlink = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=trust)
    address = f"127.0.0.1:{superlink.sockets[0].getsockname()[1]}"
    made = Proxy(address, keys / "proxy", limits, deadlines)
    async with made.listening("127.0.0.1", 0) as port:
        yield made, Client(keys, port), superlink
    superlink.close()


class Client:
    """Connections to the proxy from any address of the loopback interface."""

    def __init__(self, keys, port: int) -> None:
        self.trust = ssl.create_default_context(cafile=keys / "ca.crt")
        self.port = port

    async def plain(self, address: str):
        return await asyncio.open_connection("127.0.0.1", self.port, local_addr=(address, 0))

    async def connect(self, address: str):
        return await asyncio.open_connection(
            "127.0.0.1", self.port, ssl=self.trust, local_addr=(address, 0)
        )

    async def ask(self, address: str, body: bytes = b"", key: str = "", more: bytes = b""):
        """Status and body of an answer, on a connection of its own."""
        reader, writer = await self.connect(address)
        writer.write(HEAD + b"Content-Length: %d\r\n" % len(body))
        writer.write(more + b"flwr-public-key: %s\r\n\r\n" % key.encode() + body)
        answer = await read_answer(reader)
        writer.close()
        return answer


async def read_answer(reader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    return int(head.split()[1]), await reader.readexactly(length)


async def slow(client: Client, kind: str, address: str):
    """A connection that says a beginning and no more."""
    if kind == "handshake":
        reader, writer = await client.plain(address)
        writer.write(b"\x16\x03\x01\x02\x00")  # the first bytes of a ClientHello
        return reader, writer
    reader, writer = await client.connect(address)
    writer.write(HEAD if kind == "head" else HEAD + b"Content-Length: 5000000\r\n\r\n1234")
    return reader, writer


async def closed(reader) -> None:
    with suppress(ConnectionError):
        while await reader.read(1000):
            pass


@pytest.mark.parametrize("kind", ["handshake", "head", "body"])
def test_slow_connections_keep_nobody_out_and_come_to_an_end(kind, keys):
    async def play():
        limits = Limits(connections=12, per_address=8, arrivals=1000)
        async with proxy(keys, limits, SHORT) as (made, client, _):
            held, most = [], 0
            for _ in range(24):
                with suppress(OSError):
                    held.append(await slow(client, kind, ATTACKER))
                most = max(most, made.connections.at(ATTACKER), len(made.connections))
            for address in (NODE, ATTACKER):  # even at the attacker's own address
                assert await client.ask(address, b"honest") == (200, b"honest")
            assert most <= 8
            for reader, writer in held:
                await closed(reader)
                writer.close()
            assert len(made.connections) <= 1

    asyncio.run(asyncio.wait_for(play(), 60))


@pytest.mark.parametrize("kind", ["handshake", "body"])
def test_a_flood_from_many_addresses_keeps_nobody_out(kind, keys):
    async def play():
        limits = Limits(connections=20, per_address=8)
        async with proxy(keys, limits) as (made, client, _):
            held = [await slow(client, kind, f"127.0.1.{place % 10 + 1}") for place in range(60)]
            for _ in range(3):
                assert await client.ask(NODE, b"honest") == (200, b"honest")
            assert len(made.connections) <= 20
            for _, writer in held:
                writer.close()

    asyncio.run(asyncio.wait_for(play(), 60))


def test_who_comes_too_often_is_reset_before_the_handshake(keys):
    async def play():
        async with proxy(keys, Limits(per_address=2, arrivals=0.001)) as (_, client, _):
            assert await client.ask(ATTACKER, b"1") == await client.ask(ATTACKER, b"1")
            # An end within the handshake would be a reason for a node of Flower's to give up.
            with pytest.raises(ConnectionResetError):
                await client.ask(ATTACKER)
            assert await client.ask(NODE, b"honest") == (200, b"honest")

    asyncio.run(asyncio.wait_for(play(), 60))


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        (b"GET /v1/fleet/x HTTP/1.1\r\nHost: x\r\n\r\n", 403),
        (b"POST /v1/control/x HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", 403),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", 411),
        (HEAD + b"Content-Length: 16777217\r\n\r\n" + bytes(100_000), 413),
        (HEAD + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", 400),
        (HEAD + b"Content-Length: -1\r\n\r\n", 400),
        (HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
        (b"what is this\r\n\r\n", 400),
        (HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (HEAD + b"X: " + bytes(20_000), 431),
    ],
)
def test_a_connection_is_closed_after_a_refusal(request_head, status, keys):
    async def play():
        async with proxy(keys, None, SHORT) as (made, client, _):
            reader, writer = await client.connect(NODE)
            writer.write(request_head)
            assert (await read_answer(reader))[0] == status
            writer.write(HEAD + b"Content-Length: 0\r\n\r\n")
            assert b"200" not in await reader.read()
            writer.close()
            while len(made.connections):
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(play(), 60))


def test_requests_follow_each_other_on_one_connection_unchanged(keys):
    async def play():
        async with proxy(keys) as (made, client, _):
            reader, writer = await client.connect(NODE)
            for body in (b"", bytes(range(256)), bytes(5_000_000)):
                writer.write(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
                assert await read_answer(reader) == (200, body)
            assert len(made.connections) == 1
            writer.close()

    asyncio.run(asyncio.wait_for(play(), 60))


def test_a_key_that_asks_too_much_at_once_is_put_off_and_others_are_not(keys):
    async def play():
        hold = asyncio.Event()
        async with proxy(keys, Limits(per_key=2), None, hold) as (_, client, _):
            asked = [asyncio.create_task(client.ask(ATTACKER, b"a", "key")) for _ in range(3)]
            done, asked = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
            assert [task.result()[0] for task in done] == [503]
            other = [
                asyncio.create_task(client.ask(ATTACKER, b"b", "another key")),
                asyncio.create_task(client.ask(NODE, b"b", "key")),
            ]
            hold.set()
            assert [status for status, _ in await asyncio.gather(*asked, *other)] == [200] * 4

    asyncio.run(asyncio.wait_for(play(), 60))


def test_bodies_of_one_address_do_not_take_the_memory_of_others(keys):
    async def play():
        hold = asyncio.Event()
        limits = Limits(body_bytes=8 * 100_000)
        async with proxy(keys, limits, SHORT, hold) as (_, client, _):
            large = bytes(90_000)
            first = asyncio.create_task(client.ask(ATTACKER, large))
            second = asyncio.create_task(client.ask(ATTACKER, large))
            done, left = await asyncio.wait([first, second], return_when=asyncio.FIRST_COMPLETED)
            assert [task.result()[0] for task in done] == [503]
            other = asyncio.create_task(client.ask(NODE, large))
            small = asyncio.create_task(client.ask(ATTACKER, b"small"))
            hold.set()
            assert [status for status, _ in await asyncio.gather(*left, other, small)] == [200] * 3

    asyncio.run(asyncio.wait_for(play(), 60))


def test_a_superlink_that_is_away_is_said(keys):
    async def play():
        async with proxy(keys) as (_, client, superlink):
            superlink.close()
            await superlink.wait_closed()
            assert (await client.ask(NODE))[0] == 502

    asyncio.run(asyncio.wait_for(play(), 60))


@pytest.mark.parametrize("name", ["server.crt", "server.key", "ca.crt"])
def test_a_damaged_certificate_is_one_line(name, keys, tmp_path):
    shutil.copytree(keys / "proxy", tmp_path / "proxy")
    (tmp_path / "proxy" / name).write_text("junk")
    with pytest.raises(TagmaError, match=r"ca\.crt cannot be used"):
        Proxy("127.0.0.1:9", tmp_path / "proxy")


def test_a_connection_that_breaks_off_is_forgotten(keys):
    async def play():
        async with proxy(keys) as (made, client, _):
            for kind in ("handshake", "head", "body"):
                _, writer = await slow(client, kind, ATTACKER)
                plain = writer.get_extra_info("socket")
                plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()
            while len(made.connections):
                await asyncio.sleep(0.01)
            assert await client.ask(NODE, b"honest") == (200, b"honest")

    asyncio.run(asyncio.wait_for(play(), 60))
