"""How well an algorithm tells Byzantine clients from honest ones, where anybody knows."""

import numpy as np

from tagma.arrays import Labels, Mask
from tagma.server.results.scores import Seen
from tagma.strategies.algorithms.clustered_clients import Clustered

SHARES = ("true_positive", "false_positive")


def detection(state: Clustered, seen: Seen, *, screens: bool) -> dict[str, float | None] | None:
    """The shares of Byzantine and of honest clients that are held out in the end.

    Held out are those in quarantine and those that the reply check excluded. Clients that never
    sent anything usable were not judged and are not counted; a share of nobody is None. So is the
    whole where nobody knows who is Byzantine, or the algorithm holds nobody out: it does if
    `screens`, and may without, where clients come late.
    """
    held = ~state.standing.counts
    if seen.byzantine is None or not (screens or held.any()):
        return None
    honest = seen.honest(state.clients)
    return dict(zip(SHARES, _shares(held, honest), strict=True))


def shares_left_out(
    seen: Seen, clients: Labels, left_out: Mask
) -> tuple[float | None, float | None]:
    """Of the Byzantine and of the honest among the clients that answered, those left out."""
    return _shares(left_out, seen.honest(clients))


def _shares(held: Mask, honest: Mask) -> tuple[float | None, float | None]:
    groups = held[~honest], held[honest]
    byzantine, others = (float(np.mean(own)) if len(own) else None for own in groups)
    return byzantine, others
