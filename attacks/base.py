"""The two kinds of attacks, by what they know.

Local: a client that sees its own data, the model it receives and the update an honest client
would send. It runs on the client, as a Flower mod, on every engine and in a container.

Omniscient: colluding clients that see every honest update of the round before they answer, and
the groups the honest clients really belong to. It runs on the server's side, around the Grid, on
every engine.

The strategy never learns which clients are Byzantine.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NoReturn

import numpy as np

from tagma.arrays import Array, Labels
from tagma.attacks.goal import Goal
from tagma.attacks.line_search import Rehearse
from tagma.attacks.threat_model import OutOfSight, ThreatModel
from tagma.exchange import FIT, GRADIENT
from tagma.tasks.task import Data, Task


@dataclass(frozen=True)
class LocalView:
    """What one Byzantine client sees in one round."""

    client: int
    round: int
    """From 1 on."""
    work: str
    """What it was asked for: "local_model", "gradient" or "local"."""
    model: Array
    """The model it received; of several, the one it goes on with. For a local model, the common
    one that training begins with."""
    models: Sequence[Array]
    """All models that it received, in the server's order; the numbers of choices are theirs."""
    past: list[Array]
    """What the attack noted in earlier rounds of this kind of work, oldest first; see `note`."""
    own_stream: Callable[[], np.random.Generator]
    """Begins the client's random stream of this round: most attacks need none."""

    @cached_property
    def random(self) -> np.random.Generator:
        """Its own random stream of this round."""
        return self.own_stream()

    @property
    def origin(self) -> "Array | float":
        """What an update is measured from: the received model if it is a model itself, else 0."""
        return 0.0 if self.work == GRADIENT else self.model

    def __getattr__(self, name: str) -> NoReturn:
        # Only for what is not there.
        if name in FederationView.__dataclass_fields__ or hasattr(FederationView, name):
            raise OutOfSight(
                f"a local attack does not see `{name}`: derive from OmniscientAttack instead"
            )
        raise AttributeError(name)


class LocalAttack:
    """Base of local attacks. Overriding one of the methods is enough."""

    threat: ClassVar[ThreatModel] = ThreatModel("its own updates", "its updates")
    published: ClassVar[str] = ""
    """Where it was published."""
    remembers: int = 0
    """How many of its notes of earlier rounds it wants to see."""
    needs_choice: ClassVar[bool] = False
    """Whether it has no meaning but where clients choose among several models."""

    @property
    def changes_replies(self) -> bool:
        """Whether it changes replies at all; some attacks only change the client's data."""
        kind = type(self)
        return kind.forge is not LocalAttack.forge or kind.report is not LocalAttack.report

    def data(self, task: Task, client: int, random: np.random.Generator) -> Data:
        """The data that the client computes with; by default the honest ones."""
        return task.train(client)

    def report(self, honest: Mapping[str, float], view: LocalView) -> Mapping[str, float]:
        """The numbers that are told beside the update, by default the honest ones.

        Who claims to have chosen another model is then given the honest update of that one to
        forge: an honest client's, had it gone on with it.
        """
        return honest

    def forge(self, honest: Array, view: LocalView) -> Array | None:
        """What is sent instead of the honest update, by default that itself; None: nothing."""
        return honest

    def note(self, honest: Array, sent: Array, view: LocalView) -> Array:
        """What it remembers of a round, by default the honest update; `sent` is what was sent.

        Rounds before it begins are noted, too.
        """
        return honest

    def goal(self, task: Task) -> Goal | None:
        """What it wants honest clients' models to say; None: it only does harm."""
        return None


@dataclass(frozen=True)
class FederationView:
    """What colluding Byzantine clients see in one round.

    Rows of `honest*` belong to the h honest clients, rows of `own*` to the b colluding ones.
    """

    round: int
    """From 1 on."""
    work: str
    """What the clients were asked for: "local_model", "gradient" or "local"."""
    honest: Array
    """The updates of the honest clients, shape (h, d)."""
    own: Array
    """What the Byzantine clients would send if they were honest, shape (b, d)."""
    models: Array
    """The models that were sent, shape (K, d)."""
    honest_rows: Labels
    """The row of `models` that every honest client received, shape (h,)."""
    own_rows: Labels
    """The row of `models` that every Byzantine client received, shape (b,)."""
    honest_groups: Labels
    """The true group of every honest client, shape (h,); 0 for all where the task knows none."""
    own_groups: Labels
    """The group whose data a Byzantine client was given, shape (b,); that of the nearest honest
    mean where it was given those of none."""
    clients: Labels
    """The numbers of the Byzantine clients, shape (b,)."""
    random: np.random.Generator
    """The colluders' common random stream of this round."""
    rehearse: Rehearse
    """From forged updates (b, d) to the served error that the defence would then have: the very
    defence that is running, from its present state."""
    honest_claims: Array
    """The local models that the honest clients sent, shape (h, d); of no rows where nobody was ever
    asked for any."""
    claims: Array
    """Those that the Byzantine clients sent, forged or not, shape (b, d); likewise."""
    as_claimed: Callable[[], Array]
    """What the Byzantine clients would send if the minimisers of their losses were what they
    claimed, shape (b, d): nothing in such updates contradicts their local models."""

    @property
    def honest_models(self) -> Array:
        """The models that the honest clients received, shape (h, d)."""
        return self.models[self.honest_rows]

    @property
    def own_models(self) -> Array:
        """The models that the Byzantine clients received, shape (b, d)."""
        return self.models[self.own_rows]

    def origin(self, byzantine: Labels) -> "Array | float":
        """What updates of a cluster are measured from: its model if they are models, else 0."""
        return 0.0 if self.work == GRADIENT else self.own_models[byzantine[0]]

    def clusters(self) -> Iterator[tuple[Labels, Labels]]:
        """Byzantine clients that act on the same model, with the honest ones that do: row numbers.

        Those who received the same model; those of a group when local models are asked for, and all
        begin with one model, and among clients that have a model of their own.
        """
        honest, own = self.honest_groups, self.own_groups
        if self.work != FIT:
            names, sharing = np.unique(
                np.concatenate([self.honest_rows, self.own_rows]), return_counts=True
            )
            alone = names[sharing == 1]
            honest = np.where(np.isin(self.honest_rows, alone), -1 - honest, self.honest_rows)
            own = np.where(np.isin(self.own_rows, alone), -1 - own, self.own_rows)
        for cluster in np.unique(own):
            yield np.flatnonzero(own == cluster), np.flatnonzero(honest == cluster)


class OmniscientAttack:
    """Base of omniscient attacks."""

    threat: ClassVar[ThreatModel] = ThreatModel(
        "every update and group", "its updates", colludes=True
    )
    published: ClassVar[str] = ""
    """Where it was published."""
    needs_local_models: ClassVar[bool] = False
    """Whether it has no meaning but where clients are asked for their local models."""

    def forge(self, view: FederationView) -> Array:
        """The updates that the Byzantine clients send, shape (b, d)."""
        raise NotImplementedError

    def goal(self, task: Task) -> Goal | None:
        """What it wants honest clients' models to say; None: it only does harm."""
        return None


Attack = LocalAttack | OmniscientAttack
