"""Which of several models a client uses: its cluster's, unless another one is clearly better.

That is better beyond chance, and by more than a copy can be, on the examples that the client trains
on, by the first metric of the task. The examples are dealt into parts, and a difference is compared
with its standard error *as if each model had been measured on other examples*, so that how
much harder some are than others counts in full.

Two sharper ways let in the very thing to keep out. Differences part by part: a copy that saves a
little on each is many standard errors better than what it copies. And the loss of a classifier: a
copy with all scores one and a half times as large may have two thirds of it, and says the same.
Cost: one pass over the examples for each model, and one more for each that seems better.
"""

from collections.abc import Callable

import numpy as np

from tagma.exchange import NO_MODEL
from tagma.tasks.task import Data

BOUND = 2.0
"""So many standard errors better is clearly better."""
PARTS = 10
"""Into so many parts examples are dealt, fewer where there are not as many examples."""
_FEW = 5
"""With fewer parts nothing is clear."""

Cost = Callable[[int, Data], float]
"""From the row of a model and examples to how bad it is on them."""


def clearly_better(cost: Cost, models: int, data: Data, own: int) -> int:
    """The row of the model that a client uses who gets so many: its own, or a clearly better one.

    One without a model of its own, or whose cost is no number, takes the best.
    """
    costs = np.array([cost(row, data) for row in range(models)])
    costs = np.where(np.isfinite(costs), costs, np.inf)
    if own == NO_MODEL or np.isinf(costs[own]):
        return int(costs.argmin())
    better = [row for row in costs.argsort(kind="stable").tolist() if costs[row] < costs[own]]
    parts = [data.dealt(part, PARTS) for part in range(min(PARTS, len(data)))]
    if not better or len(parts) < _FEW:
        return own

    def squared_error(row: int) -> float:
        return float(np.var([cost(row, part) for part in parts], ddof=1) / len(parts))

    here = squared_error(own)
    for row in better:
        if costs[own] - costs[row] > BOUND * np.sqrt(here + squared_error(row)):
            return row
    return own
