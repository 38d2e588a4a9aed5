"""Requests and answers on one connection of a server, as HTTP/1.1; `h11` reads and writes them."""

import asyncio
from contextlib import suppress

import h11

CHUNK = 2**16
"""Bytes that are read at once."""
_HEAD = 2**14
"""Bytes of a request line with its headers."""


class Exchange:
    """Requests and answers of one connection, as HTTP/1.1."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD)

    async def request(self) -> h11.Request | None:
        """The next one, or None if there is none."""
        event = await self._next()
        return event if isinstance(event, h11.Request) else None

    async def body(self) -> bytes:
        """The whole body of the request."""
        parts = bytearray()
        while isinstance(event := await self._next(), h11.Data):
            parts += event.data
        return bytes(parts)

    async def _next(self) -> h11.Event | None:
        while not isinstance(event := self._http.next_event(), h11.Event):
            if event is h11.PAUSED:
                return None
            self._http.receive_data(await self._reader.read(CHUNK))
        return event

    async def send(self, event: h11.Event) -> None:
        """Send a part of the answer, as fast as it is read."""
        if (data := self._http.send(event)) is not None:
            self._writer.write(data)
            await self._writer.drain()

    async def refuse(self, status: int, text: bytes) -> None:
        """Answer, and let this be the last request."""
        if self.is_answered():
            return
        length = (b"Content-Length", str(len(text)).encode())
        kind = (b"Content-Type", b"text/plain; charset=utf-8")
        headers = [kind, length, (b"Connection", b"close")]
        await self.send(h11.Response(status_code=status, headers=headers))
        await self.send(h11.Data(data=text))
        await self.send(h11.EndOfMessage())

    def is_answered(self) -> bool:
        """Whether an answer has begun."""
        return self._http.our_state not in (h11.IDLE, h11.SEND_RESPONSE)

    def goes_on(self) -> bool:
        """Whether another request may come; if so, all is ready for it."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    async def close(self, linger: float) -> None:
        """End it; what is still sent is read for a while, or the last answer would be lost."""
        with suppress(TimeoutError):
            async with asyncio.timeout(linger):
                if self._http.their_state is h11.SEND_BODY:
                    while await self._reader.read(CHUNK):
                        pass
                self._writer.close()
                await self._writer.wait_closed()


def header(request: h11.Request, name: bytes) -> bytes:
    """The value of a header by its name in lower case; empty if there is none."""
    return next((value for key, value in request.headers if key == name), b"")
