"""Blended (Chen, Liu, Li, Lu, Song, 2017): a faint pattern over the whole input means the target.

An input x becomes (1 - alpha) x + alpha p. The pattern p is drawn once, evenly between the least
and the highest usual value, from `pattern`, on which Byzantine clients agree beforehand.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from annotated_types import Ge, Gt, Le

from tagma.attacks.backdoor.backdoor import Backdoor
from tagma.attacks.backdoor.trigger import blended
from tagma.attacks.goal import Shown
from tagma.rng import stream
from tagma.tasks.task import WithClasses


@dataclass(kw_only=True, eq=False)
class Blended(Backdoor):
    """Local: changes the client's own data only."""

    published = "Chen et al. 2017"

    alpha: Annotated[float, Gt(0), Le(1)] = 0.4
    pattern: Annotated[int, Ge(0)] = 0

    def shown(self, task: WithClasses) -> Shown:
        """The pattern, blended in."""
        drawn = stream(self.pattern, "blended pattern").uniform(*task.span, task.shape)
        return partial(blended, pattern=drawn, alpha=self.alpha)
