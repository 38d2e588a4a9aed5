"""The paper's bounds on stage II, as far as their constants are stated.

Two symmetric clusters +-theta*, h honest points in R^d, noise sigma:

    r = ||theta*|| / (sigma sqrt(1 + 9 d / h))
    A_{s+1} <= A_s (A_s + 8 / r^2) + 2 / r^2 + sqrt(4 log(h) / h)

K clusters with smallest gap Delta and smallest share gamma_1 of the honest points:

    r_1 = Delta / sigma sqrt(gamma_1 / (1 + K d / h))
    G_{s+1}^U <= c (1 + G_s^U) / r_1^2 + sqrt(5 K log(h) / (gamma_1^2 h))

with constants c that the paper does not specify: only the last term can be computed.
"""

from math import log, sqrt


def two_cluster_snr(*, signal: float, dim: int, honest: int) -> float:
    """r; `signal` is ||theta*|| / sigma."""
    return signal / sqrt(1 + 9 * dim / honest)


def two_cluster_recursion(start: float, *, r: float, honest: int, steps: int) -> list[float]:
    """The bound on A_s for s = 0..steps from A_0 = start; shares beyond 1 are cut to 1."""
    bounds = [start]
    for _ in range(steps):
        last = bounds[-1]
        bounds.append(min(1, last * (last + 8 / r**2) + 2 / r**2 + sqrt(4 * log(honest) / honest)))
    return bounds


def k_cluster_snr(
    *, gap: float, sigma: float, smallest: float, clusters: int, dim: int, honest: int
) -> float:
    """r_1; `gap` is Delta, `smallest` is gamma_1."""
    return gap / sigma * sqrt(smallest / (1 + clusters * dim / honest))


def k_cluster_floor(*, smallest: float, clusters: int, honest: int) -> float:
    """The part of the bound on G_s^U that is free of unspecified constants."""
    return sqrt(5 * clusters * log(honest) / (smallest**2 * honest))


def trimmed_surplus(trimmed: list[float], byzantine: list[float]) -> float:
    """The rho of the paper: max_h beta_h / (1 - alpha_h), over the clusters' shares."""
    return max(beta / (1 - alpha) for beta, alpha in zip(trimmed, byzantine, strict=True))
