"""The honest local models as an attack on the clustering sees them: groups, centres, scatter."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial.distance import pdist, squareform

from tagma.arrays import Array, Labels
from tagma.attacks.base import FederationView
from tagma.errors import SettingError


@dataclass(frozen=True)
class Landscape:
    """K true groups of honest vectors (h, d)."""

    vectors: Array
    groups: Labels
    """Shape (h,)."""

    @cached_property
    def names(self) -> Labels:
        """The numbers of the groups that have honest clients, shape (K,)."""
        return np.unique(self.groups)

    @cached_property
    def rows(self) -> Labels:
        """The row in `names` of every vector's group, shape (h,)."""
        return np.searchsorted(self.names, self.groups)

    @cached_property
    def sizes(self) -> Labels:
        """Shape (K,)."""
        return np.array([(self.groups == name).sum() for name in self.names])

    @cached_property
    def centres(self) -> Array:
        """The mean of every group, shape (K, d)."""
        return np.array([self.vectors[self.groups == name].mean(axis=0) for name in self.names])

    @cached_property
    def scatter(self) -> float:
        """The standard deviation of the vectors' entries around their group's centre."""
        own = self.centres[self.rows]
        freedom = max(len(self.vectors) - len(self.names), 1)
        return float(np.sqrt(((self.vectors - own) ** 2).sum() / (freedom * own.shape[1])))

    @cached_property
    def gaps(self) -> Array:
        """Distances between centres, shape (K, K)."""
        return squareform(pdist(self.centres))

    @cached_property
    def typical_gap(self) -> float:
        """The median distance between two centres; of a single group, ten times its radius."""
        if len(self.centres) == 1:
            return 10 * self.scatter * float(np.sqrt(self.centres.shape[1]))
        return float(np.median(pdist(self.centres)))

    def row(self, group: int) -> int:
        """The row of a group that the user has named."""
        if group not in self.names:
            raise SettingError("cluster", group, "no honest client is in such a cluster")
        return int(np.searchsorted(self.names, group))

    def largest(self) -> int:
        """The row of the largest group."""
        return int(self.sizes.argmax())

    def smallest(self) -> int:
        """The row of the smallest group."""
        return int(self.sizes.argmin())


def landscape_of(view: FederationView) -> Landscape:
    """What the colluders see in the first round."""
    return Landscape(view.honest, view.honest_groups)
