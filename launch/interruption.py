"""How Ctrl-C, and SIGTERM as `docker stop` sends it, end a command: in one line, with 130 or 143.

While modules are imported there is nothing to clean up, and an exception could arise anywhere: the
process ends at once. From then on signals are exceptions, so that what was started ends, too.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

_WAYS = {signal.SIGINT: ("interrupted", 130), signal.SIGTERM: ("terminated", 143)}
_seen: list[int] = []


class Interruption(KeyboardInterrupt):
    """A signal asked for the end."""


def end_at_once() -> None:
    """From now on signals end the process."""
    _on_signals(_exit)


def end_orderly() -> None:
    """From now on signals are exceptions."""
    _seen.clear()
    _on_signals(_raise)


def came() -> bool:
    """Whether a signal came; libraries may make something else of its exception."""
    return bool(_seen)


@contextmanager
def put_off() -> Iterator[None]:
    """Signals that come within take effect at its end: for what must not be half done.

    A process that is started within does not hear them before it calls `listen`.
    """
    late: list[int] = []
    in_main = current_thread() is main_thread()  # signals interrupt no other
    before = {number: signal.getsignal(number) for number in _WAYS}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _WAYS)
    if in_main:
        _on_signals(lambda number, frame: late.append(number))
    try:
        yield
    finally:
        if in_main:
            for number, handler in before.items():
                signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for came_late in late:
            signal.raise_signal(came_late)


def listen() -> None:
    """Hear signals again."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _WAYS)


def words_and_code() -> tuple[str, int]:
    """What is said of the first signal, and the exit code."""
    return _WAYS[signal.Signals(_seen[0] if _seen else signal.SIGINT)]


def _on_signals(handler: Callable[[int, FrameType | None], None]) -> None:
    for number in _WAYS:
        # In the background, or under nohup, Ctrl-C is for somebody else.
        if number != signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)


def _raise(number: int, frame: FrameType | None) -> None:
    _seen.append(number)
    raise Interruption


def _exit(number: int, frame: FrameType | None) -> None:
    words, code = _WAYS[signal.Signals(number)]
    os.write(2, f"tagma: error: {words}\n".encode())
    os._exit(code)
