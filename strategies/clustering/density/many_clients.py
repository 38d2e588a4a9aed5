"""Clusters of very many clients: found among some, drawn at random, then by all.

Pairs of clients are what costs m^2. They are looked at among those drawn; what follows costs O(m)
for each cluster and is done with everybody: members, centres and noise (`membership`), what is
dropped, merged and split (`revision`). Where more than some are outside of all clusters, or in one
that spreads, clusters are looked for among some of these again, drawn anew: a cluster too small to
be seen among all is dense there.

Who is a copy of a client that was drawn is put aside, as among few. A group of c copies without one
that was drawn stays; of a share s that is drawn, this happens with probability (1 - s)^c.

Who is drawn follows from the number of clients, whatever they send: no client is in it for what it
says, but one that chooses its number may choose one that is drawn. More than half of those drawn
must be honest.
"""

from dataclasses import replace

import numpy as np
from scipy.spatial.distance import cdist

from tagma.arrays import Array, Labels, Mask
from tagma.strategies.clustering.density.copies import copies_are_within
from tagma.strategies.clustering.density.doubts import surrounding
from tagma.strategies.clustering.density.membership import OUTSIDE, Fit, explained, polish
from tagma.strategies.clustering.density.revision import Known, refine, settle

NEIGHBOUR = 5
"""Near neighbours: with those a client shares its cluster."""
_PAIRS = 4_000_000
"""Pairs of clients whose distances are held at a time."""


def for_all(
    vectors: Array, room: Array, drawn: Labels, kept: Labels, known: Known, fit: Fit
) -> tuple[Labels, Known, Fit]:
    """From the clusters of the vectors that were drawn, less copies, to those of all.

    `kept` are the rows among those drawn that are no copies. Returned are the rows that are no
    copies, what is known of them, and their clusters.
    """
    if not fit.k:
        return drawn[kept], known, fit
    rows = np.arange(len(vectors))
    members = np.full(len(vectors), OUTSIDE)
    members[drawn[kept]] = fit.members
    aside = np.zeros(len(vectors), dtype=bool)
    aside[np.delete(drawn, kept)] = True
    # By the centres of those drawn, which copies that are left do not move.
    first = polish(
        vectors, members, fit.noise.typical, known.inflation, room, known.constants, limit=1
    )
    # Members are among their like; how near others are to anybody is not what their noise says.
    spreads = first.noise.scales.copy()
    outside = np.flatnonzero(first.members == OUTSIDE)
    spreads[outside] = _spreads(vectors[outside], vectors[drawn[kept]])
    spreads[drawn[kept]] = known.spreads
    known = replace(
        known, vectors=vectors, strong=vectors @ known.directions.T, spreads=spreads, room=room
    )
    aside |= _copies(known, first, drawn)
    members = first.members
    if aside.any():
        rows = rows[~aside]
        known, members = known.only(rows), members[rows]
    fit = refine(known, settle(known, members, first.noise.typical))
    copies = surrounding(known, fit)
    if copies.any():
        rows, members = rows[~copies], fit.members[~copies]
        known = known.only(np.flatnonzero(~copies))
        fit = refine(known, settle(known, members, fit.noise.typical))
    return rows, known, fit


def _spreads(rows: Array, others: Array) -> Array:
    """Noise of these rows by their near neighbours among others. Cost O(m d) for each of these."""
    found = np.empty(len(rows))
    q = min(NEIGHBOUR, len(others)) - 1
    for block in np.array_split(np.arange(len(rows)), len(rows) * len(others) // _PAIRS + 1):
        squared = cdist(rows[block], others, "sqeuclidean")
        found[block] = np.partition(squared, q, axis=1)[:, q]
    return np.sqrt(found / (2 * rows.shape[1]))


def _copies(known: Known, fit: Fit, drawn: Labels) -> Mask:
    """Who is a copy of one that was drawn, among those with the same nearest centre.

    Cost O(m d) for each who is drawn, over K.
    """
    nearest = explained(known.vectors, fit, known.constants)[0].argmin(axis=1)
    found = np.zeros(len(known.vectors), dtype=bool)
    was_drawn = found.copy()
    was_drawn[drawn] = True
    scales = np.minimum(fit.noise.scales, fit.noise.typical)
    reach = copies_are_within(known.vectors.shape[1], known.constants)
    for cluster in range(fit.k):
        own = nearest == cluster
        those, others = np.flatnonzero(own & was_drawn), np.flatnonzero(own & ~was_drawn)
        for block in np.array_split(others, len(others) * len(those) // _PAIRS + 1):
            squared = cdist(known.vectors[block], known.vectors[those], "sqeuclidean")
            pairs = scales[block][:, None] ** 2 + scales[those] ** 2
            found[block] = (squared < reach * pairs).any(axis=1)
    return found
