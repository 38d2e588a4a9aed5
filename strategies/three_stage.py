"""The Flower Strategy: it turns messages into arrays for the algorithm, and back.

Round 1 asks every node for its local model and clusters them. Every later round sends each machine
its cluster's model and advances the algorithm with the replies that are usable. Machines are
ordered by the number they give themselves in round 1, so that the result depends neither on node
ids, which are random, nor on the order of replies. A number that is claimed twice is nobody's: its
claimants take part under new numbers, after all others.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy

from strategies.algorithm import Algorithm, State
from strategies.replies import Rejection, Reply, check_losses, check_replies
from tagma.arrays import Array, Labels
from tagma.errors import FederationError
from tagma.wire import MODEL, pack

_log = logging.getLogger("tagma")


@dataclass(frozen=True)
class Round:
    """What one round brought."""

    number: int
    stage: str
    state: State
    erms: Array | None
    """The local models of `state.machines`; in round 1 only."""
    machines: Labels
    """The machines whose replies were usable, in ascending order."""
    updates: Array
    """What they sent, one row each."""
    used: int
    rejected: list[tuple[int | None, str]]
    """Machine (None where its number is not known) and reason of every reply that was dropped."""
    sent: int
    exchange_seconds: float
    """Time between the first message and the last reply."""
    aggregation_seconds: float
    """Time for checking, clustering and aggregating."""


class ThreeStage(Strategy):
    """One model per cluster, by any `Algorithm`; `on_round` is told about every round."""

    def __init__(
        self,
        algorithm: Algorithm,
        *,
        dim: int,
        on_round: Callable[[Round], None] = lambda round: None,
        evaluate_after: int | None = None,
    ) -> None:
        self.algorithm = algorithm
        self.dim = dim
        self.on_round = on_round
        self.evaluate_after = evaluate_after
        self.state: State | None = None
        self.losses: dict[int, float] = {}
        self._machine_of_node: dict[int, int] = {}
        self._sent: list[Message] = []
        self._sent_at = 0.0

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> list[Message]:
        """Round 1: everyone; later: every machine that has a cluster."""
        if server_round == 1:
            nodes = sorted(grid.get_node_ids())
            instruction = RecordDict()
            self._sent = [_message(instruction, node, "train.erm", 1) for node in nodes]
        else:
            self._sent = self._to_clusters(f"train.{self.algorithm.stage}", server_round)
        self._sent_at = perf_counter()
        return self._sent

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Check the replies and let the algorithm take its next step."""
        replies = list(replies)
        received_at = perf_counter()
        usable, rejections = check_replies(
            self._sent_nodes(), replies, length=self.dim, first_round=server_round == 1
        )
        for rejection in rejections[:3]:
            if rejection.detail:
                _log.warning("round %d: a client failed: %s", server_round, rejection.detail)
        if server_round == 1:
            stage = "erm"
            machines, updates = self._begin(usable, rejections)
        else:
            stage = self.algorithm.stage
            machines, updates = self._advance(usable)
        assert self.state is not None
        self.on_round(
            Round(
                number=server_round,
                stage=stage,
                state=self.state,
                erms=updates if server_round == 1 else None,
                machines=machines,
                updates=updates,
                used=len(usable),
                rejected=[(self._named(r), r.reason) for r in rejections],
                sent=len(self._sent),
                exchange_seconds=received_at - self._sent_at,
                aggregation_seconds=perf_counter() - received_at,
            )
        )
        models = {str(k): pack(w)["vector"] for k, w in enumerate(self.state.models)}
        return ArrayRecord(models), None

    def _begin(self, usable: list[Reply], rejections: list[Rejection]) -> tuple[Labels, Array]:
        if not usable:
            reasons = ", ".join(sorted({r.detail or r.reason for r in rejections})[:3])
            raise FederationError(
                f"no machine sent a usable local model ({reasons or 'there are no machines'})"
            )
        self._machine_of_node = _number_machines(usable)
        machines, erms = self._stack(usable)
        self.state = self.algorithm.begin(machines, erms)
        return machines, erms

    def _named(self, rejection: Rejection) -> int | None:
        """The machine behind a rejection; a number that another node holds is not believed."""
        known = self._machine_of_node.get(rejection.node)
        if known is not None or rejection.machine in self._machine_of_node.values():
            return known
        return rejection.machine

    def _advance(self, usable: list[Reply]) -> tuple[Labels, Array]:
        assert self.state is not None
        machines, updates = self._stack(usable)
        if usable:
            self.state = self.algorithm.advance(self.state, machines, updates)
        return machines, updates

    def _stack(self, usable: list[Reply]) -> tuple[Labels, Array]:
        """Machines in ascending order, and their vectors as rows."""
        by_machine = {self._machine_of_node[reply.node]: reply.vector for reply in usable}
        machines = np.array(sorted(by_machine), dtype=np.int64)
        rows = [by_machine[machine] for machine in machines.tolist()]
        return machines, np.array(rows).reshape(len(rows), self.dim)

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> list[Message]:
        """After the last round, every machine tries its cluster's model."""
        self._sent = []
        if server_round == self.evaluate_after:
            self._sent = self._to_clusters("evaluate", server_round)
        return self._sent

    def aggregate_evaluate(
        self, server_round: int, replies: Iterable[Message]
    ) -> MetricRecord | None:
        """Keep the loss that every machine reports; unusable ones are left out."""
        losses = check_losses(self._sent_nodes(), replies)
        self.losses = {self._machine_of_node[node]: loss for node, loss in losses.items()}
        return None

    def summary(self) -> None:
        """Nothing to add to what Flower logs."""

    def _to_clusters(self, message_type: str, server_round: int) -> list[Message]:
        """One message per machine; those of one cluster share the record with its model."""
        assert self.state is not None
        records = []
        for model in self.state.models:
            record = RecordDict()
            record[MODEL] = pack(model)
            records.append(record)
        state = self.state
        cluster = dict(zip(state.machines.tolist(), state.clustering.labels.tolist(), strict=True))
        return [
            _message(records[cluster[machine]], node, message_type, server_round)
            for node, machine in self._machine_of_node.items()
        ]

    def _sent_nodes(self) -> dict[str, int]:
        return {m.metadata.message_id: m.metadata.dst_node_id for m in self._sent}


def _message(content: RecordDict, node: int, message_type: str, server_round: int) -> Message:
    return Message(content, node, message_type, group_id=str(server_round))


def _number_machines(usable: list[Reply]) -> dict[int, int]:
    """Machine numbers by node: the claimed ones, and new ones where a claim is not unique."""
    claims = Counter(reply.machine for reply in usable)
    numbers = {
        r.node: r.machine for r in usable if r.machine is not None and claims[r.machine] == 1
    }
    fresh = max((machine for machine in claims if machine is not None), default=-1) + 1
    for reply in usable:
        if reply.node not in numbers:
            numbers[reply.node] = fresh
            fresh += 1
    return numbers
