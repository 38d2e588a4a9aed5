"""What was run, by name: task, attack and the parts of the defence, as a reader would say them."""

import inspect
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources.abc import Traversable
from typing import Any

import yaml

from tagma.choices import SEARCHPATH, choices, file_of, offered
from tagma.override import key_of
from tagma.plugins import TARGET, locate
from tagma.settings import Settings

_GROUPS = ("task", "solver", "strategy", "clustering", "aggregation", "optimiser", "training")
_NEEDS = {"clustering": "cluster", "aggregation": "aggregate", "optimiser": "optimiser"}
"""What an algorithm has as a parameter if it uses the group."""
_SCREENS = ("quarantine", "readmission", "reply_check", "spectral_filter")


def named_settings(settings: Settings) -> dict[str, Any]:
    """The choice of every group that the algorithm uses, and its own settings but the screens'.

    Beside them the pre-aggregators, and which screens are on.
    """
    strategy, overrides = settings.choice("strategy"), settings.overrides
    takes = inspect.signature(locate(str(strategy[TARGET]), "strategy")).parameters
    used = [group for group in _GROUPS if group not in _NEEDS or _NEEDS[group] in takes]
    pre = settings.choice("aggregation").get("pre") if "aggregation" in used else ()
    return {
        **dict.fromkeys(_GROUPS),
        **{group: name_of(group, settings.choice(group), overrides) for group in used},
        "attack": _attack(settings.choice("attack"), overrides),
        "pre": [_pre_name(entry) for entry in pre or ()],
        "strategy_settings": {
            key: value for key, value in strategy.items() if key not in (TARGET, *_SCREENS)
        },
        **{screen: bool(strategy.get(screen)) for screen in _SCREENS},
        "rounds": settings.rounds,
    }


def name_of(group: str, chosen: Mapping[str, Any], overrides: Sequence[str] = ()) -> str:
    """The choice of a group: its name, or what a plugin's `_target_` ends in.

    The overrides say where the user's own choices are, and which of two with one target it was.
    """
    target = str(chosen.get(TARGET))
    places = tuple(text for text in overrides if key_of(text) == SEARCHPATH)
    files = _files(group, places)
    names = [name for name, content in files.items() if content.get(TARGET) == target]
    names += [name for name, offer in offered(group).items() if offer.target == target]
    said = [name for name in names if f"{group}={name}" in overrides]

    def alike(name: str) -> int:  # a task may have chosen it: then by what it says
        return sum(chosen.get(key) == value for key, value in files.get(name, {}).items())

    return next(iter((*said, *sorted(names, key=alike, reverse=True))), target.rpartition(".")[2])


@cache
def _files(group: str, places: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """What the file of every choice says, those of conf/ first."""
    ours = choices(group)
    own = [name for name in choices(group, places) if name not in ours]
    return {name: _content(file_of(group, name, places)) for name in (*ours, *own)}


def _content(file: Traversable) -> dict[str, Any]:
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):  # one of the user's that was not chosen
        return {}
    return content if isinstance(content, dict) else {}


def _attack(entry: Any, overrides: Sequence[str]) -> str:
    """An attack with its rounds and what comes later, or several of them."""
    if not isinstance(entry, Mapping):
        return str(entry)
    if "attacks" in entry:
        return " and ".join(_attack(one, overrides) for one in entry["attacks"])
    name = str(entry["name"]) if "name" in entry else name_of("attack", entry, overrides)
    start, stop, later = (entry.get(key) for key in ("start", "stop", "later"))
    rounds = [f" from round {start}"] if start not in (None, 1) else []
    rounds += [] if stop is None else [f" until round {stop}"]
    return "".join([name, *rounds, f", then {_attack(later, overrides)}" if later else ""])


def _pre_name(entry: Any) -> str:
    if isinstance(entry, Mapping):
        return str(entry[TARGET]).rpartition(".")[2] if TARGET in entry else str(next(iter(entry)))
    return str(entry)
