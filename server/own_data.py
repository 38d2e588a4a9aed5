"""The server as a client: what data of its own answer to the requests that it sends.

A task may give the server some examples (`server_data`). On them it does the work that clients are
asked for, on every model that it sends; rules that trust a `reference` are handed the vector.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tagma.arrays import Array
from tagma.client.local_client import LocalClient, Model
from tagma.client.solvers.solver_choice import solver_of
from tagma.client.training import training_of
from tagma.exchange import SERVER
from tagma.settings import Settings
from tagma.strategies.algorithm_run import ServerAnswers
from tagma.tasks.task import WithServerData
from tagma.tasks.task_choice import task_of


def own_data_of(settings: Settings) -> ServerAnswers | None:
    """What the server's data answer, or None where the task gives it none."""
    task = task_of(settings)
    data = task.server_data() if isinstance(task, WithServerData) else None
    if data is None:
        return None
    client = LocalClient(
        SERVER, task, data, solver_of(settings), training_of(settings), settings.seed
    )

    def answers(
        work: str, models: Sequence[Model], round_number: int, numbers: Mapping[str, float]
    ) -> Array:
        return np.array([client.answer(work, m, round_number, numbers).vector for m in models])

    return answers
