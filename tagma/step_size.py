"""Step sizes: a number, or `auto`, 1 / L for how fast gradients of the data can change.

A client knows its own L (`tagma.tasks.smoothness`). For a model of several clients it is the median
of what they report, so that a minority may report anything.
"""

from collections.abc import Iterable
from typing import Annotated, Literal

import numpy as np
from annotated_types import Gt

AUTO: Literal["auto"] = "auto"
StepSize = Annotated[float, Gt(0)] | Literal["auto"]
WITHOUT = 1.0
"""The step where there is nothing to measure: no examples, or a loss that is flat."""


def step_of(reported: Iterable[float]) -> float:
    """1 / L for what clients report of L; 0 is what a client without examples reports."""
    known = [value for value in reported if value > 0]
    return 1 / float(np.median(known)) if known else WITHOUT
