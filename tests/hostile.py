"""What clients can send: a hundred kinds of replies, and what is to become of each.

A kind changes the honest reply of one client. It says why the reply is dropped, None if it is
usable, and what else is counted beside it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message, MetricRecord, RecordDict

from tagma.exchange import CHOICE, SMOOTHNESS
from tagma.flower_private import ErrorCode, answer_from, answer_to, become_error, own_copy
from tagma.layout import Layout
from tagma.message_limits import BEYOND_LIMITS
from tagma.wire import ARRAYS, CLIENT, EXAMPLES, METRICS, pack

Sent = Message | list[Message] | None
"""A reply, several, or none: the client returns nothing, which is an error."""
Change = Callable[[Message], Sent]
MODEL = "coefficients"
"""The one array of these models, of three numbers."""


@dataclass(frozen=True)
class Kind:
    """One kind of reply."""

    change: Change
    reason: str | None
    beside: tuple[str, ...] = ()
    needs: str = ""
    """The number that has to be asked for, or that a model is: else the reply stays honest."""

    def applies(self, reply: Message) -> bool:
        """Whether this honest reply has what is changed."""
        return not self.needs or any(self.needs in record for record in all_of(reply))


def all_of(reply: Message) -> Iterator[Any]:
    yield reply.content
    yield from reply.content.values()


def fail(reply):
    raise RuntimeError("out of memory")


def leave(reply):
    raise SystemExit(0)


def nothing(reply):
    return None


def error(reply, code=2, reason="gone"):
    return Message(error=Error(code, reason), metadata=reply.metadata)


def failing(code=2, reason="gone"):
    return lambda reply: error(reply, code, reason)


def empty(reply):
    reply.content = RecordDict()
    return reply


def put(name, record):
    """A change of a reply: another record, or none."""

    def change(reply):
        if record is None:
            del reply.content[name]
        else:
            reply.content[name] = record
        return reply

    return change


def put_array(array, name=MODEL):
    return put(ARRAYS, ArrayRecord({name: array}))


def put_vector(*entries):
    vector = np.array(entries, dtype=float)
    return put_array(pack(Layout.of({MODEL: vector}), vector)[MODEL])


def extra_array(reply):
    reply.content[ARRAYS]["more"] = reply.content[ARRAYS][MODEL]
    return reply


def truncated(reply):
    reply.content[ARRAYS][MODEL].data = reply.content[ARRAYS][MODEL].data[:-1]
    return reply


def say(name, value):
    """A change of a reply: another number, or what is none; None: it is missing."""

    def change(reply):
        reply.content[METRICS]._data.pop(name, None)
        if value is not None:
            reply.content[METRICS]._data[name] = value
        return reply

    return change


def bytes_of(data, stype="numpy.ndarray"):
    return Array("float64", (3,), stype, data)


def forged(**about):
    """An array that says something else of itself than is true, or holds other bytes."""

    def change(reply):
        reply.content[ARRAYS][MODEL].__dict__.update(about)
        return reply

    return change


def filled(kind, entries):
    """A record of things that Flower's own would refuse, or take long to check."""
    made = kind()
    made.__dict__["_data"] = entries
    return made


def named(entries):
    """A change of a reply: these entries in the place of the numbers, which stay there as well."""

    def change(reply):
        reply.content[METRICS]._data |= entries
        return reply

    return change


def several(reply):
    return [reply, own_copy(reply)]


def bad_one_first(reply):
    return [put_vector(np.nan, 0, 0)(own_copy(reply)), reply]


def good_one_first(reply):
    return [reply, empty(own_copy(reply))]


def from_another(reply):
    answer_from(reply, 10**6)
    return reply


def to_another(name):
    def change(reply):
        answer_to(reply, name)
        return reply

    return change


def and_to_nobody(reply):
    return [reply, to_another("0")(own_copy(reply))]


def failure_of_another(reply):
    reply = error(reply)
    answer_from(reply, 1)
    return reply


def silence(reply):
    return []


def refused(reply):
    become_error(reply, Error(BEYOND_LIMITS, "too large: 10 GB"))
    return reply


def as_evaluation(reply):
    reply.metadata.__dict__["_message_type"] = "evaluate" * 1000
    return reply


def hollow(record):
    """A record without anything in it to look at."""
    del record.__dict__["_data"]
    return record


def hollowed(reply):
    hollow(reply.content)
    return reply


def npy(array, version=(1, 0)):
    file = BytesIO()
    np.lib.format.write_array(file, array, version=version)
    return file.getvalue()


def npz(array):
    file = BytesIO()
    np.savez_compressed(file, array)
    return file.getvalue()


def raw(number):
    """Three floating numbers that are all these bits."""
    return GOOD[:-24] + number.to_bytes(8, "little") * 3


GOOD = Array(np.ones(3)).data
WAYS: dict[str, tuple[Change, str]] = {
    "raises": (fail, "error"),
    "exits": (leave, "error"),
    "returns nothing": (nothing, "error"),
    "error reply": (error, "error"),
    "empty": (empty, "unexpected records"),
    "extra record": (put("more", MetricRecord({"x": 1.0})), "unexpected records"),
    "no arrays": (put(ARRAYS, None), "unexpected records"),
    "no metrics": (put(METRICS, None), "unexpected records"),
    "other type": (put(ARRAYS, MetricRecord({"x": 1.0})), "unexpected records"),
    "settings for metrics": (put(METRICS, ConfigRecord({EXAMPLES: 20})), "unexpected records"),
    "extra array": (extra_array, "unexpected records"),
    "no array": (put(ARRAYS, ArrayRecord()), "unexpected records"),
    "other name": (put_array(Array(np.ones(3)), "weights"), "unexpected records"),
    "nan": (put_vector(1.0, np.nan, 0), "not finite"),
    "infinite": (put_vector(1.0, -np.inf, 0), "not finite"),
    "overflowing": (put_vector(1e200, 1e200, 1e200), "not finite"),
    "short": (put_vector(1.0, 1.0), "wrong shape"),
    "no entries": (put_vector(), "wrong shape"),
    "matrix": (put_array(Array(np.ones((3, 1)))), "wrong shape"),
    "integers": (put_array(Array(np.ones(3, dtype=int))), "wrong dtype"),
    "other precision": (put_array(Array(np.ones(3, dtype=np.float32))), "wrong dtype"),
    "pickled": (put_array(bytes_of(GOOD, stype="pickle")), "wrong dtype"),
    "junk": (put_array(bytes_of(b"junk")), "malformed bytes"),
    "truncated": (truncated, "malformed bytes"),
    "lying header": (put_array(bytes_of(Array(np.ones((3, 1))).data)), "malformed bytes"),
    "no examples": (say(EXAMPLES, None), "no number of examples"),
    "fewer than none": (say(EXAMPLES, -5), "no number of examples"),
    "half an example": (say(EXAMPLES, 0.5), "no number of examples"),
    "more than all": (say(EXAMPLES, 2**53), "no number of examples"),
    "negative client": (say(CLIENT, -1), "no client number"),
    "client of a list": (say(CLIENT, [1, 2]), "no client number"),
}
"""Those that are tried one by one with every algorithm."""
CHOICES = {
    "no choice": None,
    "of nothing": float("nan"),
    "of infinity": float("inf"),
    "of none": -1,
    "of too many": 2,
    "of a half": 0.5,
    "of several": [0, 1],
    "of words": "0",
}
STEPS = {"missing": None, "negative": -1.0, "nan": float("nan"), "huge": 1e200, "text": "1"}
UNUSABLE = {
    "forged error": failing(2, "line\nof\x1b[31m red\u202e" * 9),
    "error of 10 MB": failing(2, "x" * 10**7),
    "error without code": failing(-7, ""),
}
MORE = {
    # What comes at all
    "silence": Kind(silence, "no reply"),
    "twice": Kind(several, None, ("duplicate",)),
    "bad one first": Kind(bad_one_first, "not finite", ("duplicate",), ARRAYS),
    "good one first": Kind(good_one_first, None, ("duplicate",)),
    "in the name of another": Kind(from_another, "no reply", ("unsolicited",)),
    "answers another": Kind(to_another("1"), "no reply", ("unsolicited",)),
    "answers nobody": Kind(to_another(["x"]), "no reply", ("unsolicited",)),
    "and answers nobody": Kind(and_to_nobody, None, ("unsolicited",)),
    "failure of another": Kind(failure_of_another, "error"),
    "node is away": Kind(failing(ErrorCode.NODE_UNAVAILABLE), "unreachable"),
    "reply is lost": Kind(failing(ErrorCode.REPLY_MESSAGE_UNAVAILABLE), "unreachable"),
    "cut off": Kind(refused, "too large"),
    "cut off, it says": Kind(failing(BEYOND_LIMITS, "too large"), "too large"),
    "other type of message": Kind(as_evaluation, None),
    **{name: Kind(change, "error") for name, change in UNUSABLE.items()},
    # Records
    "a nameless record": Kind(put("", MetricRecord()), "unexpected records"),
    "settings as well": Kind(put("config", ConfigRecord({"be": "evil"})), "unexpected records"),
    "two models": Kind(put("arrays.0", ArrayRecord()), "unexpected records"),
    "metrics of another name": Kind(put("numbers", MetricRecord()), "unexpected records"),
    "arrays for metrics": Kind(put(METRICS, ArrayRecord()), "unexpected records"),
    "hollow": Kind(hollowed, "malformed"),
    "hollow metrics": Kind(put(METRICS, hollow(MetricRecord())), "malformed"),
    "hollow arrays": Kind(put(ARRAYS, hollow(ArrayRecord())), "malformed", needs=ARRAYS),
    "many keys": Kind(named({f"k{n}": 1.0 for n in range(2000)}), "too large"),
    "a hundred thousand keys": Kind(named({f"k{n}": 1.0 for n in range(100_000)}), "too large"),
    "a long name": Kind(named({"n" * 2**22: 1.0}), "too large"),
    "a long list": Kind(named({"list": [0.0] * 300_000}), "too large"),
    "a long text": Kind(named({"text": "x" * 2**22}), "too large"),
    "odd metrics": Kind(named({"a": float("nan"), "b": None, "c": object(), "d": []}), None),
    "huge metrics": Kind(named({"loss": 10**400, "e": -(10**400)}), None),
    "many arrays": Kind(
        put(ARRAYS, filled(ArrayRecord, {f"a{n}": bytes_of(b"") for n in range(1000)})),
        "too large", needs=ARRAYS,
    ),
    "4 MB": Kind(forged(data=bytes(4 * 2**20)), "too large", needs=ARRAYS),
    # Arrays
    **{
        f"array: {name}": Kind(forged(**about), reason, needs=ARRAYS)
        for name, about, reason in (
            ("big-endian", {"dtype": ">f8"}, "wrong dtype"),
            ("complex", {"dtype": "complex128"}, "wrong dtype"),
            ("objects", {"dtype": "object"}, "wrong dtype"),
            ("booleans", {"dtype": "bool"}, "wrong dtype"),
            ("no dtype", {"dtype": None}, "wrong dtype"),
            ("of nothing known", {"stype": ""}, "wrong dtype"),
            ("a huge shape", {"shape": (10**9, 10**9)}, "wrong shape"),
            ("a negative shape", {"shape": (-3,)}, "wrong shape"),
            ("a shape of text", {"shape": "3"}, "wrong shape"),
            ("a shape in a shape", {"shape": ((3,),)}, "wrong shape"),
            ("no shape", {"shape": None}, "wrong shape"),
            ("a list as shape", {"shape": [3]}, None),
            ("no bytes", {"data": b""}, "malformed bytes"),
            ("bytes that can change", {"data": bytearray(GOOD)}, "malformed bytes"),
            ("bytes that are none", {"data": None}, "malformed bytes"),
            ("more bytes", {"data": GOOD + b"\0"}, "malformed bytes"),
            ("another version", {"data": npy(np.ones(3), (2, 0))}, "malformed bytes"),
            ("by columns", {"data": npy(np.asfortranarray(np.ones((3, 2))))}, "malformed bytes"),
            ("an archive", {"data": npz(np.ones(3))}, "malformed bytes"),
            ("a pickle", {"data": b"\x80\x04N." * 38}, "malformed bytes"),
            ("tiny", {"data": raw(1)}, None),
            ("negative nothing", {"data": raw(1 << 63)}, None),
            ("all bits", {"data": raw(2**64 - 1)}, "not finite"),
            ("a signalling nan", {"data": raw(0x7FF0000000000001)}, "not finite"),
            ("the largest number", {"data": raw(0x7FEFFFFFFFFFFFFF)}, "not finite"),
        )
    },
    "large": Kind(put_vector(1e150, -1e150, 1e150), None, needs=ARRAYS),
    "too large a number": Kind(put_vector(1.001e150, 0, 0), "not finite", needs=ARRAYS),
    "the opposite": Kind(put_vector(-3.0, -3, -3), None, needs=ARRAYS),
    # Numbers
    **{
        f"examples: {value!r:.9}": Kind(say(EXAMPLES, value), "no number of examples", needs=ARRAYS)
        for value in (True, 10**400, float("nan"), float("inf"), [1, 2], "many", 1.0, -(2**70))
    },
    "all examples": Kind(say(EXAMPLES, 2**53 - 1), None),
    "no example": Kind(say(EXAMPLES, 0), None),
    **{
        f"client: {value!r:.20}": Kind(say(CLIENT, value), "no client number")
        for value in (True, 2**31, 10**30, "3", 3.0, float("nan"))
    },
    **{
        f"step: {name}": Kind(say(SMOOTHNESS, value), f"no usable {SMOOTHNESS}", needs=SMOOTHNESS)
        for name, value in STEPS.items()
    },
    "step: none": Kind(say(SMOOTHNESS, 0), None, needs=SMOOTHNESS),
    "step: endless": Kind(say(SMOOTHNESS, 5e-324), None, needs=SMOOTHNESS),
    "step: next to none": Kind(say(SMOOTHNESS, 1e150), None, needs=SMOOTHNESS),
}  # fmt: skip
_OF_ARRAYS = {
    "no arrays", "other type", "extra array", "no array", "other name", "nan", "infinite",
    "overflowing", "short", "no entries", "matrix", "integers", "other precision", "pickled",
    "junk", "truncated", "lying header", "no examples", "fewer than none", "half an example",
    "more than all",
}  # fmt: skip
KINDS: dict[str, Kind] = {
    **{
        name: Kind(change, reason, needs=ARRAYS if name in _OF_ARRAYS else "")
        for name, (change, reason) in WAYS.items()
    },
    **{
        f"choice: {name}": Kind(say(CHOICE, value), f"no usable {CHOICE}", needs=CHOICE)
        for name, value in CHOICES.items()
    },
    **MORE,
}
