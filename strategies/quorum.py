"""Partial participation: when a round counts, and which clusters may move in it.

A round counts if at least the share `quorum` of the clients that should answer has answered. So an
outage is no round: whoever plays the rounds tries it again (`tagma.server.patience`). Byzantine
clients below half of all cannot stop a federation by their silence, as long as `quorum` is at most
half. A reply whose entries are not finite is an answer, since that is what honest clients send when
the models diverge; all else that is dropped is none.

With few replies the aggregate of a cluster is noisy, and its Byzantine clients may be the majority
of those who answered. A cluster with fewer than `min_replies` usable replies therefore keeps its
model for this round. A cluster that has no clients at all is not missing any. That is a number, not
a share: those who infiltrate a cluster could otherwise freeze its model by saying nothing.
"""

from collections import Counter
from collections.abc import Collection

import numpy as np

from tagma.arrays import Labels, Mask
from tagma.counts import ceil_of
from tagma.errors import FederationError
from tagma.strategies.replies import ABSENCES, Rejection

_LETTERS = 100
"""Of what a client says of its failure."""


class TooFewAnswers(FederationError):
    """A round, or an evaluation, that does not count; it may be tried again."""

    def __init__(self, message: str, *, sampled: bool = False, hopeless: bool = False) -> None:
        super().__init__(message)
        self.sampled = sampled
        """Whether there are clients that were not asked."""
        self.hopeless = hopeless
        """Whether clients that have never answered well would have to: it is no outage."""


def check_quorum(
    quorum: float,
    what: str,
    answered: int,
    expected: int,
    rejections: Collection[Rejection] = (),
    *,
    sampled: bool = False,
    first: bool = False,
) -> None:
    """Raise `TooFewAnswers` if that many of those expected are too few; one is the least.

    In the `first` round nobody has ever answered: what fails then will fail again.
    """
    needed = min(expected, max(1, ceil_of(quorum, expected)))
    if answered < needed:
        reasons, away = _in_words(rejections), sum(r.reason in ABSENCES for r in rejections)
        raise TooFewAnswers(
            f"{what} of {answered} of {expected} clients{f' ({reasons})' if reasons else ''}, "
            f"quorum={quorum:g} needs {needed}",
            sampled=sampled,
            hopeless=first and answered + away < needed,
        )


def _in_words(rejections: Collection[Rejection]) -> str:
    """The most common reasons, and how many there were of each."""
    why = Counter((rejection.detail or rejection.reason)[:_LETTERS] for rejection in rejections)
    return ", ".join(f"{count} {reason}" for reason, count in why.most_common(3))


def enough_replies(replied: Labels, members: Labels, min_replies: int) -> tuple[Mask, list[int]]:
    """Which replies count, and the models that stay as they are.

    `replied` is the model of every reply, `members` that of every client; negative: none.
    """
    k = int(max(replied.max(initial=-1), members.max(initial=-1))) + 1
    replies = np.bincount(replied[replied >= 0], minlength=k)
    sizes = np.bincount(members[members >= 0], minlength=k)
    starved = (sizes > 0) & (replies < min_replies)
    counts: Mask = (replied < 0) | ~np.append(starved, False)[replied]
    return counts, np.flatnonzero(starved).tolist()
