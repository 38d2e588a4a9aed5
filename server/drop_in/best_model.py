"""Which of several models suits a client of somebody else's app: it is asked to evaluate each.

Our own clients get all models at once and say which they went on with; an app can only evaluate
one model at a time. So choosing costs as many messages to a client as there are models.
"""

from collections.abc import Callable

from tagma.errors import FederationError
from tagma.server.drop_in.foreign_replies import ForeignReplies
from tagma.strategies.quorum import TooFewAnswers
from tagma.strategies.replies import ABSENCES


def best_models(
    losses_of: Callable[[int], ForeignReplies], models: int, metric: str
) -> dict[int, int]:
    """From nodes to the model whose metric is least; nodes that do not answer for all have none."""
    losses: dict[int, list[float]] = {}
    seen: set[str] = set()
    answered = False
    for row in range(models):
        found = losses_of(row)
        answered |= not all(rejection.reason in ABSENCES for rejection in found.rejections)
        answered |= bool(found.usable)
        for reply in found.usable:
            told = found.metrics_of(reply.node)
            seen |= told.keys()
            if metric in told and len(losses.setdefault(reply.node, [])) == row:
                losses[reply.node].append(told[metric])
    whole = {node: own for node, own in losses.items() if len(own) == models}
    if not answered:
        raise TooFewAnswers("no client answered which model suits it")
    if not whole:
        known = ", ".join(sorted(seen)[:8]) or "nothing"
        raise FederationError(
            f"choose_by={metric}: no client reports it for every model when it evaluates; they "
            f"report {known}"
        )
    return {node: own.index(min(own)) for node, own in whole.items()}
