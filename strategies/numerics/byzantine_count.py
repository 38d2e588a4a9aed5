"""How many of the rows at hand a rule assumes to be Byzantine."""

from typing import Annotated

from annotated_types import Ge, Lt

from tagma.counts import floor_of

Fraction = Annotated[float, Ge(0), Lt(0.5)]
"""The setting `fraction`: the assumed share of Byzantine clients among the rows, below one half."""


def byzantine_count(fraction: float, m: int, most: int) -> int:
    """The number f = floor(fraction m), but no more than the rule allows for m rows."""
    return max(0, min(floor_of(fraction, m), most))
