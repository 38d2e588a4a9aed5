"""The loop of rounds, from any of them on.

Flower's `Strategy.start` begins with round 1 and knows no newcomers. This loop begins where a
checkpoint ended, and before every round but the first asks the nodes that have no place yet for
their local model: late ones, and after a resume all of them, since node ids may have changed.
"""

from time import perf_counter

from flwr.app import ArrayRecord, ConfigRecord
from flwr.serverapp import Grid

from tagma.strategies.flower import ThreeStage


def play(
    strategy: ThreeStage, grid: Grid, *, first: int, last: int, timeout: float, patience: float
) -> None:
    """Play the rounds from `first` to `last`; each is over when all have replied, or in time.

    Newcomers are waited for no longer than `patience`, and never longer than a round may take.
    """
    arrays, config = ArrayRecord(), ConfigRecord()
    for number in range(first, last + 1):
        if number > 1:
            invitations = strategy.invite(number, grid)
            if invitations:
                limit = min(patience, timeout)
                strategy.welcome(grid.send_and_receive(invitations, timeout=limit))
        messages = strategy.configure_train(number, arrays, config, grid)
        strategy.aggregate_train(number, grid.send_and_receive(messages, timeout=timeout))


def evaluate(strategy: ThreeStage, grid: Grid, *, after: int, timeout: float) -> tuple[int, float]:
    """Let every client try its model; return the messages sent and the seconds it took."""
    started = perf_counter()
    messages = strategy.configure_evaluate(after, ArrayRecord(), ConfigRecord(), grid)
    strategy.aggregate_evaluate(after, grid.send_and_receive(messages, timeout=timeout))
    return len(messages), perf_counter() - started
