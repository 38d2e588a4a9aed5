"""Newton's method for one geometric median, where Weiszfeld's iteration is slow.

Beside a point that is nearly the median, Weiszfeld's steps shrink with the distance to it. With
q_i = y - p_i, d_i = ||q_i||, S = sum_i 1/d_i, gradient g = sum_i q_i/d_i and v_i = q_i / d_i^(3/2),
the Hessian is S I - V V^T, so by Woodbury's identity the step is

    -(g + V c) / S,    (S I - V^T V) c = V^T g,

which needs the products of the q_i alone and stays in weight space. Cost O(m^3) for a step. Points
with masses w_i have w_i/d_i for 1/d_i in S and g, and sqrt(w_i) v_i for v_i.
"""

import numpy as np

from tagma.arrays import Array
from tagma.strategies.numerics.affine_combinations import Affine

_STEPS, _HALVINGS = 20, 30


def descend(points: Affine, weights: Array, masses: Array | float = 1.0) -> Array:
    """Weights, shape (m,), with a sum of distances, times masses, that is no larger."""
    gram = points.products(np.eye(len(points)))
    least = _total(points, weights, masses)
    for _ in range(_STEPS):
        step = _step(points, gram, weights, masses)
        if step is None:
            break
        for _ in range(_HALVINGS):
            if (total := _total(points, weights + step, masses)) < least:
                break
            step /= 2
        else:
            break
        weights, least = weights + step, total
    return weights


def _total(points: Affine, weights: Array, masses: Array | float) -> float:
    return float((masses * np.sqrt(points.squared_distances(weights))).sum())


def _step(points: Affine, gram: Array, weights: Array, masses: Array | float) -> Array | None:
    """None on a point, and where the points lie on a line: there is no step."""
    squared = points.squared_distances(weights)
    if (squared <= 0).any():
        return None
    products = weights @ gram
    between = gram - products - products[:, None] + weights @ products
    pulls, roots = masses * squared**-0.5, np.sqrt(masses) * squared**-0.75
    bend = pulls.sum() * np.eye(len(gram)) - roots[:, None] * between * roots
    try:
        correction = np.linalg.solve(bend, roots * (between @ pulls))
    except np.linalg.LinAlgError:
        return None
    along = pulls + roots * correction
    step: Array = (along - along.sum() * weights) / pulls.sum()
    return step if np.isfinite(step).all() else None
