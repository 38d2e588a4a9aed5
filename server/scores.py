"""How good a federation is, where the truth is known.

Found and true clusters are matched one to one by the Hungarian method. Matching every true cluster
with its nearest model instead would hide clusters that were lost.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment

from tagma.arrays import Array, Labels

_HUGE = np.finfo(np.float64).max


def misclustering(found: Labels, true: Labels) -> float:
    """The share of machines outside the found cluster that is matched with their true one.

    This is A_s of the paper when the rows are the honest machines.
    """
    if not len(found):
        return 0.0
    overlap = np.zeros((found.max() + 1, true.max() + 1))
    np.add.at(overlap, (found, true), 1)
    rows, columns = linear_sum_assignment(-overlap)
    return float(1 - overlap[rows, columns].sum() / len(found))


def estimation_error(models: Array, centres: Array) -> float:
    """max_k ||w_k - w*_k|| / sqrt(d).

    When there are fewer models than true clusters, those left over count with their nearest model.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        distances = np.linalg.norm(models[:, None] - centres, axis=2)
    distances = np.nan_to_num(distances, nan=_HUGE, posinf=_HUGE)
    rows, columns = linear_sum_assignment(np.minimum(distances, 1e100))
    errors = distances.min(axis=0)
    errors[columns] = distances[rows, columns]
    return float(errors.max() / np.sqrt(models.shape[1]))
