"""The paper's synthetic problem: a mixture of linear regressions.

The targets are y = <x, w*_k> + N(0, noise^2), the coefficients 0 or 1. The loss is
(<x, w> - y)^2 / 2, so its Hessian is I_d and the step size of gradient descent is 1.
"""

from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge

from tagma.arrays import Array
from tasks.linear_mixture import Count, LinearMixture


class MixtureRegression(LinearMixture):
    """K linear regressions with normal noise and squared loss."""

    least_squares: Literal[True] = True

    def __init__(
        self,
        *,
        machines: Count,
        clusters: Count,
        dim: Count,
        samples: Count,
        noise: Annotated[float, Ge(0)],
        seed: int,
    ) -> None:
        super().__init__(machines=machines, clusters=clusters, dim=dim, samples=samples, seed=seed)
        self.noise = noise

    def _targets(self, scores: Array, random: np.random.Generator) -> Array:
        return scores + self.noise * random.standard_normal(len(scores))

    def _loss(self, scores: Array, targets: Array) -> float:
        residuals = scores - targets
        return float(residuals @ residuals / (2 * len(residuals)))

    def _slopes(self, scores: Array, targets: Array) -> Array:
        return scores - targets
