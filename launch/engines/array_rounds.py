"""Rounds on arrays: a run of any algorithm with no messages between server and clients.

All clients are there from the beginning and stay, so nobody has to be asked who it is: a client's
number is its node. Replies that are not usable are dropped and counted as everywhere.
"""

from functools import partial
from time import perf_counter

import numpy as np

from tagma.attacks.collusion import Collusion
from tagma.client.stacked_clients import StackedClients
from tagma.exchange import Replies, Request
from tagma.server.patience import until_enough
from tagma.server.rounds import RoundsPlan
from tagma.strategies.algorithm_run import (
    AlgorithmRun,
    bytes_down,
    check_alike,
    log_failures,
)
from tagma.strategies.algorithms.algorithm import S
from tagma.strategies.replies import ERROR, NO_REPLY, Rejection, check_arrays
from tagma.strategies.round_outcome import Round

_FIRST = 1


class ArrayRun(AlgorithmRun[S]):
    """An algorithm whose clients answer all at once."""

    def play(self, clients: StackedClients, plan: RoundsPlan) -> None:
        """Play the rounds of the plan."""
        for number in range(plan.first, plan.last + 1):
            self.outcome.let_go()
            self.outcome = Round(number)
            self._begin(number, clients.count)
            until_enough(self, partial(self._exchange, number, clients, plan.collusion), 0)
            if plan.evaluates(number):
                self._evaluate(clients)
            plan.on_round(self.outcome)

    def _begin(self, number: int, count: int) -> None:
        """Who has not said anything usable yet may try again, unless it needs a place for that."""
        known = self.clients.joined
        if number == _FIRST:
            if self.sampling < 1:  # to be drawn from, they say who they are first
                known |= dict.fromkeys(range(count), _FIRST)
                self._introduced(count)
        elif len(known) < count and not self.needs_places():
            newcomers = sorted(set(range(count)) - known.keys())
            known |= dict.fromkeys(newcomers, number)
            self.outcome.joined += newcomers
            self._introduced(len(newcomers))

    def _introduced(self, count: int) -> None:
        """So many clients were asked who they are, and said it."""
        outcome = self.outcome
        outcome.sent += count
        outcome.asked += count
        outcome.introduced += count

    def _exchange(self, number: int, clients: StackedClients, collusion: Collusion | None) -> None:
        outcome, started = self.outcome, perf_counter()
        known = self.clients.numbers
        asked = self.draw(number, known)[0] if len(known) else np.arange(clients.count)
        request = self.algorithm.ask(self.state, number, asked)
        if not len(known):
            check_alike(request, len(asked))
        self._count(request)
        outcome.work = request.work
        answers = clients.answer(number, request, lambda row: self.buffers_sent(request, row))
        away = self.away(number).intersection(request.clients.tolist())
        answers.failures |= dict.fromkeys(away, (NO_REPLY, ""))
        came, failed = answers.replies_that_came, answers.failures
        replies, dropped = check_arrays(came, request.expects, answers.buffers)
        if collusion is not None:
            forged = collusion(number, request, self.with_reference(request, replies))
            replies, in_vain = check_arrays(forged, request.expects, answers.buffers)
            dropped += in_vain
        rejections = [Rejection(c, reason, c, detail) for c, (reason, detail) in failed.items()]
        rejections += [Rejection(c, reason, c) for c, reason in dropped]
        log_failures(number, rejections)
        outcome.bytes_up += len(replies) * self.layout.nbytes
        answered_at = perf_counter()
        outcome.exchange_seconds += answered_at - started
        expected = self.expected(number, request)
        self.check_answers(request, len(replies), rejections, expected)
        outcome.asked += len(request.clients)
        outcome.rejected += sorted((r.node, r.reason) for r in rejections)
        if number == _FIRST:
            self._first(replies, rejections)
        self.learn(request, replies, answers.buffers)
        self.conclude()
        outcome.aggregation_seconds += perf_counter() - answered_at

    def _first(self, replies: Replies, rejections: list[Rejection]) -> None:
        for rejection in rejections:
            self.clients.joined.pop(rejection.node, None)
        self.clients.joined |= dict.fromkeys(replies.clients.tolist(), _FIRST)

    def _evaluate(self, clients: StackedClients) -> None:
        started = perf_counter()
        request = self.to_evaluate(self.clients.numbers)
        self._count(request)
        outcome = self.outcome
        found = clients.evaluate(outcome.number, request, self.buffers_of)
        outcome.evaluations = found
        outcome.evaluations_asked = len(request.clients)
        outcome.evaluations_rejected = [
            (client, ERROR) for client in request.clients.tolist() if client not in found
        ]
        outcome.evaluation_seconds = perf_counter() - started

    def _count(self, request: Request) -> None:
        self.outcome.sent += len(request.clients)
        self.outcome.bytes_down += bytes_down(request, self.layout.nbytes)
