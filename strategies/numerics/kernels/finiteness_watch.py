"""Where to look in a program of minima and maxima so that nothing that is not finite is lost.

A NaN goes through to all results that depend on it. An infinity may be dropped: +inf shows in
maxima, and in minima of two lines that both show it; -inf the other way round. A few results, the
greatest and the least of many rows each, show it in whatever row it is, at a fraction of what it
costs to look at the rows.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from tagma.strategies.numerics.kernels.selection_network import program

_Shown = frozenset[int]
"""Rows of which an infinity would show."""


class Watch(NamedTuple):
    """What is finite only if all rows are."""

    rows: _Shown
    operations: frozenset[int]
    """By number: their results."""


NOTHING = Watch(frozenset(), frozenset())


@lru_cache(maxsize=1024)
def watch(m: int, dropped: int) -> Watch:
    """Where to look in `program(m, dropped)`: in turn, where most of what is left would show."""
    steps = program(m, dropped)
    high = [frozenset((row,)) for row in range(m)] + [frozenset[int]()] * (steps.lines - m)
    low = list(high)
    highs, lows = [], []
    for minimum, a, b, out in steps.operations:
        any_high, both_high = high[a] | high[b], high[a] & high[b]
        any_low, both_low = low[a] | low[b], low[a] & low[b]
        high[out], low[out] = (both_high, any_low) if minimum else (any_high, both_low)
        highs.append(high[out])
        lows.append(low[out])
    high_places, high_rows = _cover(highs, m)
    low_places, low_rows = _cover(lows, m)
    where = Watch(high_rows | low_rows, high_places | low_places)
    few = len(where.rows) + len(where.operations) < m
    return where if few else Watch(frozenset(range(m)), frozenset())


def _cover(shown: Sequence[_Shown], m: int) -> tuple[frozenset[int], _Shown]:
    """Operations that together show what they can, and the rows that none of them shows."""
    places = set()
    left = frozenset(range(m))
    while left and shown:
        place = max(range(len(shown)), key=lambda number: len(shown[number] & left))
        if not shown[place] & left:
            break
        places.add(place)
        left -= shown[place]
    return frozenset(places), left
