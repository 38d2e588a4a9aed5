"""Who attacks when: squads of Byzantine clients, each with its attacks over the rounds."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tagma.arrays import Mask
from tagma.attacks.base import Attack, LocalAttack, OmniscientAttack


@dataclass(frozen=True)
class Phase:
    """An attack from one round to another, both included; round 1 is that of the local models."""

    attack: Attack
    start: int = 1
    stop: int | None = None
    key: str = "attack"
    """The setting that describes it, for messages."""

    def acts_in(self, round_number: int) -> bool:
        """Whether it acts in a round."""
        return self.start <= round_number and (self.stop is None or round_number <= self.stop)


@dataclass(frozen=True)
class Squad:
    """Clients that attack alike; between their phases they are honest."""

    clients: Mask
    """Shape (m,)."""
    phases: tuple[Phase, ...]

    def attack_in(self, round_number: int) -> Attack | None:
        """What it does in a round; the first phase that acts counts."""
        for phase in self.phases:
            if phase.acts_in(round_number):
                return phase.attack
        return None

    def local_in(self, round_number: int) -> LocalAttack | None:
        """What its clients do by themselves in a round."""
        attack = self.attack_in(round_number)
        return attack if isinstance(attack, LocalAttack) else None

    @cached_property
    def notes(self) -> tuple[LocalAttack, ...]:
        """The attacks, of any of its phases, for which its clients have to remember something."""
        attacks = (phase.attack for phase in self.phases)
        return tuple(a for a in attacks if isinstance(a, LocalAttack) and a.remembers)


@dataclass(frozen=True)
class Adversary:
    """All Byzantine clients of a federation."""

    squads: tuple[Squad, ...]
    """No client is in two of them."""

    @cached_property
    def byzantine(self) -> Mask:
        """Shape (m,)."""
        return np.logical_or.reduce([squad.clients for squad in self.squads])

    @property
    def attacks(self) -> Iterator[Attack]:
        """Every attack of every squad."""
        return (phase.attack for squad in self.squads for phase in squad.phases)

    @property
    def colludes(self) -> bool:
        """Whether some attack needs to see the whole federation."""
        return any(isinstance(attack, OmniscientAttack) for attack in self.attacks)

    def squad_of(self, client: int) -> Squad | None:
        """The squad of a client; None if it is honest. Asked for every message."""
        return self._squads.get(client)

    @cached_property
    def _squads(self) -> dict[int, Squad]:
        return {int(c): squad for squad in self.squads for c in np.flatnonzero(squad.clients)}

    def colluders_in(self, round_number: int) -> list[tuple[OmniscientAttack, Mask]]:
        """The omniscient attacks of a round and their clients."""
        acting = ((squad.attack_in(round_number), squad.clients) for squad in self.squads)
        return [(attack, who) for attack, who in acting if isinstance(attack, OmniscientAttack)]
