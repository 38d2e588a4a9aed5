"""The Flower Strategy around any algorithm: messages become arrays for it, and back.

Round 1 asks every node, since nobody is known yet. Before every later round, nodes that have no
number, because they came late or the server was resumed, are asked who they are by `invite` and
placed by `welcome`; Flower's own `Strategy.start` does not know these two, `tagma.server.rounds`
does. Clients are ordered by their numbers (`tagma.strategies.client_identity`), so that a result
depends neither on node ids, which are random, nor on the order of replies.

What an algorithm asks for, what it learns and whom it serves is its own affair
(`tagma.strategies.algorithms.algorithm`); how a round goes for any of them is in
`tagma.strategies.algorithm_run`. Here messages are made, and replies checked.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy

from tagma.arrays import Array, Labels
from tagma.exchange import CHOICE, INTRODUCE, NO_MODEL, Replies, Request
from tagma.strategies.algorithm_run import (
    AlgorithmRun,
    bytes_down,
    check_alike,
    log_failures,
)
from tagma.strategies.algorithms.algorithm import S
from tagma.strategies.replies import (
    ABSENCES,
    ABSENT,
    NO_REPLY,
    UNSOLICITED,
    Rejection,
    Reply,
    check_metrics,
    check_replies,
)
from tagma.strategies.request_messages import messages_of
from tagma.strategies.round_outcome import Round
from tagma.wire import pack

_log = logging.getLogger("tagma")
_FIRST = 1
"""The round of local models; whoever is asked for one later is asked in its name."""


class AlgorithmStrategy(AlgorithmRun[S], Strategy):
    """Any algorithm as a Flower Strategy; see `AlgorithmRun` for its settings."""

    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        self._online: set[int] = set()
        self._away: list[Rejection] = []
        """Clients that are not there in this round."""
        self._silent: list[Rejection] = []
        """Nodes that did not say who they are."""
        self._expected = 0
        self._request: Request | None = None
        self._sent: list[Message] = []
        self._rows: Array | None = None
        """Where the vectors of the replies are that came last, until they are learnt from."""
        self._sent_at = 0.0

    def invite(self, server_round: int, grid: Grid) -> list[Message]:
        """Ask nodes that have no number who they are.

        Before the first round only where a part of the clients is to be drawn.
        """
        self._begin_round(server_round)
        self._online = set(grid.get_node_ids())
        if server_round == _FIRST and self.sampling >= 1:
            return []
        nodes = self.clients.strangers(self._online)
        provisional = np.arange(len(nodes))
        request = None
        if server_round > _FIRST:
            request = self.algorithm.introduce(self.state, provisional)
        if request is None:
            nothing = np.empty((0, self.layout.size), self.layout.dtype)
            request = Request(INTRODUCE, provisional, nothing, np.full(len(nodes), NO_MODEL))
        return self._send(nodes, request, _FIRST)

    def welcome(self, replies: Iterable[Message]) -> None:
        """Give the nodes that answered their number, and newcomers their place."""
        usable, rejections = self._receive(replies)
        if not self.clients.joined:
            self.check_answers(self.request, len(usable), rejections, len(self._sent))
            self.clients.begin(usable)
        else:
            self._place(usable)
        # Who says nothing has a few tries; an outage, which ends the round, costs none.
        self._silent = [r for r in rejections if r.reason in ABSENCES]
        self.clients.refuse([r for r in rejections if r.reason not in ABSENCES])
        self._count(rejections)
        self.outcome.introduced += len(usable)

    def _place(self, usable: list[Reply]) -> None:
        number = self.outcome.number
        newcomers = []
        for reply in sorted(usable, key=_claim):
            client, known = self.clients.place(reply, number, self._online, self._recognises)
            if known:
                self.outcome.returned.append(client)
            else:
                self.outcome.joined.append(client)
                newcomers.append(reply)
        if newcomers and self.request.work != INTRODUCE:
            self.admit(self._stacked(newcomers))

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> list[Message]:
        """Round 1: everyone; later: every client that is there and drawn."""
        self._begin_round(server_round)
        self._online = set(grid.get_node_ids())
        if self.clients.joined:
            present = self._present()
            drawn, away = self.draw(server_round, present)
            node_of = self.clients.node_of
            self._away = [Rejection(node_of.get(c, 0), ABSENT, c) for c in away.tolist()]
            request = self.algorithm.ask(self.state, server_round, drawn)
            nodes = self._nodes_of(request.clients)
            self._expected = self.expected(server_round, request)
        else:
            nodes = sorted(self._online)
            request = self.algorithm.ask(self.state, server_round, np.arange(len(nodes)))
            check_alike(request, len(nodes))
            self._expected = len(nodes)
        self.outcome.work = request.work
        return self._send(nodes, request, server_round)

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Check the replies and let the algorithm learn from them, if they are enough."""
        usable, rejections = self._receive(replies)
        started = perf_counter()
        self.check_answers(self.request, len(usable), rejections, self._expected)
        self.clients.refuse(self._silent)
        if server_round == _FIRST:
            self._begin(usable, rejections)
        stacked = self._stacked(usable)
        sent = {self.clients.of_node[reply.node]: reply.buffers for reply in usable}
        self.learn(self._as_answered(self.request, stacked), stacked, sent)
        self.conclude()
        outcome = self.outcome
        self._count([*self._away, *rejections])
        outcome.aggregation_seconds += perf_counter() - started
        if not len(outcome.models):
            return None, None
        placed = outcome.which[outcome.which != NO_MODEL]
        largest = int(np.bincount(placed, minlength=1).argmax())
        return pack(self.layout, outcome.models[largest], self.buffers_of(largest)), None

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> list[Message]:
        """Every client that is there tries its model."""
        self._online = set(grid.get_node_ids())
        request = self.to_evaluate(self._present())
        return self._send(self._nodes_of(request.clients), request, server_round)

    def aggregate_evaluate(
        self, server_round: int, replies: Iterable[Message]
    ) -> MetricRecord | None:
        """Keep the numbers that every client reports; unusable ones are left out and counted."""
        found, rejections = check_metrics(self._asked_nodes(), replies)
        outcome, of_node = self.outcome, self.clients.of_node
        silent = {of_node.get(r.node) for r in rejections if r.reason in ABSENCES}
        self.check_evaluation(set(self.request.clients.tolist()) - silent, rejections)
        unasked = set() if self.request.which is None else {CHOICE}
        outcome.evaluations = {
            of_node[reply.node]: {n: v for n, v in reply.extras.items() if n not in unasked}
            for reply in found
        }
        outcome.evaluations_asked = len(self._sent)
        outcome.evaluations_rejected = [(self._named(r), r.reason) for r in rejections]
        outcome.evaluation_seconds = perf_counter() - self._sent_at
        return None

    def summary(self) -> None:
        """Nothing to add to what Flower logs."""

    @property
    def request(self) -> Request:
        """What was asked for last."""
        assert self._request is not None
        return self._request

    def sound(self, messages: Sequence[Message]) -> tuple[Request, Replies, list[Message]]:
        """What was asked for, its usable replies, and the messages they are in; changes nothing.

        For whoever stands between the grid and this strategy. A client is known by its node or by
        its claim; a number that is claimed twice, or taken, belongs to no one.
        """
        usable, _ = self._check(messages)
        client_of = self.clients.claimed(usable)
        known = [reply for reply in usable if reply.node in client_of]
        replies = self._stacked(known, client_of)
        node_of = {client_of[reply.node]: reply.node for reply in known}
        asked = self._asked_nodes()
        by_node: dict[int, Message] = {}
        for message in messages:
            node = asked.get(str(message.metadata.reply_to_message_id))
            if node is not None and node == message.metadata.src_node_id:
                by_node.setdefault(node, message)
        request = self._as_answered(self.request, replies)
        return (
            request,
            self.with_reference(request, replies),
            [by_node[node_of[client]] for client in replies.clients.tolist()],
        )

    def _begin_round(self, number: int) -> None:
        """A round that is tried again goes on with what is known of it."""
        if self.outcome.number != number:
            self.outcome.let_go()
            self.outcome, self._silent, self._away = Round(number), [], []

    def _count(self, rejections: list[Rejection]) -> None:
        self.outcome.asked += len(self._sent)
        self.outcome.rejected += [(self._named(r), r.reason) for r in rejections]

    def _begin(self, usable: list[Reply], rejections: list[Rejection]) -> None:
        if self.clients.joined:  # they have said who they are, but not what was needed
            self.clients.forget(rejections)
        else:
            self.clients.begin(usable)
        if self.needs_places():
            self.clients.refuse(rejections)  # else nobody needs a place, and all may try again

    def _as_answered(self, request: Request, replies: Replies) -> Request:
        """The request as if those who answered had been asked.

        Nodes without a number were asked by provisional ones, all alike.
        """
        if np.isin(replies.clients, request.clients).all():
            return request
        count = len(replies)
        which = None if request.which is None else np.resize(request.which, count)
        return replace(request, clients=replies.clients, which=which)

    def _present(self) -> Labels:
        """The clients whose nodes are there, in ascending order."""
        of_node = self.clients.of_node
        here = sorted(of_node[node] for node in self._online & of_node.keys())
        return np.array(here, dtype=np.int64)

    def _nodes_of(self, clients: Labels) -> list[int]:
        return [self.clients.node_of[client] for client in clients.tolist()]

    def _recognises(self, client: int, reply: Reply) -> bool:
        if self.request.work == INTRODUCE:
            return True
        return self.algorithm.recognises(self.state, client, reply.vector)

    def _stacked(self, usable: list[Reply], client_of: Mapping[int, int] | None = None) -> Replies:
        """The replies in the order of their clients, as arrays."""
        client_of = client_of or self.clients.of_node
        ordered = sorted((client_of[reply.node], reply) for reply in usable)
        return Replies(
            clients=np.array([client for client, _ in ordered], dtype=np.int64),
            vectors=self._below_each_other([reply.vector for _, reply in ordered]),
            examples=np.array([r.examples for _, r in ordered], dtype=np.int64),
            extras={
                name: np.array([r.extras[name] for _, r in ordered])
                for name in self.request.expects
            },
        )

    def _below_each_other(self, vectors: list[Array]) -> Array:
        """The vectors as rows; those that already are, in this order, move up within their array.

        A copy would take as much memory as all replies.
        """
        if not vectors:
            return np.empty((0, self.layout.size), self.layout.dtype)
        held, self._rows = self._rows, None
        if held is None or not all(vector.base is held for vector in vectors):
            return np.array(vectors, self.layout.dtype)
        places = [(vector.ctypes.data - held.ctypes.data) // held.strides[0] for vector in vectors]
        if places != sorted(places):
            return np.array(vectors, self.layout.dtype)
        rows = held[: len(vectors)]
        for place, vector in enumerate(vectors):
            if places[place] != place:
                rows[place] = vector
        return rows

    def _named(self, rejection: Rejection) -> int | None:
        """The client behind a rejection; a number that another node holds is not believed."""
        if rejection.reason == UNSOLICITED:
            return None
        known = self.clients.of_node.get(rejection.node)
        if known is not None or rejection.client in self.clients.of_node.values():
            return known
        return rejection.client

    def _send(self, nodes: list[int], request: Request, server_round: int) -> list[Message]:
        packed = [
            pack(self.layout, model, self.buffers_sent(request, row))
            for row, model in enumerate(request.models)
        ]
        self._request = request
        self._sent = messages_of(request, nodes, packed, server_round)
        self.outcome.sent += len(self._sent)
        self.outcome.bytes_down += bytes_down(request, self.layout.nbytes)
        self._sent_at = perf_counter()
        return self._sent

    def _receive(self, replies: Iterable[Message]) -> tuple[list[Reply], list[Rejection]]:
        received_at = perf_counter()
        self.outcome.exchange_seconds += received_at - self._sent_at
        self._rows = None
        if self.request.work != INTRODUCE:
            self._rows = np.empty((len(self._sent), self.layout.size), self.layout.dtype)
        usable, rejections = self._check(replies, self._rows)
        if self.request.work != INTRODUCE:
            self.outcome.bytes_up += len(usable) * self.layout.nbytes
        log_failures(self.outcome.number, rejections)
        self.outcome.aggregation_seconds += perf_counter() - received_at
        return usable, rejections

    def _check(
        self, replies: Iterable[Message], rows: Array | None = None
    ) -> tuple[list[Reply], list[Rejection]]:
        layout = None if self.request.work == INTRODUCE else self.layout
        asked = self._asked_nodes()
        away = self.away(self.outcome.number)
        gone = {n: c for n, c in self.clients.of_node.items() if c in away and n in asked.values()}
        usable, rejections = check_replies(
            asked, replies, layout=layout, expects=self.request.expects, rows=rows
        )
        if not gone:
            return usable, rejections
        return (
            [reply for reply in usable if reply.node not in gone],
            [rejection for rejection in rejections if rejection.node not in gone]
            + [Rejection(node, NO_REPLY, client) for node, client in gone.items()],
        )

    def _asked_nodes(self) -> dict[str, int]:
        return {m.metadata.message_id: m.metadata.dst_node_id for m in self._sent}


def _claim(reply: Reply) -> tuple[int, int]:
    return -1 if reply.client is None else reply.client, reply.node
