"""Which rows are nearest: to each other, to most of them, or by a score."""

import numpy as np

from tagma.arrays import Array, Labels, Mask


def most_central(squared: Array) -> int:
    """The row with the least sum of squared distances to the nearer half of the others.

    `squared` are the distances, with zeros on the diagonal.
    """
    nearer = np.sort(squared, axis=1)[:, : len(squared) // 2 + 1].sum(axis=1)
    return int(np.lexsort((squared.sum(axis=1), nearer))[0])


def smallest(scores: Array, number: int) -> Labels:
    """Which are the smallest scores; of equal ones, the first."""
    return np.sort(np.argsort(scores, kind="stable")[:number])


def nearest_of_each(squared: Array, number: int) -> Mask:
    """Which rows are the `number` nearest to each, shape (m, m); of equally near ones, the first.

    `squared` are the distances, none of them NaN. Cost O(m^2): a partition, no sorting.
    """
    farthest = np.partition(squared, number - 1, axis=1)[:, number - 1 : number]
    near: Mask = squared <= farthest
    if (near.sum(axis=1) > number).any():  # Byzantine clients that send the same are equally far
        nearer = squared < farthest
        room = number - nearer.sum(axis=1, keepdims=True)
        equal = near & ~nearer
        near = nearer | (equal & (equal.cumsum(axis=1) <= room))
    return near
