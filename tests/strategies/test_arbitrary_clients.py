"""A federation of arbitrary clients against the Strategy, with every algorithm."""

import gc
import logging
import os
from itertools import count

import numpy as np
import psutil
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.algorithms import ALGORITHMS, TINY
from tests.hostile import KINDS
from tests.strategies.hostile_federation import Federation, Point

MOST = 10
"""Nodes."""
CORNERS = np.array([[0.0, 0, 0], [4.0, 4, 4]])


def point(claim, group, number):
    return Point(claim, CORNERS[group % 2] + 0.1 * np.sin(np.arange(3) + number))


class Clients(RuleBasedStateMachine):
    """Joins, leaves, rounds with replies of any kind and in any order, crashes and resumes."""

    @initialize(
        name=st.sampled_from(sorted(ALGORITHMS)),
        sampling=st.sampled_from([1.0, 1.0, 0.5]),
        min_replies=st.integers(1, 3),
        quorum=st.sampled_from([0.5, 0.5, 0.0, 1.0]),
        here=st.integers(1, 8),
    )
    def begin(self, name, sampling, min_replies, quorum, here):
        own = [f"sampling.fraction={sampling}", f"min_replies={min_replies}", f"quorum={quorum}"]
        self.federation = Federation([*TINY, *ALGORITHMS[name], *own])
        self.ids = count(2)
        self.away = set()
        for number in range(here):
            self.join(number, number)

    @rule(claim=st.one_of(st.none(), st.integers(0, 9)), group=st.integers(0, 5))
    def join(self, claim, group):
        wire = self.federation.wire
        if len(wire.here) < MOST:
            node = next(self.ids)
            wire.points = {**wire.points, node: point(claim, group, node)}
            wire.here.add(node)

    @rule(choice=st.integers(0, MOST))
    def leave(self, choice):
        wire = self.federation.wire
        nodes = sorted(wire.here)
        if len(nodes) > 1:
            node = nodes[choice % len(nodes)]
            wire.here.discard(node)
            self.away.add(node)

    @precondition(lambda self: self.away)
    @rule(choice=st.integers(0, MOST), same=st.booleans())
    def come_back(self, choice, same):
        """Under the same id, or another."""
        wire = self.federation.wire
        nodes = sorted(self.away)
        node = nodes[choice % len(nodes)]
        self.away.discard(node)
        if not same:
            again = next(self.ids)
            wire.points = {**wire.points, again: wire.points[node]}
            node = again
        wire.here.add(node)

    @rule(
        kinds=st.dictionaries(st.integers(0, MOST), st.sampled_from(sorted(KINDS)), max_size=6),
        delayed=st.sets(st.integers(0, MOST), max_size=2),
        order=st.integers(0, 99),
        evaluate=st.booleans(),
    )
    def play(self, kinds, delayed, order, evaluate):
        wire = self.federation.wire
        nodes = sorted(wire.here)
        wire.kinds = {nodes[place % len(nodes)]: kind for place, kind in kinds.items()}
        wire.delayed = {nodes[place % len(nodes)] for place in delayed}
        wire.order = order
        self.federation.play(evaluate=evaluate)

    @precondition(lambda self: self.federation.number)
    @rule(order=st.integers(0, 99))
    def crash(self, order):
        """A server that goes on from the disk comes to the same as the one that was not ended."""
        whole, wire = self.federation, self.federation.wire
        resumed = whole.resumed()
        known = whole.strategy.clients
        # Who was never let in would try again with the new server, who knows nothing of it; and who
        # has another number than it claims is somebody else there.
        ours = {n for n, c in known.of_node.items() if wire.points[n].claim == c}
        same = wire.here <= ours and len(ours) == len(known.of_node)
        for federation in (whole, resumed):
            federation.wire.kinds, federation.wire.delayed, federation.wire.late = {}, set(), []
            federation.wire.order = order
        counted = [federation.play() for federation in (whole, resumed)]
        if same:
            assert counted[0] == counted[1]
            one, other = whole.strategy.outcome, resumed.strategy.outcome
            assert one.clients.tolist() == other.clients.tolist()
            assert one.which.tolist() == other.which.tolist()
            assert one.models.tobytes() == other.models.tobytes()
        self.federation = resumed


_SHORT = settings(max_examples=40, stateful_step_count=12, suppress_health_check=list(HealthCheck))
TestClients = Clients.TestCase
TestClients.settings = _SHORT


@pytest.mark.full
def test_many_more_clients():
    class Long(Clients):
        pass

    case = Long.TestCase
    case.settings = settings(_SHORT, max_examples=1500, stateful_step_count=30)
    case().runTest()


MESSAGES = 100_000
GROWTH = 8 * 2**20
"""Bytes, for the some 250 newcomers of the second half."""


@pytest.fixture
def _no_log():
    """Of which pytest would keep every line."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.full
@pytest.mark.usefixtures("_no_log")
def test_a_hundred_thousand_hostile_messages():
    """Of every kind, with every algorithm: no exception, exact counts, flat memory."""
    assert len(KINDS) >= 80
    sent, share = 0, MESSAGES / len(ALGORITHMS)
    for turn, (name, own) in enumerate(sorted(ALGORITHMS.items())):
        federation, random = Federation([*TINY, *own]), np.random.default_rng(turn)
        wire = federation.wire
        wire.points = {2 + number: point(number, number, number) for number in range(60)}
        wire.here = set(wire.points)
        assert federation.play(evaluate=True)
        before = 0
        while wire.hostile < share:
            play_with_hostile(federation, random)
            before = before or (wire.hostile > share / 2 and memory())
        after = memory()
        print(f"{name}: {wire.hostile} in {federation.number} rounds, {after / 2**20:.0f} MiB")
        assert after < before + GROWTH, name
        sent += wire.hostile
    print(f"{sent} hostile messages of {len(KINDS)} kinds over {len(ALGORITHMS)} algorithms")
    assert sent >= MESSAGES


def play_with_hostile(federation, random):
    """A round in which 24 of 60 clients and a newcomer send anything."""
    wire, newcomer = federation.wire, 1000 + federation.number
    wire.points[newcomer] = point(None, 1, newcomer)
    wire.here.add(newcomer)
    nodes = [*range(2, 26), newcomer]
    wire.kinds = dict(zip(nodes, random.choice(sorted(KINDS), len(nodes)).tolist(), strict=True))
    wire.order = int(random.integers(2**31))
    assert federation.play(evaluate=federation.number % 3 == 0)
    wire.here.discard(newcomer)
    del wire.points[newcomer]


def memory():
    gc.collect()
    return psutil.Process(os.getpid()).memory_info().rss


def test_who_was_there_when_a_round_did_not_count_is_missed_when_it_is_gone():
    federation = Federation([*TINY, *ALGORITHMS["three_stage"], "quorum=1", "min_replies=1"])
    wire = federation.wire
    wire.points = {2 + number: point(number, number, number) for number in range(8)}
    wire.here = set(range(2, 9))
    assert federation.play()
    wire.here.add(9)
    wire.kinds = {2: "raises"}
    assert not federation.play()
    wire.kinds = {}
    wire.here.discard(9)
    assert not federation.play()
    wire.here.add(9)
    assert federation.play()


def test_a_cluster_of_byzantine_clients_cannot_make_its_model_infinite():
    """By steps that are as long as they say that their data allow."""
    federation = Federation([*TINY, *ALGORITHMS["tagma"]])
    wire = federation.wire
    wire.points = {2 + number: point(number, number < 5, number) for number in range(12)}
    wire.here = set(wire.points)
    assert federation.play()
    wire.kinds = dict.fromkeys(range(2, 6), "step: endless")
    for _ in range(3):
        assert federation.play(evaluate=True)
