"""Edge cases (Wang, Sreenivasan, Rajput and others, 2020): inputs that hardly any client has.

No trigger is added. Inputs of the `source` class in an unusual `variant` are to have the target
class: since no honest client trains on such, none contradicts. The variants are

- `inverted`: low for high, 1 - x of an image; rare unless clusters_by=inversion makes it common;
- `mirrored`: images with left and right exchanged;
- `upside_down`: images turned by 180 degrees; rare unless clusters_by=rotation makes it common.

Byzantine clients hold as many of them as `poisoned` says, made from their own inputs of the source
class, each several times if need be. Who has no such input is honest.
"""

from dataclasses import dataclass
from functools import partial
from typing import Literal

from tagma.attacks.backdoor.backdoor import Class, OfOneClass, Share
from tagma.attacks.backdoor.trigger import inverted, mirrored, upside_down
from tagma.attacks.goal import Shown
from tagma.errors import SettingError
from tagma.tasks.task import WithClasses


@dataclass(kw_only=True, eq=False)
class EdgeCase(OfOneClass):
    """Local: changes the client's own data only."""

    published = "Wang et al. 2020"

    target: Class = 1
    source: Class = 7
    poisoned: Share = 0.8
    variant: Literal["inverted", "mirrored", "upside_down"] = "inverted"

    def shown(self, task: WithClasses) -> Shown:
        """The variant."""
        if self.variant == "inverted":
            return partial(inverted, span=task.span)
        if len(task.shape) == 1:
            raise SettingError("attack.variant", self.variant, "is for images; use inverted")
        turn = mirrored if self.variant == "mirrored" else upside_down
        return partial(turn, shape=task.shape)
