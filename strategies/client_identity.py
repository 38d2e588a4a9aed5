"""Who is who: which node plays which client.

Flower's node ids are random, so clients have numbers: those they give themselves when they first
answer. A number that is claimed twice then is nobody's: its claimants take part under new numbers,
after all others, as do clients of somebody else's app, which claim none. Later, a client keeps its
number while it is away. A node without a number may be a newcomer or one that comes back under
another id, for example because the server was resumed: it gets the number it claims only if the
algorithm recognises it, and only while no node that is there holds it: members of a small cluster
can work out each other's local models. Everybody else gets a number that is free.
"""

from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np

from tagma.arrays import Labels
from tagma.strategies.replies import ABSENCES, BESIDES, Rejection, Reply

_TRIES = 3
"""How often a node that does not answer is asked who it is."""


class Clients:
    """The clients of a federation, by node id; `joined` is the round in which each came."""

    def __init__(self) -> None:
        self.of_node: dict[int, int] = {}
        self.node_of: dict[int, int] = {}
        """The inverse; after a resume a client may have no node yet."""
        self.joined: dict[int, int] = {}
        self._refused: set[int] = set()
        self._tries: Counter[int] = Counter()

    @property
    def numbers(self) -> Labels:
        """Of all clients that ever came, in ascending order."""
        return np.array(sorted(self.joined), dtype=np.int64)

    def begin(self, usable: list[Reply]) -> None:
        """Number everybody who answered in round 1."""
        claims = Counter(reply.client for reply in usable)
        for reply in usable:
            if reply.client is not None and claims[reply.client] == 1:
                self._join(reply.node, reply.client, 1)
        for reply in usable:
            if reply.node not in self.of_node:
                self._join(reply.node, self._free(), 1)

    def strangers(self, online: set[int]) -> list[int]:
        """The nodes that may still be asked who they are, in order."""
        return sorted(online - self.of_node.keys() - self._refused)

    def forget(self, rejections: Iterable[Rejection]) -> None:
        """Nodes without a usable answer are strangers again."""
        for rejection in rejections:
            client = None
            if rejection.reason not in BESIDES:
                client = self.of_node.pop(rejection.node, None)
            if client is not None:
                del self.node_of[client], self.joined[client]

    def refuse(self, rejections: list[Rejection]) -> None:
        """A node without a usable answer takes no part; one that was away may try again."""
        for rejection in rejections:
            if rejection.reason in BESIDES:
                continue
            self._tries[rejection.node] += 1
            if rejection.reason not in ABSENCES or self._tries[rejection.node] >= _TRIES:
                self._refused.add(rejection.node)

    def place(
        self,
        reply: Reply,
        round_number: int,
        online: set[int],
        recognised: Callable[[int, Reply], bool],
    ) -> tuple[int, bool]:
        """The number of a node that came after round 1, and whether that client was known."""
        claimed = reply.client
        if claimed is not None and claimed in self.joined:
            holder = self.node_of.get(claimed)
            if holder not in online and recognised(claimed, reply):
                if holder is not None:
                    del self.of_node[holder]
                self.seat(reply.node, claimed)
                return claimed, True
            claimed = None
        number = self._free() if claimed is None else claimed
        self._join(reply.node, number, round_number)
        return number, False

    def claimed(self, usable: list[Reply]) -> dict[int, int]:
        """The clients behind nodes, with those that introduce themselves; changes nothing.

        A number that is claimed twice, or held by another node, is nobody's.
        """
        claims = Counter(reply.client for reply in usable)
        taken = set(self.of_node.values())
        return self.of_node | {
            reply.node: reply.client
            for reply in usable
            if reply.client is not None and claims[reply.client] == 1 and reply.client not in taken
        }

    def _join(self, node: int, client: int, round_number: int) -> None:
        self.seat(node, client)
        self.joined[client] = round_number

    def seat(self, node: int, client: int) -> None:
        """Note the node of a client that is known."""
        self.of_node[node] = client
        self.node_of[client] = node

    def _free(self) -> int:
        return max(self.joined, default=-1) + 1
