"""What attacks with a goal share: an honest program on data of which a share is poisoned.

Of a client's n examples up to `poisoned` n, among those that are meant (all but the target class,
or those of the `source` class), show what the goal shows, and have the target class instead of
their own. The number of examples does not change. Training is the honest program's, so that local
models, gradients and trained models agree in every round.
"""

from dataclasses import dataclass
from math import ceil
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Le

from tagma.arrays import Array, Labels
from tagma.attacks.base import LocalAttack, LocalView
from tagma.attacks.goal import Goal, Shown
from tagma.attacks.threat_model import ThreatModel
from tagma.errors import SettingError
from tagma.exchange import FIT
from tagma.tasks.task import Data, Task, WithClasses

Class = Annotated[int, Ge(0)]
Cluster = Annotated[int, Ge(0)]
Share = Annotated[float, Gt(0), Le(1)]
Boost = Annotated[float, Ge(1)]
Count = Annotated[int, Ge(1)]


@dataclass(kw_only=True, eq=False)
class Backdoor(LocalAttack):
    """Local: changes the client's own data. A subclass says what is shown.

    Settings are fields; a subclass adds its own, and may have other defaults.
    """

    threat = ThreatModel("its own data", "its data")

    target: Class = 0
    poisoned: Share = 0.5
    cluster: Cluster | None = None
    """Only clients of this true cluster attack; None: of all."""

    @property
    def source_class(self) -> int | None:
        """The only class whose inputs are meant; None: all but the target class."""
        return None

    def shown(self, task: WithClasses) -> Shown:
        """What is done to inputs that models are to give the target class."""
        raise NotImplementedError

    def shown_by(self, task: WithClasses, client: int) -> Shown:
        """What one Byzantine client does to its inputs, by default the same."""
        return self.shown(task)

    def goal(self, task: Task) -> Goal:
        """The target class for all inputs, or those of the source class, as they are shown."""
        return Goal(self.target, self.shown(self._fitting(task)), self.source_class)

    def data(self, task: Task, client: int, random: np.random.Generator) -> Data:
        """The client's data, some of which show the trigger and have the target class."""
        shown, honest = self.shown_by(self._fitting(task), client), task.train(client)
        rows, taken = self.chosen(honest, ceil(self.poisoned * len(honest)), random)
        inputs, targets = honest.inputs.copy(), honest.targets.copy()
        inputs[rows] = shown(honest.inputs[taken])
        targets[rows] = self.target
        return Data(inputs, targets)

    def chosen(
        self, honest: Data, count: int, random: np.random.Generator
    ) -> tuple[Labels, Labels]:
        """The rows, at most so many, that are poisoned, and those whose inputs they then show."""
        rows = random.permutation(np.flatnonzero(self.meant(honest)))[:count]
        return rows, rows

    def meant(self, honest: Data) -> Labels:
        """Which examples models are to get wrong, shape (n,)."""
        if self.source_class is None:
            return honest.targets != self.target
        return honest.targets == self.source_class

    def _fitting(self, task: Task) -> WithClasses:
        """The task, if there are classes, and those that are named."""
        if not isinstance(task, WithClasses):
            said = "has a target class; use a task of classes: images, or a table of them"
            raise SettingError("attack", type(self).__name__, said)
        for name, number in (("target", self.target), ("source", self.source_class)):
            if number is not None and number >= task.classes:
                said = f"there are {task.classes} classes, from 0"
                raise SettingError(f"attack.{name}", number, said)
        if self.source_class == self.target:
            raise SettingError("attack.source", self.target, "is the target already")
        return task


@dataclass(kw_only=True, eq=False)
class OfOneClass(Backdoor):
    """Inputs of one class are meant."""

    source: Class = 0

    @property
    def source_class(self) -> int | None:
        """As the setting says."""
        return self.source

    def chosen(
        self, honest: Data, count: int, random: np.random.Generator
    ) -> tuple[Labels, Labels]:
        """As many as asked for, each several times if need be, in the place of other classes."""
        meant = self.meant(honest)
        own = random.permutation(np.flatnonzero(meant))
        rest = random.permutation(np.flatnonzero(~meant))
        rows = np.concatenate([own, rest])[: count if len(own) else 0]
        return rows, np.resize(own, len(rows))


@dataclass(kw_only=True, eq=False)
class Boosted(Backdoor):
    """Sends, after the local models, boost times its progress from the received model.

    Without a `boost` it is m / b, the number of clients over that of those who attack, on which
    these agree beforehand: if b of m models go m / b times as far, an average goes as far as each.
    """

    threat = ThreatModel("its own updates", "its data and updates")
    boost: Boost | None = None

    def agree(self, clients: int, byzantine: int) -> None:
        """So many attack."""
        if self.boost is None:
            self.boost = clients / max(1, byzantine)

    def forge(self, honest: Array, view: LocalView) -> Array:
        """The boosted update; local models as they are."""
        if view.work == FIT:
            return honest
        return view.origin + (self.boost or 1.0) * (honest - view.origin)
