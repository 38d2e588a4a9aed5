"""A mixture of logistic regressions: every cluster classifies in its own way.

The label of x is 1 with probability 1 / (1 + exp(-<x, w*_k>)), else 0. The loss is the negative
log-likelihood log(1 + exp(-<x, w>)) of a 1, log(1 + exp(<x, w>)) of a 0, so the risk minimiser is
w*_k. It is convex. Its Hessian is at most I_d / 4 for N(0, I_d) inputs, so the step size of
gradient descent is up to 4. At w*_k it is smaller the longer w*_k is: about 0.4 / ||w*_k|| across
w*_k and 1.3 / ||w*_k||^3 along it, so descent is slow for long coefficients.

Assumes that a client's labels are not separated by a plane: else its loss has no minimiser, only
a direction in which it falls for ever. That is likely with few examples or long coefficients.
"""

from typing import Annotated

import numpy as np
from annotated_types import Gt
from scipy.special import expit

from tagma.arrays import Array
from tagma.layout import Named
from tagma.tasks.linear_mixture import Count, LinearMixture


class MixtureLogistic(LinearMixture):
    """K logistic regressions without intercept, labels 0 and 1."""

    bend = 0.25

    def __init__(
        self,
        *,
        clients: Count,
        clusters: Count,
        dim: Count,
        samples: Count,
        scale: Annotated[float, Gt(0)],
        seed: int,
    ) -> None:
        super().__init__(
            clients=clients, clusters=clusters, dim=dim, samples=samples, seed=seed, scale=scale
        )

    def _targets(self, scores: Array, random: np.random.Generator) -> Array:
        return (random.random(len(scores)) < expit(scores)).astype(np.float64)

    def _losses(self, scores: Array, targets: Array) -> Array:
        # logaddexp keeps every digit where exp overflows or 1 + exp is 1.
        return np.logaddexp(0, (1 - 2 * targets) * scores)

    def _slopes(self, scores: Array, targets: Array) -> Array:
        return expit(scores) - targets

    def predict(self, model: Array, buffers: Named, inputs: Array) -> Array:
        """The more likely class."""
        return (super().predict(model, buffers, inputs) > 0).astype(np.float64)

    def opposite(self, targets: Array) -> Array:
        """The other class."""
        return 1 - targets

    def warnings(self) -> list[str]:
        """Below n = d sqrt(4 + ||w*||^2) most clients' labels can be separated by a plane.

        The exact threshold (Candes and Sur, 2020) is an integral, which this meets within 3 %.
        """
        length = np.linalg.norm(self.truth().known_centres(), axis=1).max()
        enough = round(self.dim * np.sqrt(4 + length**2))
        if self.samples < enough:
            return [
                f"task.samples={self.samples} is below {enough}: a plane separates the labels of "
                "many clients, and their local models then have no limit; set solver.ridge"
            ]
        return []
