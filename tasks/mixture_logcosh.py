"""Linear regressions with heavy-tailed noise, and a smooth loss written in torch.

The data are those of `MixtureHuber`. The loss of the residual r = <x, w> - y is

    delta^2 log cosh(r / delta):   r^2 / 2 for small r, delta |r| - delta^2 log 2 for large,

Huber's without its kinks in the second derivative. Only the loss is written here; the gradient is
torch's (`tagma.tasks.torch_loss`), so this is also the pattern for a loss of your own. The noise is
symmetric, so the risk minimiser is w*_k exactly; the Hessian is at most I_d, so step 1 is safe.
"""

from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Gt

from tagma.tasks.linear_mixture import Count
from tagma.tasks.mixture_huber import MixtureHuber
from tagma.tasks.torch_loss import TorchLoss, device_of

if TYPE_CHECKING:
    from torch import Tensor


class MixtureLogCosh(TorchLoss, MixtureHuber):
    """K linear regressions with Student's noise and the log-cosh loss."""

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
        device: str = "cpu",
    ) -> None:
        super().__init__(
            clients=clients, clusters=clusters, dim=dim, samples=samples, noise=noise,
            freedom=freedom, delta=delta, seed=seed,
        )  # fmt: skip
        self.device = device_of(device)

    def torch_loss(self, model: "Tensor", inputs: "Tensor", targets: "Tensor") -> "Tensor":
        """The mean of delta^2 log cosh(r / delta), as |s| + log(1 + e^(-2|s|)) - log 2."""
        import torch

        scaled = torch.abs(inputs @ model - targets) / self.delta
        softened = torch.nn.functional.softplus(-2 * scaled)
        return self.delta**2 * (scaled + softened - torch.log(torch.tensor(2.0))).mean()
