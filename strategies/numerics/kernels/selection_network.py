"""Programs of minima and maxima that bring the middle of every column to the middle rows.

A comparator (a, b) puts the smaller of rows a and b into a, the larger into b, for all columns at
once. A sorting network is a list of comparators that sorts whatever comes in; it needs no
transposition and no branches, which makes it the fastest way to order few rows.

Only the sum of the middle rows is wanted, not their order. Going backwards through the list,
a comparator is dropped if both of its outputs are only summed or both are not used, and is halved
if one of them is not used. What is left is the program. The networks are

- the pairwise sorting network (Parberry, 1992) for the next power of two, in the best of the
  positions that the rows can have in it;
- knockout rounds, each of which takes out the least and the greatest row that are left: shorter
  when few are to be dropped.

Inputs are never written to: a step writes to lines of scratch memory, which are used again as soon
as they are free.
"""

from functools import lru_cache
from typing import NamedTuple

Comparators = list[tuple[int, int]]

_UNUSED, _SUMMED, _EXACT = range(3)


class Step(NamedTuple):
    """A comparator of which one or both outputs are used."""

    low: int
    high: int
    minimum: bool
    maximum: bool


class Operation(NamedTuple):
    """line[out] = minimum or maximum of line[a] and line[b]."""

    minimum: bool
    a: int
    b: int
    out: int


class Program(NamedTuple):
    """What to do with lines 0..m-1, which are the rows, and those after, which are scratch."""

    operations: tuple[Operation, ...]
    middle: tuple[int, ...]
    """The lines that hold the middle values at the end."""
    lines: int
    """How many there are, with the rows."""


@lru_cache(maxsize=1024)
def program(m: int, dropped: int) -> Program:
    """How to find the values of m rows without the `dropped` smallest and largest."""
    programs = (_prune(network, m, dropped) for network in _networks(m, dropped))
    return _allocate(min(programs, key=_cost), m, dropped)


def _networks(m: int, dropped: int) -> list[Comparators]:
    size = 1 << (m - 1).bit_length()
    pairwise = _pairwise(size)
    windows = [_window(pairwise, start, m) for start in range(size - m + 1)]
    return [*windows, _knockout(m, dropped)]


def _allocate(steps: tuple[Step, ...], m: int, dropped: int) -> Program:
    """Give every result a line of scratch memory."""
    line = list(range(m))
    free: list[int] = []
    lines = m
    operations = []
    for low, high, minimum, maximum in steps:
        a, b = line[low], line[high]
        results = [row for row, wanted in ((low, minimum), (high, maximum)) if wanted]
        # The last result may overwrite an operand; the first may not.
        reusable = [operand for operand in (a, b) if operand >= m]
        for row in results:
            if row == results[-1] and reusable:
                line[row] = reusable.pop()
            elif free:
                line[row] = free.pop()
            else:
                line[row], lines = lines, lines + 1
            operations.append(Operation(row == low, a, b, line[row]))
        free += reusable
    return Program(tuple(operations), tuple(line[dropped : m - dropped]), lines)


def _cost(steps: tuple[Step, ...]) -> int:
    """How many minima and maxima there are."""
    return sum(step.minimum + step.maximum for step in steps)


def _prune(comparators: Comparators, m: int, dropped: int) -> tuple[Step, ...]:
    """What is needed of a network to sum the middle rows."""
    use = [_SUMMED if dropped <= row < m - dropped else _UNUSED for row in range(m)]
    steps = []
    for low, high in reversed(comparators):
        if use[low] == use[high] != _EXACT:
            continue
        steps.append(Step(low, high, use[low] != _UNUSED, use[high] != _UNUSED))
        use[low] = use[high] = _EXACT
    return tuple(reversed(steps))


def _window(comparators: Comparators, start: int, m: int) -> Comparators:
    """The network for m rows when the others are infinite: small before `start`, large after."""
    stop = start + m
    return [(a - start, b - start) for a, b in comparators if a >= start and b < stop]


def _knockout(m: int, rounds: int) -> Comparators:
    comparators = []
    for first in range(rounds):
        last = m - 1 - first
        half = (last - first + 1) // 2
        comparators += [(first + i, last - i) for i in range(half)]
        comparators += [(first, first + i) for i in range(1, half)]
        comparators += [(last - i, last) for i in range(1, half)]
        if (last - first) % 2 == 0 and half:
            comparators += [(first, first + half), (first + half, last)]
    return comparators


def _pairwise(size: int) -> Comparators:
    """Sorts pairs, then the pairs by their minima, then merges; `size` is a power of two."""
    comparators = []
    reach = 1
    while reach < size:
        comparators += [(i, i + reach) for i in range(size - reach) if not i & reach]
        reach *= 2
    reach //= 4
    steps = 1
    while reach > 0:
        distance = steps
        while distance > 0:
            gap = distance * reach
            comparators += [(i, i + gap) for i in range(reach, size - gap) if i & reach]
            distance //= 2
        reach //= 2
        steps = 2 * steps + 1
    return comparators
