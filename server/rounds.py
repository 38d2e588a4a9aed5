"""The loop of rounds, from any of them on.

Flower's `Strategy.start` begins with round 1 and knows no newcomers. This loop begins where a
checkpoint ended, and before every round asks the nodes that have no place yet who they are: late
ones, and after a resume all of them, since node ids may have changed.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from flwr.app import ArrayRecord, ConfigRecord, Message
from flwr.serverapp import Grid

from tagma.attacks.attacked_grid import AttackedGrid
from tagma.attacks.collusion import Collusion
from tagma.message_limits import Intake
from tagma.server.patience import until_enough
from tagma.strategies.flower import AlgorithmStrategy
from tagma.strategies.round_outcome import Round


@dataclass(frozen=True)
class RoundsPlan:
    """Which rounds are played, what happens in them beside training, and who hears of them."""

    first: int
    last: int
    evaluates: Callable[[int], bool]
    """Whether every client tries its model after a round."""
    on_round: Callable[[Round], None]
    on_waiting: Callable[[int, int], None] = lambda present, expected: None
    """Is told how many clients are there, of how many, before the first round."""
    collusion: Collusion | None = None
    """What Byzantine clients do together."""


def play(
    strategy: AlgorithmStrategy[Any],
    grid: Grid,
    plan: RoundsPlan,
    *,
    timeout: float,
    patience: float,
    quorum_timeout: float = 0.0,
) -> None:
    """Play the rounds of the plan; each is over when all have replied, or in time.

    Newcomers are waited for no longer than `patience`, and never longer than a round may take. A
    round in which too few clients answered is tried again for `quorum_timeout` seconds.
    """
    arrays, config = ArrayRecord(), ConfigRecord()
    intake = getattr(grid, "intake", None) or Intake()
    if plan.collusion is not None:
        grid = AttackedGrid(grid, plan.collusion, sound=strategy.sound, layout=strategy.layout)

    def train(number: int) -> None:
        if invitations := strategy.invite(number, grid):
            limit = min(patience, timeout)
            strategy.welcome(grid.send_and_receive(invitations, timeout=limit))
        messages = strategy.configure_train(number, arrays, config, grid)
        strategy.aggregate_train(
            number, _one_by_one(grid.send_and_receive(messages, timeout=timeout))
        )

    def evaluate(number: int) -> None:
        messages = strategy.configure_evaluate(number, arrays, config, grid)
        strategy.aggregate_evaluate(number, grid.send_and_receive(messages, timeout=timeout))

    for number in range(plan.first, plan.last + 1):
        received = intake.bytes
        until_enough(strategy, partial(train, number), quorum_timeout)
        if plan.evaluates(number):
            until_enough(strategy, partial(evaluate, number), quorum_timeout)
        strategy.outcome.bytes_received = intake.bytes - received
        plan.on_round(strategy.outcome)


def _one_by_one(replies: Iterable[Message]) -> Iterator[Message]:
    """The replies, none of which is kept when the next is asked for."""
    waiting = list(replies)
    del replies
    waiting.reverse()
    while waiting:
        yield waiting.pop()
