"""DBA (Xie, Huang, Chen, Li, 2020): every Byzantine client shows a part of the trigger only.

The patch of BadNets, or as many features as parts, is cut; client i shows part i modulo their
number. Models are tried with the whole, which no client ever shows.
"""

from tagma.attacks.backdoor.backdoor import Class, Cluster, Count, Share
from tagma.attacks.backdoor.badnets import BadNets, Feature
from tagma.attacks.backdoor.trigger import Cells, parts_of, patch
from tagma.attacks.goal import Shown
from tagma.errors import SettingError
from tagma.tasks.task import WithClasses


class DistributedBackdoor(BadNets):
    """Local: changes the client's own data only."""

    source = "Xie et al. 2020"

    def __init__(
        self,
        *,
        target: Class = 0,
        poisoned: Share = 0.5,
        size: Count = 4,
        feature: Feature = 0,
        value: float | None = None,
        parts: Count = 4,
        cluster: Cluster | None = None,
    ) -> None:
        super().__init__(
            target=target, poisoned=poisoned, size=size, feature=feature, value=value,
            cluster=cluster,
        )  # fmt: skip
        self.parts = parts

    def cells(self, task: WithClasses) -> Cells:
        """The whole trigger."""
        if len(task.shape) == 3 and self.parts > self.size**2:
            said = f"is more than the patch has pixels, {self.size**2}"
            raise SettingError("attack.parts", self.parts, said)
        return patch(task.shape, self.size, self.feature, self.parts)

    def shown_by(self, task: WithClasses, client: int) -> Shown:
        """The client's part."""
        return self.stamp(task, parts_of(self.cells(task), self.parts)[client % self.parts])
