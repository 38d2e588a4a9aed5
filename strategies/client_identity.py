"""Which node plays which client.

Flower's node ids are random, so clients have numbers: those they give themselves when they send
their local model. A number that is claimed twice in round 1 belongs to no client: its claimants
take part under new numbers, after all others. Later, a node keeps its number while it is away. A
node without a number may be a newcomer or one that comes back under another id, for example because
the server was resumed: it takes the number it claims only if it sends the local model that this
client joined with, and only while no node that is there holds it: members of a small cluster can
work out each other's local models. Everybody else gets a number that is free.
"""

from collections import Counter

import numpy as np

from tagma.strategies.algorithms.three_stage import State
from tagma.strategies.replies import ABSENCES, Rejection, Reply

_TRIES = 3
"""How often a node that does not answer is asked for its local model."""


class ClientIdentity:
    """The nodes that take part, by node id."""

    def __init__(self) -> None:
        self.client_of: dict[int, int] = {}
        self._refused: set[int] = set()
        self._tries: Counter[int] = Counter()

    def first(self, usable: list[Reply]) -> None:
        """Number everybody after round 1."""
        claims = Counter(reply.client for reply in usable)
        free = max((number for number in claims if number is not None), default=-1) + 1
        for reply in usable:
            if reply.client is not None and claims[reply.client] == 1:
                self.client_of[reply.node] = reply.client
        for reply in usable:
            if reply.node not in self.client_of:
                self.client_of[reply.node] = free
                free += 1

    def unknown_nodes(self, online: set[int]) -> list[int]:
        """The nodes that may still be asked for their local model, in order."""
        return sorted(online - self.client_of.keys() - self._refused)

    def refuse(self, rejections: list[Rejection]) -> None:
        """A node without a usable local model takes no part; one that was away may try again."""
        for rejection in rejections:
            self._tries[rejection.node] += 1
            if rejection.reason not in ABSENCES or self._tries[rejection.node] >= _TRIES:
                self._refused.add(rejection.node)

    def take(self, reply: Reply, state: State, online: set[int]) -> tuple[int, bool]:
        """Number a node after round 1: its client, and whether that client is a known one."""
        client = reply.client
        row = None if client is None else state.row_of(client)
        if client is not None and row is not None:
            same = np.allclose(reply.vector, state.local_models[row], rtol=1e-6, atol=1e-12)
            holders = {node for node, held in self.client_of.items() if held == client}
            if same and not holders & online:
                for node in holders:
                    del self.client_of[node]
                self.client_of[reply.node] = client
                return client, True
            client = None
        if client is None:
            client = int(state.clients[-1]) + 1
        self.client_of[reply.node] = client
        return client, False

    def claims(self, usable: list[Reply]) -> dict[int, int]:
        """The numbers that nodes claim, by node: those that are claimed once and not taken."""
        times = Counter(reply.client for reply in usable)
        taken = set(self.client_of.values())
        return {
            reply.node: reply.client
            for reply in usable
            if reply.client is not None and times[reply.client] == 1 and reply.client not in taken
        }
