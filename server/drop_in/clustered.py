"""`Clustered`: the clients of any Flower app in clusters, with a model for each."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tagma.errors import SettingError
from tagma.override import key_of
from tagma.plugins import build
from tagma.server.drop_in.arguments import fedavg_arguments
from tagma.server.drop_in.strategy import AlgorithmInFedAvgsPlace
from tagma.server.screening_settings import ON_MINIMISERS
from tagma.settings import compose
from tagma.strategies.algorithms.algorithm import Algorithm
from tagma.strategies.clustering_choice import clustering_of
from tagma.strategies.rule_choice import aggregator_of

_THREE_STAGE = "three_stage"
_GROUPS = ("strategy", "clustering", "aggregation", "optimiser", "preset")
_NOT_HERE = {"oracle": "it is told the truth, which nobody knows here", "flower": "use that itself"}


class Clustered(AlgorithmInFedAvgsPlace):
    """The three-stage algorithm with `preset="tagma"`, or another one by name; see `tagma list`.

    Round 1 trains from the initial model at every client and clusters the results: it should be
    long enough to tell clusters apart. Later rounds train each cluster's model. `k` is the number
    of clusters, for those that need it. `settings` are further ones as on the command line, such as
    `settings=["clustering=kgeomedians", "aggregation=median"]`. All arguments of FedAvg are
    accepted. `algorithm="ifca"` asks clients to evaluate each of the models, and `choose_by` is the
    metric that counts, of which less is better. With `checkpoint=FOLDER` a run that was broken off
    goes on at its next start. It is broken off when, for `quorum_timeout` seconds, less than the
    share `quorum` of the clients answers a round.
    """

    def __init__(
        self,
        algorithm: str = _THREE_STAGE,
        *,
        preset: str = "tagma",
        k: int | None = None,
        settings: Sequence[str] = (),
        choose_by: str = "eval_loss",
        seed: int = 0,
        checkpoint: str | Path | None = None,
        quorum: float = 0.5,
        quorum_timeout: float = 600.0,
        **given: Any,
    ) -> None:
        fedavg, unknown = fedavg_arguments(given)
        for name, value in unknown.items():
            raise SettingError(name, value, 'there is no such argument; try settings=["..."]')
        chosen = _choices(algorithm, preset, k, settings)
        super().__init__(
            _algorithm(chosen, seed),
            seed=seed,
            checkpoint=checkpoint,
            described=chosen,
            choose_by=choose_by,
            quorum=quorum,
            quorum_timeout=quorum_timeout,
            **fedavg,
        )


def _choices(algorithm: str, preset: str, k: int | None, settings: Sequence[str]) -> list[str]:
    if not isinstance(algorithm, str):
        raise SettingError("algorithm", algorithm, "must be a name; `tagma list strategy` has them")
    if why := _NOT_HERE.get(algorithm):
        raise SettingError("algorithm", algorithm, why)
    if not isinstance(preset, str):
        raise SettingError("preset", preset, "must be a name; `tagma list preset` has them")
    if isinstance(settings, str) or not isinstance(settings, Sequence):
        raise SettingError("settings", settings, 'must be a list, such as ["aggregation=median"]')
    for text in settings:
        if key_of(str(text)).partition(".")[0] not in _GROUPS:
            raise SettingError("settings", text, f"only {', '.join(_GROUPS)} have an effect here")
    three_stage = algorithm == _THREE_STAGE
    found = [f"preset={preset}"] if three_stage else [f"strategy={algorithm}"]
    if k is not None:
        found.append(f"clustering.k={k}" if three_stage else f"strategy.k={k}")
    return [*found, "optimiser=local", *settings]


def _algorithm(overrides: Sequence[str], seed: int) -> Algorithm[Any]:
    settings = compose(overrides)
    chosen = dict(settings.choice("strategy"))
    chosen |= {name: False for name in ON_MINIMISERS if name in chosen}  # no app promises these
    algorithm: Algorithm[Any] = build(
        "strategy",
        chosen,
        cluster=clustering_of(settings.choice("clustering"), seed=seed),
        aggregate=aggregator_of(settings.choice("aggregation"), without=("reference",)),
        optimiser=build("optimiser", settings.choice("optimiser")),
        seed=seed,
    )
    return algorithm
