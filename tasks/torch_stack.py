"""Torch losses of many clients at once, by `torch.func.vmap`.

Clients with equal numbers of examples go together, some at a time, so that memory is bounded: a
mean loss is then computed as for one client, whatever it is a mean of, and sees no padding. Large
models go one by one, for it would not be faster: the gain is in the calls, up to seven times. Not
every operation of torch can be done so (random ones such as dropout, those that depend on values);
a task tries it on two examples before it says that it can.
"""

import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagma.arrays import Array, Labels
from tagma.tasks.stack import Stack, Stackable
from tagma.tasks.task import Data, Task, layout_of

if TYPE_CHECKING:
    from torch import Tensor

BYTES_AT_ONCE = 2 * 2**20
"""Of clients that go together, each with its model and four times its inputs, for what torch
computes from them. More is not faster, but for tiny models."""
_FEW = 4
"""Fewer are faster one by one."""


def in_parts(
    together: "Callable[[Tensor, Tensor, Tensor], Tensor]",
    alone: Callable[[Array, Data], Array | float],
    tensor: "Callable[[NDArray[Any]], Tensor]",
    models: Array,
    stack: Stack,
    found: Array,
) -> Array:
    """A function of model and examples, for every client: of several `together`, or of one `alone`.

    `tensor` brings arrays to the device; `found` has what holds for clients without examples, and
    takes the result.
    """
    example = models[:1].nbytes, stack.inputs[:1, :1].nbytes
    for rows, count in _parts(stack.counts, *example):
        inputs, targets = stack.inputs[rows, :count], stack.targets[rows, :count]
        if len(rows) < _FEW:
            found[rows] = list(map(alone, models[rows], map(Data, inputs, targets)))
        else:
            found[rows] = together(*map(tensor, (models[rows], inputs, targets))).cpu().numpy()
    return found


def some_examples(task: Task) -> Data:
    """Those of the first client that has any."""
    return next((d for d in map(task.train, range(task.clients)) if len(d)), task.train(0))


def vmap_works(task: Stackable, data: Data) -> bool:
    """Whether the gradients of a few clients at once are those of one after the other."""
    if not len(data):
        return False
    two = Data(data.inputs[:2], data.targets[:2])
    layout = layout_of(task)
    start = layout.vector(task.initial())
    models = start + 0.01 * np.arange(_FEW, dtype=start.dtype)[:, None]
    alone = np.stack([task.gradient(model, two) for model in models])
    stack = Stack.of([two] * _FEW, layout.dtype)
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
        size = max(1, BYTES_AT_ONCE // (model + 4 * count * example))
        for part in np.array_split(rows, -(-len(rows) // size)):
            yield part, count
