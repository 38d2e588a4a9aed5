"""Buffers of a model, which are no parameters: joined robustly, apart from all arithmetic.

By the median over the clients of a model: floating ones (running statistics) as usual, whole ones
(counts of batches) by the upper median, which is one of the values sent. The maximum, which is
often taken for counts, would be any single client's to set.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagma.arrays import Labels
from tagma.layout import Named


def joined_buffers(
    before: Sequence[Named], replies: Sequence[Mapping[str, NDArray[Any]]], which: Labels
) -> list[Named]:
    """The buffers of every model after a round; a model without replies keeps its own."""
    after: list[Named] = list(before)
    for k in np.unique(which[which >= 0]).tolist():
        own = [buffers for buffers, label in zip(replies, which, strict=True) if label == k]
        after[k] = {name: _joined([buffers[name] for buffers in own]) for name in before[k]}
    return after


def moved_buffers(
    buffers: Sequence[Named], first: Named, before: Labels, after: Labels, k: int
) -> list[Named]:
    """The buffers of k models whose rows may have moved: they follow the clients.

    `before` and `after` are the rows of the same clients, negative: none. A model's buffers are
    those of the row that most of its clients come from; a model without such clients keeps its own
    or, if it is new, begins with the `first` ones.
    """
    moved = []
    for row in range(k):
        from_rows = before[(after == row) & (before >= 0)]
        source = int(np.bincount(from_rows).argmax()) if len(from_rows) else row
        moved.append(buffers[source] if source < len(buffers) else first)
    return moved


def _joined(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    stacked = np.array(arrays)
    if stacked.dtype.kind == "f":
        return np.median(stacked, axis=0).astype(stacked.dtype)
    joined: NDArray[Any] = np.sort(stacked, axis=0)[len(stacked) // 2]
    return joined
