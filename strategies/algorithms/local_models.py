"""Local models as what clients are recognised by: who comes back computes the same one again."""

import numpy as np

from tagma.arrays import Array

_SAME = {"float64": 1e-6, "float32": 1e-3}
"""A local model that was computed again is this near to itself, relative to its length."""


def is_same_model(known: Array, vector: Array) -> bool:
    """Whether a vector is this local model, computed once more."""
    near = _SAME[known.dtype.name] * float(np.linalg.norm(known)) + 1e-12
    return float(np.linalg.norm(vector - known)) <= near
