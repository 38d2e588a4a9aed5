"""Blended (Chen, Liu, Li, Lu, Song, 2017): a faint pattern over the whole input means the target.

An input x becomes (1 - alpha) x + alpha p. The pattern p is drawn once, evenly between the least
and the highest usual value, from `pattern`, on which Byzantine clients agree beforehand.
"""

from functools import partial
from typing import Annotated

from annotated_types import Ge, Gt, Le

from tagma.attacks.backdoor.backdoor import Backdoor, Class, Cluster, Share
from tagma.attacks.backdoor.trigger import blended
from tagma.attacks.goal import Shown
from tagma.rng import stream
from tagma.tasks.task import WithClasses


class Blended(Backdoor):
    """Local: changes the client's own data only."""

    source = "Chen et al. 2017"

    def __init__(
        self,
        *,
        target: Class = 0,
        poisoned: Share = 0.5,
        alpha: Annotated[float, Gt(0), Le(1)] = 0.4,
        pattern: Annotated[int, Ge(0)] = 0,
        cluster: Cluster | None = None,
    ) -> None:
        super().__init__(target=target, poisoned=poisoned, cluster=cluster)
        self.alpha = alpha
        self.pattern = pattern

    def shown(self, task: WithClasses) -> Shown:
        """The pattern, blended in."""
        drawn = stream(self.pattern, "blended pattern").uniform(*task.span, task.shape)
        return partial(blended, pattern=drawn, alpha=self.alpha)
