"""The paper's synthetic problem: a mixture of linear regressions.

The targets are y = <x, w*_k> + N(0, noise^2), the coefficients 0 or `scale`, which the paper has 1.
The loss is (<x, w> - y)^2 / 2, so its Hessian is I_d and the step size of gradient descent is 1.

Four options go beyond the paper. `sizes` makes clusters unequal, `norm` all coefficient vectors
equally long. With covariance "ar1" the inputs
are an autoregression: x_i and x_j have correlation r^|i - j|. The Hessian's eigenvalues are then
between (1 - r) / (1 + r) and (1 + r) / (1 - r): for r = 0.5 a step of 1/3 is safe, and descent
takes about nine times as long. With `shift` every input of cluster k has the mean k * shift, as in
Werner et al. 2023: the Hessian's largest eigenvalue is 1 + (k * shift)^2 d then.
"""

from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Lt
from scipy.signal import lfilter

from tagma.arrays import Array
from tagma.tasks.linear_mixture import Count, LinearMixture


class MixtureRegression(LinearMixture):
    """K linear regressions with normal noise and squared loss."""

    least_squares: Literal[True] = True

    def __init__(
        self,
        *,
        clients: Count,
        clusters: Count,
        dim: Count,
        samples: Count,
        noise: Annotated[float, Ge(0)],
        seed: int,
        sizes: list[Annotated[float, Gt(0)]] | None = None,
        covariance: Literal["identity", "ar1"] = "identity",
        correlation: Annotated[float, Gt(-1), Lt(1)] = 0.5,
        norm: Annotated[float, Gt(0)] | None = None,
        scale: Annotated[float, Gt(0)] = 1.0,
        shift: float = 0.0,
    ) -> None:
        super().__init__(
            clients=clients, clusters=clusters, dim=dim, samples=samples, seed=seed, sizes=sizes,
            norm=norm, scale=scale,
        )  # fmt: skip
        self.noise = noise
        self.shift = shift
        self.correlation = correlation if covariance == "ar1" else 0.0

    def _targets(self, scores: Array, random: np.random.Generator) -> Array:
        return scores + self.noise * random.standard_normal(len(scores))

    def _inputs(self, client: int, random: np.random.Generator) -> Array:
        inputs = self._centred_inputs(client, random)
        inputs += self.shift * self._truth.labels[client]
        return inputs

    def _centred_inputs(self, client: int, random: np.random.Generator) -> Array:
        inputs = super()._inputs(client, random)
        if self.correlation == 0:
            return inputs
        innovation = np.sqrt(1 - self.correlation**2)
        inputs[:, 1:] *= innovation  # every entry keeps variance 1
        correlated: Array = lfilter([1.0], [1.0, -self.correlation], inputs, axis=1)
        return correlated

    def _losses(self, scores: Array, targets: Array) -> Array:
        return np.square(scores - targets) / 2

    def _slopes(self, scores: Array, targets: Array) -> Array:
        return scores - targets
