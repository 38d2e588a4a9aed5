"""One client of the federation: its data and what it computes from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tagma.arrays import Array
from tagma.attacks.base import LocalAttack
from tagma.client.solvers.solution import Solver
from tagma.client.solvers.solver_choice import solver_of
from tagma.client.training import LocalTraining, training_of
from tagma.errors import FederationError
from tagma.exchange import CHOICE, FIT, GRADIENT, PROXIMAL, TRAIN
from tagma.layout import Named
from tagma.rng import stream
from tagma.settings import Settings
from tagma.tasks.task import Data, Task, WithBuffers
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
        self, number: int, task: Task, data: Data, solve: Solver, train: LocalTraining, seed: int
    ) -> None:
        self.number = number
        self.data = data
        self._task = task
        self._solve = solve
        self._train = train
        self._seed = seed

    def answer(
        self, work: str, models: Sequence[Model], round_number: int, settings: Mapping[str, float]
    ) -> Answer:
        """The work that is asked for; of several models, on the one that fits the data best."""
        if len(models) == 1:
            return self._work(work, models[0], round_number, settings)
        losses = [self.evaluate(model, self.data)["loss"] for model in models]
        best = losses.index(min(losses))
        answer = self._work(work, models[best], round_number, settings)
        return Answer(answer.vector, answer.buffers, {CHOICE: best})

    def _work(
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
                self._task, model, self.data,
                stream(self._seed, "training", self.number, round_number),
                proximal=settings.get(PROXIMAL, 0.0), buffers=buffers,
            )  # fmt: skip
            return Answer(trained.model, trained.buffers or {})
        raise FederationError(f"unknown work: {work!r}"[:100])

    def evaluate(self, received: Model, data: Data | None = None) -> Mapping[str, float]:
        """Every metric of a model, on held-out data unless others are given."""
        model, buffers = received
        data = self._task.test(self.number) if data is None else data
        if buffers and isinstance(self._task, WithBuffers):
            return self._task.evaluate_with(model, buffers, data)
        return self._task.evaluate(model, data)


def make_client(settings: Settings, number: int, attack: LocalAttack | None = None) -> LocalClient:
    """A client with its data, which a local attack may replace."""
    task = task_of(settings)
    if attack is None:
        data = task.train(number)
    else:
        data = attack.data(task, number, stream(settings.seed, "attack data", number))
    return LocalClient(
        number, task, data, solver_of(settings), training_of(settings), settings.seed
    )
