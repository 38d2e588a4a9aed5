"""The local minimiser of any differentiable convex loss, by L-BFGS.

The quasi-Newton method with limited memory of Liu and Nocedal (1989), in SciPy's implementation
(L-BFGS-B, without bounds), from the task's initial model. Loss and gradient come from the task:
written in NumPy, or by torch's automatic differentiation where the task writes its loss only
(`tagma.tasks.torch_loss`). SciPy's rather than `torch.optim.LBFGS`: on the same gradients it is
faster, its own arithmetic being compiled, and it tells how it ended. It computes in double
precision.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Gt
from scipy.optimize import minimize

from tagma.arrays import Array
from tagma.client.solvers.solution import Ridge, Solution, minimises, ridge_for, strong_ridge
from tagma.tasks.task import Data, Task, layout_of

_MEMORY = 10
_LINE_SEARCH = 20
_LOOSE = 1e-3
_FEW = 100
"""With a looser tolerance or fewer iterations, the search may end before the minimiser."""


def _may_stop_early(settings: Mapping[str, Any]) -> str | None:
    if float(settings["tolerance"]) > _LOOSE:
        return f"solver.tolerance={settings['tolerance']} ends the search before the minimiser"
    if int(settings["iterations"]) < _FEW:
        return f"solver.iterations={settings['iterations']} may end the search before the minimiser"
    return strong_ridge(settings)


@minimises(_may_stop_early)
def lbfgs(
    task: Task,
    data: Data,
    *,
    tolerance: Annotated[float, Gt(0)],
    iterations: Annotated[int, Ge(1)],
    ridge: Ridge,
) -> Solution:
    """argmin_w F(w) + ridge ||w||^2 / 2, where F is the mean loss of the data (`ridge_for`: auto).

    Stops where no entry of the gradient exceeds `tolerance`, after `iterations`, or where the line
    search finds no lower loss (rounding hides it, or the loss overflows), and says which.
    Deterministic. Every iterate is a combination of gradients, so of several minimisers of a linear
    model without ridge it finds the one of least norm. An iteration costs one or two losses and
    gradients, for a linear model O(n d), and O(d) beside.

    Without ridge, a loss may have no minimiser: that of logistic regression on labels that a plane
    separates falls for ever along a ray. The model is then a long vector along it, finite, where
    the gradient fell below the tolerance or the iterations were used up: another tolerance gives
    another length.
    """
    ridge = ridge_for(data.inputs, ridge)

    def objective(model: Array) -> tuple[float, Array]:
        loss = task.loss(model, data) + ridge * float(model @ model) / 2
        return loss, task.gradient(model, data) + ridge * model

    start = layout_of(task).vector(task.initial())
    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        options={
            "gtol": tolerance,
            "ftol": 0.0,
            "maxiter": iterations,
            "maxfun": (_LINE_SEARCH + 1) * iterations,
            "maxcor": _MEMORY,
            "maxls": _LINE_SEARCH,
        },
    )
    reason = _reason(found.jac, found.nit, tolerance, iterations)
    return Solution(found.x.astype(start.dtype, copy=False), found.nit, reason)


def _reason(gradient: Array, used: int, tolerance: float, iterations: int) -> str:
    """Why the search ended, from its result rather than from SciPy's messages."""
    if not np.isfinite(gradient).all():
        return "gradient not finite"
    if np.abs(gradient).max() <= tolerance:
        return "gradient tolerance"
    if used >= iterations:
        return "iteration limit"
    return "no further decrease found"
