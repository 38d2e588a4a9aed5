"""The solver that the settings choose."""

from inspect import isclass
from typing import get_type_hints

from tagma.client.solvers.solution import Solver
from tagma.errors import SettingError
from tagma.plugins import TARGET, build, locate
from tagma.settings import Settings
from tagma.tasks.task import LeastSquares, SquaredDistance
from tagma.tasks.task_choice import task_of

_ONLY: dict[type, str] = {
    LeastSquares: "is for least squares only; use solver=lbfgs with this task",
    SquaredDistance: "is for mean estimation only; use solver=lbfgs with this task",
}
"""What to say when a solver for these tasks gets another one."""


def solver_of(settings: Settings) -> Solver:
    """The solver, checked against the task.

    The type of a solver's parameter `task` says what it can solve: any `Task`, or only those of a
    narrower protocol.
    """
    chosen = settings.choice("solver")
    solver: Solver = build("solver", chosen, seed=settings.seed, device=settings.device)
    plugin = locate(str(chosen[TARGET]), f"solver.{TARGET}")
    needed = get_type_hints(plugin.__call__ if isclass(plugin) else plugin).get("task")
    if needed in _ONLY and not isinstance(task_of(settings), needed):
        raise SettingError("solver", plugin.__name__, _ONLY[needed])
    return solver
