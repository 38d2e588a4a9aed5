"""How omniscient attacks reach a federation: a Grid that forges the Byzantine machines' replies.

The Byzantine clients run the honest program. Between the real Grid and the strategy, this one
shows the attack all updates of the round and replaces those of the Byzantine machines, so that the
same attack works on every engine.
"""

from collections.abc import Iterable

import numpy as np
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.proto.node_pb2 import NodeInfo
from flwr.serverapp import Grid
from flwr.supercore.run import Run

from attacks.attack import FederationView, OmniscientAttack
from tagma.arrays import Array, Mask
from tagma.streams import stream
from tagma.wire import ABOUT, MACHINE, MODEL, UPDATE, MalformedVector, pack, unpack, unpack_any


class AttackedGrid(Grid):
    """A Grid whose Byzantine machines collude; who they are is known by machine number."""

    def __init__(
        self, grid: Grid, attack: OmniscientAttack, byzantine: Mask, *, dim: int, seed: int
    ) -> None:
        self._grid = grid
        self._attack = attack
        self._byzantine = byzantine
        self._dim = dim
        self._seed = seed
        self._machine_of_node: dict[int, int] = {}

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Exchange messages, with the replies of the Byzantine machines forged."""
        sent = list(messages)
        replies = list(self._grid.send_and_receive(sent, timeout=timeout))
        if sent and sent[0].metadata.message_type.startswith("train"):
            self._forge(sent, replies)
        return replies

    def _forge(self, sent: list[Message], replies: list[Message]) -> None:
        """Replace what the liars sent; replies that are broken anyway are left to the strategy."""
        asked = {message.metadata.message_id: message for message in sent}
        sound: dict[int, tuple[Message, Message, Array]] = {}
        for reply in replies:
            instruction = asked.get(reply.metadata.reply_to_message_id)
            update = self._update_of(reply)
            if instruction is not None and update is not None:
                machine = self._machine(instruction, reply)
                if machine is not None:
                    sound[machine] = (instruction, reply, update)
        liars = [machine for machine in sorted(sound) if self._byzantine[machine]]
        honest = [machine for machine in sorted(sound) if not self._byzantine[machine]]
        if not liars or not honest:
            return
        metadata = sent[0].metadata
        view = FederationView(
            stage=metadata.message_type.partition(".")[2],
            honest=np.array([sound[machine][2] for machine in honest]),
            own=np.array([sound[machine][2] for machine in liars]),
            honest_models=_models([sound[machine][0] for machine in honest]),
            own_models=_models([sound[machine][0] for machine in liars]),
            machines=np.array(liars),
            random=stream(self._seed, "collusion", int(metadata.group_id)),
        )
        for machine, forged in zip(liars, self._attack.forge(view), strict=True):
            sound[machine][1].content[UPDATE] = pack(forged)

    def _machine(self, instruction: Message, reply: Message) -> int | None:
        """The machine that was asked, as it said in round 1."""
        node = instruction.metadata.dst_node_id
        if instruction.metadata.group_id == "1":
            about = reply.content.get(ABOUT)
            number = about.get(MACHINE) if isinstance(about, ConfigRecord) else None
            if isinstance(number, int) and 0 <= number < len(self._byzantine):
                self._machine_of_node[node] = number
        return self._machine_of_node.get(node)

    def _update_of(self, reply: Message) -> Array | None:
        try:
            update = unpack(reply.content[UPDATE], self._dim)
        except (MalformedVector, ValueError, KeyError):
            return None
        return update if np.isfinite(update).all() else None

    # The rest passes through.

    def set_run(self, run: Run) -> None:
        """Set the run of the real Grid."""
        self._grid.set_run(run)

    @property
    def run(self) -> Run:
        """The run of the real Grid."""
        return self._grid.run

    def create_message(
        self,
        content: RecordDict,
        message_type: str,
        dst_node_id: int,
        group_id: str,
        ttl: float | None = None,
    ) -> Message:
        """Create a message on the real Grid."""
        return self._grid.create_message(content, message_type, dst_node_id, group_id, ttl)

    def get_node_ids(self) -> Iterable[int]:
        """The nodes of the real Grid."""
        return self._grid.get_node_ids()

    def get_nodes(self) -> Iterable[NodeInfo]:
        """The nodes of the real Grid, with their details."""
        return self._grid.get_nodes()

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Not offered: an attack needs all replies of a round together."""
        raise NotImplementedError("an attacked federation uses send_and_receive")

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Not offered: an attack needs all replies of a round together."""
        raise NotImplementedError("an attacked federation uses send_and_receive")


def _models(instructions: list[Message]) -> Array | None:
    if MODEL not in instructions[0].content:
        return None
    return np.array([unpack_any(instruction.content[MODEL]) for instruction in instructions])
