"""What pre-aggregators have in common: they replace rows by weighted sums of them.

A pre-aggregator makes the rows of honest clients more alike before an aggregator sees them. Its
result is a matrix of weights; the new rows follow from it block by block as they are read, so a
pre-aggregator before an aggregator needs no second array.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any

import numpy as np

from tagma.arrays import Array, Labels
from tagma.strategies.aggregation.rule import on_usable_rows
from tagma.strategies.aggregation.side_information import checked, declared, restricted
from tagma.strategies.numerics.parameter_validation import checker
from tagma.strategies.numerics.row_blocks import Rows, chain


@dataclass(frozen=True)
class Mixed:
    """r new rows, made of m."""

    source: Rows
    """The new rows, made as they are read."""
    weights: Array
    """Shape (r, m): every new row is a sum of the old ones with these weights, 0 for removed."""
    removed: int = 0
    """How many rows were not finite and took no part."""

    @cached_property
    def rows(self) -> Array:
        """The new rows as an array of shape (r, d), in the precision of the old."""
        return self.source.dense()

    def into(self, out: Array) -> Array:
        """The new rows, written into an array of shape (r, d) and their precision.

        That saves the time to get fresh memory, which can be as long as that to fill it. `out` may
        be the array of the old rows, if they are not needed any more; then this is the last time
        that the new ones can be read. It must not overlap with them in any other way.
        """
        old = self.source.array
        shape, dtype = (len(self.source), self.source.dim), self.source.dtype
        if out.shape != shape or out.dtype != dtype:
            raise ValueError(
                f"an array of shape {shape} and {dtype} is needed, not {out.shape} and {out.dtype}"
            )
        same = out.ctypes.data == old.ctypes.data and out.strides == old.strides
        if np.may_share_memory(out, old) and not same:
            raise ValueError("the array overlaps with that of the old rows")
        return self.source.dense(out)


PreAggregator = Callable[..., Mixed]
"""From vectors of shape (m, d), m >= 1, to r >= 1 others, one for one where r = m. Their weights
come by keyword, if it declares them."""


def pre_rule(function: Callable[..., Array]) -> Callable[..., Mixed]:
    """Make a pre-aggregator of arrays from a function from usable rows to weights.

    The weights have shape (r, m), or (m,) where each row is only multiplied by its own. The
    function may be called twice: see `on_usable_rows`.
    """
    check = checker(function)
    takes = declared(function)

    def mixing_of(rows: Rows, settings: dict[str, Any], chosen: Labels | None, m: int) -> Array:
        given = {name: settings[name] for name in takes if settings.get(name) is not None}
        if given:
            given = dict(restricted(checked(given, m, rows.dim), chosen))
            if not given["weights"].all():
                raise ValueError("weights: leave out the rows of weight 0 before they are mixed")
        return function(rows, **(settings | given))

    @wraps(function)
    def mix(updates: Array | Rows, /, **settings: Any) -> Mixed:
        check(settings)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            if isinstance(updates, Rows):
                m = len(updates)
                mixing = mixing_of(updates, settings, None, m)
                return Mixed(updates.mixed(mixing), chain(mixing, np.eye(len(mixing))))
            rows, mixing = on_usable_rows(
                lambda rows: mixing_of(rows, settings, rows.chosen, len(updates)), updates
            )
        weights = np.zeros((len(mixing), len(updates)))
        chosen = slice(None) if rows.chosen is None else rows.chosen
        weights[:, chosen] = chain(mixing, np.eye(len(mixing)))
        return Mixed(rows.mixed(mixing), weights, removed=len(updates) - len(rows))

    return mix
