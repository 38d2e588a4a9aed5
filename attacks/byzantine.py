"""Which machines are Byzantine, and the attack they run, from the settings."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

from annotated_types import Ge, Lt
from flwr.app import Context

from attacks.attack import Attack
from tagma.arrays import Mask
from tagma.errors import SettingError
from tagma.plugins import build, settings_of
from tagma.settings import Settings
from tasks.chosen import task_of
from tasks.roles import byzantine_machines


@dataclass(frozen=True)
class Adversary:
    """The attack and the machines that run it."""

    attack: Attack
    byzantine: Mask
    """Shape (m,)."""


def _share(*, fraction: Annotated[float, Ge(0), Lt(0.5)] = 0.0) -> float:
    return fraction


@lru_cache(maxsize=32)
def adversary_of(settings: Settings) -> Adversary:
    """The adversary that the `attack` group describes."""
    chosen = dict(settings.choice("attack"))
    share = {"fraction": chosen.pop("fraction")} if "fraction" in chosen else {}
    fraction = settings_of(_share, "attack", share, {})["fraction"]
    attack = build("attack", chosen)
    if not isinstance(attack, Attack):
        raise SettingError(
            "attack._target_",
            chosen["_target_"],
            "must derive from LocalAttack or OmniscientAttack",
        )
    machines = task_of(settings).machines
    byzantine = byzantine_machines(machines, fraction, settings.seed)
    if 2 * byzantine.sum() >= machines:
        raise SettingError(
            "attack.fraction", fraction, f"makes {byzantine.sum()} of {machines} machines Byzantine"
        )
    return Adversary(attack, byzantine)


def is_byzantine(settings: Settings, context: Context) -> bool:
    """Whether a client lies: as its node's setting `byzantine` says, else by its number."""
    if "byzantine" in context.node_config:
        return bool(context.node_config["byzantine"])
    return bool(adversary_of(settings).byzantine[machine_number(context)])


def machine_number(context: Context) -> int:
    """The number of the machine that a client plays."""
    return int(context.node_config["partition-id"])
