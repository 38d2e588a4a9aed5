"""Linear regressions with heavy-tailed noise, and a loss that withstands it.

The targets are y = <x, w*_k> + noise * t, where t follows Student's distribution with `freedom`
degrees of freedom: its variance is infinite up to 2, its mean does not exist up to 1. The loss of
Huber (1964) of the residual r = <x, w> - y is

    r^2 / 2                     if |r| <= delta,
    delta (|r| - delta / 2)     beyond.

It is convex, and its gradient is that of least squares with residuals cut to [-delta, delta], so
one wild target moves a local model by little. The noise is symmetric, so the risk minimiser is
w*_k exactly. The Hessian at it is P(|noise t| <= delta) I_d: at most I_d, so the step size 1 is
safe, and 1 / P(...) is the one that contracts fastest.
"""

from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt
from scipy.special import huber

from tagma.arrays import Array
from tagma.tasks.linear_mixture import Count, LinearMixture


class MixtureHuber(LinearMixture):
    """K linear regressions with Student's noise and Huber's loss."""

    def __init__(
        self,
        *,
        clients: Count,
        clusters: Count,
        dim: Count,
        samples: Count,
        noise: Annotated[float, Ge(0)],
        freedom: Annotated[float, Gt(0)],
        delta: Annotated[float, Gt(0)],
        seed: int,
    ) -> None:
        super().__init__(clients=clients, clusters=clusters, dim=dim, samples=samples, seed=seed)
        self.noise = noise
        self.freedom = freedom
        self.delta = delta

    def _targets(self, scores: Array, random: np.random.Generator) -> Array:
        return scores + self.noise * random.standard_t(self.freedom, len(scores))

    def _losses(self, scores: Array, targets: Array) -> Array:
        losses: Array = huber(self.delta, scores - targets)
        return losses

    def _slopes(self, scores: Array, targets: Array) -> Array:
        return np.clip(scores - targets, -self.delta, self.delta)
