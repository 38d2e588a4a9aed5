"""Omniscient attacks on any engine: a Grid that forges the Byzantine clients' replies."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from flwr.app import Message
from flwr.serverapp import Grid

from tagma.attacks.collusion import Collusion
from tagma.exchange import Replies, Request
from tagma.grid_wrapper import PassingGrid
from tagma.layout import Layout
from tagma.wire import ARRAYS, pack, round_of, unpack

SoundReplies = Callable[[Sequence[Message]], tuple[Request, Replies, list[Message]]]
"""The strategy's own check: what it asked for, the replies it will use, and their messages."""


class WholeRounds(PassingGrid):
    """The base of Grids whose Byzantine clients collude: they see all replies of a round."""

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Exchange messages, with the replies of the Byzantine clients forged."""
        sent = list(messages)
        replies = list(self._grid.send_and_receive(sent, timeout=timeout))
        if sent and sent[0].metadata.message_type == "train":
            self.forge(sent, replies)
        return replies

    def forge(self, sent: Sequence[Message], replies: Sequence[Message]) -> None:
        """Replace the updates in the replies of the Byzantine clients."""
        raise NotImplementedError

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Not offered: an attack needs all replies of a round together."""
        raise NotImplementedError("an attacked federation uses send_and_receive")

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Not offered: an attack needs all replies of a round together."""
        raise NotImplementedError("an attacked federation uses send_and_receive")


class AttackedGrid(WholeRounds):
    """The Grid of our own server, under attack.

    Which replies are sound and which client sent them is the strategy's to say (`sound`); broken
    replies are left to it.
    """

    def __init__(
        self, grid: Grid, collusion: Collusion, *, sound: SoundReplies, layout: Layout
    ) -> None:
        super().__init__(grid)
        self._collusion = collusion
        self._sound = sound
        self._layout = layout

    def forge(self, sent: Sequence[Message], replies: Sequence[Message]) -> None:
        """Replace the updates in the replies of the Byzantine clients."""
        request, sound, carriers = self._sound(replies)
        if not len(request.models):  # clients only said who they are
            return
        forged = self._collusion(round_of(sent[0]), request, sound)
        for row in np.flatnonzero((forged.vectors != sound.vectors).any(axis=1)):
            content = carriers[row].content
            _, buffers = unpack(content[ARRAYS], self._layout)
            content[ARRAYS] = pack(self._layout, forged.vectors[row], buffers)
