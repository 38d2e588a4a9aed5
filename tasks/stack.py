"""The examples of several clients as one array, and what tasks compute on it for all at once.

Clients have different numbers of examples: all are padded to the longest. An example counts with
its weight, 1 / (its client's number of examples), padding with 0, so that a weighted sum over a
row is the client's mean. Making one copies the examples once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tagma.arrays import Array, Labels, Mask
from tagma.tasks.task import Data, Task


@dataclass(frozen=True)
class Stack:
    """The examples of several clients, or one batch of each, padded to one length."""

    inputs: NDArray[Any]
    """Shape (m, b, ...); padding is 0."""
    targets: NDArray[Any]
    """Shape (m, b); padding is 0."""
    weights: Array
    """Shape (m, b): 1 / (the client's number of examples here), 0 for padding."""

    @classmethod
    def of(cls, data: Sequence[Data], dtype: DTypeLike) -> "Stack":
        """The examples of these clients for a model of this precision.

        Floating numbers are stored in it. Who has no examples has padding only.
        """
        counts = np.array([len(each) for each in data], np.int64)
        weights = _weights(np.arange(counts.max(initial=0)) < counts[:, None], dtype)
        inputs, targets = (
            _padded(arrays, weights.shape, dtype)
            for arrays in ([each.inputs for each in data], [each.targets for each in data])
        )
        return cls(inputs, targets, weights)

    def __len__(self) -> int:
        return len(self.weights)

    @cached_property
    def counts(self) -> Labels:
        """How many examples each client has here, shape (m,)."""
        return np.count_nonzero(self.weights, axis=1)

    def take(self, rows: Labels | slice) -> "Stack":
        """Some of the clients, by their rows; a slice copies nothing."""
        return Stack(self.inputs[rows], self.targets[rows], self.weights[rows])

    def batch(self, order: Labels) -> "Stack":
        """The examples order[i] of client i, shape (m, b'); -1, after them, is padding."""
        there = order >= 0
        places = np.maximum(order, 0) + self.weights.shape[1] * np.arange(len(order))[:, None]
        inputs, targets = (
            array.reshape(-1, *array.shape[2:]).take(places, axis=0)
            for array in (self.inputs, self.targets)
        )
        if not there.all():
            inputs[~there] = 0
            targets[~there] = 0
        return Stack(inputs, targets, _weights(there, self.weights.dtype))

    def weighted_inputs(self, values: Array) -> Array:
        """The mean of each client's inputs, which are vectors, times a value per example."""
        sums: Array = np.matmul((values * self.weights)[:, None], self.inputs)[:, 0]
        return sums

    def means(self, values: Array) -> Array:
        """The mean of each client's values, one per example, shape (m,); nan without examples."""
        sums = np.einsum("ij,ij->i", values, self.weights, dtype=np.float64)
        return np.where(self.counts > 0, sums, np.nan)


@runtime_checkable
class Stackable(Task, Protocol):
    """A task that computes for many clients at once; `is_stackable` says whether it can."""

    def gradients(self, models: Array, stack: Stack) -> Array:
        """`gradient` of every client at its own model, a row of (m, d); 0 without examples."""

    def losses(self, models: Array, stack: Stack) -> Array:
        """`loss` of every client at its own model, shape (m,); nan without examples."""


def is_stackable(task: Task) -> TypeGuard[Stackable]:
    """Whether a task computes for many clients at once what it computes for one.

    A class that overrides `gradient` or `loss` of one that can must override `gradients` or
    `losses` too, or it is taken client by client. A task for which it depends on more than its
    class says so by an attribute `stackable`.
    """
    pairs = ("gradient", "gradients"), ("loss", "losses")
    return (
        isinstance(task, Stackable)
        and all(_depth(task, many) <= _depth(task, one) for one, many in pairs)
        and getattr(task, "stackable", True)
    )


def _depth(task: Task, name: str) -> int:
    """How far up the bases of its class a method is defined."""
    return next(i for i, base in enumerate(type(task).__mro__) if name in vars(base))


def _weights(there: Mask, dtype: DTypeLike) -> Array:
    counts = there.sum(axis=1, keepdims=True)
    return (there / np.maximum(counts, 1)).astype(dtype, copy=False)


def _padded(arrays: list[NDArray[Any]], shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """The arrays below each other, with zeros to this shape (m, b)."""
    found = np.result_type(*arrays)
    kept = np.zeros((*shape, *arrays[0].shape[1:]), dtype if found.kind == "f" else found)
    for row, array in zip(kept, arrays, strict=True):
        row[: len(array)] = array
    return kept
