"""The numbers that density clustering depends on, all dimensionless, with what each is for.

They were chosen once, on other seeds than those of the published tables. None is critical: the
tables hold with each of them halved or doubled, except where docs/beyond.md says so.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge, Gt, Le

Positive = Annotated[float, Gt(0)]


@dataclass(frozen=True)
class Constants:
    """One set of them; the defaults are used everywhere but in the study of their influence."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}  # a misspelt name is an error

    smallest_share: Annotated[float, Gt(0), Le(1)] = 0.05
    """The smallest cluster, as a share of the clients."""
    smallest: Annotated[int, Ge(2)] = 4
    """The smallest cluster at least."""

    edge_room: Annotated[float, Ge(0)] = 0.03
    """Projection: by how much a singular value must exceed the noise edge to be a signal."""
    fewest_components: Annotated[int, Ge(1)] = 2
    """Projection: how many components are kept at least, so that there is a plane to look at."""
    most_components: Annotated[int, Ge(1)] = 20
    """Projection: how many components are kept at most."""

    neighbours: Positive = 0.04
    """Modes: q, as a share of the clients."""
    fewest_neighbours: Annotated[int, Ge(1)] = 3
    """Modes: q at least."""
    reach: Positive = 1.3
    """Modes: the ball's radius, in units of the median distance to the q-th neighbour."""
    second_pass: Positive = 1.6
    """Modes: the radius of the second pass, in units of the first."""
    third_pass: Positive = 2.5
    """Modes: that of the third."""

    spreads: Positive = 4.0
    """Radius: how many spreads of log distances above the median a ball ends."""
    borrowed: Positive = 8.0
    """Radius: clients that a cluster's scale borrows from all clusters."""
    widest: Positive = 1.9
    """Radius: at most this many median distances."""

    wide: Positive = 2.0
    """Revision: a cluster with a scale beyond this, in units of the pooled one, is dropped."""
    resolution: Positive = 3.0
    """Revision: centres closer than this, in deviations at the noise edge, are one cluster's."""
    stretch: Positive = 1.3
    """Revision: a split is tried where a cluster's deviation exceeds this many noise edges."""
    finer: Positive = 0.65
    """Revision: a split is tried with this times the reach, too."""
    tight: Positive = 0.4
    """Copies: clients whose neighbours are nearer than this, in units of the usual."""


DEFAULTS = Constants()
