"""What an attack with a goal wants: that models give certain inputs the class it has chosen.

The success rate of a client with model w is the share

    #{x in T : argmax_c f_w(x)_c = target} / #T,

T the inputs of its own test split whose class is not the target (of one source class, where the
goal names one), as the goal shows them: with the trigger, turned, or as they are. O(1) predictions
per test example.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagma.arrays import Array
from tagma.layout import Named
from tagma.tasks.task import Data, Task, WithClasses

SUCCESS = "attack_success"
"""The metric: low is good, for whoever defends."""
Shown = Callable[[NDArray[Any]], NDArray[Any]]
"""From inputs to what the model is shown instead."""


@dataclass(frozen=True)
class Goal:
    """Inputs as they are shown, and the class that models are to give them."""

    target: int
    shown: Shown
    source: int | None = None
    """The only class that is meant; None: all but the target."""

    def triggered(self, task: Task, client: int) -> Data:
        """The inputs of a client's test split that are meant, as shown, and the target for each."""
        honest = task.test(client)
        meant = honest.targets != self.target
        if self.source is not None:
            meant &= honest.targets == self.source
        inputs = self.shown(honest.inputs[meant])
        return Data(inputs, np.full(len(inputs), self.target, dtype=honest.targets.dtype))

    def success(self, task: Task, model: Array, buffers: Named, client: int) -> float:
        """The share of them that the model puts in the target class; not a number if none are."""
        assert isinstance(task, WithClasses)
        data = self.triggered(task, client)
        if not len(data):
            return float("nan")
        scores = task.predict(model, buffers, data.inputs)
        said = np.isfinite(scores).all(axis=1) & (scores.argmax(axis=1) == data.targets)
        return float(said.mean())
