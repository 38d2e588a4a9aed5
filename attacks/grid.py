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
from tagma.wire import ABOUT, MACHINE, MODEL, UPDATE, MalformedVector, pack, unpack_any


class AttackedGrid(Grid):
    """A Grid whose Byzantine machines collude; who they are is known by machine number."""

    def __init__(self, grid: Grid, attack: OmniscientAttack, byzantine: Mask, seed: int) -> None:
        self._grid = grid
        self._attack = attack
        self._byzantine = byzantine
        self._seed = seed
        self._machine_of_node: dict[int, int] = {}

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Exchange messages, with the replies of the Byzantine machines forged."""
        sent = list(messages)
        replies = list(self._grid.send_and_receive(sent, timeout=timeout))
        if sent and sent[0].metadata.message_type.startswith("train"):
            self._forge({message.metadata.dst_node_id: message for message in sent}, replies)
        return replies

    def _forge(self, sent: dict[int, Message], replies: list[Message]) -> None:
        updates: dict[int, Array] = {}
        for reply in sorted(replies, key=self._machine):
            update = _update_of(reply)
            if update is not None:
                updates[reply.metadata.src_node_id] = update
        liars = [node for node in updates if self._lies(node)]
        honest = [node for node in updates if not self._lies(node)]
        if not liars or not honest:
            return
        instruction = sent[liars[0]]
        view = FederationView(
            stage=instruction.metadata.message_type.partition(".")[2],
            honest=np.array([updates[node] for node in honest]),
            own=np.array([updates[node] for node in liars]),
            honest_models=_models([sent[node] for node in honest]),
            own_models=_models([sent[node] for node in liars]),
            machines=np.array([self._machine_of_node[node] for node in liars]),
            random=stream(self._seed, "collusion", int(instruction.metadata.group_id)),
        )
        forged = dict(zip(liars, self._attack.forge(view), strict=True))
        for reply in replies:
            if reply.metadata.src_node_id in forged:
                reply.content[UPDATE] = pack(forged[reply.metadata.src_node_id])

    def _machine(self, reply: Message) -> int:
        """The machine behind a reply, learnt in round 1; nodes without one sort last."""
        node = reply.metadata.src_node_id
        about = reply.content.get(ABOUT) if reply.has_content() else None
        if isinstance(about, ConfigRecord) and isinstance(about.get(MACHINE), int):
            self._machine_of_node[node] = int(about[MACHINE])  # type: ignore[arg-type]
        return self._machine_of_node.get(node, len(self._byzantine))

    def _lies(self, node: int) -> bool:
        machine = self._machine_of_node.get(node, -1)
        return 0 <= machine < len(self._byzantine) and bool(self._byzantine[machine])

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


def _update_of(reply: Message) -> Array | None:
    try:
        return unpack_any(reply.content[UPDATE])
    except (MalformedVector, ValueError, KeyError):
        return None


def _models(instructions: list[Message]) -> Array | None:
    if MODEL not in instructions[0].content:
        return None
    return np.array([unpack_any(instruction.content[MODEL]) for instruction in instructions])
