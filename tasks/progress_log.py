"""How long computations tell that they go on: lines of the log, two seconds apart."""

import logging
from collections.abc import Callable
from time import monotonic

log = logging.getLogger("tagma.tasks")

Progress = Callable[[float], None]
"""Called now and then with the share that is done, between 0 and 1."""

_PAUSE = 2.0


def log_progress(what: str) -> Progress:
    """Logs `what` and the share that is done; nothing in the first two seconds."""
    started = last = monotonic()

    def progress(share: float) -> None:
        nonlocal last
        now = monotonic()
        if now - last >= _PAUSE:
            last = now
            log.info("%s: %.0f %% after %.0f s", what, 100 * share, now - started)

    return progress
