"""One exchange of Flower's own loop, which can be had again where too few clients answered it.

Flower's loop sends what a Strategy configured, and hands over what came, once. What is sent after
that is sent from here.
"""

from collections.abc import Callable, Iterable
from typing import Any

from flwr.app import Message
from flwr.serverapp import Grid

from tagma.server.drop_in.foreign_replies import ForeignReplies
from tagma.server.patience import until_enough
from tagma.strategies.algorithm_run import AlgorithmRun


class PatientExchange:
    """Tries for `seconds`, on a Grid on which others may come later; each for `timeout` at most."""

    def __init__(
        self,
        run: AlgorithmRun[Any],
        configure: Callable[[], list[Message]],
        grid: Grid,
        *,
        seconds: float,
        timeout: float,
    ) -> None:
        self._run = run
        self._configure = configure
        self._grid = grid
        self._seconds = patience_on(grid, seconds)
        self._timeout = timeout

    def messages(self) -> list[Message]:
        """What is sent first, which may need an exchange of its own."""
        return until_enough(self._run, self._configure, self._seconds)

    def enough(
        self, replies: Iterable[Message], check: Callable[[Iterable[Message]], ForeignReplies]
    ) -> ForeignReplies:
        """What a check makes of these replies or, while they are too few, of new ones."""
        first = [replies]
        return until_enough(
            self._run, lambda: check(first.pop() if first else self._again()), self._seconds
        )

    def _again(self) -> Iterable[Message]:
        return self._grid.send_and_receive(self._configure(), timeout=self._timeout)


def patience_on(grid: Grid, seconds: float) -> float:
    """How long to wait on a Grid: where all clients answer at once or never, not at all."""
    return 0.0 if getattr(grid, "immediate", False) else seconds
