"""Attacks tried before a run, so that mistakes are found before anything is written."""

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.attacks.adversary import adversary_of
from tagma.attacks.base import Attack, FederationView, LocalAttack, LocalView, OmniscientAttack
from tagma.attacks.schedule import Phase
from tagma.attacks.threat_model import OutOfSight
from tagma.errors import SettingError, TagmaError
from tagma.escaping import one_line
from tagma.exchange import CHOICE, FIT
from tagma.override import key_of
from tagma.rng import stream
from tagma.settings import Settings
from tagma.tasks.task import Task, layout_of
from tagma.tasks.task_choice import task_of
from tagma.wire import CLIENT, EXAMPLES


def try_attacks(settings: Settings, first: str, later: str, *, choosing: bool = False) -> None:
    """Let each attack forge once in the first round and once in a later one, from made-up updates.

    An attack that does not suit the task or the algorithm says so; one that looks at what its
    clients cannot see, or whose updates are no arrays, is refused. `first` and `later` are what
    clients are asked for in these rounds, `choosing` whether they choose among several models.
    """
    task = task_of(settings)
    # Clients that the user has given something else to do later are honest until then.
    goes_on = any(key_of(text) == "attack.later" for text in settings.overrides)
    for squad in adversary_of(settings).squads:
        for phase in squad.phases:
            name = type(phase.attack).__name__
            why = _no_meaning(phase.attack, first, choosing)
            if squad.clients.any() and why and not (goes_on and phase is squad.phases[0]):
                raise SettingError(phase.key, name, why)
            try:
                _try(task, phase, squad.clients, (first, later), settings.seed)
            except (OutOfSight, _NoArray) as problem:
                raise SettingError(phase.key, name, str(problem)) from None
            except TagmaError:
                raise
            except Exception as problem:  # an attack may be anybody's code
                kind = type(problem).__name__
                said = f"fails when it is tried: {kind}: {one_line(problem)} (--debug shows where)"
                raise SettingError(phase.key, name, said) from problem


def _no_meaning(attack: Attack, first: str, choosing: bool) -> str | None:
    """Why an attack does not suit the algorithm; None if it does."""
    if isinstance(attack, OmniscientAttack) and attack.needs_local_models and first != FIT:
        return (
            "forges local models, which this strategy never asks for; use strategy=three_stage or "
            "another attack"
        )
    if isinstance(attack, LocalAttack) and attack.needs_choice and not choosing:
        return (
            "lies about the model that a client chose, and with this strategy clients choose none; "
            "use strategy=ifca or another attack"
        )
    return None


class _NoArray(Exception):
    """What an attack sends is no array."""


def _try(task: Task, phase: Phase, clients: Mask, works: tuple[str, str], seed: int) -> None:
    if not clients.any():
        return
    attack, random, size = phase.attack, stream(seed, "dry run"), layout_of(task).size
    rounds = [number for number in (1, 2) if phase.acts_in(number)] or [phase.start]
    if isinstance(attack, LocalAttack):
        client = int(clients.argmax())
        attack.data(task, client, random)
        for number in rounds:
            work = works[number > 1]
            one = np.ones(size)
            view = LocalView(client, number, work, one, [one, one], [], lambda: random)
            attack.report({EXAMPLES: 1, CLIENT: client, CHOICE: 0}, view)
            _check(attack.forge(np.ones(size), view))
        return
    truth = task.truth()
    if truth is not None:
        groups = np.maximum(truth.labels, 0)
        updates = random.standard_normal((max(truth.k, 1), size))[groups]
        for number in rounds:
            shown = _federation_view(updates, groups, clients, number, works[number > 1], random)
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


def _federation_view(
    updates: Array,
    groups: Labels,
    byzantine: Mask,
    number: int,
    work: str,
    random: np.random.Generator,
) -> FederationView:
    """A round in which everybody sends back what it received."""
    return FederationView(
        round=number,
        work=work,
        honest=updates[~byzantine],
        own=updates[byzantine],
        models=updates,
        honest_rows=np.flatnonzero(~byzantine),
        own_rows=np.flatnonzero(byzantine),
        honest_groups=groups[~byzantine],
        own_groups=groups[byzantine],
        clients=np.flatnonzero(byzantine),
        random=random,
        rehearse=lambda forged: 0.0,
        honest_claims=updates[~byzantine],
        claims=updates[byzantine],
        as_claimed=lambda: updates[byzantine],
    )
