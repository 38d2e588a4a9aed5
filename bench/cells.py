"""A cell of an experiment: a unit of work, identified by everything its result depends on.

A result is a mapping with `metrics`, what the cell found. A cell that is finished under its key
never has to run again; a change of a default, of the code or of an override gives a new key.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tagma.bench.cell_identity import hash_of
from tagma.plugins import locate


class Cell(Protocol):
    """One unit of work of an experiment, with a result that can be kept."""

    @property
    def method(self) -> str:
        """What is compared with other methods."""

    @property
    def trial(self) -> int:
        """Trials of one method differ in their random numbers."""

    @property
    def key(self) -> str:
        """The identity of the result."""

    def run(self) -> dict[str, Any]:
        """Compute the result."""

    def whole(self, result: Mapping[str, Any]) -> bool:
        """Whether a kept result has what a result of this cell has."""


@dataclass(frozen=True)
class ArrayCell:
    """An experiment on arrays alone: a function, by its dotted path, and its arguments."""

    method: str
    trial: int
    function: str
    arguments: tuple[tuple[str, Any], ...]

    @property
    def key(self) -> str:
        """A hash of the function's name, its arguments and the code."""
        return hash_of([self.function, dict(self.arguments)])

    def run(self) -> dict[str, Any]:
        """Call the function."""
        return {"metrics": locate(self.function, "function")(**dict(self.arguments))}

    def whole(self, result: Mapping[str, Any]) -> bool:
        """Whether there is what the function returned."""
        return isinstance(result.get("metrics"), dict)
