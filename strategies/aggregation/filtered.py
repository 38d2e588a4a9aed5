"""The spectral filter as a stage of its own, before any aggregation."""

from strategies.aggregation.aggregate import Aggregate, Aggregator
from strategies.aggregation.scale import estimate_scale
from strategies.aggregation.spectral_filter import spectral_filter
from tagma.arrays import Array

FACTOR = 1.3
"""Room above the largest variance that noise alone has."""
REMOVABLE = 0.34
"""The largest share of replies that is dropped."""
_FEWEST = 4
"""Fewer replies have no spread to speak of."""


def filtered(
    aggregate: Aggregator, *, factor: float = FACTOR, removable: float = REMOVABLE
) -> Aggregator:
    """The same aggregation of the rows that `spectral_filter` keeps, with estimated noise."""

    def of_the_kept(updates: Array) -> Aggregate:
        if len(updates) < _FEWEST:
            return aggregate(updates)
        sigma = estimate_scale(updates, k=1, assumed_fraction=removable)
        kept = spectral_filter(updates, sigma=sigma, factor=factor, removable=removable).kept
        result = aggregate(updates[kept])
        if result.kept is not None:
            kept[kept] = result.kept
        return Aggregate(result.estimate, kept=kept)

    return of_the_kept
