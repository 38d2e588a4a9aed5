"""The numbers that density clustering depends on, all dimensionless, with what each is for.

They were chosen once, on other seeds than those of the published tables. None is critical: the
tables hold with each of them halved or doubled, except where docs/beyond.md says so.
"""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Constants:
    """One set of them; the defaults are used everywhere but in the study of their influence."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}  # a misspelt name is an error

    smallest_share: float = 0.05
    """The smallest cluster, as a share of the machines."""
    smallest: int = 4
    """The smallest cluster at least."""

    edge_room: float = 0.03
    """Projection: by how much a singular value must exceed the noise edge to be a signal."""
    most_components: int = 20
    """Projection: how many components are kept at most."""

    neighbours: float = 0.04
    """Modes: q, as a share of the machines."""
    reach: float = 1.3
    """Modes: the ball's radius, in units of the median distance to the q-th neighbour."""

    spreads: float = 4.0
    """Radius: how many spreads of log distances above the median a ball ends."""
    borrowed: float = 8.0
    """Radius: machines that a cluster's scale borrows from all clusters."""
    widest: float = 1.9
    """Radius: at most this many median distances."""

    wide: float = 2.0
    """Revision: a cluster with a scale beyond this, in units of the pooled one, is dropped."""
    resolution: float = 3.0
    """Revision: centres closer than this, in deviations at the noise edge, are one cluster's."""
    stretch: float = 1.3
    """Revision: a split is tried where a cluster's deviation exceeds this many noise edges."""
    tight: float = 0.4
    """Copies: machines whose neighbours are nearer than this, in units of the usual."""


DEFAULTS = Constants()
