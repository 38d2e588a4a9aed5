"""The paper's attack on real data: points of no cluster, shifted.

A Byzantine client of mean estimation holds points that no cluster has. This attack adds to its
local model a vector with independent entries scale * (Bernoulli(1/2) - 1/2), drawn once per
client. It shifts the points themselves, so that the local model, the gradients and the models
after local steps agree in every round.
"""

from typing import Annotated

import numpy as np
from annotated_types import Gt

from tagma.attacks.base import LocalAttack
from tagma.attacks.threat_model import ThreatModel
from tagma.errors import SettingError
from tagma.tasks.task import Data, SquaredDistance, Task


class ShiftedMean(LocalAttack):
    """Local: changes the client's own data only."""

    threat = ThreatModel("its own data", "its data")
    published = "Ghosh et al. 2019"

    def __init__(self, *, scale: Annotated[float, Gt(0)] = 1.0) -> None:
        self.scale = scale

    def data(self, task: Task, client: int, random: np.random.Generator) -> Data:
        """The client's points, all shifted by the same vector."""
        if not isinstance(task, SquaredDistance):
            raise SettingError("attack", "shifted_mean", "needs task=mean_estimation")
        points = task.train(client)
        shift = self.scale * (random.integers(0, 2, size=task.dim) - 0.5)
        return Data(points.inputs + shift, points.targets)
