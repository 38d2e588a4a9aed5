"""What every solver takes and returns."""

from collections.abc import Callable
from dataclasses import dataclass

from tagma.arrays import Array
from tasks.task import Data, Task


@dataclass(frozen=True)
class Solution:
    """A local model."""

    model: Array
    iterations: int
    stopped: str
    """Why the solver stopped."""


Solver = Callable[[Task, Data], Solution]
