"""Clusters that cannot be trusted, found without the truth from what their clients sent.

When Byzantine clients are more than an aggregation tolerates, its result looks like any other
number. Three signs give them away, each measured against what honest noise explains:

- they disagree: too many replies are far from where most are. Honest replies of d entries with
  standard deviation s are about s sqrt(d) away; twice that is too far.
- they collude: too many replies are alike. Two honest ones are about s sqrt(2 d) apart; a tenth of
  that is too near.
- the model was led away: stage III moved it farther from the centre of the local models than a
  typical local model lies, and three times as far as the other clusters' models moved. A single
  cluster has no others to compare with.

s is the lower median of the clusters' own estimates, so that Byzantine clients who rule some
clusters do not move it; clusters without any noise, where most replies are equal, are not asked. A
majority of Byzantine clients that answer like an honest cluster with its own noise shows none of
these: nobody could tell, from such replies alone, who lies. Cost O(m^2 d) for up to 2,000 replies
of a cluster, which stand for more.
"""

from collections.abc import Iterable
from math import sqrt

import numpy as np
from scipy.spatial.distance import pdist, squareform
from scipy.special import gammaincinv

from tagma.arrays import Array, Labels
from tagma.strategies.clustering.clustering import Clustering
from tagma.strategies.numerics.noise_scale import estimate_scale

_FAR = 2.0
_RARE = 1e-6
"""Distances vary in low dimension: far, or alike, is only what so small a share of honest replies
would be."""
_ALIKE = 0.1
_LED_AWAY = 3.0
_ASSUMED = 0.35
"""Share of Byzantine clients that the estimate of s allows for."""
_NOISELESS = 1e-6
"""A cluster whose scale is below this share of its largest entry has no noise of its own."""
_DIVERGED = 1e100
"""Beyond this, squares overflow and no distance means anything."""
_FEW = 3
"""Fewer replies say nothing."""
_MOST = 2000
"""Of more replies of a cluster every so-many-th is compared with the others."""


def suspicions(
    clustering: Clustering,
    local_models: Array,
    models: Array,
    labels: Labels,
    replies: Array,
    *,
    tolerance: float,
) -> list[str | None]:
    """For every cluster, the reason why it is suspect, or None.

    `labels` and `replies` are those of one round of stage III, `models` what it led to,
    `local_models` the local models that were clustered. `tolerance` is the share of Byzantine
    clients that the aggregation tolerates.
    """
    clusters = range(clustering.k)
    noise = _noise(replies[labels == k] for k in clusters)
    found = [_of_replies(replies[labels == k], noise, tolerance) for k in clusters]
    for cluster in _led_away(clustering, local_models, models):
        if found[cluster] is None:
            found[cluster] = "its model was led away from its clients' local models"
    return found


def _noise(members: Iterable[Array]) -> float:
    """The standard deviation of an honest reply's entries."""
    scales = []
    for rows in members:
        if len(rows) >= _FEW and float(np.abs(rows).max()) <= _DIVERGED:
            scale = estimate_scale(rows, k=1, fraction=_ASSUMED)
            if scale > _NOISELESS * np.abs(rows).max():
                scales.append(scale)
    return sorted(scales)[(len(scales) - 1) // 2] if scales else 0.0


def _of_replies(rows: Array, noise: float, tolerance: float) -> str | None:
    count, d = rows.shape
    if count < _FEW:
        return None
    if float(np.abs(rows).max()) > _DIVERGED:
        return "its replies diverged"
    rows = rows[:: -(-count // _MOST)]
    count = len(rows)
    apart = squareform(pdist(rows))
    # Two honest replies are sqrt(2) times as far apart as each is from the centre.
    typical = noise * sqrt(2 * d)
    far = max(_FAR * typical, 2 * noise * sqrt(gammaincinv(d / 2, 1 - _RARE)))
    disagreeing = count - int((apart <= far).sum(axis=1).max())
    if disagreeing > tolerance * count:
        return f"{disagreeing} of {count} replies disagree beyond noise"
    near = min(_ALIKE * typical, 2 * noise * sqrt(gammaincinv(d / 2, _RARE)))
    alike = int((apart <= near).sum(axis=1).max())
    if alike > max(_FEW - 1, tolerance * count):
        return f"{alike} of {count} replies are alike beyond chance"
    return None


def _led_away(clustering: Clustering, local_models: Array, models: Array) -> list[int]:
    """The clusters whose model stage III moved far, compared with the others."""
    with np.errstate(over="ignore"):  # of models that diverged
        moved = np.linalg.norm(models - clustering.centres, axis=1) / sqrt(models.shape[1])
    scatter = clustering.scatter(local_models)
    away = []
    for cluster in range(len(models)):
        others = np.delete(moved, cluster)
        if len(others) and moved[cluster] > max(scatter[cluster], _LED_AWAY * np.median(others)):
            away.append(cluster)
    return away
