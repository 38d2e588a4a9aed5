"""`tagma bench online_bias`: how far one streaming pass is from the local minimiser.

For regression data of many clients in one cluster: the share of the true coefficients by which
the mean local model of `solver=online` falls short (its bias towards 0), and the error of one local
model, ||w - w*|| / sqrt(d), beside that of `solver=closed_form` on the same data.
"""

from dataclasses import dataclass

import numpy as np
from rich.table import Table

from tagma.arrays import Array
from tagma.client.solvers.solver_choice import solver_of
from tagma.launch.command_line import CommandLine
from tagma.launch.console import console
from tagma.settings import Settings, compose
from tagma.tasks.task_choice import task_of

_ABOUT = """The bias of solver=online, by sample size.

  tagma bench online_bias                     100 coefficients, 40 clients
  tagma bench online_bias task.dim=20         any setting of the task
  tagma bench online_bias solver.decay=0.5    or of the solver"""

_SAMPLES = (200, 2000, 20000)
_CLIENTS = 40


@dataclass(frozen=True)
class BiasAndError:
    """One row of the table."""

    bias: float
    """1 - <mean of the models, w*> / ||w*||^2."""
    error: float
    """The root mean square of ||w - w*|| / sqrt(d)."""


def main(arguments: list[str]) -> None:
    """Measure every sample size and print the table."""
    overrides = CommandLine("bench online_bias", _ABOUT, overrides=True).read(arguments).overrides
    table = Table(title="One streaming pass against least squares", title_justify="left")
    for title in ("examples", "bias", "error", "error of least squares"):
        table.add_column(title, justify="right")
    for samples in _SAMPLES:
        given = [f"task.clients={_CLIENTS}", *overrides, "task.clusters=1"]
        given += [f"task.samples={samples}"]
        online = bias_and_error(compose([*given, "solver=online"]))
        closed = bias_and_error(compose([*_without_solver(given), "solver=closed_form"]))
        table.add_row(
            str(samples), f"{online.bias:.3f}", f"{online.error:.3f}", f"{closed.error:.3f}"
        )
    console.print(table)


def bias_and_error(settings: Settings) -> BiasAndError:
    """The bias and error of the local models of honest clients."""
    task, solve = task_of(settings), solver_of(settings)
    truth = task.truth()
    assert truth is not None
    models = np.array([solve(task, task.train(i)).model for i in range(task.clients)])
    return _compare(models, truth.known_centres()[0])


def _compare(models: Array, wanted: Array) -> BiasAndError:
    bias = 1 - models.mean(axis=0) @ wanted / (wanted @ wanted)
    error = np.sqrt(((models - wanted) ** 2).mean())
    return BiasAndError(float(bias), float(error))


def _without_solver(overrides: list[str]) -> list[str]:
    return [text for text in overrides if not text.startswith("solver")]
