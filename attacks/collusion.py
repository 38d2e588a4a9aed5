"""How omniscient attacks reach a federation: (request, replies) -> replies.

The Byzantine clients run the honest program. Before the server sees the replies of an exchange, the
attack is shown all of them and replaces those of the Byzantine clients: between Grid and strategy
(`tagma.attacks.attacked_grid`), or on arrays in the vectorised engine.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.spatial.distance import cdist

from tagma.arrays import Array, Labels, Mask
from tagma.attacks.base import FederationView, OmniscientAttack
from tagma.attacks.schedule import Adversary
from tagma.errors import FederationError
from tagma.exchange import CHOICE, FIT, GRADIENT, Replies, Request
from tagma.rng import stream

Rehearsal = Callable[[Request, Replies], float]
"""From what was asked for and what would be answered to the harm."""
HonestProgram = Callable[[int, Request, Labels, Array], Array]
"""From a round, a request, clients and a model for each, (b, d), to what their honest programs
would answer to that."""
_FIRST = 1
"""The round in whose name clients introduce themselves; known ones, when they come back, again."""


class Collusion:
    """The Byzantine clients of a federation, who are known by their numbers.

    `groups` is the true group of every client, -1 for none; None if the task knows no groups.
    `program` is the honest one, on their own data. `memory` is what they remember, and is added to:
    everybody's local models, as they were sent. A run that is resumed begins with that of the run
    before.
    """

    def __init__(
        self,
        adversary: Adversary,
        *,
        groups: Labels | None,
        rehearsal: Rehearsal,
        program: HonestProgram,
        seed: int,
        memory: dict[int, Array] | None = None,
    ) -> None:
        self._adversary = adversary
        self._groups = np.zeros_like(adversary.byzantine, dtype=int) if groups is None else groups
        self._rehearsal = rehearsal
        self._program = program
        self._seed = seed
        self._introduced = {} if memory is None else memory
        self._minimisers: dict[int, Array] = {}
        """Of Byzantine clients: the local models that they would have sent if they were honest."""

    def __call__(self, round_number: int, request: Request, replies: Replies) -> Replies:
        """The replies with those of the Byzantine clients forged; unknown clients are honest."""
        for attack, clients in self._adversary.colluders_in(round_number):
            random = stream(self._seed, "collusion", round_number, int(clients.argmax()))
            view, rows = self._view(round_number, request, replies, clients, random)
            if view is not None:
                vectors = replies.vectors.copy()
                with np.errstate(over="ignore"):  # what overflows is refused like any such reply
                    vectors[rows] = _forged(attack, view)
                replies = replace(replies, vectors=vectors)
        if request.work == FIT:  # who joins late meets the local models that were sent before
            self._remember(replies, anew=round_number > _FIRST)
        return replies

    def _remember(self, replies: Replies, *, anew: bool) -> None:
        for client, vector in zip(replies.clients.tolist(), replies.vectors, strict=True):
            known = client < len(self._groups)
            if known and (anew or client not in self._introduced):
                self._introduced[client] = vector

    def _view(
        self,
        round_number: int,
        request: Request,
        replies: Replies,
        clients: Mask,
        random: np.random.Generator,
    ) -> tuple[FederationView | None, Labels]:
        """What the Byzantine clients among `clients` see, and the rows of their replies.

        None if there are none, or nobody honest. Squads forge one after another: each tries its
        updates with what those before it send.
        """
        known = np.flatnonzero(replies.clients < len(self._groups))
        numbers, updates = replies.clients[known], replies.vectors[known]
        received = _received(request, replies)[known]
        mine = clients[numbers]
        rows = known[mine]
        if request.work == FIT:
            numbers, updates = self._with_earlier(numbers, updates)
            received = np.zeros_like(numbers)  # all begin with one model
        honest, byzantine = ~self._adversary.byzantine[numbers], clients[numbers]
        if not honest.any() or not byzantine.any():
            return None, rows

        claims = self._claims(numbers) if request.work != FIT else updates

        def as_claimed() -> Array:
            if request.work == FIT or not len(claims):
                return updates[byzantine]
            shift = claims[byzantine] - self._true_minimisers(
                round_number, request, numbers[byzantine]
            )
            models = request.models[received[byzantine]] - shift
            sent = self._program(round_number, request, numbers[byzantine], models)
            return sent if request.work == GRADIENT else sent + shift

        def rehearse(forged: Array) -> float:
            tried = replies.vectors.copy()
            tried[rows] = forged
            return self._rehearsal(request, replace(replies, vectors=tried))

        view = FederationView(
            round=round_number,
            work=request.work,
            honest=updates[honest],
            own=updates[byzantine],
            models=request.models,
            honest_rows=received[honest],
            own_rows=received[byzantine],
            honest_groups=self._groups[numbers[honest]],
            own_groups=_own_groups(self._groups[numbers], updates, honest, byzantine),
            clients=numbers[byzantine],
            random=random,
            rehearse=rehearse,
            honest_claims=claims[honest] if len(claims) else claims,
            claims=claims[byzantine] if len(claims) else claims,
            as_claimed=as_claimed,
        )
        return view, rows

    def _claims(self, clients: Labels) -> Array:
        """The local models that these clients sent; of no rows where nobody was asked for them."""
        sent = [self._introduced[c] for c in clients.tolist() if c in self._introduced]
        return np.array(sent) if len(sent) == len(clients) else np.empty((0, 0))

    def _true_minimisers(self, round_number: int, request: Request, clients: Labels) -> Array:
        new = np.array([c for c in clients.tolist() if c not in self._minimisers], dtype=np.int64)
        if len(new):
            models = np.broadcast_to(request.models[0], (len(new), request.models.shape[1]))
            found = self._program(round_number, replace(request, work=FIT), new, models)
            self._minimisers |= dict(zip(new.tolist(), found, strict=True))
        return np.array([self._minimisers[c] for c in clients.tolist()])

    def _with_earlier(self, numbers: Labels, updates: Array) -> tuple[Labels, Array]:
        """The local models of this exchange and those of honest clients that came earlier."""
        honest = {c for c in self._introduced if not self._adversary.byzantine[c]}
        earlier = sorted(honest - set(numbers.tolist()))
        if not earlier:
            return numbers, updates
        every = np.concatenate([numbers, earlier])
        order = np.argsort(every)
        vectors = np.concatenate([updates, [self._introduced[client] for client in earlier]])
        return every[order], vectors[order]


def _received(request: Request, replies: Replies) -> Labels:
    """The row of the model that each client received; of several, the one it chose."""
    if request.which is None:
        return replies.extras.get(CHOICE, np.zeros(len(replies))).astype(np.int64)
    return request.rows(replies.clients)


def _forged(attack: OmniscientAttack, view: FederationView) -> Array:
    forged = np.asarray(attack.forge(view), dtype=np.float64)
    if forged.shape != view.own.shape:
        raise FederationError(
            f"{type(attack).__name__}.forge gave an array of shape {forged.shape} instead of "
            f"{view.own.shape}"
        )
    return forged


def _own_groups(groups: Labels, updates: Array, honest: Mask, byzantine: Mask) -> Labels:
    """The groups of the Byzantine clients: as given, or else that whose honest mean is nearest."""
    own = groups[byzantine].copy()
    if (own < 0).any():
        names = np.unique(groups[honest])
        means = np.array([updates[honest & (groups == name)].mean(axis=0) for name in names])
        nearest = cdist(updates[byzantine][own < 0], means).argmin(axis=1)
        own[own < 0] = names[nearest]
    return own
