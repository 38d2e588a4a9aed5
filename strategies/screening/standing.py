"""Whose replies count in a round of stage III: quarantine and the reply check.

Quarantine: a client whose local model lies outside its cluster's ball gets the cluster's model,
but its replies do not count. With `readmission`, evidence can end it: when three of its replies in
a row have lain among those of its cluster and, where the reply check is on, agreed with its claimed
local model. A round without a reply, or with too few others to compare it with, says nothing: it
neither adds to the evidence nor ends it.

The reply check (`tagma.strategies.screening.reply_check`) ignores replies that disagree with what
the client claimed in round 1. A client that does so again and again is excluded, until as many
replies agree: nobody is out for good. All who are not in quarantine are the measure, in every
round, also those that are excluded: who gets others excluded does not become the measure. If more
than half of them seem odd, the measure is wrong, and nobody is.

What is known of every client is its `Standing`, a part of the server's state. Cost O(m d) a round.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.strategies.clustering.ball_radius import balls_around
from tagma.strategies.screening.placement import newcomers_room
from tagma.strategies.screening.reply_check import DEFAULTS, Limits, strikes
from tagma.strategies.screening.second_choice import SecondChoice

_EVIDENCE = 3
"""Replies in a row that end a quarantine."""
_CLUSTERINGS = 2
"""Clusterings in a row that end one, where clients are clustered again."""
_MOST_STRIKES = 5
"""More are not held against a client."""
_JUDGES = 5
"""With fewer replies than this there is no telling which is odd."""


@dataclass(frozen=True)
class Standing:
    """What the server holds against every client, all of shape (m,)."""

    quarantined: Mask
    """Its local model was outside the ball."""
    strikes: Labels
    """Replies that failed the reply check, minus those that passed it since."""
    excluded: Mask
    """Too many of them did."""
    evidence: Labels
    """For clients in quarantine: replies in a row that spoke for them."""

    @classmethod
    def new(cls, quarantined: Mask) -> "Standing":
        """Before any reply."""
        nothing = np.zeros(len(quarantined), dtype=np.int64)
        return cls(quarantined, nothing, np.zeros_like(quarantined), nothing)

    @property
    def counts(self) -> Mask:
        """Clients whose replies are used."""
        return ~(self.quarantined | self.excluded)

    def after_clustering(self, trimmed: Mask, there: Mask) -> "Standing":
        """The same after clients were clustered anew; who was `there` is `trimmed` or is not.

        Who was in quarantine leaves it when it has been within a cluster twice in a row.
        """
        evidence = np.where(there & self.quarantined & ~trimmed, self.evidence + 1, 0)
        evidence = np.where(there, evidence, self.evidence)
        stays = self.quarantined & (evidence < _CLUSTERINGS)
        return replace(self, quarantined=stays | (there & trimmed), evidence=evidence)

    def with_newcomer(self, row: int, *, quarantined: bool) -> "Standing":
        """The same with one more client, which has not replied yet, before that row."""
        return Standing(
            np.insert(self.quarantined, row, quarantined),
            np.insert(self.strikes, row, 0),
            np.insert(self.excluded, row, False),
            np.insert(self.evidence, row, 0),
        )


@dataclass(frozen=True)
class Answers:
    """What came in one round, in the order of the clients that replied, each of shape (r, ...)."""

    rows: Labels
    """The clients' rows in the state."""
    labels: Labels
    """Their clusters."""
    models: Array
    """The models that they received."""
    local_models: Array
    """The local models that they claimed."""
    directions: Array
    """Gradients, or the directions the clients went: their model minus their reply."""
    room: Array | None = None
    """By how much each may be odder than most, for having fewer examples; None: all alike."""


@dataclass(frozen=True)
class Screening:
    """The rules that are in force; by default none."""

    quarantine: bool = False
    readmission: bool = False
    reply_check: bool = False
    limits: Limits = DEFAULTS
    """Of the reply check."""

    def begin(self, trimmed: Mask) -> Standing:
        """The standing after stage II; if it leaves out most clients, it is not to be trusted."""
        return Standing.new(trimmed & (self.quarantine and 2 * trimmed.sum() <= len(trimmed)))

    def doubted(self, between: Mask | None) -> SecondChoice | None:
        """Who may be of which clusters, where replies are compared with local models."""
        if between is None or not between.any() or not self.reply_check:
            return None
        return SecondChoice.of(between)

    def judge(
        self, standing: Standing, rows: Labels, answers: Callable[[], Answers]
    ) -> tuple[Mask, Standing]:
        """Which replies count, shape (r,), and the standing after them.

        `rows` are the clients' rows in the state; the answers are only looked at by some screens.
        """
        counting = standing.counts[rows]
        if not (self.reply_check or self.readmission):
            return counting, standing
        replies = answers()
        odd = np.zeros(len(counting), dtype=bool)
        judges = ~standing.quarantined[rows]
        if self.reply_check and judges.sum() >= _JUDGES:
            odd = strikes(
                replies.models,
                replies.local_models,
                replies.directions,
                judges=judges,
                room=replies.room,
                limits=self.limits,
            )
            if contradicts(odd[judges]):
                odd &= ~judges
                counting = judges
            standing = _struck(standing, rows[judges], odd[judges], self.limits.strikes)
        used = counting & ~odd
        if self.readmission:
            standing = _readmit(standing, replies, used, odd)
        return used, standing


def contradicts(out: Mask) -> bool:
    """Whether more are out than can be Byzantine."""
    return bool(2 * out.sum() > len(out))


def _struck(standing: Standing, rows: Labels, odd: Mask, enough: int) -> Standing:
    """The standing after these replies: more against those that were odd, less against others."""
    counted = standing.strikes.copy()
    counted[rows] = np.clip(counted[rows] + np.where(odd, 1, -1), 0, _MOST_STRIKES)
    return replace(standing, strikes=counted, excluded=counted >= enough)


NO_SCREENING = Screening()
"""Every usable reply counts, as in the paper."""


def _readmit(standing: Standing, replies: Answers, used: Mask, odd: Mask) -> Standing:
    """Count what speaks for clients in quarantine, and let go those with enough of it."""
    evidence = standing.evidence.copy()
    waiting = standing.quarantined[replies.rows]
    for cluster in np.unique(replies.labels[waiting]):
        peers = replies.directions[used & (replies.labels == cluster)]
        asking = np.flatnonzero(waiting & (replies.labels == cluster))
        if len(peers) < _JUDGES:
            continue
        fits = _among(replies.directions[asking], peers) & ~odd[asking]
        rows = replies.rows[asking]
        evidence[rows] = np.where(fits, evidence[rows] + 1, 0)
    freed = evidence >= _EVIDENCE
    return replace(standing, quarantined=standing.quarantined & ~freed, evidence=evidence)


def _among(directions: Array, peers: Array) -> Mask:
    """Which rows, of others, lie in the ball of the peers."""
    centre = peers.mean(axis=0)
    distances = np.linalg.norm(peers - centre, axis=1)
    ball = balls_around(distances, np.zeros(len(peers), dtype=np.int64), 1, peers.shape[1])
    reach = ball.radii[0] * newcomers_room(len(peers))
    inside: Mask = np.linalg.norm(directions - centre, axis=1) <= reach
    return inside
