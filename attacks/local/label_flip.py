"""Label flip: an honest program on data whose targets are turned round.

y becomes 1 - y where the targets are classes, -y where they are numbers. The client's local model
is then about the opposite of its group's, and its updates agree with it in every round.
"""

import numpy as np

from tagma.attacks.base import LocalAttack
from tagma.attacks.threat_model import ThreatModel
from tagma.errors import SettingError
from tagma.tasks.task import Data, Task, WithTargets


class LabelFlip(LocalAttack):
    """Local: changes the client's own data only."""

    threat = ThreatModel("its own data", "its data")

    def data(self, task: Task, client: int, random: np.random.Generator) -> Data:
        """The client's data with opposite targets."""
        if not isinstance(task, WithTargets):
            raise SettingError("attack", "label_flip", "needs a task whose examples have targets")
        honest = task.train(client)
        return Data(honest.inputs, task.opposite(honest.targets))
