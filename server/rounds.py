"""The loop of rounds, from any of them on.

Flower's `Strategy.start` begins with round 1 and knows no newcomers. This loop begins where a
checkpoint ended, and before every round asks the nodes that have no place yet who they are: late
ones, and after a resume all of them, since node ids may have changed.
"""

from collections.abc import Callable
from typing import Any

from flwr.app import ArrayRecord, ConfigRecord
from flwr.serverapp import Grid

from tagma.strategies.algorithm_run import Round
from tagma.strategies.flower import AlgorithmStrategy


def play(
    strategy: AlgorithmStrategy[Any],
    grid: Grid,
    *,
    first: int,
    last: int,
    timeout: float,
    patience: float,
    evaluates: Callable[[int], bool],
    on_round: Callable[[Round], None],
) -> None:
    """Play the rounds from `first` to `last`; each is over when all have replied, or in time.

    Newcomers are waited for no longer than `patience`, and never longer than a round may take.
    After the rounds that `evaluates` names, every client tries its model.
    """
    arrays, config = ArrayRecord(), ConfigRecord()
    for number in range(first, last + 1):
        if invitations := strategy.invite(number, grid):
            limit = min(patience, timeout)
            strategy.welcome(grid.send_and_receive(invitations, timeout=limit))
        messages = strategy.configure_train(number, arrays, config, grid)
        strategy.aggregate_train(number, grid.send_and_receive(messages, timeout=timeout))
        if evaluates(number):
            messages = strategy.configure_evaluate(number, arrays, config, grid)
            strategy.aggregate_evaluate(number, grid.send_and_receive(messages, timeout=timeout))
        on_round(strategy.outcome)
