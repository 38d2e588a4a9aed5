"""`python -m tagma.bench.networks`: a search for shorter programs of minima and maxima.

Prints the shortest selection networks it finds in the form of the table in
`tagma.strategies.numerics.kernels.found_networks`, where they belong if they are shorter than what
is there.

A network is changed at random in a few places. The change is kept if it still selects and is no
longer than before, or a little longer now and then (simulated annealing). Every network begins by
sorting pairs, and pairs of pairs: few of the 2^m zero-one inputs are left to tell apart after that,
and a network is proved on all of them at once, one bit each, in some microseconds.

A network keeps the k largest and the k smallest of m values out of the lines in the middle if it
keeps out the ones of every input that has exactly k, and the zeros of every input that has exactly
k: whatever the values are, the k largest of them can be called ones.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from math import exp
from random import Random
from typing import NamedTuple

from tagma.launch.console import notices, say
from tagma.strategies.numerics.kernels.found_networks import Comparators, written
from tagma.strategies.numerics.kernels.selection_network import cost, prune, shortest

_HELP = """Searches for selection networks that are shorter than the package's and prints those it
finds in the form of found_networks.py. A million changes take a minute."""
_MOST_ROWS = 28
"""With more, the inputs that are left are too many to be tried."""
_TEMPERATURE = 0.35
"""Of the annealing: of changes that cost one operation more, one in 17 is kept."""
_ASTRAY = 4
"""Operations above the best from where the search goes back to it."""
_PATIENCE = 200_000
"""Changes after which it goes back to the best if there was none."""


class Inputs(NamedTuple):
    """Zeros and ones as they are after the first comparators, one bit of every line for each."""

    lines: tuple[int, ...]
    few_ones: int
    """The inputs with exactly k ones, as a mask."""
    few_zeros: int


def search(m: int, dropped: int, changes: int, seed: int) -> Comparators:
    """The shortest network found within so many changes; it starts with the `beginning`."""
    random = Random(f"{m} {dropped} {seed}")
    start = beginning(m)
    inputs = all_inputs(m, dropped, start)
    known = shortest(m, dropped)

    def length(network: Comparators) -> int:
        return cost(prune(start + network, m, dropped))

    now = best = known[len(start) :] if known[: len(start)] == start else known
    now_length = best_length = length(best)
    idle = 0
    for _ in range(changes):
        idle += 1
        if idle > _PATIENCE or now_length > best_length + _ASTRAY:
            now, now_length, idle = best, best_length, 0
        other = changed(now, m, random)
        if not selects(other, inputs, dropped):
            continue
        other_length = length(other)
        if random.random() < exp((now_length - other_length) / _TEMPERATURE):
            now, now_length = other, other_length
        if now_length < best_length:
            now = best = without_unused(now, m, dropped)
            best_length, idle = now_length, 0
    return without_unused(start + best, m, dropped)


def without_unused(network: Comparators, m: int, dropped: int) -> Comparators:
    """The comparators of which something is needed."""
    return [(step.low, step.high) for step in prune(network, m, dropped)]


def beginning(m: int) -> Comparators:
    """Sorts pairs of rows, then pairs of these."""
    pairs = [(row, row + 1) for row in range(0, m - 1, 2)]
    for row in range(0, m - 3, 4):
        pairs += [(row, row + 2), (row + 1, row + 3)]
    return pairs


def all_inputs(m: int, dropped: int, start: Comparators) -> Inputs:
    """All that the first comparators can leave of inputs with few ones or few zeros."""
    states = []
    for first in range(0, m, 4):
        group = range(first, min(first + 4, m))
        own = [(a - first, b - first) for a, b in start if a in group]
        states.append({_ordered(bits, own) for bits in product((0, 1), repeat=len(group))})
    lines = [0] * m
    masks = {dropped: 0, m - dropped: 0}
    bit = 1
    for groups in product(*states):
        values = sum(groups, ())
        if sum(values) not in masks:
            continue
        masks[sum(values)] |= bit
        for line, value in enumerate(values):
            if value:
                lines[line] |= bit
        bit <<= 1
    return Inputs(tuple(lines), masks[dropped], masks[m - dropped])


def _ordered(bits: tuple[int, ...], comparators: Comparators) -> tuple[int, ...]:
    values = list(bits)
    for a, b in comparators:
        values[a], values[b] = sorted((values[a], values[b]))
    return tuple(values)


def selects(network: Comparators, inputs: Inputs, dropped: int) -> bool:
    """Whether the lines in the middle end with the middle values, on all inputs."""
    lines = list(inputs.lines)
    for a, b in network:
        low, high = lines[a], lines[b]
        lines[a], lines[b] = low & high, low | high
    return not any(
        line & inputs.few_ones or ~line & inputs.few_zeros
        for line in lines[dropped : len(lines) - dropped]
    )


def changed(network: Comparators, m: int, random: Random) -> Comparators:
    """The network with a few random changes."""
    other = list(network)
    while True:
        change = random.choice(_CHANGES) if len(other) > 1 else _insert
        change(other, m, random)
        if random.random() < 0.55:
            return other


def _remove(network: Comparators, m: int, random: Random) -> None:
    del network[random.randrange(len(network))]


def _insert(network: Comparators, m: int, random: Random) -> None:
    a, b = random.sample(range(m), 2)
    network.insert(random.randint(0, len(network)), (a, b))


def _replace_end(network: Comparators, m: int, random: Random) -> None:
    place = random.randrange(len(network))
    a, b = network[place]
    line = random.randrange(m)
    if line not in (a, b):
        network[place] = random.choice(((a, line), (line, b)))


def _exchange_ends(network: Comparators, m: int, random: Random) -> None:
    first, second = _two(network, random)
    (a, b), (c, d) = network[first], network[second]
    if a != d and c != b:
        network[first], network[second] = (a, d), (c, b)


def _exchange(network: Comparators, m: int, random: Random) -> None:
    first, second = _two(network, random)
    network[first], network[second] = network[second], network[first]


def _move(network: Comparators, m: int, random: Random) -> None:
    first, second = _two(network, random)
    network.insert(second, network.pop(first))


def _rename(network: Comparators, m: int, random: Random) -> None:
    """Exchange two lines in a part of the network."""
    first, second = sorted(_two(network, random))
    a, b = random.sample(range(m), 2)
    names = {a: b, b: a}
    for place in range(first, second + 1):
        low, high = network[place]
        network[place] = names.get(low, low), names.get(high, high)


def _two(network: Comparators, random: Random) -> tuple[int, int]:
    return random.randrange(len(network)), random.randrange(len(network))


_CHANGES = (_remove, _insert, _replace_end, _exchange_ends, _exchange, _move, _rename)


def main() -> None:
    """Search and print what is shorter than what is known."""
    parser = argparse.ArgumentParser("python -m tagma.bench.networks", description=_HELP)
    parser.add_argument("rows", type=int, nargs="+", help=f"numbers of rows, up to {_MOST_ROWS}")
    parser.add_argument("--dropped", type=int, help="on either side (default: all in turn)")
    parser.add_argument("--changes", type=int, default=10**6, help="to try (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if max(options.rows) > _MOST_ROWS:
        parser.error(f"at most {_MOST_ROWS} rows: the inputs to be told apart grow too many")
    wanted = [
        (m, dropped)
        for m in options.rows
        for dropped in range(1, (m + 1) // 2)
        if options.dropped in (None, dropped)
    ]
    if not wanted:
        parser.error("nothing to search for: fewer than half of the rows can be dropped")
    with ProcessPoolExecutor() as pool:
        searches = [pool.submit(search, *sizes, options.changes, options.seed) for sizes in wanted]
        for (m, dropped), found in zip(wanted, searches, strict=True):
            before = cost(prune(shortest(m, dropped), m, dropped))
            after = cost(prune(found.result(), m, dropped))
            notices.print(f"{m} rows without {dropped} on either side: {before} -> {after}")
            if after < before:
                say(written(m, dropped, found.result()))


if __name__ == "__main__":
    main()
