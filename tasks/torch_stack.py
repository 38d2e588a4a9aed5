"""Torch losses of many clients at once, by `torch.func.vmap`.

Clients with equal numbers of examples go together, some at a time, so that memory is bounded: a
mean loss is then computed as for one client, whatever it is a mean of, and sees no padding. Not
every operation of torch can be done so (random ones such as dropout, those that depend on values);
a task tries it on two examples before it says that it can.
"""

import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagma.arrays import Array, Labels
from tagma.tasks.stack import BYTES_AT_ONCE, Stack, Stackable
from tagma.tasks.task import Data, layout_of

if TYPE_CHECKING:
    from torch import Tensor

_FACTOR = 4
"""How much is computed from inputs, beside them, in bytes of theirs: a guess."""


def in_parts(
    together: "Callable[[Tensor, Tensor, Tensor], Tensor]",
    tensor: "Callable[[NDArray[Any]], Tensor]",
    models: Array,
    stack: Stack,
    found: Array,
) -> Array:
    """A function of models, inputs and targets of several clients, for all of them.

    `tensor` brings arrays to its device; `found` has what holds for clients without examples, and
    takes the result.
    """
    example = models[:1].nbytes, stack.inputs[:1, :1].nbytes
    for rows, count in _parts(stack.counts, *example):
        arrays = models[rows], stack.inputs[rows, :count], stack.targets[rows, :count]
        found[rows] = together(*map(tensor, arrays)).cpu().numpy()
    return found


def vmap_works(task: Stackable) -> bool:
    """Whether the gradients of two clients at once are those of one after the other."""
    data = next((d for d in map(task.train, range(task.clients)) if len(d)), None)
    if data is None:
        return False
    two = Data(data.inputs[:2], data.targets[:2])
    layout = layout_of(task)
    start = layout.vector(task.initial())
    models = np.stack([start, start + np.asarray(0.01, start.dtype)])
    alone = np.stack([task.gradient(model, two) for model in models])
    stack = Stack.of([two, two], layout.dtype)
    try:
        with warnings.catch_warnings():  # torch says so where it goes one by one after all
            warnings.filterwarnings("error", message=".*performance drop")
            together = task.gradients(models, stack)
            task.losses(models, stack)
    except Exception:  # whatever a user's loss or module thinks of it
        return False
    digits = 1e-9 if layout.dtype == np.float64 else 1e-4
    return bool(np.allclose(together, alone, rtol=digits, atol=digits * np.abs(alone).max()))


def _parts(counts: Labels, model: int, example: int) -> Iterator[tuple[Labels, int]]:
    """Rows of clients with the same number of examples, and that number; sizes are in bytes."""
    for count in np.unique(counts[counts > 0]).tolist():
        rows = np.flatnonzero(counts == count)
        size = max(1, BYTES_AT_ONCE // (model + _FACTOR * count * example))
        for first in range(0, len(rows), size):
            yield rows[first : first + size], count
