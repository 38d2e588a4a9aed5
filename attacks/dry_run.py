"""Attacks tried before a run, so that mistakes are found before anything is written."""

import numpy as np

from attacks.attack import Attack, FederationView, LocalAttack, LocalView
from attacks.byzantine import adversary_of
from attacks.threat import OutOfSight
from tagma.arrays import Mask
from tagma.errors import SettingError
from tagma.settings import Settings
from tagma.streams import stream
from tasks.chosen import task_of
from tasks.task import Task


def try_attacks(settings: Settings) -> None:
    """Let each attack forge once, for one machine or one squad, from made-up updates.

    An attack that does not suit the task says so; one that looks at what its machines cannot see,
    or that no machine could run, is refused.
    """
    task = task_of(settings)
    for squad in adversary_of(settings).squads:
        for phase in squad.phases:
            try:
                _try(task, phase.attack, squad.machines, settings.seed)
            except OutOfSight as problem:
                name = type(phase.attack).__name__
                raise SettingError("attack", name, str(problem)) from None


def _try(task: Task, attack: Attack, machines: Mask, seed: int) -> None:
    if not machines.any():
        return
    machine, random = int(machines.argmax()), stream(seed, "dry run")
    if isinstance(attack, LocalAttack):
        attack.data(task, machine, random)
        attack.forge(np.ones(task.dim), _local_view(task, machine, random))
        return
    truth = task.truth()
    if truth is not None:
        groups = np.maximum(truth.labels, 0)
        attack.forge(_federation_view(truth.centres[groups], groups, machines, random))


def _local_view(task: Task, machine: int, random: np.random.Generator) -> LocalView:
    return LocalView(
        machine=machine,
        round=2,
        stage="gradient",
        model=np.ones(task.dim),
        past=[],
        random=random,
    )


def _federation_view(
    updates: np.ndarray, groups: np.ndarray, liars: Mask, random: np.random.Generator
) -> FederationView:
    """The first round, with the true models as the machines' local ones."""
    return FederationView(
        round=1,
        stage="erm",
        honest=updates[~liars],
        own=updates[liars],
        honest_models=None,
        own_models=None,
        honest_groups=groups[~liars],
        own_groups=groups[liars],
        machines=np.flatnonzero(liars),
        random=random,
        rehearse=lambda forged: 0.0,
    )
