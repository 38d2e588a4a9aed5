"""What is done about a round that too few clients answered: all are asked, then it is waited.

Where only a part of the clients was asked, it may be the wrong part: chance can draw more Byzantine
clients that say nothing than there are in all. So all are asked at once. If that is not enough
either, nobody is there, or they cannot be reached: the round is tried again after a pause that
grows, until it counts or the time is over.
"""

import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar

from tagma.strategies.algorithm_run import AlgorithmRun
from tagma.strategies.quorum import TooFewAnswers

_SHORTEST, _LONGEST = 1.0, 30.0
"""Seconds between two tries."""
_Result = TypeVar("_Result")
_log = logging.getLogger("tagma")


def until_enough(run: AlgorithmRun[Any], attempt: Callable[[], _Result], seconds: float) -> _Result:
    """The result of an attempt that enough clients answered.

    Tries again for so many seconds after the first failure, at least once unless they are 0; then
    the last `TooFewAnswers` is raised, with the setting that says how long.
    """
    pause, give_up = _SHORTEST, None
    while True:
        try:
            return _of_a_sample_or_all(run, attempt)
        except TooFewAnswers as problem:
            now = time.monotonic()
            give_up = now + seconds if give_up is None else give_up
            if problem.hopeless:
                raise
            if now >= give_up:
                waited = f"; waited for quorum_timeout={seconds:g} s" if seconds else ""
                raise TooFewAnswers(f"{problem}{waited}") from None
            _log.warning("%s; trying again in %g s", problem, pause)
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST)


def _of_a_sample_or_all(run: AlgorithmRun[Any], attempt: Callable[[], _Result]) -> _Result:
    try:
        return attempt()
    except TooFewAnswers as problem:
        if not problem.sampled:
            raise
        _log.warning("%s; asking all clients", problem)
    run.asks_all = True
    try:
        return attempt()
    finally:
        run.asks_all = False
