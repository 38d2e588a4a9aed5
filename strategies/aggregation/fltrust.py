"""FLTrust (Cao et al., 2021): the server's own update says whom to trust."""

import numpy as np

from tagma.arrays import Array
from tagma.strategies.aggregation.aggregate import Aggregate
from tagma.strategies.aggregation.from_origin import from_origin
from tagma.strategies.aggregation.rule import rule
from tagma.strategies.aggregation.side_information import needs
from tagma.strategies.numerics.cosines import cosines_with
from tagma.strategies.numerics.row_blocks import Rows
from tagma.strategies.numerics.row_norms import norms


@needs("reference")
@from_origin
@rule
def fltrust(
    updates: Rows, *, weights: Array | None = None, reference: Array | None = None
) -> Aggregate:
    """sum_i t_i x_i ||r|| / ||x_i|| / sum_i t_i with the trust t_i = max(0, cos(x_i, r)).

    r is the `reference`, the update from the server's own data. No row is longer than r, and none
    that points away from it counts, however many there are; where no row is trusted, the estimate
    is 0. Breakdown point: any number of rows that point away; rows at an angle to r count, and the
    server's data must be like the clients'. Cost O(m d).
    """
    if reference is None:
        raise ValueError("reference: fltrust needs one: an update from data of the server's own")
    trust = np.maximum(cosines_with(updates, reference), 0)
    kept = trust > 0
    if weights is not None:
        trust = trust * (weights / weights.max())
    total = trust.sum()
    if not total > 0:
        return Aggregate(np.zeros(updates.dim, updates.dtype), kept=kept)
    lengths = norms(updates)
    length = float(np.linalg.norm(reference.astype(np.float64)))
    scales = np.divide(length, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return Aggregate(updates.combine(trust / total * scales), kept=kept)
