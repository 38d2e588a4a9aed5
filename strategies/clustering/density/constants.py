"""The numbers that density clustering depends on, all dimensionless, with what each is for.

They were chosen once, on other seeds than those of the published tables. docs/beyond.md says how
each was set, and what changes when it is halved or doubled.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge, Gt, Lt

Positive = Annotated[float, Gt(0)]


Share = Annotated[float, Gt(0), Lt(1)]


@dataclass(frozen=True)
class Doubting:
    """Those that only decide what is said, and who tries a second model."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    hardly: Positive = 4.2
    """Clusters nearer than so many deviations may be parts of one."""
    chance: Share = 0.001
    """What is less likely than this is not put down to chance."""
    certain: Share = 1e-5
    """So seldom is an honest client so near to the mean of the others of its cluster."""
    tight: Positive = 0.85
    """The noise of copies is less, in units of the usual."""
    no_copy: Positive = 2.0
    """Whose squared distance from the copied is more than so many medians is another client."""


@dataclass(frozen=True)
class Constants:
    """One set of them; the defaults are used everywhere but in the study of their influence."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}  # a misspelt name is an error

    smallest: Annotated[int, Ge(2)] = 4
    """The smallest cluster: fewer clients show no density."""
    copied: Positive = 0.25
    """Copies: the squared distance of two, in units of what their noise explains."""
    borrowed: Positive = 10.0
    """Noise: degrees of freedom that a client's variance borrows from that of all."""
    noisiest: Positive = 4.0
    """Noise: clients with more, in units of the median, are outside in any case."""
    edge_room: Annotated[float, Ge(0)] = 0.03
    """Projection: by how much a singular value must exceed the noise edge to be a signal."""
    strong: Positive = 1.1
    """Projection: a signal of so many edges is hardly turned by noise."""
    room: Positive = 1.3
    """Membership: room above the squared distance that one in a thousand exceeds."""
    apart: Positive = 3.4
    """Revision: two centres nearer than so many deviations, cross-validated, are one cluster's."""
    stretch: Positive = 1.15
    """Revision: a split is tried where a deviation exceeds this many noise edges."""
    uneven: Positive = 2.0
    """Coordinates: rescaled if their noise differs by so much."""
    doubting: Doubting = Doubting()


DEFAULTS = Constants()
