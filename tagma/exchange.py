"""What server and clients exchange, as arrays: one request, and the replies to it.

An algorithm makes requests and learns from replies (`tagma.strategies.algorithms.algorithm`), an
omniscient attack changes replies (`tagma.attacks.collusion`), and whoever carries them between
server and clients, Flower or the vectorised engine, needs to know neither.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tagma.arrays import Array, Labels, Mask

NO_MODEL = -1
"""In `which`: this client has no model, so it is not trained; it tries the initial one."""

SERVER = 2**31
"""The number of the server where it answers as a client does, beyond all of theirs."""

FIT, GRADIENT, TRAIN = "local_model", "gradient", "local"
"""What clients can be asked for: the minimiser of their own loss, the gradient of it at a model, a
model after local training."""
INTRODUCE, EVALUATE = "introduce", "evaluate"
"""What is asked for around it: who a client is, and how good a model is."""
CHOICE = "choice"
"""The number that a client reports who got several models: the row of the one it went on with."""
OWN = "own"
"""The setting of an evaluation of several models: the row of the client's own, `Request.own`."""
SMOOTHNESS = "smoothness"
"""The number that a client reports where it is asked to: how fast its gradient can change. Also the
setting of a request that asks for it."""
PERSONALISED = "personalised_"
"""Before the name of a metric: measured after a few steps of the client's own from its model."""
HALF = "half"
"""The setting of local training on one half of the client's examples: 1 or 2."""
PROXIMAL = "proximal"
"""The setting of local training with FedProx's pull towards the received model."""


@dataclass(frozen=True)
class Expected:
    """A number that replies report beside their vector; without it a reply is dropped."""

    low: float
    high: float
    whole: bool = False


@dataclass(frozen=True)
class Request:
    """What clients are asked for in one exchange."""

    work: str
    clients: Labels
    """Whom, in ascending order, shape (m,)."""
    models: Array
    """What is sent, shape (K, d); of no rows where clients need no model."""
    which: Labels | None
    """The row of `models` that each client gets, shape (m,); None: everybody gets all rows."""
    settings: Mapping[str, float] = field(default_factory=dict)
    """Numbers that the clients' work needs."""
    expects: Mapping[str, Expected] = field(default_factory=dict)
    """What replies report beside their vector."""
    own: Labels | None = None
    """In an evaluation of all rows: the one that each client leaves only for a clearly better one,
    shape (m,); `NO_MODEL`: it takes the best."""

    def rows(self, clients: Labels) -> Labels:
        """The rows of `models` that these clients received."""
        assert self.which is not None
        return self.which[np.searchsorted(self.clients, clients)]

    def received(self, clients: Labels) -> Array:
        """The model that each of these clients received, one row each."""
        return self.models[self.rows(clients)]


@dataclass(frozen=True)
class Replies:
    """What came back and is usable, in ascending order of the clients; rows belong together."""

    clients: Labels
    """Shape (r,)."""
    vectors: Array
    """Shape (r, d)."""
    examples: Labels
    """How many examples each client says it has, shape (r,)."""
    extras: Mapping[str, Array] = field(default_factory=dict)
    """What else was expected, each of shape (r,)."""
    reference: Array | None = None
    """What the server's own data answer to every row of the request's models, shape (K, d); None
    where it has none."""

    def __len__(self) -> int:
        return len(self.clients)

    def told_by(self, chosen: Mask | int) -> dict[str, Array]:
        """What else one or some of them report."""
        return {name: np.atleast_1d(values[chosen]) for name, values in self.extras.items()}

    def only(self, chosen: Mask) -> "Replies":
        """The replies of some; nothing is copied where these are all."""
        if chosen.all():
            return self
        return replace(
            self,
            clients=self.clients[chosen],
            vectors=self.vectors[chosen],
            examples=self.examples[chosen],
            extras=self.told_by(chosen),
        )

    def reference_for(self, row: int) -> Array | None:
        """What the server itself answers to a row of the request's models, where it does."""
        return None if self.reference is None else self.reference[row]


def rows_of(clients: Labels, known: Labels, rows: Labels) -> Labels:
    """The row of each client, by those of the known ones, in ascending order; else `NO_MODEL`."""
    if not len(known):
        return np.full(len(clients), NO_MODEL)
    places = np.minimum(np.searchsorted(known, clients), len(known) - 1)
    found: Labels = np.where(known[places] == clients, rows[places], NO_MODEL)
    return found
