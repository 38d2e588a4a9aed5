"""One algorithm in the middle of a run: its state, whom a round asks, and what it brought.

Everything that does not depend on how requests and replies travel is here, once for the Flower
Strategy (`tagma.strategies.flower`) and for the vectorised engine: sampling, the quorum, buffers,
and the summary of a round.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Generic

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.counts import ceil_of
from tagma.errors import FederationError
from tagma.exchange import CHOICE, EVALUATE, FIT, INTRODUCE, NO_MODEL, Replies, Request
from tagma.layout import Layout, Named
from tagma.plain_state import locked
from tagma.strategies.aggregation.rule_verdicts import watching
from tagma.strategies.algorithm_check import CheckedAlgorithm
from tagma.strategies.algorithms.algorithm import Algorithm, S
from tagma.strategies.client_identity import Clients
from tagma.strategies.model_buffers import joined_buffers, moved_buffers
from tagma.strategies.quorum import TooFewAnswers, check_quorum, enough_replies
from tagma.strategies.replies import NOT_FINITE, Rejection
from tagma.strategies.round_outcome import Round
from tagma.strategies.sampling import sample

_log = logging.getLogger("tagma.strategies")
_FIRST = 1
_NAMED = 10
_WANTED = {FIT: "local models", INTRODUCE: "introductions"}


ServerAnswers = Callable[[str, Sequence[tuple[Array, Named]], int, Mapping[str, float]], Array]
"""What the server's own data answer: from work, models with their buffers, round and settings to a
vector for each model."""


class AlgorithmRun(Generic[S]):
    """An algorithm, whose answers are checked, and where it is.

    `initial` are the named arrays of the model that everything starts from. `sampling` is the
    share of every model's clients that is asked in a round, `quorum` the share of those that should
    answer without whose answers the round does not count. A model with fewer than `min_replies`
    usable replies stays as it is. `own_data` answers from data of the server's own, if it has some.
    With `choose` clients try all models, to use another than their own where it is clearly better.
    """

    def __init__(
        self,
        algorithm: Algorithm[S],
        initial: Named,
        *,
        layout: Layout | None = None,
        min_replies: int = 1,
        quorum: float = 0.5,
        sampling: float = 1.0,
        seed: int = 0,
        own_data: ServerAnswers | None = None,
        away: Callable[[int], frozenset[int]] = lambda number: frozenset(),
        choose: bool = False,
    ) -> None:
        self.layout = layout or Layout.of(initial)
        self.algorithm: Algorithm[S] = CheckedAlgorithm(algorithm, self.layout)
        self.initial = self.layout.vector(initial)
        self.first_state: S = self.algorithm.start(self.initial)
        self.state = self.first_state
        self.clients = Clients()
        self.first_buffers: Named = {b.name: initial[b.name] for b in self.layout.buffers}
        self.buffers: list[Named] = [self.first_buffers]
        """Those of every model; one that has none yet begins with the first ones."""
        self.outcome = Round(0)
        """What the present round, or the last one, brought."""
        self.sampling = sampling
        self.asks_all = False
        """Whether a sample brought too few answers, so that all clients are asked instead."""
        self.quorum = quorum
        self._min_replies = min_replies
        self._seed = seed
        self._own_data = own_data
        self._choose = choose
        self.away = away
        """Who does not answer in a round, by a schedule."""
        self._here = self.most = 0
        """So many clients that take part are there, and were there at once."""
        self._referred: tuple[int, Array | None, Array | None] = 0, None, None
        """Of the last request: its round and models, and what the server's own data answered."""

    def resume(self, state: S, joined: Mapping[int, int], buffers: list[Named], most: int) -> None:
        """Go on from a state; `joined` maps the clients to the rounds in which they came.

        So many that take part were there at `most`.
        """
        self.state = locked(state)
        self.clients.joined = dict(joined)
        self.buffers = buffers
        self.most = most

    def draw(self, round_number: int, present: Labels) -> tuple[Labels, Labels]:
        """The clients that a round asks, of those that are there, and those that are away."""
        known = self.clients.numbers
        _, which = self.algorithm.serve(self.state, known)
        there = np.isin(known, present)
        self._note_members(which[there])
        away = known[(which != NO_MODEL) & ~there]
        if not self.samples(round_number):
            return present, away
        return sample(present, which[there], self.sampling, self._seed, round_number), away

    def _note_members(self, which: Labels) -> None:
        """Remember how many clients, who get these models, are there, if that was the most."""
        self._here = int(self._are_members(which).sum())
        self.most = max(self.most, self._here)

    def _are_members(self, which: Labels) -> Mask:
        """Who takes part: not those that wait for a model without being asked for anything."""
        has = which != NO_MODEL
        return has if has.all() or self.needs_places() else np.ones_like(has)

    def samples(self, round_number: int) -> bool:
        """Whether only a part of the clients is asked in this round."""
        if self.sampling >= 1 or self.asks_all:
            return False
        return not self.algorithm.everyone(self.state, round_number)

    def expected(self, round_number: int, request: Request) -> int:
        """How many should answer: as many as if nobody were missing, but those away by a schedule.

        In round 1 nobody is known yet.
        """
        if round_number == _FIRST:
            return len(request.clients)
        asked = len(request.clients)
        if away := self.away(round_number):
            asked -= len(away.intersection(request.clients.tolist()))
        return self.of_all(asked, self._here)

    def of_all(self, asked: int, here: int) -> int:
        """How many would be asked if nobody were missing, where so many of those here are.

        Not all who ever came are missed, but as many as were there at once: a client that comes
        back may not be recognised, and is another one then.
        """
        return ceil_of(asked / here, self.most) if here else self.most

    def check_answers(
        self,
        request: Request,
        usable: int,
        rejections: Sequence[Rejection],
        expected: int,
    ) -> None:
        """Raise `TooFewAnswers` if a round's replies are too few for it to count."""
        number = self.outcome.number
        answered = usable + sum(rejection.reason == NOT_FINITE for rejection in rejections)
        if number == _FIRST and not usable:  # nothing to begin with
            answered, expected = 0, max(1, expected)
        what = f"round {number}: usable {_WANTED.get(request.work, 'updates')}"
        self._apply_quorum(
            what, answered, expected, rejections,
            in_vain=usable, sampled=self.samples(number), first=number == _FIRST,
        )  # fmt: skip

    def check_evaluation(self, answered: set[int], rejections: Sequence[Rejection]) -> None:
        """The same of an evaluation, where any answer will do; of those who take part."""
        outcome = self.outcome
        members = set(outcome.clients[self._are_members(outcome.which)].tolist())
        counted, what = len(members & answered), f"round {outcome.number}: evaluations"
        self._apply_quorum(what, counted, self.most, rejections, in_vain=counted)

    def _apply_quorum(
        self,
        what: str,
        answered: int,
        expected: int,
        rejections: Sequence[Rejection],
        *,
        in_vain: int,
        **of_round: bool,
    ) -> None:
        try:
            check_quorum(self.quorum, what, answered, expected, rejections, **of_round)
        except TooFewAnswers:
            self.outcome.repeats += 1
            self.outcome.unused += in_vain
            raise

    def to_evaluate(self, present: Labels) -> Request:
        """Every client that is there is to try its model, or the initial one if it has none.

        Where clients may choose, it is to try all, and to leave its own for a clearly better one.
        """
        models, which = self.algorithm.serve(self.state, present)
        if self._choose and len(models) > 1:
            return Request(EVALUATE, present, models, None, own=which)
        if NO_MODEL in which:
            which = np.where(which == NO_MODEL, len(models), which)
            models = np.vstack([models, self.initial])
        return Request(EVALUATE, present, models, which)

    def needs_places(self) -> bool:
        """Whether clients need a place before they can take part."""
        return self.algorithm.introduce(self.state, self.clients.numbers[:0]) is not None

    def learn(self, request: Request, replies: Replies, buffers: Mapping[int, Named]) -> None:
        """Let the algorithm learn from usable replies; `buffers` are those that clients sent."""
        replies = self.with_reference(request, replies)
        self.outcome.replies = replies
        counts = np.ones(len(replies), dtype=bool)
        models, members = self.algorithm.serve(self.state, self.clients.numbers)
        if request.which is None:
            rows = members = replies.extras.get(CHOICE, np.zeros(len(replies))).astype(np.int64)
        else:
            rows = request.rows(replies.clients)
        served = request.models is models or np.array_equal(request.models[: len(models)], models)
        if served and (request.which is None or np.isin(request.which, members).any()):
            # What was sent is what is served, and maybe more: a model without enough replies stays.
            counts, self.outcome.kept = enough_replies(rows, members, self._min_replies)
        if kept := self.outcome.kept:
            some = ", ".join(map(str, kept[:_NAMED])) + (", ..." if len(kept) > _NAMED else "")
            _log.warning("round %d: too few replies, models kept: %s", self.outcome.number, some)
        if counts.any():
            counting = replies.only(counts)
            before = self.state
            with watching() as verdicts:
                self.state = self.algorithm.learn(before, request, counting)
            self.outcome.judged = verdicts.judged
            counted = self.algorithm.counted(before, self.state, counting.clients)
            self.outcome.left_out = verdicts.left_out(counting.clients, counted)
            self.outcome.answered = counting.clients
            if self.layout.buffers:
                self._move_buffers(before)
                self._join_buffers(before, request, counting.clients, buffers)

    def admit(self, newcomers: Replies) -> None:
        """Give newcomers their place; the buffers of models whose rows move go with them."""
        before = self.state
        self.state = self.algorithm.admit(before, self.outcome.number, newcomers)
        if self.layout.buffers:
            self._move_buffers(before)

    def with_reference(self, request: Request, replies: Replies) -> Replies:
        """The replies with what the server's own data answer to the same request, if it has some.

        Local models are none of it. It is computed once, also for who tries replies out.
        """
        if self._own_data is None or request.work == FIT:
            return replies
        number, models = self.outcome.number, request.models
        if self._referred[0] != number or self._referred[1] is not models:
            sent = [(model, self.buffers_sent(request, k)) for k, model in enumerate(models)]
            found = self._own_data(request.work, sent, number, request.settings)
            found = found.astype(self.layout.dtype, copy=False)
            self._referred = number, models, found if np.isfinite(found).all() else None
        return replace(replies, reference=self._referred[2])

    def conclude(self) -> None:
        """Sum the round up: who gets which model now."""
        outcome = self.outcome
        outcome.state = self.state
        outcome.clients = self.clients.numbers
        outcome.models, outcome.which = self.algorithm.serve(self.state, outcome.clients)
        if outcome.number == _FIRST:
            self._note_members(outcome.which)

    def buffers_of(self, model: int) -> Named:
        """The buffers of one model."""
        return self.buffers[model] if model < len(self.buffers) else self.first_buffers

    def buffers_sent(self, request: Request, row: int) -> Named:
        """The buffers that go with a row of a request; local models begin with the first ones."""
        return self.first_buffers if request.work == FIT else self.buffers_of(row)

    def _move_buffers(self, before: S) -> None:
        known = self.clients.numbers
        _, old = self.algorithm.serve(before, known)
        models, new = self.algorithm.serve(self.state, known)
        self.buffers = moved_buffers(self.buffers, self.first_buffers, old, new, len(models))

    def _join_buffers(
        self, before: S, request: Request, clients: Labels, sent: Mapping[int, Named]
    ) -> None:
        """To the model that was trained; if the client has another now, to that one."""
        clients = clients[self.algorithm.counted(before, self.state, clients)]
        models, old = self.algorithm.serve(before, clients)
        _, which = self.algorithm.serve(self.state, clients)
        if request.which is not None and len(request.models) == len(models):
            which = np.where(which == old, request.rows(clients), which)
        self.buffers = joined_buffers(self.buffers, [sent[c] for c in clients.tolist()], which)


def bytes_down(request: Request, nbytes: int) -> int:
    """The bytes of the models that a request sends, at `nbytes` a model."""
    if request.which is None:
        return len(request.clients) * len(request.models) * nbytes
    return int((request.which != NO_MODEL).sum()) * nbytes


def check_alike(request: Request, count: int) -> None:
    """In round 1 nobody has a number yet, so that nobody can be singled out."""
    alike = request.which is None or (len(np.unique(request.which)) <= 1)
    if len(request.clients) != count or not alike:
        raise FederationError(
            "strategy: in round 1 `ask` must ask all clients alike; their numbers come with their "
            "replies"
        )


def log_failures(round_number: int, rejections: Sequence[Rejection]) -> None:
    """Say what the first clients that failed say themselves."""
    for rejection in rejections[:3]:
        if rejection.detail:
            _log.warning("round %d: a client failed: %s", round_number, rejection.detail)
