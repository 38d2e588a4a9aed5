"""All clients of a run at once: what they answer to a request, as arrays.

Each client computes what `tagma.client.local_client` would, from the same data and random streams;
only the arithmetic is that of many clients together. A task that cannot be stacked, or whose model
has buffers, is computed client by client. Local attacks change the data and updates of their
clients here; omniscient ones come later, when all replies are there.
"""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from tagma.arrays import Array, Labels
from tagma.attacks.adversary import adversary_of, goal_of
from tagma.attacks.base import LocalAttack
from tagma.attacks.local_forgery import Failure, LocalForgers, Sent, failure_of
from tagma.client.local_client import (
    Answer,
    LocalClient,
    Model,
    make_client,
    measured,
    model_used,
    personal_stream,
    under_personal_names,
)
from tagma.client.population import Population, population_of
from tagma.client.solvers.sgd import sgd, sgd_stream, sgd_training
from tagma.client.solvers.solver_choice import solver_of
from tagma.client.stacked_examples import StackedExamples
from tagma.client.stacked_training import train_stack
from tagma.client.training import LocalTraining, personalisation_of, training_of
from tagma.errors import FederationError
from tagma.exchange import (
    CHOICE,
    FIT,
    GRADIENT,
    HALF,
    NO_MODEL,
    PROXIMAL,
    SMOOTHNESS,
    TRAIN,
    Replies,
    Request,
)
from tagma.layout import Named
from tagma.rng import stream
from tagma.settings import Settings
from tagma.step_size import AUTO, step_of
from tagma.strategies.replies import usable_metrics
from tagma.tasks.stack import Stackable, is_stackable
from tagma.tasks.task import Data, layout_of

_log = logging.getLogger("tagma")
_TOGETHER = 2**22
"""Bytes of models that are trained together: more leave the processor's cache."""

_NUMBERS = (CHOICE, SMOOTHNESS)
"""What clients may report beside their updates."""

Buffers = Callable[[int], Named]
"""From the row of a model to its buffers."""

_Received = tuple[Array, Labels]
"""Models, and which of them each client begins with."""


@dataclass
class Answers:
    """What all clients that were asked send, good or bad, in ascending order."""

    replies: Replies
    chosen: Labels
    """The row of the model that each went on with, shape (m,)."""
    buffers: dict[int, Named] = field(default_factory=dict)
    """By client, where a model has some."""
    failures: dict[int, Failure] = field(default_factory=dict)
    """Clients that have no reply, whatever is in their rows."""

    @property
    def replies_that_came(self) -> Replies:
        """Those of clients that did not fail."""
        if not self.failures:
            return self.replies
        return self.replies.only(~np.isin(self.replies.clients, list(self.failures)))


@dataclass(frozen=True)
class _Part:
    """Some of the clients that were asked: their rows, numbers, places in a chunk and examples."""

    chunk: int
    rows: slice
    clients: Labels
    places: Labels
    examples: StackedExamples


class StackedClients:
    """The clients of one run."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._population: Population = population_of(settings)
        self._task = self._population.task
        self._layout = layout_of(self._task)
        self._adversary = adversary_of(settings)
        self._goal = goal_of(settings)
        self._solve = solver_of(settings)
        self._train = training_of(settings)
        self._personalise = personalisation_of(settings)
        self._alone = not is_stackable(self._task) or bool(self._layout.buffers)
        self._seed = settings.seed
        self._solver = json.dumps(settings.choice("solver"), default=str)
        self._replaced: dict[int, tuple[Any, StackedExamples]] = {}
        self._forged: dict[tuple[int, int], Data] = {}
        self._broken: dict[tuple[int, int], Failure] = {}
        """Clients whose attacks have no data that a model takes."""
        self._forge = LocalForgers(self._adversary, settings.seed)
        self._single: dict[tuple[int, int], LocalClient] = {}

    @property
    def count(self) -> int:
        """How many there are."""
        return self._task.clients

    def answer(self, round_number: int, request: Request, buffers: Buffers) -> Answers:
        """The answers of all clients that are asked; Byzantine ones forge theirs."""
        if request.work not in (FIT, GRADIENT, TRAIN):
            raise FederationError(f"unknown work: {request.work!r}"[:100])
        if self._alone:
            answers = self._one_by_one(round_number, request, buffers)
        else:
            answers = self._together(round_number, request)

        def answer_to(client: int, row: int) -> Sent:
            alone, received = self._client(client, round_number), request.models[row]
            answer = alone.answer(
                request.work, (received, buffers(row)), round_number, request.settings
            )
            return Sent(answer.vector, {}, answer.buffers)

        answers.failures |= self._forge(
            round_number, request, answers.replies, answers.chosen, answers.buffers, answer_to
        )
        for client in request.clients.tolist() if self._broken else ():
            if failure := self._broken.get((client, id(self._data_attack(client, round_number)))):
                answers.failures[client] = failure
        return answers

    def evaluate(
        self, round_number: int, request: Request, buffers: Buffers
    ) -> dict[int, dict[str, float]]:
        """What every client measures with its model; equal models on the same data only once.

        A client that fails is not among them. Of several models it measures the one that it uses,
        and says which.
        """
        if request.which is None:
            used = self._used_of(round_number, request, buffers)
            told = self.evaluate(round_number, replace(request, which=used), buffers)
            row_of = dict(zip(request.clients.tolist(), used.tolist(), strict=True))
            return {client: {**own, CHOICE: float(row_of[client])} for client, own in told.items()}
        found: dict[int, dict[str, float]] = {}
        known: dict[tuple[int, int], dict[str, float] | None] = {}
        for client, row in zip(request.clients.tolist(), request.which.tolist(), strict=True):
            data = self._population.test(client)
            key = row, id(data) if self._population.small else client
            if key not in known:
                known[key] = None
                with suppress(Exception):  # a client may fail in any way
                    received = request.models[row], buffers(row)
                    known[key] = usable_metrics(self._measure(received, client, data))
            if (own := known[key]) is not None:
                found[client] = own
        if self._personalise is None:
            return found
        personal = self._personalised(round_number, request, buffers)
        return {
            client: found[client] | usable_metrics(own)
            for client, own in personal if client in found
        }  # fmt: skip

    def _used_of(self, round_number: int, request: Request, buffers: Buffers) -> Labels:
        """The model of each client, or one that is clearly better on its examples."""
        found = np.zeros(len(request.clients), dtype=np.int64)
        own = np.full_like(found, NO_MODEL) if request.own is None else request.own
        models = [(model, buffers(row)) for row, model in enumerate(request.models)]
        for part in self._parts(round_number, request.clients):
            for place, data in enumerate(part.examples.data, start=part.rows.start):
                with suppress(Exception):  # a client may fail in any way
                    found[place] = model_used(self._task, data, models, int(own[place]))
        return found

    def _personalised(
        self, round_number: int, request: Request, buffers: Buffers
    ) -> Iterator[tuple[int, Mapping[str, float]]]:
        """What clients measure after steps of their own from their models."""
        assert request.which is not None
        assert self._personalise is not None
        if self._alone:
            for client, row in zip(request.clients.tolist(), request.which.tolist(), strict=True):
                with suppress(Exception):  # a client may fail in any way
                    alone, received = self._client(client, round_number), request.models[row]
                    yield client, alone.personalised((received, buffers(row)), round_number)
            return
        for part in self._parts(round_number, request.clients):
            clients, received = part.clients.tolist(), (request.models, request.which[part.rows])
            randoms = [personal_stream(self._seed, c, round_number) for c in clients]
            models = np.empty((len(clients), request.models.shape[1]), request.models.dtype)
            self._trained(self._personalise, part.examples, received, randoms, into=models)
            for client, model in zip(clients, models, strict=True):
                with suppress(Exception):
                    own = self._measure((model, {}), client, self._population.test(client))
                    yield client, under_personal_names(own)

    def _measure(self, received: Model, client: int, data: Data) -> Mapping[str, float]:
        return measured(self._task, self._goal, received, client, data)

    def _together(self, round_number: int, request: Request) -> Answers:
        clients, (_, d) = request.clients, request.models.shape
        vectors = np.empty((len(clients), d), self._layout.dtype)
        counts = np.empty(len(clients), dtype=np.int64)
        chosen = np.empty(len(clients), dtype=np.int64)
        steep = np.full(len(clients), np.nan)
        for part in self._parts(round_number, clients):
            rows, examples = part.rows, part.examples
            counts[rows] = examples.counts
            if request.which is None:
                chosen[rows] = _choices(examples, request.models)
            else:
                chosen[rows] = request.which[rows]
            if request.settings.get(SMOOTHNESS):
                steep[rows] = examples.smoothness
            if request.work == FIT:
                vectors[rows] = self._local_models(part.chunk, round_number)[part.places]
            else:
                received = request.models, chosen[rows]
                self._update(round_number, request, part, received, into=vectors[rows])
        told = {SMOOTHNESS: steep, **({CHOICE: chosen} if request.which is None else {})}
        replies = Replies(clients, vectors, counts, _extras(request, told))
        return Answers(replies, chosen)

    def _parts(self, round_number: int, clients: Labels) -> Iterator[_Part]:
        """Those of the clients in each chunk that has some."""
        for chunk, members in enumerate(self._population.chunks):
            rows = slice(*np.searchsorted(clients, [members[0], members[-1] + 1]))
            places = clients[rows] - members[0]
            if len(places):
                examples = self._examples(chunk, round_number).only(places)
                yield _Part(chunk, rows, clients[rows], places, examples)

    def _update(
        self, round_number: int, request: Request, part: _Part, received: _Received, into: Array
    ) -> None:
        if request.work == GRADIENT:
            models, which = received
            into[:] = part.examples.gradients(models[which])
            return
        clients = part.clients.tolist()
        randoms = [stream(self._seed, "training", c, round_number) for c in clients]
        proximal = request.settings.get(PROXIMAL, 0.0)
        examples = part.examples
        if half := int(request.settings.get(HALF, 0)):
            halves = [data.half(half) for data in examples.data]
            examples = StackedExamples(cast(Stackable, self._task), halves)
        self._trained(self._train, examples, received, randoms, into, proximal)

    def _trained(
        self,
        training: LocalTraining,
        examples: StackedExamples,
        received: _Received,
        randoms: Sequence[np.random.Generator],
        into: Array,
        proximal: float = 0.0,
    ) -> Array:
        """Every client's model after local training; who diverges ends as it would alone."""
        (models, which), diverged = received, np.zeros(len(into), dtype=bool)
        states = [random.bit_generator.state for random in randoms]
        size = max(1, _TOGETHER // models[0].nbytes)
        for first in range(0, len(into), size):
            rows = slice(first, first + size)
            own = examples.only(rows)
            into[rows] = models[which[rows]]
            diverged[rows] = train_stack(
                training, own.gradients, into[rows], own.counts, randoms[rows],
                _first_rates(training, own), proximal=proximal,
            )  # fmt: skip
        for row in np.flatnonzero(diverged).tolist():
            randoms[row].bit_generator.state = states[row]
            alone = training(
                self._task, models[which[row]], examples.data[row], randoms[row], proximal=proximal
            )
            into[row] = alone.model
        return into

    def _local_models(self, chunk: int, round_number: int) -> Array:
        """Stage I for a chunk; honest data are solved once for all runs of the population."""
        honest = self._population.local_models(
            self._solver, chunk, lambda: self._solved(self._population.examples(chunk))
        )
        changed = self._changed_data(chunk, round_number)
        if not changed:
            return honest
        models = honest.copy()
        for row, data in changed.items():
            models[row] = self._solved_alone(data)
        return models

    def _solved_alone(self, data: Data) -> Array:
        """A local model; not a number where the solver fails."""
        try:
            return self._solve(self._task, data).model
        except (Exception, SystemExit) as problem:  # a client may fail in any way
            _log.warning("a client failed: %s", failure_of(problem)[1])
            return np.full(self._layout.size, np.nan, self._layout.dtype)

    def _solved(self, examples: StackedExamples) -> Array:
        if getattr(self._solve, "func", None) is not sgd:
            return np.array([self._solved_alone(data) for data in examples.data])
        settings = dict(self._solve.keywords)  # type: ignore[attr-defined]
        seed = settings.pop("seed")
        start = self._layout.vector(self._task.initial())
        received = start[None], np.zeros(len(examples), dtype=np.int64)
        randoms = [sgd_stream(seed, data) for data in examples.data]
        models = np.empty((len(examples), len(start)), start.dtype)
        return self._trained(sgd_training(**settings), examples, received, randoms, into=models)

    def _examples(self, chunk: int, round_number: int) -> StackedExamples:
        """The data of a chunk, with those that Byzantine clients have changed in this round."""
        changed = self._changed_data(chunk, round_number)
        if not changed:
            return self._population.examples(chunk)
        key = tuple(sorted((row, id(data)) for row, data in changed.items()))
        known, examples = self._replaced.get(chunk, (None, None))
        if examples is None or known != key:
            examples = self._population.examples(chunk).replaced(changed)
            if self._population.keeps:
                self._replaced[chunk] = key, examples
        return examples

    def _changed_data(self, chunk: int, round_number: int) -> dict[int, Data]:
        members = self._population.chunks[chunk]
        changed = {}
        for client in members[self._adversary.byzantine[members]].tolist():
            if attack := self._data_attack(client, round_number):
                changed[client - int(members[0])] = self._forged_data(client, attack)
        return changed

    def _data_attack(self, client: int, round_number: int) -> LocalAttack | None:
        """The attack that gives a client other data in a round."""
        squad = self._adversary.squad_of(client)
        attack = None if squad is None else squad.local_in(round_number)
        changes = attack is not None and type(attack).data is not LocalAttack.data
        return attack if changes else None

    def _forged_data(self, client: int, attack: LocalAttack) -> Data:
        key = client, id(attack)
        data = self._forged.get(key)
        if data is None:
            random = stream(self._seed, "attack data", client)
            data = honest = self._task.train(client)
            try:
                data = attack.data(self._task, client, random)
                if data.inputs.shape[1:] != honest.inputs.shape[1:]:
                    raise ValueError("other inputs than the model takes")
            except (Exception, SystemExit) as problem:  # a client may fail in any way
                data = Data(honest.inputs[:0], honest.targets[:0])
                self._broken[key] = failure_of(problem)
            if self._population.keeps:
                self._forged[key] = data
        return data

    def _one_by_one(self, round_number: int, request: Request, buffers: Buffers) -> Answers:
        """Each client by itself, where nothing can be stacked."""
        answers, examples, chosen, failures = [], [], [], {}
        work, settings = request.work, request.settings
        every = [(model, buffers(row)) for row, model in enumerate(request.models)]
        for place, number in enumerate(request.clients.tolist()):
            client = self._client(number, round_number)
            examples.append(len(client.data))
            row = 0 if request.which is None else int(request.which[place])
            try:
                if request.which is None:
                    answer = client.choose(work, every, round_number, settings)
                    row = int(answer.numbers[CHOICE])
                else:
                    answer = client.answer(work, every[row], round_number, settings)
            except (Exception, SystemExit) as problem:  # a client may fail in any way
                answer = Answer(*every[row])
                failures[number] = failure_of(problem)
            answers.append(answer)
            chosen.append(row)
        rows = np.array(chosen, dtype=np.int64)
        vectors = np.array([answer.vector for answer in answers], self._layout.dtype)
        replies = Replies(
            request.clients,
            vectors.reshape(len(answers), self._layout.size),
            np.array(examples, dtype=np.int64),
            _extras(request, {n: [a.numbers.get(n, np.nan) for a in answers] for n in _NUMBERS}),
        )
        own = zip(request.clients.tolist(), (answer.buffers for answer in answers), strict=True)
        return Answers(replies, rows, {client: sent for client, sent in own if sent}, failures)

    def _client(self, number: int, round_number: int) -> LocalClient:
        attack = self._data_attack(number, round_number)
        key = number, id(attack)
        client = self._single.get(key) or make_client(self._settings, number, attack)
        if self._population.keeps:
            self._single[key] = client
        return client


def _choices(examples: StackedExamples, models: Array) -> Labels:
    """The model with the least loss on each client's data."""
    shape = len(examples), models.shape[1]
    losses = np.array([examples.losses(np.broadcast_to(model, shape)) for model in models])
    return np.nan_to_num(losses, nan=np.inf, posinf=np.inf).argmin(axis=0)


def _first_rates(training: LocalTraining, examples: StackedExamples) -> list[float]:
    """The learning rate of every client in the first epoch."""
    if training.learning_rate == AUTO:
        return [step_of([known]) for known in examples.smoothness.tolist()]
    return [training.learning_rate] * len(examples)


def _extras(request: Request, told: Mapping[str, Sequence[float] | Array]) -> dict[str, Array]:
    """What clients report beside their updates, as far as it is expected."""
    nothing = np.full(len(request.clients), np.nan)
    return {name: np.array(told.get(name, nothing), np.float64) for name in request.expects}
