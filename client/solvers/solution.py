"""What every solver takes and returns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from tagma.arrays import Array
from tagma.layout import Named
from tagma.tasks.task import Data, Task


@dataclass(frozen=True)
class Solution:
    """A local model."""

    model: Array
    iterations: int
    stopped: str
    """Why the solver stopped."""
    buffers: Named | None = None
    """Those of the model, where it has some."""


Solver = Callable[[Task, Data], Solution]

Doubt = Callable[[Mapping[str, Any]], str | None]
"""From a solver's settings to why its answer may be something else than the minimiser, or None."""

_Solver = TypeVar("_Solver", bound=Callable[..., Solution])
_STRONG_RIDGE = 0.1
"""Beyond this, gradients of the plain loss point elsewhere than away from the local model."""


def minimises(doubt: Doubt) -> Callable[[_Solver], _Solver]:
    """Declare that a solver finds the minimiser of the client's own loss, unless there is doubt.

    The server's reply check relies on it. A solver that declares nothing is not relied on.
    """

    def declare(solver: _Solver) -> _Solver:
        solver.doubt = doubt  # type: ignore[attr-defined]
        return solver

    return declare


def strong_ridge(settings: Mapping[str, Any]) -> str | None:
    """The doubt of solvers with a ridge: a strong one moves local models off the minimisers."""
    if float(settings.get("ridge") or 0) <= _STRONG_RIDGE:
        return None
    return f"solver.ridge={settings['ridge']} pulls local models away from the minimisers"
