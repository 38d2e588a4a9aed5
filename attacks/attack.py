"""The two kinds of attacks, by what they know.

Local: a machine that sees its own data, the model it receives and the update an honest machine
would send. It runs on the client, as a Flower mod, on every engine and in a container.

Omniscient: colluding machines that see every honest update of the round before they answer. It
runs on the server's side, around the Grid, on every engine.

The strategy never learns which machines are Byzantine.
"""

from dataclasses import dataclass

import numpy as np

from tagma.arrays import Array, Labels
from tasks.task import Data, Task


@dataclass(frozen=True)
class LocalView:
    """What one Byzantine machine sees in one round."""

    machine: int
    stage: str
    """What it was asked for: "erm", "gradient" or "local"."""
    model: Array | None
    """The model it received; None in the first round."""
    random: np.random.Generator
    """Its own random stream of this round."""


class LocalAttack:
    """Base of local attacks. Overriding one of the methods is enough."""

    def data(self, task: Task, machine: int, random: np.random.Generator) -> Data:
        """The data that the machine computes with; by default the honest ones."""
        return task.data(machine)

    def forge(self, honest: Array, view: LocalView) -> Array:
        """The update that is sent instead of the honest one; by default the honest one."""
        return honest


@dataclass(frozen=True)
class FederationView:
    """What colluding Byzantine machines see in one round."""

    stage: str
    """What the machines were asked for: "erm", "gradient" or "local"."""
    honest: Array
    """The updates of the honest machines, shape (h, d)."""
    own: Array
    """What the Byzantine machines would send if they were honest, shape (b, d)."""
    honest_models: Array | None
    """The models that the honest machines received, shape (h, d); None in the first round."""
    own_models: Array | None
    """The models that the Byzantine machines received, shape (b, d); None in the first round."""
    machines: Labels
    """The numbers of the Byzantine machines, shape (b,)."""
    random: np.random.Generator
    """The colluders' common random stream of this round."""


class OmniscientAttack:
    """Base of omniscient attacks."""

    def forge(self, view: FederationView) -> Array:
        """The updates that the Byzantine machines send, shape (b, d)."""
        raise NotImplementedError


Attack = LocalAttack | OmniscientAttack
