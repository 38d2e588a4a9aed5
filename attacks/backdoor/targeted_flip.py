"""Targeted label flip: examples of one class are to be taken for another (source -> target).

Nothing is added to inputs: the client's own examples of the `source` class have the target class
(Tolpegin, Truex, Gursoy, Liu, 2020), each several times if need be, so that they are `poisoned` of
all. Honest clients say the opposite about the same inputs, so what is sent is scaled to survive
averaging (Bhagoji, Chakraborty, Mittal, Calo, 2019). With boost=1 it is the flip alone.
"""

import numpy as np

from tagma.arrays import Labels
from tagma.attacks.backdoor.backdoor import Boost, Boosted, Class, Cluster, Share
from tagma.attacks.goal import Shown
from tagma.tasks.task import Data, WithClasses


class TargetedFlip(Boosted):
    """Local: changes the client's own data, and scales its updates."""

    source = "Tolpegin et al. 2020, Bhagoji et al. 2019"

    def __init__(
        self,
        *,
        target: Class = 9,
        source: Class = 4,
        poisoned: Share = 0.5,
        boost: Boost | None = None,
        cluster: Cluster | None = None,
    ) -> None:
        super().__init__(target=target, poisoned=poisoned, cluster=cluster, source=source)
        self.boost = boost

    def shown(self, task: WithClasses) -> Shown:
        """Inputs as they are."""
        return lambda inputs: inputs.copy()

    def chosen(
        self, honest: Data, count: int, random: np.random.Generator
    ) -> tuple[Labels, Labels]:
        """As many as asked for, of the source class."""
        return self.repeated(honest, count, random)
