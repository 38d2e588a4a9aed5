"""How large a reply may be: what is beyond is cut off where it comes in, and counted.

The arrays of a reply take what those of a model do, with a header each; the rest of it is a few
numbers. Whoever carries replies measures each of them, and hands over an error in the place of one
that is too large, so that a round holds no more than this for each client that was asked.
"""

from dataclasses import dataclass
from math import inf

from flwr.app import ArrayRecord, Error, Message, RecordDict

from tagma.flower_private import become_error, inside
from tagma.layout import Layout

BEYOND_LIMITS = 1000
"""The code of the error in place of a reply that is too large; Flower's own are below it."""
_NUMBER, _NUMBERS = 8, (int, float)
_TIMES, _BESIDE = 2, 2**20
_KEYS = 4096


class BeyondLimitsError(Exception):
    """What is too large about a reply."""


@dataclass(frozen=True)
class Limits:
    """Of one reply."""

    arrays: float = inf
    """How many there are."""
    array_bytes: float = inf
    """Of all arrays together."""
    other_bytes: float = inf
    """Of names, numbers, and texts together."""
    keys: float = inf
    """Records, and entries in them."""

    @classmethod
    def of(cls, layout: Layout) -> "Limits":
        """Those of replies that hold a model: twice what is needed, and a megabyte."""
        parts = len(layout.parts)
        return cls(
            arrays=_TIMES * parts + 16,
            array_bytes=_TIMES * layout.nbytes + _BESIDE,
            other_bytes=_BESIDE + 1024 * parts,
            keys=_KEYS + _TIMES * parts,
        )

    @property
    def total(self) -> float:
        """The bytes of a whole reply."""
        return self.array_bytes + self.other_bytes

    def measure(self, content: RecordDict) -> int:
        """The bytes of a reply; stops at what is too much, by a `BeyondLimitsError`."""
        records = inside(content)
        keys, arrays, data, other = len(records), 0, 0, 0
        for name, record in records.items():
            entries = inside(record)
            keys += len(entries)
            if keys > self.keys:
                raise BeyondLimitsError(f"{keys} keys")
            other += len(name)
            if isinstance(record, ArrayRecord):
                arrays += len(entries)
                if arrays > self.arrays:
                    raise BeyondLimitsError(f"{arrays} arrays")
                for key, array in entries.items():
                    other += len(key)
                    data += len(array.data)
                if data > self.array_bytes:
                    raise BeyondLimitsError(f"{data} bytes of arrays")
            else:
                for key, value in entries.items():
                    other += len(key) + (_NUMBER if type(value) in _NUMBERS else _size(value))
            if other > self.other_bytes:
                raise BeyondLimitsError(f"{other} bytes beside the arrays")
        return data + other


def _size(value: object) -> int:
    if isinstance(value, list):
        texts = sum(len(one) for one in value if isinstance(one, str | bytes))
        return _NUMBER * len(value) + texts
    return len(value) if isinstance(value, str | bytes) else _NUMBER


class Intake:
    """What came in through a Grid: measures replies, and refuses those beyond limits."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.bytes = 0
        """Of all replies that came, usable or not, as far as they were taken in."""

    def take(self, reply: Message) -> Message:
        """A reply, or the same as an error if it is too large."""
        try:
            if reply.has_content():
                self.bytes += self.limits.measure(reply.content)
        except BeyondLimitsError as problem:
            refuse(reply, str(problem))
        except Exception:  # records that break even this, which no check will let through
            pass
        return reply


def refuse(reply: Message, why: str) -> None:
    """Let go of what a reply holds, which is an error from now on."""
    become_error(reply, Error(BEYOND_LIMITS, f"too large: {why}"))
