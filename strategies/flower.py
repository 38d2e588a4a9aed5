"""The Flower Strategy around any algorithm: messages become arrays for it, and back.

Round 1 asks every node, since nobody is known yet. Before every later round, nodes that have no
number, because they came late or the server was resumed, are asked who they are by `invite` and
placed by `welcome`; Flower's own `Strategy.start` does not know these two, `tagma.server.rounds`
does. Clients are ordered by their numbers (`tagma.strategies.client_identity`), so that a result
depends neither on node ids, which are random, nor on the order of replies.

What an algorithm asks for, what it learns and whom it serves is its own affair
(`tagma.strategies.algorithms.algorithm`). Replies are checked, clients sampled and the quorum
applied here, once for all of them.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, Generic

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy

from tagma.arrays import Array, Labels
from tagma.errors import FederationError
from tagma.exchange import CHOICE, EVALUATE, FIT, INTRODUCE, NO_MODEL, Replies, Request
from tagma.layout import Layout, Named
from tagma.strategies.algorithms.algorithm import Algorithm, S
from tagma.strategies.client_identity import Clients
from tagma.strategies.model_buffers import joined_buffers
from tagma.strategies.quorum import enough_replies
from tagma.strategies.replies import ABSENT, Rejection, Reply, check_metrics, check_replies
from tagma.strategies.sampling import sample
from tagma.wire import ARRAYS, CONFIG, ROUND, WORK, pack

_log = logging.getLogger("tagma")
_FIRST = 1
"""The round of local models; whoever is asked for one later is asked in its name."""


@dataclass
class Round:
    """What one round brought."""

    number: int
    work: str = ""
    state: Any = None
    """The algorithm's, after the round."""
    clients: Labels = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """All clients that are known, in ascending order, shape (m,)."""
    models: Array = field(default_factory=lambda: np.empty((0, 0)))
    """All models after the round, shape (K, d)."""
    which: Labels = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """The model of every client, or `NO_MODEL`, shape (m,)."""
    replies: Replies | None = None
    """Those that were usable."""
    rejected: list[tuple[int | None, str]] = field(default_factory=list)
    """Client (None where its number is not known) and reason of every reply that was dropped."""
    joined: list[int] = field(default_factory=list)
    """Clients that came after round 1."""
    returned: list[int] = field(default_factory=list)
    """Clients that came back under another node id."""
    kept: list[int] = field(default_factory=list)
    """Models that stay as they are because too few of their clients replied."""
    sent: int = 0
    bytes_down: int = 0
    """Of the models that were sent."""
    bytes_up: int = 0
    """Of the vectors that came back and were usable."""
    exchange_seconds: float = 0.0
    """Time between messages and their last reply."""
    aggregation_seconds: float = 0.0
    """Time for checking and learning."""
    evaluations: dict[int, dict[str, float]] = field(default_factory=dict)
    """What clients measured with their models after the round, if they were asked."""
    evaluation_seconds: float = 0.0


class AlgorithmStrategy(Strategy, Generic[S]):
    """Any algorithm as a Flower Strategy.

    `initial` are the named arrays of the model that everything starts from. `sampling` is the
    share of every model's clients that is asked in a round. A model with fewer than `min_replies`
    usable replies stays as it is.
    """

    def __init__(
        self,
        algorithm: Algorithm[S],
        initial: Named,
        *,
        layout: Layout | None = None,
        min_replies: int = 1,
        sampling: float = 1.0,
        seed: int = 0,
    ) -> None:
        self.algorithm = algorithm
        self.layout = layout or Layout.of(initial)
        self.first_state: S = algorithm.start(self.layout.vector(initial))
        self.state = self.first_state
        self.clients = Clients()
        self.buffers: list[Named] = [{b.name: initial[b.name] for b in self.layout.buffers}]
        """Those of every model; the last one's are those of models that have none yet."""
        self.outcome = Round(0)
        """What the present round, or the last one, brought."""
        self._min_replies = min_replies
        self._sampling = sampling
        self._seed = seed
        self._online: set[int] = set()
        self._dropped: list[Rejection] = []
        self._request: Request | None = None
        self._sent: list[Message] = []
        self._sent_at = 0.0

    def resume(self, state: S, joined: Mapping[int, int], buffers: list[Named]) -> None:
        """Go on from a state; `joined` maps the clients to the rounds in which they came."""
        self.state = state
        self.clients.joined = dict(joined)
        self.buffers = buffers

    def invite(self, server_round: int, grid: Grid) -> list[Message]:
        """Ask nodes that have no number who they are.

        Before the first round only where a part of the clients is to be drawn.
        """
        self.outcome = Round(server_round)
        self._online = set(grid.get_node_ids())
        if server_round == _FIRST and self._sampling >= 1:
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
        self.clients.refuse(rejections)
        number = self.outcome.number
        if not self.clients.joined:
            self.clients.begin(usable)
            return
        newcomers = []
        for reply in sorted(usable, key=_claim):
            client, known = self.clients.place(reply, number, self._online, self._recognises)
            if known:
                self.outcome.returned.append(client)
            else:
                self.outcome.joined.append(client)
                newcomers.append(reply)
        if newcomers and self.request.work != INTRODUCE:
            self.state = self.algorithm.admit(self.state, number, self._stacked(newcomers))

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> list[Message]:
        """Round 1: everyone; later: every client that is there and drawn."""
        if self.outcome.number != server_round:
            self.outcome = Round(server_round)
        self._online = set(grid.get_node_ids())
        if self.clients.joined:
            request = self.algorithm.ask(self.state, server_round, self._drawn(server_round))
            nodes = self._nodes_of(request.clients)
        else:
            nodes = sorted(self._online)
            request = self.algorithm.ask(self.state, server_round, np.arange(len(nodes)))
            _check_alike(request, len(nodes))
        self.outcome.work = request.work
        return self._send(nodes, request, server_round)

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Check the replies and let the algorithm learn from them."""
        usable, rejections = self._receive(replies)
        started = perf_counter()
        if server_round == _FIRST:
            self._begin(usable, rejections)
        self._learn(self._stacked(usable), usable)
        outcome = self.outcome
        outcome.state = self.state
        outcome.clients = self.clients.numbers
        outcome.models, outcome.which = self.algorithm.serve(self.state, outcome.clients)
        outcome.rejected = [(self._named(r), r.reason) for r in self._dropped]
        self._dropped = []
        outcome.aggregation_seconds += perf_counter() - started
        placed = outcome.which[outcome.which != NO_MODEL]
        largest = int(np.bincount(placed, minlength=1).argmax())
        return self._packed(outcome.models, largest), None

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> list[Message]:
        """Every client that is there and has a model tries it."""
        self._online = set(grid.get_node_ids())
        present = self._present()
        models, which = self.algorithm.serve(self.state, present)
        has = which != NO_MODEL
        request = Request(EVALUATE, present[has], models, which[has])
        return self._send(self._nodes_of(request.clients), request, server_round)

    def aggregate_evaluate(
        self, server_round: int, replies: Iterable[Message]
    ) -> MetricRecord | None:
        """Keep the numbers that every client reports; unusable ones are left out."""
        found = check_metrics(self._asked_nodes(), replies)
        of_node = self.clients.of_node
        self.outcome.evaluations = {of_node[node]: metrics for node, metrics in found.items()}
        self.outcome.evaluation_seconds = perf_counter() - self._sent_at
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
        return (
            self._as_answered(self.request, replies),
            replies,
            [by_node[node_of[client]] for client in replies.clients.tolist()],
        )

    def _begin(self, usable: list[Reply], rejections: list[Rejection]) -> None:
        if not usable:
            reasons = ", ".join(sorted({r.detail or r.reason for r in rejections})[:3])
            what = "local model" if self.request.work == FIT else "update"
            raise FederationError(
                f"no client sent a usable {what} ({reasons or 'there are no clients'})"
            )
        if self.clients.joined:  # they have said who they are, but not what was needed
            self.clients.forget(rejection.node for rejection in rejections)
        else:
            self.clients.begin(usable)
        if self.algorithm.introduce(self.state, self.clients.numbers[:0]) is not None:
            self.clients.refuse(rejections)  # else nobody needs a place, and all may try again

    def _learn(self, replies: Replies, usable: list[Reply]) -> None:
        self.outcome.replies = replies
        request = self._as_answered(self.request, replies)
        counts = np.ones(len(replies), dtype=bool)
        models, members = self.algorithm.serve(self.state, self.clients.numbers)
        if request.which is None:
            rows = members = replies.extras.get(CHOICE, counts - 1).astype(np.int64)
        else:
            rows = request.rows(replies.clients)
        if request.models is models or np.array_equal(request.models, models):
            # What was sent is what is served: a model without enough replies stays as it is.
            counts, self.outcome.kept = enough_replies(rows, members, self._min_replies)
        for model in self.outcome.kept:
            number = self.outcome.number
            _log.warning("round %d: too few replies, cluster %d keeps its model", number, model)
        if counts.any():
            counting = replies.only(counts)
            self.state = self.algorithm.learn(self.state, request, counting)
            self._join_buffers(counting.clients, usable)

    def _join_buffers(self, clients: Labels, usable: list[Reply]) -> None:
        if self.layout.buffers:
            sent = {self.clients.of_node[reply.node]: reply.buffers for reply in usable}
            models, which = self.algorithm.serve(self.state, clients)
            before = [self.buffers[min(k, len(self.buffers) - 1)] for k in range(len(models))]
            self.buffers = joined_buffers(before, [sent[c] for c in clients.tolist()], which)

    def _as_answered(self, request: Request, replies: Replies) -> Request:
        """The request as if those who answered had been asked.

        Nodes without a number were asked by provisional ones, all alike.
        """
        if np.isin(replies.clients, request.clients).all():
            return request
        count = len(replies)
        which = None if request.which is None else np.resize(request.which, count)
        return replace(request, clients=replies.clients, which=which)

    def _drawn(self, server_round: int) -> Labels:
        """The clients that are asked in this round; those that are away are noted."""
        known, present = self.clients.numbers, self._present()
        _, which = self.algorithm.serve(self.state, known)
        there = np.isin(known, present)
        for client in known[(which != NO_MODEL) & ~there].tolist():
            self._dropped.append(Rejection(self.clients.node_of.get(client, 0), ABSENT, client))
        return sample(present, which[there], self._sampling, self._seed, server_round)

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
        shape = len(ordered), len(ordered[0][1].vector) if ordered else self.layout.size
        return Replies(
            clients=np.array([client for client, _ in ordered], dtype=np.int64),
            vectors=np.array([r.vector for _, r in ordered], self.layout.dtype).reshape(shape),
            examples=np.array([r.examples for _, r in ordered], dtype=np.int64),
            extras={
                name: np.array([r.extras[name] for _, r in ordered])
                for name in self.request.expects
            },
        )

    def _named(self, rejection: Rejection) -> int | None:
        """The client behind a rejection; a number that another node holds is not believed."""
        known = self.clients.of_node.get(rejection.node)
        if known is not None or rejection.client in self.clients.of_node.values():
            return known
        return rejection.client

    def _send(self, nodes: list[int], request: Request, server_round: int) -> list[Message]:
        """One message per node; messages with the same model share their record."""
        settings = {name: float(value) for name, value in request.settings.items()}
        config = ConfigRecord({ROUND: server_round, WORK: request.work, **settings})
        packed = [self._packed(request.models, k) for k in range(len(request.models))]
        if request.which is None:
            content = _content(config, {f"{ARRAYS}.{k}": one for k, one in enumerate(packed)})
            contents = [content] * len(nodes)
            self.outcome.bytes_down += len(nodes) * len(packed) * self.layout.nbytes
        else:
            bare = _content(config, {})
            records = [_content(config, {ARRAYS: one}) for one in packed]
            rows = request.which.tolist()
            contents = [bare if k == NO_MODEL else records[k] for k in rows]
            self.outcome.bytes_down += int((request.which != NO_MODEL).sum()) * self.layout.nbytes
        kind = "evaluate" if request.work == EVALUATE else "train"
        self._request = request
        self._sent = [Message(c, node, kind) for c, node in zip(contents, nodes, strict=True)]
        self.outcome.sent += len(self._sent)
        self._sent_at = perf_counter()
        return self._sent

    def _packed(self, models: Array, k: int) -> ArrayRecord:
        return pack(self.layout, models[k], self.buffers[min(k, len(self.buffers) - 1)])

    def _receive(self, replies: Iterable[Message]) -> tuple[list[Reply], list[Rejection]]:
        replies = list(replies)
        received_at = perf_counter()
        self.outcome.exchange_seconds += received_at - self._sent_at
        usable, rejections = self._check(replies)
        if self.request.work != INTRODUCE:
            self.outcome.bytes_up += len(usable) * self.layout.nbytes
        for rejection in rejections[:3]:
            if rejection.detail:
                number = self.outcome.number
                _log.warning("round %d: a client failed: %s", number, rejection.detail)
        self._dropped += rejections
        self.outcome.aggregation_seconds += perf_counter() - received_at
        return usable, rejections

    def _check(self, replies: Sequence[Message]) -> tuple[list[Reply], list[Rejection]]:
        layout = None if self.request.work == INTRODUCE else self.layout
        return check_replies(
            self._asked_nodes(), replies, layout=layout, expects=self.request.expects
        )

    def _asked_nodes(self) -> dict[str, int]:
        return {m.metadata.message_id: m.metadata.dst_node_id for m in self._sent}


def _check_alike(request: Request, count: int) -> None:
    """In round 1 nobody has a number yet, so that nobody can be singled out."""
    alike = request.which is None or (len(np.unique(request.which)) <= 1)
    if len(request.clients) != count or not alike:
        raise FederationError(
            "strategy: in round 1 `ask` must ask all clients alike; their numbers come with their "
            "replies"
        )


def _claim(reply: Reply) -> tuple[int, int]:
    return -1 if reply.client is None else reply.client, reply.node


def _content(config: ConfigRecord, arrays: Mapping[str, ArrayRecord]) -> RecordDict:
    content = RecordDict()
    content[CONFIG] = config
    for name, record in arrays.items():
        content[name] = record
    return content
