"""What an algorithm is: the server's side of a federation as a state machine on arrays.

    start(initial)                -> S                before anybody was asked
    ask(S, round, clients)        -> Request          what the clients at hand are asked for
    learn(S, request, replies)    -> S                what their replies change
    serve(S, clients)             -> models, which    the model of every client

Two more are for algorithms in which a client has a place, such as a cluster:

    introduce(S, clients)         -> Request | None   what newcomers are asked for first
    admit(S, round, replies)      -> S                newcomers get their place

Two say how a round goes:

    everyone(S, round)            -> bool             no sampling in this round
    counted(S, S after, clients)  -> mask             whose replies counted in it

S is a frozen dataclass of the algorithm's own, nested as it likes, of arrays, numbers, strings,
tuples and dictionaries of these, and None: it is checkpointed by the types of its fields, without
anybody knowing what they mean. No method changes anything, so that a defence can be tried out
(states and replies are read-only arrays; `tagma.strategies.algorithm_check` says what is wrong),
and the same algorithm runs under Flower (`tagma.strategies.flower`) and on arrays alone.

Whoever drives it has checked the replies (`tagma.strategies.replies`), knows who is who
(`tagma.strategies.client_identity`), samples clients and applies the quorum.
"""

from typing import Generic, Protocol, TypeVar

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.exchange import Replies, Request

S = TypeVar("S")


class Algorithm(Protocol[S]):
    """The server's side of a federation; see the module. `AlgorithmBase` has what is optional."""

    def start(self, initial: Array) -> S:
        """The state before anybody was asked, from the task's initial model, shape (d,)."""

    def ask(self, state: S, round_number: int, clients: Labels) -> Request:
        """What the clients at hand, in ascending order, are asked for; it may leave some out.

        In round 1 nobody has a number yet: all are asked alike.
        """

    def learn(self, state: S, request: Request, replies: Replies) -> S:
        """The state after a round; clients that sent nothing usable are missing."""

    def serve(self, state: S, clients: Labels) -> tuple[Array, Labels]:
        """All models, shape (K, d), and which of them each client gets, or `NO_MODEL`."""

    def introduce(self, state: S, clients: Labels) -> Request | None:
        """What all clients that come after round 1 are asked for first; None: nothing."""

    def admit(self, state: S, round_number: int, replies: Replies) -> S:
        """The state with these newcomers, from their replies to `introduce`."""

    def recognises(self, state: S, client: int, vector: Array) -> bool:
        """Whether somebody who introduces himself by this vector can be that known client."""

    def everyone(self, state: S, round_number: int) -> bool:
        """Whether this round needs all clients, whatever share of them is sampled."""

    def counted(self, before: S, after: S, clients: Labels) -> Mask:
        """Which of these clients' replies counted in the round between two states, shape (r,).

        The buffers of a model are joined from theirs.
        """

    def findings(self, state: S) -> object | None:
        """What was found out about clients and clusters, for reports; None: nothing."""


class AlgorithmBase(Generic[S]):
    """What is optional: newcomers just take part, all replies count, nothing is to report."""

    resumable = True

    def introduce(self, state: S, clients: Labels) -> Request | None:
        """Nothing is asked first."""
        return None

    def admit(self, state: S, round_number: int, replies: Replies) -> S:
        """Nothing changes."""
        return state

    def recognises(self, state: S, client: int, vector: Array) -> bool:
        """Nothing speaks against it."""
        return True

    def everyone(self, state: S, round_number: int) -> bool:
        """A share is enough in every round."""
        return False

    def counted(self, before: S, after: S, clients: Labels) -> Mask:
        """Every usable reply."""
        return np.ones(len(clients), dtype=bool)

    def findings(self, state: S) -> object | None:
        """Nothing beside the models."""
        return None
