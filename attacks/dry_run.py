"""Attacks tried before a run, so that mistakes are found before anything is written."""

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.attacks.adversary import adversary_of
from tagma.attacks.base import FederationView, LocalAttack, LocalView
from tagma.attacks.schedule import Phase
from tagma.attacks.threat_model import OutOfSight
from tagma.errors import SettingError
from tagma.rng import stream
from tagma.settings import Settings
from tagma.tasks.task import Task
from tagma.tasks.task_choice import task_of


def try_attacks(settings: Settings, work: str) -> None:
    """Let each attack forge once in the first round and once in a later one, from made-up updates.

    An attack that does not suit the task says so; one that looks at what its clients cannot see,
    or whose updates are no arrays, is refused. `work` is what clients are asked for later.
    """
    task = task_of(settings)
    for squad in adversary_of(settings).squads:
        for phase in squad.phases:
            try:
                _try(task, phase, squad.clients, work, settings.seed)
            except (OutOfSight, _NoArray) as problem:
                name = type(phase.attack).__name__
                raise SettingError(phase.key, name, str(problem)) from None


class _NoArray(Exception):
    """What an attack sends is no array."""


def _try(task: Task, phase: Phase, clients: Mask, work: str, seed: int) -> None:
    if not clients.any():
        return
    attack, random = phase.attack, stream(seed, "dry run")
    rounds = [number for number in (1, 2) if phase.acts_in(number)] or [phase.start]
    if isinstance(attack, LocalAttack):
        client = int(clients.argmax())
        attack.data(task, client, random)
        for number in rounds:
            view = _local_view(task, client, number, work, random)
            _check(attack.forge(np.ones(task.dim), view))
        return
    truth = task.truth()
    if truth is not None:
        groups = np.maximum(truth.labels, 0)
        for number in rounds:
            shown = _federation_view(truth.centres[groups], groups, clients, number, work, random)
            sent = _check(attack.forge(shown))
            if sent is None or sent.shape != shown.own.shape:
                shape = None if sent is None else sent.shape
                raise _NoArray(f"forge gave shape {shape} instead of {shown.own.shape}")


def _check(sent: object) -> Array | None:
    if sent is None:
        return None
    try:
        return np.asarray(sent, dtype=np.float64)
    except (TypeError, ValueError):
        raise _NoArray(f"forge gave a {type(sent).__name__} instead of an array") from None


def _local_view(
    task: Task, client: int, number: int, work: str, random: np.random.Generator
) -> LocalView:
    return LocalView(
        client=client,
        round=number,
        work="local_model" if number == 1 else work,
        model=None if number == 1 else np.ones(task.dim),
        past=[],
        random=random,
    )


def _federation_view(
    updates: Array,
    groups: Labels,
    byzantine: Mask,
    number: int,
    work: str,
    random: np.random.Generator,
) -> FederationView:
    """A round with the true models as the clients' local ones, or as what they received."""
    first = number == 1
    return FederationView(
        round=number,
        work="local_model" if first else work,
        honest=updates[~byzantine],
        own=updates[byzantine],
        honest_models=None if first else updates[~byzantine],
        own_models=None if first else updates[byzantine],
        honest_groups=groups[~byzantine],
        own_groups=groups[byzantine],
        clients=np.flatnonzero(byzantine),
        random=random,
        rehearse=lambda forged: 0.0,
    )
