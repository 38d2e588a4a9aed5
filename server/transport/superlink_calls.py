"""Calls to a SuperLink that may be away for a while: killed, restarted, or behind a broken network.

Flower's grid for deployments tries again by itself while nobody answers, but gives up on a
connection that breaks in the middle of its TLS handshake, on the errors of a SuperLink that is just
starting or ending, and on an upload of which it was not told that it had succeeded. A run must not
end by these. So they are outages as well.
"""

import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import httpx
from flwr.serverapp import Grid

from tagma.escaping import one_line
from tagma.server.transport.flower_superlink import ObjectPushError, RetryInvoker

_PAUSE = 1.0
_PATIENCE = 60.0
"""Seconds for which a SuperLink that answers, but by an error of its own, is asked again."""
_Result = TypeVar("_Result")
_log = logging.getLogger("tagma")


class Link:
    """Makes the calls of one Grid, and remembers when one last failed."""

    def __init__(self, grid: Grid, sleep: Callable[[float], None] = time.sleep) -> None:
        self._sleep = sleep
        self.away_until = -math.inf
        """When the SuperLink was last found to be away, on the monotonic clock."""
        # A simulation's grid has none: it calls the SuperLink's code directly.
        invoker = getattr(grid, "_retry_invoker", None)
        if isinstance(invoker, RetryInvoker):
            self._listen(invoker)

    def call(self, function: Callable[[], _Result]) -> _Result:
        """The result of a call that may safely be made twice.

        Nobody at the other end is waited for, as Flower does; errors of the SuperLink, which a node
        may be able to provoke, for a minute only.
        """
        give_up = time.monotonic() + _PATIENCE
        while True:
            try:
                return function()
            except (httpx.HTTPError, ObjectPushError) as problem:
                self.note(problem)
                answered = not isinstance(problem, httpx.TransportError)
                if answered and time.monotonic() >= give_up:
                    raise
            self._sleep(_PAUSE)

    @contextmanager
    def tolerated(self) -> Iterator[None]:
        """Do without the result of what fails in here; it is tried another time."""
        try:
            yield
        except (httpx.HTTPError, ObjectPushError) as problem:
            self.note(problem)

    def note(self, problem: Exception) -> None:
        """Take an error for an outage; one that will not pass is raised again."""
        if not passing(problem):
            raise problem
        _log.warning("the SuperLink was away: %s", one_line(f"{type(problem).__name__}: {problem}"))
        self.away_until = time.monotonic()

    def _listen(self, invoker: RetryInvoker) -> None:
        """Hear of the failures after which Flower tries again by itself."""
        tell = invoker.on_backoff

        def on_backoff(state: object) -> None:
            self.away_until = time.monotonic()
            if tell is not None:
                tell(state)  # type: ignore[arg-type]

        invoker.on_backoff = on_backoff


def passing(problem: Exception) -> bool:
    """Whether an error may be gone the next time; a refusal will not."""
    return not isinstance(problem, httpx.HTTPStatusError) or problem.response.status_code >= 500
