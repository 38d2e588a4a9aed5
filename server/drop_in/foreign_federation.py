"""An algorithm in the middle of a run with clients of somebody else's app, known by node id.

What the algorithm asks for becomes messages as Flower's FedAvg sends them, and replies become
arrays. Nodes that come after round 1 are given their place by an exchange of their own, where the
algorithm needs one.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, RecordDict

from tagma.arrays import Labels
from tagma.errors import TagmaError
from tagma.exchange import CHOICE, GRADIENT, NO_MODEL, Replies, Request
from tagma.message_limits import Limits
from tagma.server.drop_in.best_model import best_models
from tagma.server.drop_in.first_round import TOO_MUCH, advice, gone_on
from tagma.server.drop_in.foreign_replies import ForeignReplies
from tagma.server.drop_in.result import ClusteredResult
from tagma.strategies.algorithm_run import AlgorithmRun, log_failures
from tagma.strategies.algorithms.clustered_clients import Clustered
from tagma.strategies.quorum import check_quorum
from tagma.strategies.replies import ABSENCES, Rejection, Reply
from tagma.wire import pack

_log = logging.getLogger("tagma")
_FIRST, _SECOND = 1, 2
Exchange = Callable[[list[Message]], Iterable[Message]]
"""Messages out, replies in."""


@dataclass(frozen=True)
class Keys:
    """What the app calls things."""

    arrays: str
    config: str
    weighted_by: str
    choose_by: str


class ForeignFederation:
    """The run of an algorithm, and the app's clients."""

    def __init__(self, run: AlgorithmRun[Any], keys: Keys) -> None:
        self.run = run
        self._keys = keys
        self.limits = Limits.of(run.layout)
        self._silent: list[Rejection] = []
        """Newcomers that did not say who they are."""

    def present(self, online: set[int]) -> Labels:
        """The clients whose nodes are there, in ascending order."""
        of_node = self.run.clients.of_node
        return np.array(sorted(of_node[n] for n in online & of_node.keys()), dtype=np.int64)

    def welcome(self, online: set[int], config: ConfigRecord, exchange: Exchange) -> None:
        """Give nodes that have no number one, and a place where clients need one."""
        run = self.run
        strangers = run.clients.strangers(online)
        newcomers = [Reply(node, np.empty(0)) for node in strangers]
        if not run.clients.joined:
            run.clients.begin(newcomers)
            return
        request = run.algorithm.introduce(run.state, np.arange(len(strangers)))
        if request is None or not strangers:
            self._seat(newcomers, online)
            return
        messages = self.messages(request, config, "train", strangers)
        found = self.received(messages, exchange(messages))
        self._silent = [r for r in found.rejections if r.reason in ABSENCES]
        run.clients.refuse([r for r in found.rejections if r.reason not in ABSENCES])
        self._seat(found.usable, online)
        if found.usable:
            run.admit(self.stacked(request, found))

    def _seat(self, newcomers: list[Reply], online: set[int]) -> None:
        run = self.run
        for reply in newcomers:  # none of them claims to be somebody
            client, _ = run.clients.place(reply, run.outcome.number, online, lambda *_: False)
            run.outcome.joined.append(client)

    def check_answers(self, request: Request, found: ForeignReplies, expected: int) -> None:
        """Raise `TooFewAnswers` if a round's replies are too few for it to count.

        Who sends nothing usable in round 1 has no place; it may try again as a newcomer.
        """
        run = self.run
        run.check_answers(request, len(found.usable), found.rejections, expected)
        run.clients.refuse(self._silent)  # an outage, which ends the round, costs them no try
        self._silent = []
        if run.outcome.number == _FIRST and run.needs_places():
            run.clients.forget(found.rejections)
            run.clients.refuse(found.rejections)

    def check_evaluation(self, asked: int, found: ForeignReplies, expected: int) -> None:
        """The same of an evaluation, where any answer will do."""
        silent = sum(rejection.reason in ABSENCES for rejection in found.rejections)
        what = f"round {self.run.outcome.number}: evaluations"
        check_quorum(self.run.quorum, what, asked - silent, expected, found.rejections)

    def answerable(self, request: Request, config: ConfigRecord, exchange: Exchange) -> Request:
        """The request as an app can answer it: one model for every client, which it trains."""
        if request.work == GRADIENT:
            raise TagmaError("an app's clients answer with models: optimiser=gradient cannot work")
        if request.which is not None:
            return request

        def losses_of(row: int) -> ForeignReplies:
            everybody = replace(request, which=np.full(len(request.clients), row))
            messages = self.messages(everybody, config, "evaluate")
            return self.received(messages, exchange(messages), evaluation=True)

        chosen = best_models(losses_of, len(request.models), self._keys.choose_by)
        numbers = {self.run.clients.of_node[node]: row for node, row in chosen.items()}
        clients = np.array(sorted(numbers), dtype=np.int64)
        which = np.array([numbers[client] for client in clients.tolist()], dtype=np.int64)
        return replace(request, clients=clients, which=which)

    def messages(
        self, request: Request, config: ConfigRecord, kind: str, nodes: list[int] | None = None
    ) -> list[Message]:
        """One message per client, or node; those with the same model share their records."""
        assert request.which is not None
        if nodes is None:
            nodes = [self.run.clients.node_of[client] for client in request.clients.tolist()]
        told = ConfigRecord({**config, **request.settings})
        contents = {
            row: RecordDict(
                {self._keys.arrays: self._packed(request, row), self._keys.config: told}
            )
            for row in np.unique(request.which).tolist()
        }
        rows = request.which.tolist()
        return [Message(contents[k], node, kind) for k, node in zip(rows, nodes, strict=True)]

    def _packed(self, request: Request, row: int) -> ArrayRecord:
        buffers = self.run.buffers_sent(request, row)
        return pack(self.run.layout, request.models[row], buffers)

    def received(
        self, sent: list[Message], replies: Iterable[Message], *, evaluation: bool = False
    ) -> ForeignReplies:
        """The usable replies; what is dropped is logged."""
        found = ForeignReplies(
            sent,
            replies,
            layout=None if evaluation else self.run.layout,
            weighted_by=self._keys.weighted_by,
            limits=self.limits,
        )
        number = self.run.outcome.number
        log_failures(number, found.rejections)
        if found.rejections:
            reasons = Counter(rejection.reason for rejection in found.rejections)
            said = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
            _log.warning("round %d: replies dropped: %s", number, said)
        return found

    def stacked(self, request: Request, found: ForeignReplies) -> Replies:
        """The usable replies in the order of their clients, as arrays."""
        of_node = self.run.clients.of_node
        ordered = sorted((of_node[reply.node], reply) for reply in found.usable)
        clients = np.array([client for client, _ in ordered], dtype=np.int64)
        chosen = request.rows(clients).astype(float) if CHOICE in request.expects else None
        return Replies(
            clients=clients,
            vectors=np.array([reply.vector for _, reply in ordered], self.run.layout.dtype),
            examples=np.array([found.weight_of(reply.node) for _, reply in ordered]),
            extras={} if chosen is None else {CHOICE: chosen},
        )

    def learn(self, request: Request, found: ForeignReplies) -> list[int]:
        """Let the algorithm learn from the replies; the nodes of those that counted."""
        run = self.run
        before, stacked = run.state, self.stacked(request, found)
        sent = {run.clients.of_node[reply.node]: reply.buffers for reply in found.usable}
        asked = replace(request, which=None) if CHOICE in request.expects else request
        if run.outcome.number == _SECOND:
            self._look_back(request, stacked)
        run.learn(asked, stacked, sent)
        run.conclude()
        counts = run.algorithm.counted(before, run.state, stacked.clients)
        return [run.clients.node_of[client] for client in stacked.clients[counts].tolist()]

    def _look_back(self, request: Request, replies: Replies) -> None:
        """Warn if clusters were looked for among models that had hardly been trained."""
        run = self.run
        findings = run.algorithm.findings(run.state)
        if not isinstance(findings, Clustered):
            return
        there = np.isin(replies.clients, findings.clients[findings.joined == 1])
        rows = np.searchsorted(findings.clients, replies.clients[there])
        received = request.models[request.rows(replies.clients)][there]
        part = gone_on(findings.local_models[rows] - run.initial, replies.vectors[there] - received)
        if part > TOO_MUCH:
            _log.warning("round %d: %s", _SECOND, advice(part))

    def largest(self) -> ArrayRecord:
        """The model that most clients have."""
        run = self.run
        models, which = run.algorithm.serve(run.state, run.clients.numbers)
        row = int(np.bincount(which[which != NO_MODEL], minlength=1).argmax())
        return pack(run.layout, models[row], run.buffers_of(row))

    def describe(self, result: ClusteredResult) -> None:
        """Put models and clusters into a result."""
        run, node_of = self.run, self.run.clients.node_of
        models, which = run.algorithm.serve(run.state, run.clients.numbers)
        result.models = [
            pack(run.layout, model, run.buffers_of(row)) for row, model in enumerate(models)
        ]
        result.clusters = {
            node_of[client]: row
            for client, row in zip(run.clients.numbers.tolist(), which.tolist(), strict=True)
            if row != NO_MODEL and client in node_of
        }
        findings = run.algorithm.findings(run.state)
        if isinstance(findings, Clustered):
            out = findings.clients[~findings.standing.counts].tolist()
            result.suspects = {node_of[client] for client in out if client in node_of}
