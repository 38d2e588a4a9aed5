"""The paper's attack: an honest program on data from a false regression.

For every task whose data follow a coefficient vector: linear, Huber's and logistic regression.
The client keeps its inputs and noise, but its targets follow coefficients with independent entries
scale * Bernoulli(1/2), drawn once per client. Its local model is then an outlier, and its updates
are consistent with it in every round.
"""

from typing import Annotated

import numpy as np
from annotated_types import Gt

from tagma.attacks.base import LocalAttack
from tagma.attacks.threat_model import ThreatModel
from tagma.errors import SettingError
from tagma.tasks.task import Data, Task, WithCoefficients


class PoisonedRegression(LocalAttack):
    """Local: changes the client's own data only."""

    threat = ThreatModel("its own data", "its data")
    published = "Ghosh et al. 2019"

    def __init__(self, *, scale: Annotated[float, Gt(0)] = 3.0) -> None:
        self.scale = scale

    def data(self, task: Task, client: int, random: np.random.Generator) -> Data:
        """The client's data with false coefficients."""
        if not isinstance(task, WithCoefficients):
            raise SettingError(
                "attack",
                "poisoned_regression",
                "needs task=mixture_regression or another whose data follow coefficients",
            )
        return task.data_with(
            client, self.scale * random.integers(0, 2, size=task.dim).astype(float)
        )
