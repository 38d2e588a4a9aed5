"""Which node plays which machine.

Flower's node ids are random, so machines have numbers: those they give themselves when they send
their local model. A number that is claimed twice in round 1 is nobody's: its claimants take part
under new numbers, after all others. Later, a node keeps its seat while it is away. A node without a
seat may be a newcomer or one that comes back under another id, for example because the server was
resumed: it takes the seat of the number it claims only if it sends the local model that this
machine joined with, and only while no node that is there holds it: members of a small cluster can
work out each other's local models. Everybody else gets a number that is free.
"""

from collections import Counter

import numpy as np

from tagma.strategies.algorithms.three_stage import State
from tagma.strategies.replies import ABSENCES, Rejection, Reply

_TRIES = 3
"""How often a node that does not answer is asked for its local model."""


class Seats:
    """The nodes that take part, by node id."""

    def __init__(self) -> None:
        self.machine_of: dict[int, int] = {}
        self._refused: set[int] = set()
        self._tries: Counter[int] = Counter()

    def first(self, usable: list[Reply]) -> None:
        """Seat everybody after round 1."""
        claims = Counter(reply.machine for reply in usable)
        free = max((number for number in claims if number is not None), default=-1) + 1
        for reply in usable:
            if reply.machine is not None and claims[reply.machine] == 1:
                self.machine_of[reply.node] = reply.machine
        for reply in usable:
            if reply.node not in self.machine_of:
                self.machine_of[reply.node] = free
                free += 1

    def unseated(self, online: set[int]) -> list[int]:
        """The nodes that may still be asked for their local model, in order."""
        return sorted(online - self.machine_of.keys() - self._refused)

    def refuse(self, rejections: list[Rejection]) -> None:
        """A node without a usable local model takes no part; one that was away may try again."""
        for rejection in rejections:
            self._tries[rejection.node] += 1
            if rejection.reason not in ABSENCES or self._tries[rejection.node] >= _TRIES:
                self._refused.add(rejection.node)

    def take(self, reply: Reply, state: State, online: set[int]) -> tuple[int, bool]:
        """Seat a node after round 1: its machine, and whether that machine is a known one."""
        machine = reply.machine
        row = None if machine is None else state.row_of(machine)
        if machine is not None and row is not None:
            same = np.allclose(reply.vector, state.erms[row], rtol=1e-6, atol=1e-12)
            holders = {node for node, seat in self.machine_of.items() if seat == machine}
            if same and not holders & online:
                for node in holders:
                    del self.machine_of[node]
                self.machine_of[reply.node] = machine
                return machine, True
            machine = None
        if machine is None:
            machine = int(state.machines[-1]) + 1
        self.machine_of[reply.node] = machine
        return machine, False
