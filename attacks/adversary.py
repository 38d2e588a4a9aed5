"""The adversary that the settings describe.

The group `attack` is one attack or, in `attacks`, a list of them. An attack is named by its
`_target_`, or by the `name` of a choice of the group, with settings that replace those of the
choice. Beside its own settings it has

    fraction   the share of clients that run it, or `clients`, their numbers
    start      the first round in which they attack, and `stop`, the last
    later      another attack, by name or with settings, that they turn to after round 1
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Lt
from omegaconf import OmegaConf

from tagma.arrays import Labels, Mask
from tagma.attacks.backdoor.backdoor import Backdoor, Boosted
from tagma.attacks.base import Attack
from tagma.attacks.goal import Goal
from tagma.attacks.on_clustering.forged_local_models import ClusteringAttack
from tagma.attacks.schedule import Adversary, Phase, Squad
from tagma.choices import choices, text_of
from tagma.counts import ceil_of
from tagma.errors import SettingError
from tagma.kept import kept
from tagma.override_hints import no_such_choice
from tagma.plugins import TARGET, build, settings_of
from tagma.settings import Settings
from tagma.tasks.roles import role_order
from tagma.tasks.task import Task, true_clusters
from tagma.tasks.task_choice import task_of

_WHEN = ("start", "stop")
_WHO = ("fraction", "clients")


@kept(maxsize=32)
def adversary_of(settings: Settings) -> Adversary:
    """The adversary that the `attack` group describes."""
    given = settings.overrides
    entries = {key: _resolved(key, entry, given) for key, entry in _entries(settings).items()}
    who = {
        key: settings_of(_who, key, {k: config.pop(k) for k in _WHO if k in config}, {})
        for key, config in entries.items()
    }
    task = task_of(settings)  # after the fraction, on which a task may depend, was checked
    phases = {key: _phases(key, config, given) for key, config in entries.items()}
    within = {key: _members(own, task) for key, own in phases.items()}
    masks = _shared_out(who, within, role_order(task.clients, settings.seed))
    _check_truth(task, np.logical_or.reduce(list(masks.values())))
    for key, own in phases.items():
        for phase in own:
            if isinstance(phase.attack, Boosted):
                phase.attack.agree(task.clients, int(masks[key].sum()))
    return Adversary(tuple(Squad(masks[key], own) for key, own in phases.items()))


def goal_of(settings: Settings) -> Goal | None:
    """What the attack wants models to say, of several the first that wants anything."""
    task = task_of(settings)
    goals = (attack.goal(task) for attack in adversary_of(settings).attacks)
    return next((goal for goal in goals if goal is not None), None)


def phases_of(attack: str | Attack, given: Mapping[str, Any]) -> tuple[Phase, ...]:
    """An attack, or what the group `attack` has by its name, with settings, for any Flower app."""
    for name in _WHO:  # the group has them as well, but there they would have no effect
        if name in given:
            raise SettingError(name, given[name], "there is no such argument here")
    if isinstance(attack, Attack):
        when = settings_of(_when, "attack", given, {})
        return (Phase(attack, when["start"], when["stop"]),)
    config = _resolved("attack", {**given, "name": attack}, ())
    return _phases("attack", {key: config[key] for key in config if key not in _WHO}, ())


def share_of(
    fraction: float, clients: Sequence[int] | None, seed: int
) -> tuple[float, frozenset[int] | None]:
    """Who attacks, checked: a share, or the numbers of clients."""
    if clients is not None and fraction:
        raise SettingError("byzantine.fraction", fraction, "name a share or the clients, not both")
    asked = list(clients) if isinstance(clients, Iterable) else clients
    who = settings_of(_who, "byzantine", {"fraction": fraction, "clients": asked}, {})
    settings_of(_drawn_by, "byzantine", {"seed": seed}, {})
    return who["fraction"], None if asked is None else frozenset(who["clients"])


def _drawn_by(*, seed: Annotated[int, Ge(0)] = 0) -> None:
    """What decides who attacks."""


def _entries(settings: Settings) -> dict[str, Any]:
    """The attacks by their keys: the group itself, or each of its list."""
    group = settings.choice("attack")
    if "attacks" not in group:
        return {"attack": group}
    listed = group["attacks"]
    for other in set(group) - {"attacks"}:
        raise SettingError(f"attack.{other}", group[other], "belongs into one of the attacks")
    if not isinstance(listed, list) or not listed:
        raise SettingError("attack.attacks", listed, "must be a list of attacks, at least one")
    for number, entry in enumerate(listed):
        key = f"attack.attacks.{number}"
        if not isinstance(entry, Mapping):
            raise SettingError(key, entry, f"must be like {{name: {entry}, fraction: 0.1}}")
        if not set(_WHO) & set(entry):
            raise SettingError(key, dict(entry), "needs fraction or clients")
    return {f"attack.attacks.{number}": entry for number, entry in enumerate(listed)}


def _members(phases: Sequence[Phase], task: Task) -> Mask | None:
    """The clients among which an attack's are: those of one true cluster; None: all."""
    for phase in phases:
        if isinstance(phase.attack, Backdoor) and phase.attack.cluster is not None:
            key, cluster = f"{phase.key}.cluster", phase.attack.cluster
            truth = true_clusters(task)
            if truth is None:
                raise SettingError(key, cluster, "nobody knows the clusters of this task")
            if cluster >= truth.k:
                raise SettingError(key, cluster, f"there are {truth.k} true clusters, from 0")
            return truth.labels == cluster
    return None


def _shared_out(
    who: Mapping[str, Mapping[str, Any]], within: Mapping[str, Mask | None], order: Labels
) -> dict[str, Mask]:
    """The clients of every attack: those that are named, then shares in the order of roles.

    Where an attack's are of one cluster, its share is one of that cluster's clients, and it takes
    its own before the others.
    """
    count = len(order)
    masks = {key: np.zeros(count, dtype=bool) for key in who}
    taken = np.zeros(count, dtype=bool)
    for key, own in who.items():
        for number in own["clients"] or ():
            if number >= count:
                raise SettingError(f"{key}.clients", number, f"there are {count} clients, from 0")
            if taken[number]:
                raise SettingError(f"{key}.clients", number, "is named twice")
            masks[key][number] = taken[number] = True
    for key, members in within.items():
        if members is not None and who[key]["clients"] is not None:
            raise SettingError(f"{key}.clients", who[key]["clients"], "goes without a cluster")
        if members is not None:
            there = order[members[order] & ~taken[order]]
            chosen = there[: ceil_of(who[key]["fraction"], int(members.sum()))]
            masks[key][chosen] = taken[chosen] = True
    free = order[~taken[order]]
    first, so_far = 0, 0.0
    for key, own in who.items():
        if own["clients"] is None and within[key] is None:
            so_far += own["fraction"]
            last = ceil_of(so_far, count)
            masks[key][free[first:last]] = taken[free[first:last]] = True
            first = last
        if taken.all():
            name = "fraction" if own["clients"] is None else "clients"
            raise SettingError(f"{key}.{name}", own[name], "leaves no honest client")
    return masks


def _check_truth(task: Task, byzantine: Mask) -> None:
    truth = true_clusters(task)
    if truth is not None and (truth.labels[~byzantine] < 0).any():
        raise SettingError(
            "attack.clients", np.flatnonzero(byzantine).tolist(),
            "this task gives the data of no group to a share of clients; set attack.fraction",
        )  # fmt: skip


def _phases(
    key: str,
    config: dict[str, Any],
    overrides: Sequence[str],
    *,
    earliest: int = 1,
    latest: int | None = None,
) -> tuple[Phase, ...]:
    """The attack of an entry, and what comes later, within its start and stop."""
    later = config.pop("later", None)
    given = {k: v for k in _WHEN if (v := config.pop(k, None)) is not None}
    when = settings_of(_when, key, {"start": earliest, "stop": latest} | given, {})
    start, stop = when["start"], when["stop"]
    if stop is not None and stop < start:
        raise SettingError(f"{key}.stop", stop, f"is before the first round, start={start}")
    attack = _attack(key, config)
    if isinstance(attack, ClusteringAttack) and start > 1:
        raise SettingError(
            f"{key}.start", start, "it forges local models, which are sent in round 1; set later"
        )
    if later is None:
        return (Phase(attack, start, stop, key),)
    first = (Phase(attack, 1, 1, key),) if start == 1 else ()
    key = f"{key}.later"
    following = _resolved(key, later, overrides)
    for name in _WHO:
        if following.pop(name, None) is not None and isinstance(later, Mapping) and name in later:
            raise SettingError(f"{key}.{name}", later[name], "belongs to the attack before it")
    return (*first, *_phases(key, following, overrides, earliest=max(2, start), latest=stop))


def attack_named(key: str, name: str, settings: Settings) -> Attack:
    """An attack by its name alone; `key` is where it was named."""
    config = _resolved(key, name, settings.overrides)
    return _attack(key, {k: v for k, v in config.items() if k not in (*_WHO, *_WHEN, "later")})


def _attack(key: str, config: Mapping[str, Any]) -> Attack:
    if TARGET not in config:
        raise SettingError(key, dict(config), f"names no attack: set name or {TARGET}")
    attack = build(key, config)
    if not isinstance(attack, Attack):
        raise SettingError(
            f"{key}.{TARGET}", config[TARGET], "must derive from LocalAttack or OmniscientAttack"
        )
    return attack


def _resolved(key: str, entry: Any, overrides: Sequence[str]) -> dict[str, Any]:
    """The settings of an entry, with those of the choice it names, ours or the user's own."""
    if not isinstance(entry, str | Mapping):
        raise SettingError(key, entry, "must name an attack, or be like {name: alie, z: 2}")
    config: dict[str, Any] = {"name": entry} if isinstance(entry, str) else dict(entry)
    while "name" in config:
        name = str(config.pop("name"))
        known = choices("attack", overrides)
        if name not in known:
            raise SettingError(f"{key}.name", name, no_such_choice(name, known))
        text = text_of("attack", name, overrides)
        chosen: Any = OmegaConf.to_container(OmegaConf.create(text))
        chosen.pop("defaults", None)
        if "attacks" in chosen:
            raise SettingError(f"{key}.name", name, "is several attacks: list them instead")
        config = {k: v for k, v in chosen.items() if v != "???"} | config
    return config


def _who(
    *,
    fraction: Annotated[float, Ge(0), Lt(1)] = 0.0,
    clients: list[Annotated[int, Ge(0)]] | None = None,
) -> None:
    """The settings that say who attacks."""


def _when(*, start: Annotated[int, Ge(1)] = 1, stop: Annotated[int, Ge(1)] | None = None) -> None:
    """The settings that say when."""
