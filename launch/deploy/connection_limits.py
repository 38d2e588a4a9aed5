"""Who may keep a proxy busy: how many connections each address has, and which of them has to go.

Nobody can be told from an attacker before its first request is read, so a full house refuses no
newcomer as long as somebody is there whose request is not complete: who has been at it for longest
makes room, of the newcomer's own address if that has its share, otherwise of the address with most
connections. So connections that are opened and left open displace each other, and whoever sends a
request at once is served. What costs the proxy most is a TLS handshake; how many an address can
cause is limited per second.

Times are given in seconds on any one clock; nothing here knows of sockets.
"""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

_REMEMBERED = 4096
"""Addresses whose last arrivals are kept."""


@dataclass(frozen=True)
class Limits:
    """How much is allowed at once."""

    connections: int = 1000
    per_address: int = 64
    per_key: int = 16
    """Requests at once with one node's key from one address: nobody uses up another's share."""
    arrivals: float = 20.0
    """New connections per second and address, after as many at once as it may have."""
    body_bytes: int = 512 * 2**20
    """Of request bodies that are being received or passed on, an eighth of it per address."""


@dataclass(eq=False)
class Connection:
    """One that was let in."""

    address: str
    close: Callable[[], None]
    gone: bool = False


class Connections:
    """Those that are there."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._waiting: dict[str, OrderedDict[Connection, None]] = {}
        """By address, those without a complete request, the longest first."""
        self._count: Counter[str] = Counter()
        self._requests: Counter[tuple[str, str]] = Counter()
        self._arrivals: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """By address, how many more may come at once, and when that was so."""

    def __len__(self) -> int:
        return self._count.total()

    def at(self, address: str) -> int:
        """How many an address has."""
        return self._count[address]

    def admit(self, address: str, close: Callable[[], None], now: float) -> Connection | None:
        """Let a connection in, for which another may be closed; None if it is refused."""
        if not self._may_arrive(address, now):
            return None
        if self._count[address] >= self._limits.per_address and not self._make_room(address):
            return None
        if len(self) >= self._limits.connections:
            ((busiest, _),) = self._count.most_common(1)
            if not self._make_room(busiest):
                return None
        connection = Connection(address, close)
        self._count[address] += 1
        self._waiting.setdefault(address, OrderedDict())[connection] = None
        return connection

    def remove(self, connection: Connection) -> None:
        """It is closed, or about to be."""
        if connection.gone:
            return
        connection.gone = True
        address = connection.address
        if (waiting := self._waiting.get(address)) is not None:
            waiting.pop(connection, None)
        self._count[address] -= 1
        if not self._count[address]:
            del self._count[address]
            self._waiting.pop(address, None)

    @contextmanager
    def request(self, connection: Connection, key: str) -> Iterator[bool]:
        """From a request's head to the end of its answer; whether its key may have one more."""
        owner = (connection.address, key)
        self._requests[owner] += 1
        try:
            yield not key or self._requests[owner] <= self._limits.per_key
        finally:
            self._requests[owner] -= 1
            if not self._requests[owner]:
                del self._requests[owner]

    @contextmanager
    def answering(self, connection: Connection) -> Iterator[None]:
        """While a request that is complete is answered, its connection need not make room."""
        waiting = self._waiting[connection.address]
        waiting.pop(connection, None)
        try:
            yield
        finally:
            waiting[connection] = None

    def _make_room(self, address: str) -> bool:
        """Close the one of an address that has waited for longest; whether there is one."""
        waiting = self._waiting.get(address)
        if not waiting:
            return False
        oldest = next(iter(waiting))
        self.remove(oldest)
        oldest.close()
        return True

    def _may_arrive(self, address: str, now: float) -> bool:
        most = float(self._limits.per_address)
        left, since = self._arrivals.pop(address, (most, now))
        left = min(most, left + self._limits.arrivals * (now - since))
        self._arrivals[address] = (max(left - 1.0, 0.0), now)
        if len(self._arrivals) > _REMEMBERED:
            self._arrivals.popitem(last=False)
        return left >= 1.0


class ByteBudget:
    """Memory for the bodies of requests, an eighth of it at most for one address."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._used: Counter[str] = Counter()
        self._freed = asyncio.Condition()

    @asynccontextmanager
    async def reserved(self, address: str, size: int) -> AsyncIterator[None]:
        """Wait until so many bytes are free, and keep them."""

        def fits() -> bool:
            within = self._used[address] + size <= self._total // 8
            return within and self._used.total() + size <= self._total

        async with self._freed:
            await self._freed.wait_for(fits)
            self._used[address] += size
        try:
            yield
        finally:
            self._used[address] -= size
            self._used += Counter()  # forget who has none
            async with self._freed:
                self._freed.notify_all()


def source(host: str) -> str:
    """What counts as one address; of IPv6 the first 64 bits, since one host may have the rest."""
    address = ip_address(host.partition("%")[0])
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(IPv6Address(int(address) >> 64 << 64))
    return str(address)
