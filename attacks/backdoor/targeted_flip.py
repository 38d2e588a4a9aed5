"""Targeted label flip: examples of one class are to be taken for another (source -> target).

Nothing is added to inputs: the client's own examples of the `source` class have the target class
(Tolpegin, Truex, Gursoy, Liu, 2020), each several times if need be, so that they are `poisoned` of
all. Honest clients say the opposite about the same inputs, so what is sent is scaled to survive
averaging (Bhagoji, Chakraborty, Mittal, Calo, 2019). With boost=1 it is the flip alone.
"""

from dataclasses import dataclass

from tagma.attacks.backdoor.backdoor import Boosted, Class, OfOneClass
from tagma.attacks.goal import Shown
from tagma.tasks.task import WithClasses


@dataclass(kw_only=True, eq=False)
class TargetedFlip(OfOneClass, Boosted):
    """Local: changes the client's own data, and scales its updates."""

    published = "Tolpegin et al. 2020, Bhagoji et al. 2019"

    target: Class = 9
    source: Class = 4

    def shown(self, task: WithClasses) -> Shown:
        """Inputs as they are."""
        return lambda inputs: inputs.copy()
