"""The Flower Strategy: it turns messages into arrays for the algorithm, and back.

Round 1 asks every node for its local model and clusters them. Every later round sends each client
that has a cluster its model, and advances the algorithm with the replies that are usable. Clients
are ordered by their numbers (`tagma.strategies.client_identity`), so that the result depends
neither on node ids, which are random, nor on the order of replies.

Nodes that are there but have no number, because they came late or the server was resumed, are asked
for their local model by `invite` and known by `welcome`, between two rounds. Flower's own
`Strategy.start` does not know these two; `tagma.server.rounds` does.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy

from tagma.arrays import Array, Labels
from tagma.errors import FederationError
from tagma.strategies.algorithms.three_stage import NO_CLUSTER, Algorithm, State
from tagma.strategies.client_identity import ClientIdentity
from tagma.strategies.quorum import enough_replies
from tagma.strategies.replies import ABSENT, Rejection, Reply, check_losses, check_replies
from tagma.wire import CONFIG, MODEL, ROUND, pack

_log = logging.getLogger("tagma")
_FIRST = 1
"""The round of local models; whoever is asked for one later is asked in its name."""


@dataclass
class Round:
    """What one round brought."""

    number: int
    work: str = "local_model"
    state: State | None = None
    clients: Labels = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """The clients whose replies were usable, in ascending order."""
    updates: Array = field(default_factory=lambda: np.empty((0, 0)))
    """What they sent, one row each."""
    used: int = 0
    rejected: list[tuple[int | None, str]] = field(default_factory=list)
    """Client (None where its number is not known) and reason of every reply that was dropped."""
    joined: list[int] = field(default_factory=list)
    """Clients that came after round 1."""
    returned: list[int] = field(default_factory=list)
    """Clients that came back under another node id."""
    kept: list[int] = field(default_factory=list)
    """Clusters that keep their model because too few of their clients replied."""
    sent: int = 0
    exchange_seconds: float = 0.0
    """Time between messages and their last reply."""
    aggregation_seconds: float = 0.0
    """Time for checking, clustering and aggregating."""


class ThreeStage(Strategy):
    """One model per cluster, by any `Algorithm`; `on_round` is told about every round."""

    def __init__(
        self,
        algorithm: Algorithm,
        *,
        dim: int,
        min_replies: int = 1,
        on_round: Callable[[Round], None] = lambda round: None,
        state: State | None = None,
    ) -> None:
        self.algorithm = algorithm
        self.dim = dim
        self.min_replies = min_replies
        self.on_round = on_round
        self.state = state
        self.losses: dict[int, float] = {}
        self._identity = ClientIdentity()
        self._online: set[int] = set()
        self._round = Round(_FIRST)
        self._dropped: list[Rejection] = []
        self._sent: list[Message] = []
        self._sent_at = 0.0

    def invite(self, server_round: int, grid: Grid) -> list[Message]:
        """Ask nodes that have no number for their local model; before any round but the first."""
        self._round = Round(server_round)
        self._online = set(grid.get_node_ids())
        return self._send(_introductions(self._identity.unknown_nodes(self._online)))

    def welcome(self, replies: Iterable[Message]) -> None:
        """Number the nodes that answered: in the cluster they were in, the nearest, or none."""
        usable, rejections = self._receive(replies, introductions=True)
        assert self.state is not None
        for reply in _by_claim(usable):
            client, known = self._identity.take(reply, self.state, self._online)
            if known:
                self._round.returned.append(client)
            else:
                self._round.joined.append(client)
                self.state = self.algorithm.admit(
                    self.state, client, reply.vector, self._round.number
                )
        self._identity.refuse(rejections)

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> list[Message]:
        """Round 1: everyone; later: every client that is there and has a cluster."""
        if self._round.number != server_round:
            self._round = Round(server_round)
        online = set(grid.get_node_ids())
        if server_round == _FIRST:
            messages = _introductions(sorted(online))
        else:
            self._round.work = self.algorithm.work
            messages, absent = self._to_clusters(self._round.work, server_round, online)
            self._dropped += [Rejection(node, ABSENT, client) for node, client in absent]
        return self._send(messages)

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Check the replies and let the algorithm take its next step."""
        usable, rejections = self._receive(replies, introductions=server_round == _FIRST)
        started = perf_counter()
        if server_round == _FIRST:
            self._begin(usable, rejections)
        else:
            self._advance(usable)
        self._round.used = len(usable)
        assert self.state is not None
        self._round.state = self.state
        self._round.rejected = [(self._named(r), r.reason) for r in self._dropped]
        self._dropped = []
        self._round.aggregation_seconds += perf_counter() - started
        self.on_round(self._round)
        models = {str(k): pack(w)["vector"] for k, w in enumerate(self.state.models)}
        return ArrayRecord(models), None

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> list[Message]:
        """Every client that is there tries its cluster's model."""
        messages, _ = self._to_clusters("evaluate", server_round, set(grid.get_node_ids()))
        return self._send(messages)

    def aggregate_evaluate(
        self, server_round: int, replies: Iterable[Message]
    ) -> MetricRecord | None:
        """Keep the loss that every client reports; unusable ones are left out."""
        losses = check_losses(self._sent_nodes(), replies)
        self.losses = {self._identity.client_of[node]: loss for node, loss in losses.items()}
        return None

    def summary(self) -> None:
        """Nothing to add to what Flower logs."""

    def sound(self, replies: Iterable[Message], *, introductions: bool) -> list[tuple[int, Reply]]:
        """The usable replies of the present exchange with their clients; changes nothing.

        For whoever stands between the grid and this strategy. A client is known by its node or,
        in introductions, by its claim; a number that is claimed twice or taken belongs to no one.
        """
        usable, _ = check_replies(
            self._sent_nodes(), replies, length=self.dim, first_round=introductions
        )
        client_of = self._identity.client_of
        if introductions:
            client_of = client_of | self._identity.claims(usable)
        return [(client_of[reply.node], reply) for reply in usable if reply.node in client_of]

    def _send(self, messages: list[Message]) -> list[Message]:
        self._sent = messages
        self._sent_at = perf_counter()
        self._round.sent += len(messages)
        return messages

    def _receive(
        self, replies: Iterable[Message], *, introductions: bool
    ) -> tuple[list[Reply], list[Rejection]]:
        replies = list(replies)
        received_at = perf_counter()
        self._round.exchange_seconds += received_at - self._sent_at
        usable, rejections = check_replies(
            self._sent_nodes(), replies, length=self.dim, first_round=introductions
        )
        for rejection in rejections[:3]:
            if rejection.detail:
                number = self._round.number
                _log.warning("round %d: a client failed: %s", number, rejection.detail)
        self._dropped += rejections
        self._round.aggregation_seconds += perf_counter() - received_at
        return usable, rejections

    def _begin(self, usable: list[Reply], rejections: list[Rejection]) -> None:
        if not usable:
            reasons = ", ".join(sorted({r.detail or r.reason for r in rejections})[:3])
            raise FederationError(
                f"no client sent a usable local model ({reasons or 'there are no clients'})"
            )
        self._identity.first(usable)
        self._identity.refuse(rejections)
        clients, local_models = self._stack(usable)
        self.state = self.algorithm.begin(clients, local_models)

    def _advance(self, usable: list[Reply]) -> None:
        assert self.state is not None
        clients, updates = self._stack(usable)
        counts, self._round.kept = enough_replies(self.state, clients, self.min_replies)
        for cluster in self._round.kept:
            number = self._round.number
            _log.warning("round %d: too few replies, cluster %d keeps its model", number, cluster)
        if counts.any():
            self.state = self.algorithm.advance(self.state, clients[counts], updates[counts])

    def _stack(self, usable: list[Reply]) -> tuple[Labels, Array]:
        """Clients in ascending order, and their vectors as rows; the round remembers them."""
        by_client = {self._identity.client_of[reply.node]: reply.vector for reply in usable}
        clients = np.array(sorted(by_client), dtype=np.int64)
        rows = [by_client[client] for client in clients.tolist()]
        self._round.clients = clients
        self._round.updates = np.array(rows).reshape(len(rows), self.dim)
        return clients, self._round.updates

    def _named(self, rejection: Rejection) -> int | None:
        """The client behind a rejection; a number that another node holds is not believed."""
        known = self._identity.client_of.get(rejection.node)
        if known is not None or rejection.client in self._identity.client_of.values():
            return known
        return rejection.client

    def _to_clusters(
        self, work: str, server_round: int, online: set[int]
    ) -> tuple[list[Message], list[tuple[int, int]]]:
        """One message per client that has a cluster; node and client of those that are away.

        Messages of one cluster share the record with its model. After a resume a client may have
        no node yet; nodes are numbered from 1 on.
        """
        assert self.state is not None
        message_type = work if work == "evaluate" else f"train.{work}"
        records = []
        for model in self.state.models:
            record = _instruction(server_round)
            record[MODEL] = pack(model)
            records.append(record)
        label = dict(zip(self.state.clients.tolist(), self.state.labels.tolist(), strict=True))
        node_of = {client: node for node, client in self._identity.client_of.items()}
        messages, absent = [], []
        for client, cluster in label.items():
            if cluster == NO_CLUSTER:
                continue
            node = node_of.get(client, 0)
            if node in online:
                messages.append(Message(records[cluster], node, message_type))
            else:
                absent.append((node, client))
        return messages, absent

    def _sent_nodes(self) -> dict[str, int]:
        return {m.metadata.message_id: m.metadata.dst_node_id for m in self._sent}


def _by_claim(usable: list[Reply]) -> list[Reply]:
    return sorted(usable, key=lambda reply: (reply.client, reply.node))


def _introductions(nodes: list[int]) -> list[Message]:
    instruction = _instruction(_FIRST)
    return [Message(instruction, node, "train.local_model") for node in nodes]


def _instruction(server_round: int) -> RecordDict:
    content = RecordDict()
    content[CONFIG] = ConfigRecord({ROUND: server_round})
    return content
