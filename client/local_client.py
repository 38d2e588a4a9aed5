"""One client of the federation: its data and what it computes from them."""

from tagma.arrays import Array
from tagma.attacks.base import LocalAttack
from tagma.client.solvers.solution import Solver
from tagma.client.solvers.solver_choice import solver_of
from tagma.plugins import build
from tagma.rng import stream
from tagma.settings import Settings
from tagma.strategies.algorithms.optimiser import LocalSteps, Optimiser
from tagma.tasks.task import Data, Task
from tagma.tasks.task_choice import task_of


class LocalClient:
    """Answers the server's instructions from its own data."""

    def __init__(
        self, number: int, task: Task, data: Data, solve: Solver, optimiser: Optimiser
    ) -> None:
        self.number = number
        self.data = data
        self._task = task
        self._solve = solve
        self._optimiser = optimiser

    def local_model(self) -> Array:
        """Stage I: the minimiser of the local risk."""
        return self._solve(self._task, self.data).model

    def gradient(self, model: Array) -> Array:
        """Stage III, gradient mode: the gradient of the local risk."""
        return self._task.gradient(model, self.data)

    def local(self, model: Array) -> Array:
        """Stage III, local mode: the model after some gradient steps."""
        if not isinstance(self._optimiser, LocalSteps):
            raise TypeError("local steps were asked for, but optimiser=local is not set")
        for _ in range(self._optimiser.local_steps):
            model = model - self._optimiser.step * self._task.gradient(model, self.data)
        return model

    def loss(self, model: Array) -> float:
        """The loss on held-out data."""
        return self._task.loss(model, self._task.test(self.number))


def make_client(settings: Settings, number: int, attack: LocalAttack | None = None) -> LocalClient:
    """A client with its data, which a local attack may replace."""
    task = task_of(settings)
    if attack is None:
        data = task.train(number)
    else:
        data = attack.data(task, number, stream(settings.seed, "attack data", number))
    optimiser = build("optimiser", settings.choice("optimiser"))
    return LocalClient(number, task, data, solver_of(settings), optimiser)
