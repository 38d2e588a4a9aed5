"""The adversary that the settings describe.

The group `attack` is one attack or, in `attacks`, a list of them. An attack is named by its
`_target_`, or by the `name` of a choice of the group, with settings that replace those of the
choice. Beside its own settings it has

    fraction   the share of machines that run it, or `machines`, their numbers
    start      the first round in which they attack, and `stop`, the last
    later      another attack, by name or with settings, that they turn to after round 1
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Lt
from omegaconf import OmegaConf

from attacks.attack import Attack
from attacks.schedule import Adversary, Phase, Squad
from tagma.arrays import Mask
from tagma.errors import SettingError
from tagma.plugins import TARGET, build, settings_of
from tagma.settings import CONF, Settings, choices
from tasks.chosen import task_of
from tasks.roles import byzantine_machines

_WHEN = ("start", "stop")
_WHO = ("fraction", "machines")


@lru_cache(maxsize=32)
def adversary_of(settings: Settings) -> Adversary:
    """The adversary that the `attack` group describes."""
    group = settings.choice("attack")
    entries = {"attack": group}
    if "attacks" in group:
        entries = {f"attack.attacks.{i}": entry for i, entry in enumerate(group["attacks"] or [])}
        if not entries:
            raise SettingError(
                "attack.attacks", group["attacks"], "names no attack; use attack=none"
            )
        for other in set(group) - {"attacks"}:
            raise SettingError(f"attack.{other}", group[other], "belongs into one of the attacks")
    task = task_of(settings)
    squads: list[Squad] = []
    taken, so_far = np.zeros(task.machines, dtype=bool), 0.0
    for key, entry in entries.items():
        if not isinstance(entry, Mapping):
            raise SettingError(key, entry, f"must be like {{name: {entry}, fraction: 0.1}}")
        config = _resolved(key, entry)
        who = settings_of(_who, key, {k: config.pop(k) for k in _WHO if k in config}, {})
        if who["machines"] is not None:
            mask = _numbered(key, who["machines"], task.machines)
        else:
            until = byzantine_machines(task.machines, so_far + who["fraction"], settings.seed)
            mask = until & ~byzantine_machines(task.machines, so_far, settings.seed)
            so_far += who["fraction"]
        if (mask & taken).any():
            number = int((mask & taken).argmax())
            raise SettingError(f"{key}.machines", number, "runs another attack already")
        taken |= mask
        squads.append(Squad(mask, _phases(key, config)))
        if 2 * taken.sum() >= task.machines:
            name = "machines" if who["machines"] is not None else "fraction"
            raise SettingError(
                f"{key}.{name}", who[name],
                f"makes {taken.sum()} of {task.machines} machines Byzantine",
            )  # fmt: skip
    truth = task.truth()
    if truth is not None and (truth.labels[~taken] < 0).any():
        raise SettingError(
            "attack.machines", np.flatnonzero(taken).tolist(),
            "this task gives the data of no group to a share of machines; set attack.fraction",
        )  # fmt: skip
    return Adversary(tuple(squads))


def _phases(key: str, config: dict[str, Any]) -> tuple[Phase, ...]:
    """The attack of an entry, and what comes later."""
    later = config.pop("later", None)
    when = settings_of(_when, key, {k: config.pop(k) for k in _WHEN if k in config}, {})
    first = Phase(_attack(key, config), **when)
    if later is None:
        return (first,)
    config = _resolved(f"{key}.later", later)
    for name in _WHO:
        config.pop(name, None)
    config.setdefault("start", 2)
    return (Phase(first.attack, first.start, 1), *_phases(f"{key}.later", config))


def _attack(key: str, config: Mapping[str, Any]) -> Attack:
    attack = build(key, config)
    if not isinstance(attack, Attack):
        raise SettingError(
            f"{key}.{TARGET}", config[TARGET], "must derive from LocalAttack or OmniscientAttack"
        )
    return attack


def _resolved(key: str, entry: Mapping[str, Any] | str) -> dict[str, Any]:
    """The settings of an entry, with those of the choice it names."""
    config = {"name": entry} if isinstance(entry, str) else dict(entry)
    while "name" in config:
        name = str(config.pop("name"))
        known = choices("attack")
        if name not in known:
            raise SettingError(
                f"{key}.name", name, f"there is no such choice; known: {', '.join(known)}"
            )
        chosen: Any = OmegaConf.to_container(OmegaConf.load(CONF / "attack" / f"{name}.yaml"))
        chosen.pop("defaults", None)
        if "attacks" in chosen:
            raise SettingError(f"{key}.name", name, "is several attacks: list them instead")
        config = chosen | config
    return config


def _numbered(key: str, numbers: list[int], machines: int) -> Mask:
    mask = np.zeros(machines, dtype=bool)
    for number in numbers:
        if not number < machines:
            raise SettingError(f"{key}.machines", number, f"task.machines={machines} end before it")
        mask[number] = True
    return mask


def _who(
    *,
    fraction: Annotated[float, Ge(0), Lt(0.5)] = 0.0,
    machines: list[Annotated[int, Ge(0)]] | None = None,
) -> None:
    """The settings that say who attacks."""


def _when(*, start: Annotated[int, Ge(1)] = 1, stop: Annotated[int, Ge(1)] | None = None) -> None:
    """The settings that say when."""
