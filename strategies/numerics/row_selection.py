"""Rows chosen by their scores or distances, and their mean."""

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.strategies.numerics.row_blocks import Rows


def mean_of(rows: Rows, chosen: Labels) -> tuple[Array, Mask, Array]:
    """The mean of the rows with these numbers, which rows entered, and their weights."""
    kept = np.zeros(len(rows), dtype=bool)
    kept[chosen] = True
    weights = kept / kept.sum()
    return rows.combine(weights), kept, weights


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

    `squared` are the distances, none of them NaN. Cost O(m^2): they are parted, not sorted.
    """
    farthest = np.partition(squared, number - 1, axis=1)[:, number - 1 : number]
    near: Mask = squared <= farthest
    if (near.sum(axis=1) > number).any():  # Byzantine clients that send the same are equally far
        nearer = squared < farthest
        room = number - nearer.sum(axis=1, keepdims=True)
        equal = near & ~nearer
        near = nearer | (equal & (equal.cumsum(axis=1) <= room))
    return near
