"""What every solver takes and returns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

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
Ridge = Annotated[float, Ge(0)] | Literal["auto"]
"""The weight of ||w||^2 / 2 beside the mean loss."""
_STRONG_RIDGE = 0.1
"""Beyond this, gradients of the plain loss point elsewhere than away from the local model."""
_FEW = 1.5
_SHARE = 0.1


def ridge_for(inputs: NDArray[Any], ridge: float | str) -> float:
    """The ridge; `auto` is a tenth of the mean eigenvalue of X^T X / n where n < 1.5 d, else 0.

    Around n = d a linear fit of noisy targets is useless without one; where n is larger it would
    only pull local models away from their minimisers.
    """
    if ridge != "auto":
        return float(ridge)
    n, d = len(inputs), inputs[:1].size
    if not takes_ridge(n, d):
        return 0.0
    return _SHARE * float(np.square(inputs, dtype=np.float64).mean())


def takes_ridge(n: Any, d: int) -> Any:
    """Whether `auto` is a ridge for n examples, or arrays of such numbers."""
    return (n > 0) & (n < _FEW * d)


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
    ridge = settings.get("ridge") or 0
    if ridge == "auto" or float(ridge) <= _STRONG_RIDGE:
        return None
    return f"solver.ridge={settings['ridge']} pulls local models away from the minimisers"
