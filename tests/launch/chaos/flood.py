"""Slow connections from one address of the loopback interface, opened again when closed."""

import asyncio
import ssl
from contextlib import suppress
from threading import Thread

ATTACKER = "127.0.0.66"
KINDS = {
    "handshake": b"\x16\x03\x01\x02\x00",
    "head": b"POST /v1/fleet/pull-messages HTTP/1.1\r\nHost: x\r\n",
    "body": b"POST /v1/fleet/push-object HTTP/1.1\r\nHost: x\r\nContent-Length: 16000000\r\n\r\n12",
}


class Flood:
    """So many of each kind, in a thread of its own; a byte more on each every few seconds."""

    def __init__(self, port: int, each: int) -> None:
        self._port = port
        self._each = each
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_until_complete, args=[self._all()], daemon=True)
        self._trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._trust.check_hostname = False
        self._trust.verify_mode = ssl.CERT_NONE
        self.opened = 0

    def __enter__(self) -> "Flood":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join()

    async def _all(self) -> None:
        self._task = asyncio.current_task()
        with suppress(asyncio.CancelledError):
            async with asyncio.TaskGroup() as group:
                for _ in range(self._each):
                    for kind in KINDS:
                        group.create_task(self._one(kind))

    async def _one(self, kind: str) -> None:
        while True:
            with suppress(OSError):
                _, writer = await asyncio.open_connection(
                    "127.0.0.1", self._port, local_addr=(ATTACKER, 0),
                    ssl=None if kind == "handshake" else self._trust,
                )  # fmt: skip
                self.opened += 1
                try:
                    writer.write(KINDS[kind])
                    for _ in range(20):
                        await writer.drain()
                        await asyncio.sleep(2)
                        writer.write(b"1")
                finally:
                    writer.transport.abort()
            await asyncio.sleep(2)
