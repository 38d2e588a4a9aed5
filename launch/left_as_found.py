"""The process of somebody who calls Tagma from Python: one call at a time, and all left as it was.

Settings, tasks and torch modules are shared by a process, so that threads that call Tagma take
turns. What a call changes of the process ends with it: torch's threads, Flower's idea of who this
process is, where modules are looked for, and loggers.
"""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock

from tagma.environment import libraries_change_nothing
from tagma.flower_private import identity_as_it_was
from tagma.run_log import RunLog
from tagma.tasks.torch_loss import FOUND_THREADS

_TURN = RLock()
_LOGGERS = ("tagma", "flwr")


@contextmanager
def left_as_found(*, own_modules: bool) -> Iterator[None]:
    """Wait for the others' turns to end; `own_modules`: those of the working folder are found."""
    with _TURN:
        here, path = os.getcwd(), sys.path
        added = own_modules and here not in path
        if added:
            path.append(here)
        try:
            with libraries_change_nothing(), identity_as_it_was(), _torch_on_one_thread():
                yield
        finally:
            if added:
                with suppress(ValueError):
                    path.remove(here)


@contextmanager
def _torch_on_one_thread() -> Iterator[None]:
    """As a run wants it, if torch is there; with as many threads as before afterwards."""
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else None
    if torch and FOUND_THREADS and not os.environ.get("OMP_NUM_THREADS"):
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if before is None and FOUND_THREADS:
            before = FOUND_THREADS[0]
        if before is not None:
            sys.modules["torch"].set_num_threads(before)


@contextmanager
def logged_to(file: Path) -> Iterator[None]:
    """What Tagma and Flower log goes to the file, and where it went before only if that was wanted.

    Flower's own line on the terminal is none of a run's business.
    """
    handler = RunLog(file)
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    kept = [(each.handlers[:], each.level, each.propagate) for each in loggers]
    wanted = logging.getLogger().isEnabledFor(logging.INFO)
    try:
        for logger in loggers:
            logger.handlers[:] = [handler, *(logger.handlers if logger.name == "tagma" else ())]
            logger.setLevel(logging.INFO)
            logger.propagate = wanted
        yield
    finally:
        for logger, (handlers, level, propagate) in zip(loggers, kept, strict=True):
            logger.handlers[:] = handlers
            logger.setLevel(level)
            logger.propagate = propagate
        handler.close()
