"""One client of the federation: its data and what it computes from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from tagma.arrays import Array
from tagma.attacks.adversary import goal_of
from tagma.attacks.base import LocalAttack
from tagma.attacks.goal import SUCCESS, Goal
from tagma.client.better_model import clearly_better
from tagma.client.solvers.solution import Solver
from tagma.client.solvers.solver_choice import solver_of
from tagma.client.training import LocalTraining, personalisation_of, training_of
from tagma.errors import FederationError, SettingError
from tagma.exchange import CHOICE, FIT, GRADIENT, HALF, PERSONALISED, PROXIMAL, SMOOTHNESS, TRAIN
from tagma.layout import Named
from tagma.rng import stream
from tagma.settings import Settings
from tagma.tasks.smoothness import smoothness
from tagma.tasks.task import Data, Task, WithBuffers, WithOwnData
from tagma.tasks.task_choice import task_of

Model = tuple[Array, Named]
"""A vector and the buffers beside it."""


@dataclass(frozen=True)
class Answer:
    """What a client sends back."""

    vector: Array
    buffers: Named
    numbers: Mapping[str, float] = field(default_factory=dict)
    """What is reported beside it."""


class LocalClient:
    """Answers the server's requests from its own data."""

    def __init__(
        self,
        number: int,
        task: Task,
        data: Data,
        solve: Solver,
        train: LocalTraining,
        seed: int,
        personalise: LocalTraining | None = None,
        goal: Goal | None = None,
    ) -> None:
        self.number = number
        self.data = data
        self._task = task
        self._solve = solve
        self._train = train
        self._seed = seed
        self._personalise = personalise
        self._goal = goal

    def answer(
        self, work: str, received: Model, round_number: int, settings: Mapping[str, float]
    ) -> Answer:
        """The work that is asked for, on the received model, and the numbers."""
        answer = self._answer(work, received, round_number, settings)
        if settings.get(SMOOTHNESS):
            return replace(answer, numbers={SMOOTHNESS: self._smoothness})
        return answer

    @cached_property
    def _smoothness(self) -> float:
        return smoothness(self._task, self.data)

    def _answer(
        self, work: str, received: Model, round_number: int, settings: Mapping[str, float]
    ) -> Answer:
        model, buffers = received
        if work == FIT:
            solution = self._solve(self._task, self.data)
            return Answer(solution.model, solution.buffers or buffers)
        if work == GRADIENT:
            if buffers and isinstance(self._task, WithBuffers):
                return Answer(*self._task.step(model, buffers, self.data))
            return Answer(self._task.gradient(model, self.data), buffers)
        if work == TRAIN:
            trained = self._train(
                self._task, model, self.data.half(int(settings.get(HALF, 0))),
                stream(self._seed, "training", self.number, round_number),
                proximal=settings.get(PROXIMAL, 0.0), buffers=buffers,
            )  # fmt: skip
            return Answer(trained.model, trained.buffers or {})
        raise FederationError(f"unknown work: {work!r}"[:100])

    def choose(
        self, work: str, models: Sequence[Model], round_number: int, settings: Mapping[str, float]
    ) -> Answer:
        """The same on the model that fits the client's data best, and which that is."""
        best = self.best_of(models)
        answer = self.answer(work, models[best], round_number, settings)
        return replace(answer, numbers={**answer.numbers, CHOICE: best})

    def best_of(self, models: Sequence[Model]) -> int:
        """The model with the least loss on the examples that the client trains on."""
        losses = [self._loss(model) for model in models]
        return int(np.argmin(np.nan_to_num(losses, nan=np.inf, posinf=np.inf)))

    def _loss(self, received: Model) -> float:
        model, buffers = received
        if buffers and isinstance(self._task, WithBuffers):
            return float(self._task.evaluate_with(model, buffers, self.data)["loss"])
        return self._task.loss(model, self.data)

    def used_of(self, models: Sequence[Model], own: int) -> int:
        """The model that the client uses: its own, or one that is clearly better."""
        return model_used(self._task, self.data, models, own)

    def evaluate(self, received: Model, round_number: int) -> dict[str, float]:
        """Every metric of a model on held-out data, and again after steps of the client's own."""
        return {**self._measure(received), **self.personalised(received, round_number)}

    def personalised(self, received: Model, round_number: int) -> dict[str, float]:
        """Every metric after `personalise.steps` steps on the client's training data, if any.

        Nobody is sent the model after them.
        """
        if self._personalise is None:
            return {}
        model, buffers = received
        random = personal_stream(self._seed, self.number, round_number)
        own = self._personalise(self._task, model, self.data, random, buffers=buffers)
        return under_personal_names(self._measure((own.model, own.buffers or {})))

    def _measure(self, received: Model) -> Mapping[str, float]:
        return measured(self._task, self._goal, received, self.number, self._task.test(self.number))


def measured(
    task: Task, goal: Goal | None, received: Model, client: int, data: Data
) -> Mapping[str, float]:
    """Every metric of a model on a client's test data, and how often an attack's goal is met."""
    found = _metrics(task, received, data)
    if goal is None:
        return found
    return {**found, SUCCESS: goal.success(task, *received, client)}


def model_used(task: Task, data: Data, models: Sequence[Model], own: int) -> int:
    """The model that a client with these training examples uses: its own, or a clearly better one.

    The task's first metric decides (`tagma.client.better_model`).
    """
    metric, better = next(iter(task.metrics.items()))
    sign = 1 if better == "low" else -1

    def cost(row: int, examples: Data) -> float:
        return sign * _metrics(task, models[row], examples)[metric]

    return clearly_better(cost, len(models), data, own)


def _metrics(task: Task, received: Model, data: Data) -> Mapping[str, float]:
    model, buffers = received
    if buffers and isinstance(task, WithBuffers):
        return task.evaluate_with(model, buffers, data)
    return task.evaluate(model, data)


def personal_stream(seed: int, client: int, round_number: int) -> np.random.Generator:
    """What the steps of a client's own are drawn from."""
    return stream(seed, "personalisation", client, round_number)


def under_personal_names(measured: Mapping[str, float]) -> dict[str, float]:
    """Metrics after steps of a client's own, as it reports them."""
    return {PERSONALISED + name: value for name, value in measured.items()}


def make_client(
    settings: Settings, number: int, attack: LocalAttack | None = None, data_path: str | None = None
) -> LocalClient:
    """A client with its data, which a local attack may replace; a node may have its own."""
    task = task_of(settings)
    if data_path is not None:
        if not isinstance(task, WithOwnData):
            raise SettingError("data-path", data_path, "is for task=images and task=table")
        task = task.with_data(data_path)
    if attack is None:
        data = task.train(number)
    else:
        data = attack.data(task, number, stream(settings.seed, "attack data", number))
    return LocalClient(
        number, task, data, solver_of(settings), training_of(settings), settings.seed,
        personalisation_of(settings), goal_of(settings),
    )  # fmt: skip
