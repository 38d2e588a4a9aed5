"""Local training of many clients at once: `tagma.client.training` on a stack of models.

Every client takes the steps that it would take alone, on the batches that its own random stream
draws, so that the models differ from those by rounding only. Who has fewer batches than others
stands still in the rest. Gradients are computed at once; the steps of an optimiser of torch are
each client's own.
"""

from collections.abc import Callable, Sequence

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.client.training import LocalTraining

BatchGradients = Callable[[Array, Labels | None], Array]
"""From models (m, d) and the rows of every client's batch (m, b), -1 for padding and None for all
examples, to gradients (m, d)."""
_NOBODY = -1


def train_stack(
    training: LocalTraining,
    gradients: BatchGradients,
    models: Array,
    examples: Labels,
    randoms: Sequence[np.random.Generator],
    first_rates: Sequence[float],
    *,
    proximal: float = 0.0,
) -> Mask:
    """Train every client's model, a row of (m, d), in place, and say who has diverged, shape (m,).

    `examples` are the clients' numbers of examples, `first_rates` their learning rates at first.
    Who has diverged must be trained alone, to see where it stops.
    """
    plans = [
        list(training.orders(count, random))
        for count, random in zip(examples.tolist(), randoms, strict=True)
    ]
    diverged, received = np.zeros(len(models), dtype=bool), models.copy() if proximal else models
    descend = _descent(training, models)
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(max(map(len, plans), default=0)):
            moving = np.array([step < len(plan) for plan in plans])
            turns = [plan[min(step, len(plan) - 1)] if plan else (0, None) for plan in plans]
            order = None if training.batch_size is None else _padded(turns, moving)
            slopes = gradients(models, order)
            if proximal:
                slopes += proximal * (models - received)
            rates = [
                training.rate(epoch, first)
                for (epoch, _), first in zip(turns, first_rates, strict=True)
            ]
            descend(models, slopes, rates, moving)
            diverged |= ~np.isfinite(np.vecdot(models, models))
    return diverged


def _descent(
    training: LocalTraining, models: Array
) -> Callable[[Array, Array, Sequence[float], Mask], None]:
    """Moves the models of those who move, given gradients and learning rates."""
    if training.plain:

        def step(models: Array, slopes: Array, rates: Sequence[float], moving: Mask) -> None:
            factors = np.where(moving, rates, 0).astype(models.dtype)
            slopes *= factors[:, None]
            models -= slopes

        return step
    own = [training.descent(model) for model in models]

    def steps(models: Array, slopes: Array, rates: Sequence[float], moving: Mask) -> None:
        for row in np.flatnonzero(moving).tolist():
            models[row] = own[row](models[row], slopes[row], rates[row])

    return steps


def _padded(turns: Sequence[tuple[int, Labels | None]], moving: Mask) -> Labels:
    """The rows of every client's batch, below each other; none for who stands still."""
    batches = [
        rows if rows is not None and moves else ()
        for (_, rows), moves in zip(turns, moving, strict=True)
    ]
    order = np.full((len(batches), max(map(len, batches))), _NOBODY)
    for row, batch in zip(order, batches, strict=True):
        row[: len(batch)] = batch
    return order
