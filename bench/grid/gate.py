"""What a grid must show, checked when all of its cells are there: `gate` in its file.

    gate:
      - where: {defence: undefended}      # the combinations that are meant, as in `skip`
        unless: {attack: [none, stale]}   # but not these
        than: {attack: none}              # in times of the same combination with this instead
        at_least: 2                       # or at_most
        metric: accuracy                  # another number of the table than the grid's metric

The figure of a combination is the median of the metric over the seeds. A diverged one is
infinite, and more than any other; two that diverged cannot be compared, and nothing holds of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge
from rich.table import Table
from rich.text import Text

from tagma.bench.grid.axis import Axis, Plain
from tagma.bench.grid.conditions import Condition, check_condition, holds
from tagma.bench.reproduce.paper_claims import number
from tagma.errors import SettingError, TagmaError
from tagma.plugins import settings_of

Values = Mapping[str, Plain]


@dataclass(frozen=True)
class Requirement:
    """One entry of a gate."""

    where: Condition
    unless: Condition | None
    than: Condition
    at_least: float | None
    at_most: float | None
    metric: str | None = None
    """Of which column; None: the grid's metric."""

    @property
    def described(self) -> dict[str, Any]:
        """As it stands in a file."""
        return {key: value for key, value in vars(self).items() if value not in (None, {})}

    def meant(self, values: Values) -> bool:
        """Whether it is about this combination."""
        return holds(self.where, values) and not (self.unless and holds(self.unless, values))


@dataclass(frozen=True)
class Finding:
    """What a combination shows, and whether that is what was asked for."""

    combination: str
    figure: float
    asked: str
    held: bool


def read_gate(entries: Sequence[Any], axes: Sequence[Axis]) -> tuple[Requirement, ...]:
    """The entries of a gate, checked against the grid's axes."""
    return tuple(_requirement(f"bench.gate.{n}", entry, axes) for n, entry in enumerate(entries))


def findings(
    gate: Sequence[Requirement], samples: Sequence[tuple[Values, Sequence[float | None]]]
) -> list[Finding]:
    """One for every combination that a requirement is about; `samples` are the metric by seed."""
    medians = {_place(values): _median(sample) for values, sample in samples}
    found = []
    for requirement in gate:
        for values, _ in samples:
            if requirement.meant(values):
                figure, other = medians[_place(values)], 1.0
                if requirement.than:
                    other = medians.get(_place({**values, **requirement.than}), nan)
                found.append(_finding(requirement, values, _ratio(figure, other)))
    return found


def gate_table(found: Sequence[Finding]) -> Table:
    """All findings, for the terminal."""
    table = Table(title="What this grid must show", title_justify="left", title_style="bold")
    for column in ("combination", "median", "asked", "holds?"):
        table.add_column(column, justify="right" if column == "median" else "left")
    for one in found:
        held = Text("yes", "green") if one.held else Text("no", "red")
        table.add_row(one.combination, number(one.figure), one.asked, held)
    return table


def check_findings(found: Sequence[Finding]) -> None:
    """Raise an error that names what does not hold."""
    missed = [f"{one.combination}: {number(one.figure)}" for one in found if not one.held]
    if missed:
        raise TagmaError(f"{len(missed)} of {len(found)} do not pass the gate: {'; '.join(missed)}")


def _requirement(key: str, entry: Any, axes: Sequence[Axis]) -> Requirement:
    if not isinstance(entry, Mapping):
        raise SettingError(key, entry, "must be like {where: {defence: mine}, at_most: 0.1}")
    checked = settings_of(_of_a_requirement, key, entry, {})
    names = [axis.key for axis in axes]
    for part in ("where", "unless", "than"):
        checked[part] = checked[part] and check_condition(f"{key}.{part}", checked[part], names)
    for axis in axes:
        value = (checked["than"] or {}).get(axis.key)
        if value is not None and str(value) not in [str(one.name) for one in axis.values]:
            raise SettingError(
                f"{key}.than.{axis.key}", value, "is not in this grid; add it, or set bench.gate=[]"
            )
    if checked["at_least"] is None and checked["at_most"] is None:
        raise SettingError(key, dict(entry), "needs at_least or at_most")
    return Requirement(
        **{**checked, "where": checked["where"] or {}, "than": checked["than"] or {}}
    )


def _of_a_requirement(
    *,
    where: dict[str, Any] | None = None,
    unless: dict[str, Any] | None = None,
    than: dict[str, str | int | float | bool] | None = None,
    at_least: Annotated[float, Ge(0)] | None = None,
    at_most: Annotated[float, Ge(0)] | None = None,
    metric: str | None = None,
) -> None:
    """The settings of one entry of a gate."""


def _finding(requirement: Requirement, values: Values, figure: float) -> Finding:
    least, most = requirement.at_least, requirement.at_most
    limits = [f"at least {least:g}"] if least is not None else []
    limits += [f"at most {most:g}"] if most is not None else []
    than = ", ".join(f"{key}={value}" for key, value in requirement.than.items())
    asked = " and ".join(limits) + (f" times {than}" if than else "")
    asked = f"{requirement.metric} {asked}" if requirement.metric else asked
    held = (0 if least is None else least) <= figure <= (inf if most is None else most)
    combination = ", ".join(f"{key}={value}" for key, value in values.items())
    return Finding(combination, figure, asked, held)


def _place(values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((key, str(value)) for key, value in values.items())


def _median(sample: Sequence[float | None]) -> float:
    """NaN if the metric is not known of some run, which a gate cannot pass."""
    return nan if None in sample else float(np.median(np.array(sample, dtype=float)))


def _ratio(figure: float, other: float) -> float:
    if np.isinf(figure) and np.isinf(other):
        return nan
    return figure / other if other else (inf if figure else nan)
