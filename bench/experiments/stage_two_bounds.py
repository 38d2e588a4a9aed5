"""The paper's bounds on stage II, as far as their constants are stated.

Two symmetric clusters +-theta*, h honest points in R^d, noise sigma:

    r = ||theta*|| / (sigma sqrt(1 + 9 d / h))
    A_0 < 1/2 - 2.56 / r - 1 / (2 sqrt(h))                              what the theorem assumes
    A_{s+1} <= A_s (A_s + 8 / r^2) + 2 / r^2 + sqrt(4 log(h) / h)

K clusters with smallest gap Delta, largest gap lambda Delta and smallest share gamma_1 of the
honest points; alpha' is the largest share of Byzantine clients among the untrimmed points of a
cluster:

    r_1 = Delta / sigma sqrt(gamma_1 / (1 + K d / h))
    floor = sqrt(5 K log(h) / (gamma_1^2 h))

The theorem, G_{s+1}^U <= C_5 / r_1^2 + (2 C_2 + C_2 C_4) G_s^U / r_1^2 + floor, does not specify
C_2, C_4 and C_5. The two lemmas that it is made of state every constant, with eps = 12 / sqrt(r_1):

    Lambda_s    <= 3 / r_1 + 2 alpha' C sigma sqrt(d) / Delta
                   + min(3 / r_1 sqrt(K G_s^U) + 2 G_s^U Lambda_{s-1}, lambda G_s^U)
    G_{s+1}^U   <= 2 / (eps^4 r_1^2) + (28 Lambda_s / (eps^2 r_1))^2 + floor

where G_s^U <= 1/2, Lambda_s <= (1 - eps) / 2 and r_1 >= 36 / eps^2.
"""

from dataclasses import dataclass
from math import log, sqrt


def two_cluster_snr(*, signal: float, dim: int, honest: int) -> float:
    """r; `signal` is ||theta*|| / sigma."""
    return signal / sqrt(1 + 9 * dim / honest)


def two_cluster_start(*, r: float, honest: int) -> float:
    """The share of wrong labels below which the two-cluster theorem may start."""
    return 0.5 - 2.56 / r - 1 / (2 * sqrt(honest))


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


@dataclass(frozen=True)
class KClusterBound:
    """The bounds of the two lemmas for s = 0, 1, ..., and whether what they assume held."""

    misclustered: list[float]
    """On G_s^U; the first is the start."""
    centre_error: list[float]
    """On Lambda_s."""
    admissible: bool
    """Every bound met the conditions under which the next one holds."""


def k_cluster_recursion(
    start: float, *, r_1: float, floor: float, clusters: int, spread: float, byzantine: float,
    steps: int,
) -> KClusterBound:  # fmt: skip
    """From G_0^U = start; `spread` is lambda, `byzantine` is 2 alpha' C sigma sqrt(d) / Delta.

    Lambda_{-1} does not exist, so the first step takes the second of the two terms. Both bounds
    grow with what they are computed from, so bounds may be put in where the lemmas have truths.
    """
    eps = 12 / sqrt(r_1)
    misclustered, centre_error = [start], [3 / r_1 + byzantine + spread * start]
    admissible = r_1 >= 36 / eps**2
    for _ in range(steps):
        admissible &= misclustered[-1] <= 0.5 and centre_error[-1] <= (1 - eps) / 2
        wrong = 2 / (eps**4 * r_1**2) + (28 * centre_error[-1] / (eps**2 * r_1)) ** 2 + floor
        near = 3 / r_1 * sqrt(clusters * wrong) + 2 * wrong * centre_error[-1]
        misclustered.append(wrong)
        centre_error.append(3 / r_1 + byzantine + min(near, spread * wrong))
    return KClusterBound(misclustered, centre_error, admissible)


def trimmed_surplus(trimmed: list[float], byzantine: list[float]) -> float:
    """The rho of the paper: max_h beta_h / (1 - alpha_h), over the clusters' shares.

    A cluster of Byzantine clients alone has no honest client to miss and does not count.
    """
    shares = zip(trimmed, byzantine, strict=True)
    return max((beta / (1 - alpha) for beta, alpha in shares if alpha < 1), default=0.0)
