"""Buffers of a model, which are no parameters: joined robustly, apart from all arithmetic.

Floating ones (running statistics) by the median over the clients of a model, integer ones (counts
of batches) by their maximum.
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


def _joined(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    stacked = np.array(arrays)
    if stacked.dtype.kind == "f":
        return np.median(stacked, axis=0).astype(stacked.dtype)
    joined: NDArray[Any] = stacked.max(axis=0)
    return joined
