"""What every clustering takes and returns."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, ParamSpec

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.strategies.numerics.row_blocks import LARGEST

P = ParamSpec("P")


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

    def __post_init__(self) -> None:
        """One that was read from a file, or that a plugin made, may be anything."""
        m, (k, d), steps = len(self.labels), self.centres.shape, len(self.history)
        shapes = {
            (m,): [self.labels, self.trimmed],
            (k,): [self.radius],
            (steps, m): [self.history, self.trimmed_history],
            (steps, k, d): [self.centre_history],
        }
        if any(a is not None and a.shape != s for s, arrays in shapes.items() for a in arrays):
            raise ValueError("the arrays of a clustering do not fit together")
        for labels in (self.labels, self.history):
            if labels.size and not 0 <= labels.min() <= labels.max() < k:
                raise ValueError(f"a clustering has labels beyond its {k} clusters")
        if not steps or len(self.suspect) not in (0, k):
            raise ValueError("a clustering has no history, or other clusters to suspect")

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
