"""The Hessian that steps and changes of gradients imply, times a vector (Byrd et al., 1994)."""

import numpy as np

from tagma.arrays import Array


def lbfgs_product(steps: Array, changes: Array, vector: Array) -> Array:
    """B v for the L-BFGS approximation B of the Hessian, shape (d,).

    From k steps s_i and the changes y_i of the gradient over them, shape (k, d), oldest first:
    B = sigma I - [sigma S, Y] [[sigma S'S, L], [L', -D]]^-1 [sigma S'; Y'], sigma = s'y / s's of
    the last. It does not change if the steps and v are in another unit. Zeros where the steps
    say nothing. Cost O(k d).
    """
    products, own = steps @ changes.T, steps @ steps.T
    if not own[-1, -1] > 0:
        return np.zeros_like(vector)
    sigma = products[-1, -1] / own[-1, -1]
    lower = np.tril(products, -1)
    middle = np.block([[sigma * own, lower], [lower.T, -np.diag(np.diag(products))]])
    sides = np.concatenate([sigma * (steps @ vector), changes @ vector])
    inner = np.linalg.lstsq(middle, sides, rcond=1e-10)[0]
    k = len(steps)
    found = sigma * vector - sigma * (inner[:k] @ steps) - inner[k:] @ changes
    return found if np.isfinite(found).all() else np.zeros_like(vector)
