"""CPU time on one thread, as a ratio to the mean of the rows in the same run."""

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import thread_time
from typing import NamedTuple

from threadpoolctl import threadpool_limits

from tagma.arrays import Array
from tagma.environment import environment

_BUDGET = 4.0
"""Seconds after which a formulation has been measured often enough, at least once."""
_LONG = 8.0
"""Seconds of a call that is measured only once."""
_SHORT = 0.02
"""Shorter calls are repeated within a measurement."""
_OFTEN, _OFTEN_BELOW = 5, 0.05
"""Functions have so many times as many turns if a call takes less than that: theirs vary more."""


@dataclass(frozen=True)
class Timing:
    """What one formulation takes."""

    statistic: str
    library: str
    m: int
    d: int
    seconds: float
    ratio: float
    """To the mean of the rows, measured in turns with it."""
    to_ours: float
    """To our own formulation, measured in turns with it."""
    turns: int
    """How many were measured."""


class Measured(NamedTuple):
    """What `compare` finds of a function."""

    seconds: float
    """Of a call, the median over the turns."""
    ratio: float
    """To the mean."""
    to_first: float
    """To the first function."""
    turns: int


@contextmanager
def one_thread() -> Iterator[None]:
    """All libraries on one thread, and ours too."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
    with environment({"OMP_NUM_THREADS": "1"}), threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def compare(
    functions: Mapping[str, Callable[[Array], object]],
    rows: Array,
    rounds: int,
    clock: Callable[[], float] = thread_time,
) -> dict[str, Measured]:
    """By name: median seconds of a call, their ratio to `rows.mean(axis=0)` and to the first name.

    All functions take turns, each between two means, so that what else the computer does meets all
    of them; a ratio is the median of those of each turn. There are `rounds` turns, five times as
    many of short calls and fewer of long ones.

    Before every measurement the function is called once more. A virtual machine may give memory
    that has been free for some seconds back to its host, and to get it again takes many times as
    long as to fill it (`tagma bench fresh_memory`). Whom that meets depends on how long the others'
    turns took. So each function finds what it has just freed itself: what its own system takes to
    give it memory counts, what the host takes does not, unless a call is so long that it meets its
    own.
    """

    def mean() -> object:
        return rows.mean(axis=0)

    seconds = partial(_timed, clock)
    seconds(mean, 1)
    mean_calls = _calls(seconds(mean, 1))
    turns: dict[str, list[tuple[float, float]]] = {}
    expected = {}
    for name, function in functions.items():
        function(rows)
        expected[name] = seconds(partial(function, rows), 1)
        long = expected[name] > _LONG
        turns[name] = [(expected[name], seconds(mean, mean_calls))] if long else []
    for turn in range(rounds * _OFTEN):
        for name, function in functions.items():
            wanted = rounds * _OFTEN if expected[name] < _OFTEN_BELOW else rounds
            if turn < wanted and sum(own for own, _ in turns[name]) < _BUDGET:
                function(rows)
                before = seconds(mean, mean_calls)
                own = seconds(partial(function, rows), _calls(expected[name]))
                turns[name].append((own, (before + seconds(mean, mean_calls)) / 2))
    of_first = [own for own, _ in next(iter(turns.values()))]
    return {
        name: Measured(
            median(own for own, _ in own_turns),
            median(own / of for own, of in own_turns),
            # Slow functions have fewer turns.
            median(own / of for (own, _), of in zip(own_turns, of_first, strict=False)),
            len(own_turns),
        )
        for name, own_turns in turns.items()
    }


def _calls(seconds: float) -> int:
    """How many calls of so many seconds make a measurement."""
    return max(1, int(_SHORT / max(seconds, 1e-6)))


def _timed(clock: Callable[[], float], call: Callable[[], object], number: int) -> float:
    started = clock()
    for _ in range(number):
        call()
    return (clock() - started) / number
