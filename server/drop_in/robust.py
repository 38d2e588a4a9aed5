"""`Robust`: Flower's FedAvg with a robust rule in the place of the mean."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from tagma.errors import SettingError
from tagma.server.drop_in.arguments import fedavg_arguments
from tagma.server.drop_in.strategy import AlgorithmInFedAvgsPlace
from tagma.settings import compose
from tagma.strategies.algorithms.fedavg import FedAvg, Weights
from tagma.strategies.algorithms.server_step import AverageModels
from tagma.strategies.rule_choice import aggregator_of


class Robust(AlgorithmInFedAvgsPlace):
    """FedAvg, with any of Tagma's rules; see `tagma list aggregation`.

    `rule` names one, and its settings are keyword arguments: `Robust("trimmed_mean", beta=0.2)`.
    `pre` lists pre-aggregators, as in `pre=["nnm"]`. All arguments of FedAvg are accepted, too.
    How many examples a client has is its own word, so that the rules other than the mean weigh all
    clients alike unless `weights="examples"`. With `checkpoint=FOLDER` a run that was broken off
    goes on at its next start. It is broken off when, for `quorum_timeout` seconds, less than the
    share `quorum` of the clients answers a round.
    """

    def __init__(
        self,
        rule: str = "trimmed_mean",
        *,
        pre: Sequence[Any] = (),
        weights: Weights | None = None,
        seed: int = 0,
        checkpoint: str | Path | None = None,
        quorum: float = 0.5,
        quorum_timeout: float = 600.0,
        **given: Any,
    ) -> None:
        fedavg, own = fedavg_arguments(given)
        if not isinstance(rule, str):
            raise SettingError("rule", rule, "must be a name; `tagma list aggregation` has them")
        if weights not in (None, *get_args(Weights)):
            raise SettingError("weights", weights, "must be examples or equal")
        if isinstance(pre, str) or not isinstance(pre, Sequence):
            raise SettingError("pre", pre, 'must be a list, such as ["nnm"]')
        chosen = compose([f"aggregation={rule}"]).choice("aggregation")
        algorithm = FedAvg(
            aggregate=aggregator_of({**chosen, **own, "pre": list(pre)}, without=("reference",)),
            optimiser=AverageModels(step=1.0, local_steps=1),
            weights=weights or ("examples" if rule == "mean" else "equal"),
        )
        super().__init__(
            algorithm,
            seed=seed,
            checkpoint=checkpoint,
            described=[rule, own, list(pre), weights],
            choose_by="",
            quorum=quorum,
            quorum_timeout=quorum_timeout,
            **fedavg,
        )
