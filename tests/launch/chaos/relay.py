"""Links between nodes and their proxy that can be cut, slowed down and broken."""

import asyncio
import socket
import struct
from threading import Thread


class Links:
    """One link for every node, each a port of the loopback interface, in a thread of their own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.links: list[_Link] = []

    def to(self, address: str) -> str:
        """The address of a new link to an address."""
        link = _Link(address)
        self.links.append(link)
        port = asyncio.run_coroutine_threadsafe(link.listen(), self._loop).result()
        return f"127.0.0.1:{port}"

    def cut(self, numbers, seconds: float) -> None:
        """Nothing gets through for so long; then it goes on where it was."""
        for number in numbers:
            self._call(self._for(self.links[number], "is_cut", True, False, seconds))

    def slow_down(self, numbers, seconds: float, delay: float) -> None:
        """Everything takes so much longer, and no more than 64 kB pass in this time."""
        for number in numbers:
            self._call(self._for(self.links[number], "delay", delay, 0.0, seconds))

    def break_connections(self, numbers) -> None:
        """All connections end at once, in the middle of whatever they carry."""
        for number in numbers:
            self._loop.call_soon_threadsafe(self.links[number].reset)

    def close(self) -> None:
        """End the thread; whatever is open with it."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    @staticmethod
    async def _for(link, what: str, value, after, seconds: float) -> None:
        setattr(link, what, value)
        await asyncio.sleep(seconds)
        setattr(link, what, after)

    def _call(self, coroutine) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop)


class _Link:
    def __init__(self, address: str) -> None:
        self._host, _, self._port = address.partition(":")
        self.is_cut = False
        self.delay = 0.0
        self._open: set[asyncio.StreamWriter] = set()

    async def listen(self) -> int:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self._server.sockets[0].getsockname()[1]

    def reset(self) -> None:
        for writer in list(self._open):
            self._reset(writer)

    def _reset(self, writer) -> None:
        """As a network does that is gone; Flower's nodes do not try again after a plain end."""
        plain = writer.get_extra_info("socket")
        if plain.fileno() >= 0:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        self._open.discard(writer)

    async def _serve(self, reader, writer) -> None:
        self._open.add(writer)
        try:
            there, back = await asyncio.open_connection(self._host, int(self._port))
        except OSError:
            self._reset(writer)
            return
        self._open.add(back)
        await asyncio.gather(self._pass(reader, back), self._pass(there, writer))
        self._open -= {writer, back}

    async def _pass(self, reader, writer) -> None:
        try:
            while data := await reader.read(2**16):
                while self.is_cut:
                    await asyncio.sleep(0.05)
                await asyncio.sleep(self.delay)
                writer.write(data)
                await writer.drain()
            writer.close()
        except OSError:
            self._reset(writer)
