"""How omniscient attacks reach a federation: a Grid that forges the Byzantine clients' replies.

The Byzantine clients run the honest program. Between the real Grid and the strategy, this one
shows the attack all updates of the round and replaces those of the Byzantine clients, so that the
same attack works on every engine.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from flwr.app import Message
from flwr.serverapp import Grid
from scipy.spatial.distance import cdist

from tagma.arrays import Array, Labels, Mask
from tagma.attacks.base import FederationView, OmniscientAttack
from tagma.attacks.schedule import Adversary
from tagma.errors import FederationError
from tagma.grid_wrapper import PassingGrid
from tagma.rng import stream
from tagma.wire import MODEL, UPDATE, pack, round_of, unpack_any

Rehearsal = Callable[[Labels, Array], float]
"""From the numbers of all clients that answer (m,) and what they would send (m, d) to the harm."""


class SoundReply(Protocol):
    """A reply that the strategy will use."""

    @property
    def node(self) -> int:
        """Who sent it."""

    @property
    def vector(self) -> Array:
        """What it holds."""


class SoundReplies(Protocol):
    """The strategy's own check: from replies to those it will use, with their clients."""

    def __call__(
        self, replies: list[Message], *, introductions: bool
    ) -> Sequence[tuple[int, SoundReply]]:
        """Changes nothing."""


@dataclass(frozen=True)
class _Answer:
    """A sound reply, what it replies to and the update in it."""

    instruction: Message
    reply: Message
    update: Array


class AttackedGrid(PassingGrid):
    """A Grid whose Byzantine clients collude; who they are is known by client number.

    `groups` is the true group of every client, -1 for none; None if the task knows no groups.
    Which replies are sound and which client sent them is the strategy's to say (`sound`).
    """

    def __init__(
        self,
        grid: Grid,
        adversary: Adversary,
        *,
        groups: Labels | None,
        sound: SoundReplies,
        rehearsal: Rehearsal,
        seed: int,
    ) -> None:
        super().__init__(grid)
        self._adversary = adversary
        self._groups = np.zeros_like(adversary.byzantine, dtype=int) if groups is None else groups
        self._sound = sound
        self._rehearsal = rehearsal
        self._seed = seed
        self._introduced: dict[int, _Answer] = {}
        """The honest clients' local models, as they came."""

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Exchange messages, with the replies of the Byzantine clients forged."""
        sent = list(messages)
        replies = list(self._grid.send_and_receive(sent, timeout=timeout))
        if sent and sent[0].metadata.message_type.startswith("train"):
            self._forge(sent, replies)
        return replies

    def _forge(self, sent: list[Message], replies: list[Message]) -> None:
        """Replace what Byzantine clients sent; broken replies are left to the strategy."""
        introductions = MODEL not in sent[0].content
        asked = {message.metadata.message_id: message for message in sent}
        answered: dict[int, Message] = {}
        for reply in replies:
            instruction = asked.get(reply.metadata.reply_to_message_id)
            if instruction is not None:
                answered.setdefault(instruction.metadata.dst_node_id, reply)
        answers = {}
        for client, sound in self._sound(replies, introductions=introductions):
            if client < len(self._groups):
                reply = answered[sound.node]
                instruction = asked[reply.metadata.reply_to_message_id]
                answers[client] = _Answer(instruction, reply, sound.vector)
        if introductions:
            # Local models: who joins late meets those that were sent before as well.
            self._introduced |= {
                client: answer
                for client, answer in answers.items()
                if not self._adversary.byzantine[client]
            }
            seen = answers | self._introduced
        else:
            seen = answers
        round_number = round_of(sent[0])
        for attack, clients in self._adversary.colluders_in(round_number):
            random = stream(self._seed, "collusion", round_number, int(clients.argmax()))
            view = self._view(seen, answers, clients, random)
            if view is not None:
                forged = self._forged(attack, view)
                for client, update in zip(view.clients.tolist(), forged, strict=True):
                    answers[client].reply.content[UPDATE] = pack(update)
                    seen[client] = answers[client] = replace(answers[client], update=update)

    def _forged(self, attack: OmniscientAttack, view: FederationView) -> Array:
        forged = np.asarray(attack.forge(view), dtype=np.float64)
        if forged.shape != view.own.shape:
            raise FederationError(
                f"{type(attack).__name__}.forge gave an array of shape {forged.shape} instead of "
                f"{view.own.shape}"
            )
        return forged

    def _view(
        self,
        seen: dict[int, _Answer],
        answers: dict[int, _Answer],
        clients: Mask,
        random: np.random.Generator,
    ) -> FederationView | None:
        """What the Byzantine clients among `clients` see; None if there are none, or nobody honest.

        Squads forge one after another: each tries its updates with what those before it send.
        """
        numbers = np.array(sorted(seen), dtype=np.int64)
        honest, byzantine = ~self._adversary.byzantine[numbers], clients[numbers]
        if not honest.any() or not byzantine.any():
            return None
        updates = np.array([seen[client].update for client in numbers.tolist()])
        replying = np.isin(numbers, list(answers))

        def rehearse(forged: Array) -> float:
            tried = updates.copy()
            tried[byzantine] = forged
            return self._rehearsal(numbers[replying], tried[replying])

        first = answers[int(numbers[byzantine][0])].instruction
        models = None
        if MODEL in first.content:
            instructions = [seen[client].instruction for client in numbers.tolist()]
            models = np.array([unpack_any(message.content[MODEL]) for message in instructions])
        return FederationView(
            round=round_of(first),
            work=first.metadata.message_type.partition(".")[2],
            honest=updates[honest],
            own=updates[byzantine],
            honest_models=None if models is None else models[honest],
            own_models=None if models is None else models[byzantine],
            honest_groups=self._groups[numbers[honest]],
            own_groups=_own_groups(self._groups[numbers], updates, honest, byzantine),
            clients=numbers[byzantine],
            random=random,
            rehearse=rehearse,
        )

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Not offered: an attack needs all replies of a round together."""
        raise NotImplementedError("an attacked federation uses send_and_receive")

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Not offered: an attack needs all replies of a round together."""
        raise NotImplementedError("an attacked federation uses send_and_receive")


def _own_groups(groups: Labels, updates: Array, honest: Mask, byzantine: Mask) -> Labels:
    """The groups of the Byzantine clients: as given, or else that whose honest mean is nearest."""
    own = groups[byzantine].copy()
    if (own < 0).any():
        names = np.unique(groups[honest])
        means = np.array([updates[honest & (groups == name)].mean(axis=0) for name in names])
        nearest = cdist(updates[byzantine][own < 0], means).argmin(axis=1)
        own[own < 0] = names[nearest]
    return own
