"""Least squares in closed form."""

import numpy as np
from scipy.linalg import lstsq

from tagma.client.solvers.solution import Ridge, Solution, minimises, ridge_for, strong_ridge
from tagma.tasks.task import Data, LeastSquares


@minimises(strong_ridge)
def closed_form(task: LeastSquares, data: Data, *, ridge: Ridge) -> Solution:
    """argmin_w ||X w - y||^2 / (2 n) + ridge ||w||^2 / 2.

    By a rank-revealing QR decomposition, never by the normal equations, whose condition number is
    the square of the data's. Of several minimisers (n < d, no ridge) it returns the one of least
    norm. With n < d the minimiser is a combination of the inputs, and is sought among these. Cost
    O(n d min(n, d)).

    Near n = d least squares fits the noise, with a variance that is infinite there: `ridge=auto` is
    for that (`ridge_for`).
    """
    inputs, targets = data.inputs, data.targets
    n, d = inputs.shape
    ridge = ridge_for(inputs, ridge)
    basis = None
    if n < d:
        basis, factor = np.linalg.qr(inputs.T)
        inputs = factor.T
    if ridge:
        size = inputs.shape[1]
        inputs = np.vstack([inputs, np.sqrt(n * ridge) * np.eye(size)])
        targets = np.concatenate([targets, np.zeros(size)])
    model, _, rank, _ = lstsq(inputs, targets, lapack_driver="gelsy", check_finite=False)
    unique = bool(ridge) or rank == d
    model = model if basis is None else basis @ model
    return Solution(model, 1, "solved" if unique else "solved, least norm of many")
