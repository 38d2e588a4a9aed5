"""How good a federation is, where the truth is known.

Found and true clusters are matched one to one by the Hungarian method. Matching every true cluster
with its nearest model instead would hide clusters that were lost.
"""

from collections.abc import Mapping

import numpy as np
from scipy.optimize import linear_sum_assignment

from tagma.arrays import Array, Labels, Mask
from tagma.tasks.task import Better

_HUGE = np.finfo(np.float64).max

CLUSTERING: Mapping[str, Better] = {"misclustering": "low", "ari": "high"}
"""What a run with true clusters says of those that it found, and which way is good."""


def misclustering(found: Labels, true: Labels) -> float:
    """The share of clients outside the found cluster that is matched with their true one.

    This is A_s of the paper when the rows are the honest clients.
    """
    if not len(found):
        return 0.0
    overlap, rows, columns = _matched(found, true)
    return float(1 - overlap[rows, columns].sum() / len(found))


def adjusted_rand_index(found: Labels, true: Labels) -> float:
    """How far two groupings agree on which pairs of clients are together, beyond chance.

    With n_ij clients in found cluster i and true cluster j and C(n) = n (n - 1) / 2 (Hubert and
    Arabie, 1985):

        (sum C(n_ij) - E) / ((sum C(n_i.) + sum C(n_.j)) / 2 - E),
        E = sum C(n_i.) sum C(n_.j) / C(n)

    1 for equal groupings, 0 on average for random ones. A negative found label is a client on its
    own. Groupings that leave nothing to agree on, such as one cluster each, are equal.
    """
    alone = found < 0
    found = np.where(alone, found.max(initial=-1) + np.cumsum(alone), found)
    _, rows = np.unique(found, return_inverse=True)
    _, columns = np.unique(true, return_inverse=True)
    if not len(found):
        return 1.0
    overlap = _overlap(rows, columns, (rows.max() + 1, columns.max() + 1))
    both, ours, theirs, every = (
        float((counts * (counts - 1)).sum() / 2)
        for counts in (overlap, overlap.sum(1), overlap.sum(0), overlap.sum())
    )
    expected = ours * theirs / every if every else 0.0
    most = (ours + theirs) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)


def clusterwise_misclustering(found: Labels, true: Labels, trimmed: Mask | None = None) -> float:
    """The worst cluster's share of clients that do not belong there, or are missing from it.

    G_s of the paper, when the rows are the honest clients: for a found cluster h, its members from
    other true clusters over all its members; for a true cluster h, those found elsewhere over all
    of it. With `trimmed`, G_s^U: only untrimmed members count as found, and a trimmed client of a
    true cluster counts as missing.
    """
    if not len(found):
        return 0.0
    overlap, rows, columns = _matched(found, true)
    kept = overlap if trimmed is None else _overlap(found[~trimmed], true[~trimmed], overlap.shape)
    right = kept[rows, columns]
    inside, belonging = kept.sum(axis=1)[rows], overlap.sum(axis=0)
    intruders = (inside - right) / np.maximum(inside, 1)
    missing = np.ones(len(belonging))
    missing[columns] = 1 - right / np.maximum(belonging[columns], 1)
    return float(max(intruders.max(), missing[belonging > 0].max()))


def _matched(found: Labels, true: Labels) -> tuple[Array, Labels, Labels]:
    """How many clients found and true clusters share, and the best one-to-one matching."""
    overlap = _overlap(found, true, (found.max() + 1, true.max() + 1))
    rows, columns = linear_sum_assignment(-overlap)
    return overlap, rows, columns


def _overlap(found: Labels, true: Labels, shape: tuple[int, ...]) -> Array:
    counts = np.zeros(shape)
    np.add.at(counts, (found, true), 1)
    return counts


def estimation_error(models: Array, centres: Array) -> float:
    """max_k ||w_k - w*_k|| / sqrt(d).

    When there are fewer models than true clusters, those left over count with their nearest model.
    """
    models = models.astype(np.float64, copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        distances = np.linalg.norm(models[:, None] - centres, axis=2)
    distances = np.fmin(distances, _HUGE)  # which what is not a number becomes, too
    rows, columns = linear_sum_assignment(np.minimum(distances, 1e100))
    errors = distances.min(axis=0)
    errors[columns] = distances[rows, columns]
    return float(errors.max() / np.sqrt(models.shape[1]))


def centre_error(centres: Array, truth: Array) -> float | None:
    """Lambda_s of the paper: the worst centre's error over the smallest gap between true centres.

    None with a single true cluster, which has no gap.
    """
    if len(truth) < 2:
        return None
    gaps = np.linalg.norm(truth[:, None] - truth, axis=2)[np.triu_indices(len(truth), 1)]
    if gaps.min() == 0:
        return None
    return estimation_error(centres, truth) * float(np.sqrt(truth.shape[1]) / gaps.min())
