"""What a process reads or builds once, and how it lets go of it: a file may be another one later.

A command is one run, and keeps what it has to its end. Who calls Tagma from Python may change data
or choices between two runs.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

T = TypeVar("T")
_CLEARS: list[Callable[[], None]] = []


def kept(maxsize: int) -> "Callable[[Callable[..., T]], _lru_cache_wrapper[T]]":
    """A cache of a function whose results depend on files, or take memory."""

    def decorate(function: Callable[..., T]) -> "_lru_cache_wrapper[T]":
        cached = lru_cache(maxsize)(function)
        _CLEARS.append(cached.cache_clear)
        return cached

    return decorate


def forgotten_with_the_rest(clear: Callable[[], None]) -> None:
    """Let `forget` call this, too."""
    _CLEARS.append(clear)


def forget() -> None:
    """Let go of everything: what is needed again is read and built anew."""
    for clear in _CLEARS:
        clear()
