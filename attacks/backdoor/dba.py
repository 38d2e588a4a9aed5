"""DBA (Xie, Huang, Chen, Li, 2020): every Byzantine client shows a part of the trigger only.

The patch of BadNets, or as many features as parts, is cut; client i shows part i modulo their
number. Models are tried with the whole, which no client ever shows.
"""

from dataclasses import dataclass

from tagma.attacks.backdoor.backdoor import Count
from tagma.attacks.backdoor.badnets import BadNets
from tagma.attacks.backdoor.trigger import Cells, parts_of, patch
from tagma.attacks.goal import Shown
from tagma.errors import SettingError
from tagma.tasks.task import WithClasses


@dataclass(kw_only=True, eq=False)
class DistributedBackdoor(BadNets):
    """Local: changes the client's own data only."""

    published = "Xie et al. 2020"

    size: Count = 4
    parts: Count = 4

    def cells(self, task: WithClasses) -> Cells:
        """The whole trigger."""
        if len(task.shape) == 3 and self.parts > self.size**2:
            said = f"is more than the patch has pixels, {self.size**2}"
            raise SettingError("attack.parts", self.parts, said)
        return patch(task.shape, self.size, self.feature, self.parts)

    def shown_by(self, task: WithClasses, client: int) -> Shown:
        """The client's part."""
        return self.stamp(task, parts_of(self.cells(task), self.parts)[client % self.parts])
