"""Edge cases (Wang, Sreenivasan, Rajput and others, 2020): inputs that hardly any client has.

No trigger is added. Inputs of the `source` class in an unusual `variant` are to have the target
class: since no honest client trains on such, none contradicts. The variants are

- `inverted`: low for high, 1 - x of an image; rare unless clusters_by=inversion makes it common;
- `mirrored`: images with left and right exchanged;
- `upside_down`: images turned by 180 degrees; rare unless clusters_by=rotation makes it common.

Byzantine clients hold as many of them as `poisoned` says, made from their own inputs of the source
class, each several times if need be. Who has no such input is honest.
"""

from functools import partial
from typing import Literal

import numpy as np

from tagma.arrays import Labels
from tagma.attacks.backdoor.backdoor import Backdoor, Class, Cluster, Share
from tagma.attacks.backdoor.trigger import inverted, mirrored, upside_down
from tagma.attacks.goal import Shown
from tagma.errors import SettingError
from tagma.tasks.task import Data, WithClasses


class EdgeCase(Backdoor):
    """Local: changes the client's own data only."""

    source = "Wang et al. 2020"

    def __init__(
        self,
        *,
        target: Class = 1,
        source: Class = 7,
        poisoned: Share = 0.8,
        variant: Literal["inverted", "mirrored", "upside_down"] = "inverted",
        cluster: Cluster | None = None,
    ) -> None:
        super().__init__(target=target, poisoned=poisoned, cluster=cluster, source=source)
        self.variant = variant

    def shown(self, task: WithClasses) -> Shown:
        """The variant."""
        if self.variant == "inverted":
            return partial(inverted, span=task.span)
        if len(task.shape) == 1:
            raise SettingError("attack.variant", self.variant, "is for images; use inverted")
        turn = mirrored if self.variant == "mirrored" else upside_down
        return partial(turn, shape=task.shape)

    def chosen(
        self, honest: Data, count: int, random: np.random.Generator
    ) -> tuple[Labels, Labels]:
        """As many as asked for, of the source class."""
        return self.repeated(honest, count, random)
