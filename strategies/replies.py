"""The one place where replies are checked: everything that comes from a client is hostile.

A reply is usable only if it answers a message of this round, is the first to do so, carries no
error, and holds exactly the vector that was asked for, with finite entries. Anything else is
dropped with one of the reasons below, and the round goes on without it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np
from flwr.app import ConfigRecord, Message, MetricRecord, RecordDict

from tagma.arrays import Array
from tagma.flower_private import ErrorCode
from tagma.wire import ABOUT, CLIENT, LOSS, METRICS, UPDATE, MalformedVector, unpack

_LARGEST = 1e150
"""Entries beyond this are as useless as infinite ones: their squares overflow."""

_DETAIL = 300
"""Characters of an error that are kept."""
_CLIENTS = 2**31
"""Client numbers are below this."""
_AWAY = {
    ErrorCode.MESSAGE_UNAVAILABLE,
    ErrorCode.REPLY_MESSAGE_UNAVAILABLE,
    ErrorCode.NODE_UNAVAILABLE,
}
"""Errors that Flower itself reports for a node that it cannot reach."""
NO_REPLY, UNREACHABLE, ABSENT = "no reply", "unreachable", "absent"
ABSENCES = {NO_REPLY, UNREACHABLE, ABSENT}
"""Reasons that say nothing about a client but that it was away."""


@dataclass(frozen=True)
class Reply:
    """A usable reply."""

    node: int
    vector: Array
    client: int | None
    """The number that the client gives itself; only in round 1."""


@dataclass(frozen=True)
class Rejection:
    """A reply that was dropped, or did not come."""

    node: int
    reason: str
    client: int | None = None
    """The number that the client gives itself, where it could be read; only in round 1."""
    detail: str = ""
    """What an error reply says."""


class _Unusable(Exception):
    """Carries the reason why a reply is dropped."""


def check_replies(
    sent: Mapping[str, int], replies: Iterable[Message], *, length: int, first_round: bool
) -> tuple[list[Reply], list[Rejection]]:
    """Usable replies and rejections, each in the order of node numbers.

    `sent` maps the message ids of this round to nodes. An error reply is that of the node that was
    asked, whoever it names: those for unreachable nodes name a wrong one.
    """
    answered: dict[int, Reply | Rejection] = {}
    repeated = []
    for message in replies:
        node = sent.get(str(message.metadata.reply_to_message_id))
        source = message.metadata.src_node_id
        if node is None or (message.has_content() and source != node):
            repeated.append(Rejection(source, "unsolicited"))
        elif node in answered:
            repeated.append(Rejection(node, "duplicate"))
        else:
            answered[node] = _check(node, message, length, first_round)
    for node in sent.values():
        answered.setdefault(node, Rejection(node, NO_REPLY))
    outcomes = [answered[node] for node in sorted(answered)]
    usable = [outcome for outcome in outcomes if isinstance(outcome, Reply)]
    dropped = (outcome for outcome in outcomes if isinstance(outcome, Rejection))
    return usable, list(chain(dropped, repeated))


def _check(node: int, message: Message, length: int, first_round: bool) -> Reply | Rejection:
    client = None
    try:
        if message.has_error():
            if message.error.code in _AWAY:
                return Rejection(node, UNREACHABLE)
            return Rejection(node, "error", detail=str(message.error.reason)[:_DETAIL])
        if not message.has_content():
            raise _Unusable("empty")
        content = message.content
        if first_round:
            client = _client(content)
        if set(content.keys()) != ({UPDATE, ABOUT} if first_round else {UPDATE}):
            raise _Unusable("unexpected records")
        return Reply(node, _vector(content[UPDATE], length), client)
    except (_Unusable, MalformedVector) as problem:
        return Rejection(node, str(problem), client)
    except Exception:  # records that break even the checks
        return Rejection(node, "malformed", client)


def _vector(record: object, length: int) -> Array:
    vector = unpack(record, length)
    # A NaN or infinity anywhere makes the comparison false.
    if length and not np.abs(vector).max() <= _LARGEST:
        raise _Unusable("not finite")
    return vector


def _client(content: RecordDict) -> int:
    about = content.get(ABOUT)
    number = about.get(CLIENT) if isinstance(about, ConfigRecord) else None
    if type(number) is not int or not 0 <= number < _CLIENTS:
        raise _Unusable("no client number")
    return number


def check_losses(sent: Mapping[str, int], replies: Iterable[Message]) -> dict[int, float]:
    """The losses that nodes report on evaluation; anything but one finite number is left out."""
    losses: dict[int, float] = {}
    for message in replies:
        node = sent.get(message.metadata.reply_to_message_id)
        if node is None or node in losses or message.has_error() or not message.has_content():
            continue
        record = message.content.get(METRICS)
        loss = record.get(LOSS) if isinstance(record, MetricRecord) else None
        if isinstance(loss, float) and abs(loss) <= _LARGEST:
            losses[node] = loss
    return losses
