"""FedProx (Li et al., 2020): federated averaging whose clients are held near the common model.

Local training minimises the client's loss plus mu / 2 ||w - w_received||^2, so that clients whose
data differ, or who train long, do not run away from each other. mu = 0 is federated averaging. It
needs `optimiser=local`: a single gradient at the received model knows no such pull.
"""

from typing import Annotated

from annotated_types import Ge

from tagma.errors import SettingError
from tagma.exchange import PROXIMAL, TRAIN
from tagma.strategies.aggregation import Aggregator
from tagma.strategies.algorithms.fedavg import FedAvg, Weights
from tagma.strategies.algorithms.server_step import ServerStep


class FedProx(FedAvg):
    """Federated averaging with the proximal term `mu`."""

    def __init__(
        self,
        *,
        aggregate: Aggregator,
        optimiser: ServerStep,
        mu: Annotated[float, Ge(0)] = 0.1,
        weights: Weights = "examples",
    ) -> None:
        if optimiser.work != TRAIN:
            raise SettingError("strategy", "fedprox", "needs optimiser=local")
        super().__init__(aggregate=aggregate, optimiser=optimiser, weights=weights)
        self._settings = {PROXIMAL: mu}
