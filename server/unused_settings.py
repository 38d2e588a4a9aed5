"""Settings that the user gave and that nothing uses: a line for each, so that nobody is misled."""

import inspect
from collections.abc import Callable
from typing import Any

from tagma.choices import CONF
from tagma.entry_points import DECLARED, offers
from tagma.override import key_of
from tagma.plugins import TARGET, locate
from tagma.settings import Settings
from tagma.strategies.algorithms.server_step import AverageModels


def notices_of_unused(settings: Settings) -> list[str]:
    """What has no effect, and what is used instead."""
    return [*_of_the_optimiser(settings), *_of_the_device(settings)]


def notices_of_names(settings: Settings) -> list[str]:
    """Choices of ours that a package offers by the same name: it may have been meant."""
    pairs = ((key_of(text), text.partition("=")[2]) for text in settings.overrides)
    return [
        f"{group}={name} is Tagma's own; that of {offer.package} has the same name and is not used"
        for group, name in pairs
        if group in DECLARED
        for offer in offers(group)
        if offer.name == name and (CONF / group / f"{name}.yaml").is_file()
    ]


def _of_the_optimiser(settings: Settings) -> list[str]:
    """How clients train, where `training` says otherwise; by default it says the same."""
    chosen, training = settings.choice("optimiser"), settings.choice("training")
    if _target(settings, "optimiser") is not AverageModels:
        return []
    passes = "steps" if training.get("epochs") is None else "epochs"
    instead = {"step": "learning_rate", "local_steps": passes}
    given = {key_of(text) for text in settings.overrides}
    return [
        f"optimiser.{key}={chosen[key]} has no effect: clients train by "
        f"training.{other}={training.get(other)}"
        for key, other in instead.items()
        if f"optimiser.{key}" in given and (other == "epochs" or training.get(other) != chosen[key])
    ]


def _of_the_device(settings: Settings) -> list[str]:
    """A GPU that is asked for, where neither the task nor an optimiser of torch would use it."""
    torch = any(settings.choice(group).get("optimiser") for group in ("training", "solver"))
    takes_part = "device" in inspect.signature(_target(settings, "task")).parameters
    if settings.device != "cuda" or torch or takes_part:
        return []
    name = getattr(_target(settings, "task"), "__name__", "this task")
    return [f"device=cuda has no effect: {name} computes on the processor, and so does training"]


def _target(settings: Settings, group: str) -> Callable[..., Any]:
    return locate(str(settings.choice(group)[TARGET]), f"{group}.{TARGET}")
