"""What was run, by name: task, attack and the parts of the defence, as a reader would say them."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from omegaconf import OmegaConf

from tagma.choices import CONF, choices
from tagma.plugins import TARGET
from tagma.settings import Settings

_GROUPS = ("task", "solver", "strategy", "clustering", "aggregation", "optimiser", "training")
_SCREENS = ("quarantine", "readmission", "reply_check", "spectral_filter")


def named_settings(settings: Settings) -> dict[str, Any]:
    """The choice of every group, the pre-aggregators, and which screens are on."""
    strategy = settings.choice("strategy")
    return {
        **{group: name_of(group, settings.choice(group)) for group in _GROUPS},
        "attack": _attack(settings.choice("attack")),
        "pre": [_pre_name(entry) for entry in settings.choice("aggregation").get("pre") or ()],
        **{screen: bool(strategy.get(screen)) for screen in _SCREENS},
        "rounds": settings.rounds,
    }


def name_of(group: str, chosen: Mapping[str, Any]) -> str:
    """The choice of a group: its name in conf/, or what a plugin's `_target_` ends in."""
    target = str(chosen.get(TARGET))
    return _names(group).get(target) or target.rpartition(".")[2]


@cache
def _names(group: str) -> dict[str, str]:
    """The names of a group's choices, by their targets."""
    files: dict[str, Any] = {
        name: OmegaConf.load(CONF / group / f"{name}.yaml") for name in choices(group)
    }
    return {str(config[TARGET]): name for name, config in files.items() if TARGET in config}


def _attack(entry: Any) -> str:
    """An attack with its rounds and what comes later, or several of them."""
    if not isinstance(entry, Mapping):
        return str(entry)
    if "attacks" in entry:
        return " and ".join(map(_attack, entry["attacks"]))
    name = str(entry["name"]) if "name" in entry else name_of("attack", entry)
    start, stop, later = (entry.get(key) for key in ("start", "stop", "later"))
    rounds = [f" from round {start}"] if start not in (None, 1) else []
    rounds += [] if stop is None else [f" until round {stop}"]
    return "".join([name, *rounds, f", then {_attack(later)}" if later else ""])


def _pre_name(entry: Any) -> str:
    if isinstance(entry, Mapping):
        return str(entry[TARGET]).rpartition(".")[2] if TARGET in entry else str(next(iter(entry)))
    return str(entry)
