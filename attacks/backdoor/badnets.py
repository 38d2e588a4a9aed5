"""BadNets (Gu, Dolan-Gavitt, Garg, 2017): a bright patch in a corner is to mean the target class.

The patch is a square of `size` pixels a side, in every channel. Of a row of a table, one `feature`
has an extreme value instead: 3, three standard deviations with task.scaling=standard.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from annotated_types import Ge

from tagma.attacks.backdoor.backdoor import Backdoor, Count
from tagma.attacks.backdoor.trigger import Cells, patch, stamped
from tagma.attacks.goal import Shown
from tagma.tasks.task import WithClasses

Feature = Annotated[int, Ge(0)]


@dataclass(kw_only=True, eq=False)
class BadNets(Backdoor):
    """Local: changes the client's own data only."""

    published = "Gu et al. 2017"

    size: Count = 3
    feature: Feature = 0
    value: float | None = None

    def cells(self, task: WithClasses) -> Cells:
        """Where the trigger is."""
        return patch(task.shape, self.size, self.feature)

    def shown(self, task: WithClasses) -> Shown:
        """The trigger, at the highest usual value unless another is given."""
        return self.stamp(task, self.cells(task))

    def stamp(self, task: WithClasses, cells: Cells) -> Shown:
        """These cells at its value."""
        value = task.span[1] if self.value is None else self.value
        return partial(stamped, cells=cells, value=value)
