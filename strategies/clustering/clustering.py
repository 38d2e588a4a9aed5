"""What every clustering takes and returns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from math import inf, isfinite
from typing import Any, Concatenate, ParamSpec

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.strategies.numerics.row_blocks import LARGEST

P = ParamSpec("P")


@dataclass(frozen=True)
class OwnNoise:
    """Each client's own noise, where a clustering measures it, and what it allows."""

    scales: Array
    """The standard deviation of the entries of every vector, shape (m,)."""
    typical: float
    """The median."""
    limit: float
    """Vectors with more are trimmed."""
    inflation: float
    """Variance in the directions in which the centres differ, over that in all others."""
    units: Array
    """What every coordinate was divided by first, shape (d,)."""

    def allowed(self) -> dict[str, Any]:
        """What it takes to judge one more vector, as plain numbers."""
        return {
            "typical": self.typical,
            "limit": self.limit if isfinite(self.limit) else None,
            "inflation": self.inflation,
            "units": None if (self.units == 1).all() else self.units.tolist(),
        }

    @classmethod
    def of_allowed(cls, found: Mapping[str, Any], dimension: int) -> "OwnNoise":
        """The same again, without anybody's own noise; anything else is a `ValueError`."""
        limit, units = found["limit"], found["units"]
        units = np.ones(dimension) if units is None else np.array(units, dtype=np.float64)
        typical, inflation = float(found["typical"]), float(found["inflation"])
        limit = inf if limit is None else float(limit)
        if units.shape != (dimension,) or not (units > 0).all() or not min(typical, limit) >= 0:
            raise ValueError("its noise is not one that was measured")
        return cls(np.zeros(0), typical, limit, inflation, units)


@dataclass(frozen=True)
class Clustering:
    """K clusters of m vectors."""

    labels: Labels
    """The cluster of every vector, shape (m,)."""
    centres: Array
    """Shape (K, d)."""
    trimmed: Mask
    """Vectors that lie outside their cluster's ball and did not count for its centre."""
    radius: Array
    """The ball of every cluster, shape (K,); infinite where the method has none."""
    history: Labels
    """Labels before each iteration and at the end, shape (iterations + 1, m)."""
    iterations: int
    stopped: str
    """Why it stopped: "fixed point" or "iteration limit"."""
    scale: float | None = None
    """The estimated or given standard deviation sigma of a vector's entries, where used."""
    centre_history: Array | None = None
    """The centres of the labels in `history`, shape (iterations + 1, K, d), where there are any."""
    trimmed_history: Mask | None = None
    """Which vectors those centres trim, shape (iterations + 1, m)."""
    suspect: tuple[str | None, ...] = ()
    """Why a cluster may not be honest, or None; one per cluster, or empty: nothing was examined."""

    noise: OwnNoise | None = None
    """By what each vector was judged, where it was by its own noise."""
    stretched: tuple[bool, ...] = ()
    """Clusters that spread more than noise in some direction: two that are too close to be told
    apart, or Byzantine clients beside honest ones; one per cluster, or empty: nobody looked."""
    between: Mask | None = None
    """The clusters that each vector may be of if these are several, shape (m, K); None: unknown."""
    loose: Labels | None = None
    """The group of vectors that are near each other and in no cluster, or -1, shape (m,)."""

    def __post_init__(self) -> None:
        """One that was read from a file, or that a plugin made, may be anything."""
        m, (k, d), steps = len(self.labels), self.centres.shape, len(self.history)
        fit = [
            *(array.shape == (m,) for array in (self.labels, self.trimmed)),
            self.between is None or self.between.shape == (m, k),
            self.loose is None or self.loose.shape == (m,),
            self.radius.shape == (k,),
            self.history.shape == (steps, m),
            self.trimmed_history is None or self.trimmed_history.shape == (steps, m),
            self.centre_history is None or self.centre_history.shape == (steps, k, d),
        ]
        if not all(fit):
            raise ValueError("the arrays of a clustering do not fit together")
        for labels in (self.labels, self.history):
            if labels.size and not 0 <= labels.min() <= labels.max() < k:
                raise ValueError(f"a clustering has labels beyond its {k} clusters")
        if not steps or not {len(self.suspect), len(self.stretched)} <= {0, k}:
            raise ValueError("a clustering has no history, or says more of clusters than it has")
        if self.noise is not None and (
            self.noise.scales.shape != (m,) or self.noise.units.shape != (d,)
        ):
            raise ValueError("the noise of a clustering is not that of its vectors")

    @property
    def k(self) -> int:
        """The number of clusters."""
        return len(self.centres)

    def scatter(self, vectors: Array) -> Array:
        """Root mean square deviation per entry of every cluster's untrimmed vectors, shape (K,).

        NaN for a cluster without any.
        """
        result = np.full(self.k, np.nan)
        for k in range(self.k):
            rows = np.flatnonzero((self.labels == k) & ~self.trimmed)
            if len(rows):  # one at a time: all differences together are as large as the vectors
                squares = sum(np.square(vectors[row] - self.centres[k]).sum() for row in rows)
                result[k] = np.sqrt(squares / (len(rows) * vectors.shape[1]))
        return result


Clusterer = Callable[[Array, Labels], Clustering]
"""From finite vectors (m, d) and initial labels (restarts, m) to the best clustering found."""


def of_finite_points(
    function: Callable[Concatenate[Array, P], Clustering],
) -> Callable[Concatenate[Array, P], Clustering]:
    """The same in float64, with a `ValueError` for vectors that are not finite or beyond 1e150.

    It cannot leave them out as an aggregator does, since every vector needs a label.
    """

    @wraps(function)
    def clustering(vectors: Array, /, *args: P.args, **settings: P.kwargs) -> Clustering:
        vectors = np.asarray(vectors, dtype=np.float64)
        # A NaN makes either comparison false.
        fine = (vectors.max(axis=1) <= LARGEST) & (vectors.min(axis=1) >= -LARGEST)
        broken = np.flatnonzero(~fine)
        if len(broken):
            raise ValueError(
                f"vectors must be finite and at most {LARGEST}; "
                f"{len(broken)} are not, first {broken[0]}"
            )
        return function(vectors, *args, **settings)

    return clustering
