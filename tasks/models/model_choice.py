"""The model that the settings choose, made for a problem.

A class of ours, or of a user's, that has a parameter `problem` is a model by itself
(`tagma.tasks.models.model`); anything else is a torch module and its arguments.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from tagma.errors import SettingError
from tagma.override import key_of
from tagma.plugins import TARGET, build, locate, unknown
from tagma.settings import Settings
from tagma.tasks.models.model import Model, Problem
from tagma.tasks.models.own_module import OwnModule

_KEY = f"model.{TARGET}"
_LOSS = "loss"
"""Beside a torch module, what is not its own argument."""


def model_maker(settings: Settings) -> Callable[[Problem], Model]:
    """From a problem to the model of the group `model`."""
    chosen = _chosen(settings)
    seed, device = settings.seed, settings.device

    def make(problem: Problem) -> Model:
        found = locate(str(chosen.get(TARGET, "")), _KEY)
        if "problem" in inspect.signature(found).parameters:
            model: Model = build("model", chosen, problem=problem, seed=seed, device=device)
            return model
        values = {name: value for name, value in chosen.items() if name not in (TARGET, _LOSS)}
        loss: Any = chosen.get(_LOSS)
        return OwnModule(_module(found, values), problem, seed=seed, device=device, loss=loss)

    return make


def _chosen(settings: Settings) -> Mapping[str, Any]:
    """The group; who names another class by `_target_` alone leaves ours's settings behind."""
    chosen = settings.choice("model")
    keys = [key_of(text).split(".") for text in settings.overrides]
    given = {key[1] for key in keys if key[0] == "model" and len(key) > 1}
    return {name: value for name, value in chosen.items() if TARGET not in given or name in given}


def _module(found: Callable[..., Any], values: Mapping[str, Any]) -> Callable[[], Any]:
    """The module with its arguments, which must be some that it has."""
    accepted = inspect.signature(found).parameters
    names = [one.name for one in accepted.values() if one.kind is not one.VAR_KEYWORD]
    for name, value in values.items():
        if name not in names and len(names) == len(accepted):
            raise SettingError(f"model.{name}", value, unknown(name, names))

    def module() -> Any:
        return found(**values)

    module.__name__ = getattr(found, "__name__", "module")
    return module
