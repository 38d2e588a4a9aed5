"""The one place where replies are checked: everything that comes from a client is hostile.

A reply is usable only if it answers a message of this exchange, is the first to do so, carries no
error, and holds exactly the arrays that were asked for, with finite entries, and every number that
was expected beside them. Anything else is dropped with one of the reasons below, and the round goes
on without it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, islice
from typing import Any, TypeGuard

import numpy as np
from flwr.app import Error, Message, MetricRecord
from numpy.typing import NDArray

from tagma.arrays import Array
from tagma.escaping import is_plain_name, one_line
from tagma.exchange import Expected, Replies
from tagma.flower_private import ErrorCode, inside
from tagma.layout import Layout
from tagma.message_limits import BEYOND_LIMITS
from tagma.wire import ARRAYS, CLIENT, EXAMPLES, METRICS, MalformedArrays, unpack

_LARGEST = {"float64": 1e150, "float32": 1e15, "float16": 6e4}
"""Entries beyond this are as useless as infinite ones: their squares overflow."""
_ANY = 1e150
"""The same for reported numbers."""
_MOST_EXAMPLES = 2**53
_MOST_METRICS, _MOST_NUMBERS = 64, 1024
"""More metrics than the first are not looked at; a reply with more numbers than the second is
dropped."""
_CLIENTS = 2**31
"""Client numbers are below this."""
_AWAY = {
    ErrorCode.MESSAGE_UNAVAILABLE,
    ErrorCode.REPLY_MESSAGE_UNAVAILABLE,
    ErrorCode.NODE_UNAVAILABLE,
}
"""Errors that Flower itself reports for a node that it cannot reach."""
NO_REPLY, UNREACHABLE, ABSENT = "no reply", "unreachable", "absent"
NOT_FINITE, _NO_EXAMPLES = "not finite", "no number of examples"
ERROR, TOO_LARGE = "error", "too large"
UNSOLICITED, DUPLICATE = "unsolicited", "duplicate"
ABSENCES = {NO_REPLY, UNREACHABLE, ABSENT}
"""Reasons that say nothing about a client but that it was away."""
BESIDES = {UNSOLICITED, DUPLICATE}
"""Reasons that say nothing about a node: another one may have used its name, or it has answered."""


@dataclass(frozen=True)
class Reply:
    """A usable reply."""

    node: int
    vector: Array
    """Shape (d,); empty where no model was asked for."""
    client: int | None = None
    """The number that the client gives itself, if it does."""
    examples: int = 0
    extras: Mapping[str, float] = field(default_factory=dict)
    buffers: Mapping[str, NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Rejection:
    """A reply that was dropped, or did not come."""

    node: int
    reason: str
    client: int | None = None
    """The number that the client gives itself, where it could be read."""
    detail: str = ""
    """What an error reply says, on one line."""


_NUMBERS, _MODEL = {METRICS}, {ARRAYS, METRICS}
"""The records of a reply without and with a model."""
Metrics = Mapping[str, Any]
Told = tuple[int, Mapping[str, float]]
"""How many examples a client has, and what else it reports."""


class _Unusable(Exception):
    """Carries the reason why a reply is dropped."""


def check_replies(
    sent: Mapping[str, int],
    replies: Iterable[Message],
    *,
    layout: Layout | None,
    expects: Mapping[str, Expected],
    rows: Array | None = None,
) -> tuple[list[Reply], list[Rejection]]:
    """Usable replies and rejections, each in the order of node numbers.

    `sent` maps the message ids of this exchange to nodes; `layout` is that of the model asked for,
    None for none. An error reply is that of the node that was asked, whoever it names: those for
    unreachable nodes name a wrong one. With `rows`, one for each that was sent and in this order,
    the vectors are written there, so that no message has to be kept.
    """
    return _sorted_out(sent, replies, layout, lambda metrics: _told(metrics, expects), rows)


def check_metrics(
    sent: Mapping[str, int], replies: Iterable[Message]
) -> tuple[list[Reply], list[Rejection]]:
    """The same of what nodes measured, with the finite numbers that they report as extras."""
    return _sorted_out(sent, replies, None, lambda metrics: (0, usable_metrics(metrics)))


def _sorted_out(
    sent: Mapping[str, int],
    replies: Iterable[Message],
    layout: Layout | None,
    told: Callable[[Metrics], Told],
    rows: Array | None = None,
) -> tuple[list[Reply], list[Rejection]]:
    answered: dict[int, Reply | Rejection] = {}
    repeated = []
    place = {} if rows is None else {node: row for row, node in enumerate(sent.values())}
    for message in replies:
        node = sent.get(str(message.metadata.reply_to_message_id))
        source = message.metadata.src_node_id
        if node is None or (message.has_content() and source != node):
            repeated.append(Rejection(source, UNSOLICITED))
        elif node in answered:
            repeated.append(Rejection(node, DUPLICATE))
        else:
            into = None if rows is None else rows[place[node]]
            answered[node] = _check(node, message, layout, told, into)
    for node in sent.values():
        answered.setdefault(node, Rejection(node, NO_REPLY))
    outcomes = [answered[node] for node in sorted(answered)]
    usable = [outcome for outcome in outcomes if isinstance(outcome, Reply)]
    dropped = (outcome for outcome in outcomes if isinstance(outcome, Rejection))
    return usable, list(chain(dropped, repeated))


def _check(
    node: int,
    message: Message,
    layout: Layout | None,
    told: Callable[[Metrics], Told],
    into: Array | None = None,
) -> Reply | Rejection:
    client = None
    try:
        if message.has_error():
            return _failure(node, message.error)
        if not message.has_content():
            raise _Unusable("empty")
        content = inside(message.content)
        record = content.get(METRICS)
        if not isinstance(record, MetricRecord):
            raise _Unusable("unexpected records")
        metrics = inside(record)
        client = _client(metrics)
        if content.keys() != (_NUMBERS if layout is None else _MODEL):
            raise _Unusable("unexpected records")
        if len(metrics) > _MOST_NUMBERS:
            raise _Unusable(TOO_LARGE)
        examples, extras = told(metrics)
        if layout is None:
            return Reply(node, np.empty(0), client, examples, extras)
        vector, buffers = _arrays(content, layout, into)
        return Reply(node, vector, client, examples, extras, buffers)
    except (_Unusable, MalformedArrays) as problem:
        return Rejection(node, str(problem), client)
    except Exception:  # records that break even the checks
        return Rejection(node, "malformed", client)


def _failure(node: int, error: Error) -> Rejection:
    if error.code in _AWAY:
        return Rejection(node, UNREACHABLE)
    reason = TOO_LARGE if error.code == BEYOND_LIMITS else ERROR
    return Rejection(node, reason, detail=one_line(error.reason))


def _told(metrics: Metrics, expects: Mapping[str, Expected]) -> Told:
    examples = _examples(metrics)
    return examples, {name: _number(metrics, name, wanted) for name, wanted in expects.items()}


def _arrays(
    content: Mapping[str, object], layout: Layout, into: Array | None
) -> tuple[Array, dict[str, NDArray[Any]]]:
    vector, buffers = unpack(content[ARRAYS], layout, into)
    if not all(map(_is_usable, (vector, *buffers.values()))):
        raise _Unusable(NOT_FINITE)
    return vector, buffers


def _is_usable(values: NDArray[Any]) -> bool:
    if not values.size or values.dtype.kind != "f":
        return True
    # A NaN or infinity anywhere makes the comparison false.
    largest = _largest(values.dtype)
    return bool(values.max() <= largest and values.min() >= -largest)


@lru_cache(maxsize=16)
def _largest(dtype: np.dtype[Any]) -> float:
    return _LARGEST.get(dtype.name, _ANY)  # the name of a dtype takes long to find


def check_arrays(
    replies: Replies,
    expects: Mapping[str, Expected],
    buffers: Mapping[int, Mapping[str, NDArray[Any]]],
) -> tuple[Replies, list[tuple[int, str]]]:
    """The usable ones of replies that came as arrays, and the clients of the others with reasons.

    What can be wrong with an array: an entry that is not finite, or a number beside it. `buffers`
    are those that clients sent.
    """
    vectors, limit = replies.vectors, _largest(replies.vectors.dtype)
    # A NaN or infinity anywhere makes the comparisons false.
    good = {NOT_FINITE: (vectors.max(axis=1) <= limit) & (vectors.min(axis=1) >= -limit)}
    if buffers:
        clients = replies.clients.tolist()
        good[NOT_FINITE] &= [all(map(_is_usable, buffers[c].values())) for c in clients]
    counts = replies.examples
    good[_NO_EXAMPLES] = (counts >= 0) & (counts < _MOST_EXAMPLES)
    for name, wanted in expects.items():
        values = replies.extras[name]
        good[f"no usable {name}"] = (values >= wanted.low) & (values <= wanted.high)
        if wanted.whole:
            good[f"no usable {name}"] &= values == np.floor(values)
    usable = np.logical_and.reduce(list(good.values()))
    if usable.all():
        return replies, []
    dropped = [
        (int(replies.clients[row]), next(why for why, fine in good.items() if not fine[row]))
        for row in np.flatnonzero(~usable).tolist()
    ]
    return replies.only(usable), dropped


def _client(metrics: Metrics) -> int | None:
    number = metrics.get(CLIENT)
    if number is None:
        return None
    if type(number) is not int or not 0 <= number < _CLIENTS:
        raise _Unusable("no client number")
    return number


def _examples(metrics: Metrics) -> int:
    number = metrics.get(EXAMPLES)
    if type(number) is not int or not 0 <= number < _MOST_EXAMPLES:
        raise _Unusable(_NO_EXAMPLES)
    return number


def _number(metrics: Metrics, name: str, wanted: Expected) -> float:
    value = metrics.get(name)
    if not is_finite(value) or not wanted.low <= value <= wanted.high:
        raise _Unusable(f"no usable {name}")
    if wanted.whole and value != int(value):
        raise _Unusable(f"no usable {name}")
    return float(value)


def is_finite(value: object) -> TypeGuard[int | float]:
    """Whether this is a number that can be computed with."""
    # NaN makes the comparison false.
    return isinstance(value, int | float) and type(value) is not bool and abs(value) <= _ANY


def usable_metrics(told: Mapping[str, Any]) -> dict[str, float]:
    """The finite numbers among what a client measured, as far as anybody looks, by plain names."""
    return {
        name: float(value)
        for name, value in islice(told.items(), _MOST_METRICS)
        if is_plain_name(name) and is_finite(value)
    }
