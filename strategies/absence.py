"""Who is away in which rounds, by a schedule: for drills and tests, the same on every engine.

A client that is away does not answer: its reply to that round is dropped as if it had not come.
Nobody is away in round 1, in which clients say who they are.
"""

from typing import Annotated

from annotated_types import Ge, Len, Lt
from pydantic import BaseModel, ConfigDict, field_validator

from tagma.counts import floor_of
from tagma.rng import stream

_FIRST = 2


class Absence(BaseModel):
    """The setting `absence`."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    clients: tuple[Annotated[int, Ge(0)], ...] = ()
    """These, ..."""
    rounds: Annotated[tuple[Annotated[int, Ge(_FIRST)], ...], Len(2, 2)] | None = None
    """... from the first to the second round; None: from round 2 on."""
    fraction: Annotated[float, Ge(0), Lt(1)] = 0.0
    """And in each of these rounds this share of all, drawn anew."""

    @field_validator("rounds")
    @classmethod
    def _in_order(cls, rounds: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if rounds is not None and rounds[0] > rounds[1]:
            raise ValueError("must be [first, last]")
        return rounds

    def away(self, round_number: int, count: int, seed: int) -> frozenset[int]:
        """Who of so many clients is away in a round."""
        first, last = self.rounds or (_FIRST, round_number)
        if not max(first, _FIRST) <= round_number <= last:
            return frozenset()
        drawn: list[int] = []
        if self.fraction:
            everybody = stream(seed, "absence", round_number).permutation(count)
            drawn = everybody[: floor_of(self.fraction, count)].tolist()
        return frozenset((*self.clients, *drawn))
