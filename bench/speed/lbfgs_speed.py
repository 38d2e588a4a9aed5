"""`tagma bench lbfgs`: SciPy's L-BFGS against torch's, on the same gradients.

Both minimise the local risks of some clients of `task=mixture_logcosh`, whose gradient comes from
torch, from w = 0 with a memory of 10 to the same gradient tolerance. Processor time on one thread,
the median over the clients, and the larger of the two final gradients.
"""

from collections.abc import Callable
from statistics import median
from time import process_time

import numpy as np
from rich.table import Table

from tagma.arrays import Array
from tagma.client.solvers.lbfgs import lbfgs
from tagma.launch.command_line import CommandLine
from tagma.launch.console import console
from tagma.settings import compose
from tagma.tasks.mixture_logcosh import MixtureLogCosh
from tagma.tasks.task import Data
from tagma.tasks.task_choice import task_of

_ABOUT = """SciPy's L-BFGS against torch.optim.LBFGS: CPU time on the same gradients.

  tagma bench lbfgs                       100 coefficients, 400 examples
  tagma bench lbfgs task.samples=4000     any setting of task=mixture_logcosh"""

_CLIENTS, _TOLERANCE, _ITERATIONS = 15, 1e-7, 500


def main(arguments: list[str]) -> None:
    """Measure both and print the ratio."""
    given = CommandLine("bench lbfgs", _ABOUT, overrides=True).read(arguments).overrides
    import torch

    torch.set_num_threads(1)
    task = task_of(compose(["task=mixture_logcosh", *given]))
    assert isinstance(task, MixtureLogCosh)
    clients = [task.train(i) for i in range(min(_CLIENTS, task.clients))]
    table = Table(title="L-BFGS on torch's gradients", title_justify="left")
    for title in ("implementation", "ms a client", "largest gradient", "times SciPy"):
        table.add_column(title, justify="left" if title == "implementation" else "right")
    solvers = {"scipy.optimize": _by_scipy, "torch.optim.LBFGS": _by_torch}
    seconds = {}
    for name, solve in solvers.items():
        solve(task, clients[0])  # the first call loads what later ones have
        seconds[name], gradient = _measure(task, clients, solve)
        ratio = seconds[name] / seconds["scipy.optimize"]
        table.add_row(name, f"{1000 * seconds[name]:.1f}", f"{gradient:.1e}", f"{ratio:.1f}")
    console.print(table)


def _measure(
    task: MixtureLogCosh, clients: list[Data], solve: Callable[[MixtureLogCosh, Data], Array]
) -> tuple[float, float]:
    """The median time, and the largest entry of a final gradient."""
    times, gradients = [], []
    for data in clients:
        start = process_time()
        model = solve(task, data)
        times.append(process_time() - start)
        gradients.append(float(np.abs(task.gradient(model, data)).max()))
    return median(times), max(gradients)


def _by_scipy(task: MixtureLogCosh, data: Data) -> Array:
    return lbfgs(task, data, tolerance=_TOLERANCE, iterations=_ITERATIONS, ridge=0.0).model


def _by_torch(task: MixtureLogCosh, data: Data) -> Array:
    import torch

    model = torch.zeros(task.dim, dtype=torch.float64, requires_grad=True)
    inputs, targets = torch.from_numpy(data.inputs), torch.from_numpy(data.targets)
    optimiser = torch.optim.LBFGS(
        [model], max_iter=_ITERATIONS, history_size=10, tolerance_grad=_TOLERANCE,
        tolerance_change=0.0, line_search_fn="strong_wolfe",
    )  # fmt: skip

    def closure() -> torch.Tensor:
        optimiser.zero_grad()
        loss = task.torch_loss(model, inputs, targets)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    optimiser.step(closure)  # type: ignore[no-untyped-call]
    return model.detach().numpy()
