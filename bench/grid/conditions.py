"""Conditions on the combinations of a grid: which are left out, and which a gate is about.

A condition names axes and what their values must be: a value, a list of values, or a comparison
such as "> 0.2" or "<= task.dim" (another axis). All of them must hold.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tagma.errors import TagmaError

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
Condition = Mapping[str, Any]


def holds(condition: Condition, values: Mapping[str, Any]) -> bool:
    """Whether a combination, as a mapping from axes to values, is one that is meant."""
    return all(_holds(values, key, wanted) for key, wanted in condition.items())


def check_condition(setting: str, condition: Any, axes: Sequence[str]) -> Condition:
    """A condition as it should be: a mapping from axes that exist."""
    if not isinstance(condition, Mapping):
        raise TagmaError(f"{setting}: {condition}: must be like {{attack: none}}")
    for key in condition:
        if key not in axes:
            raise TagmaError(
                f"{setting}: {key} is not an axis of this grid; known: {', '.join(axes)}"
            )
    return condition


def _holds(values: Mapping[str, Any], key: str, wanted: Any) -> bool:
    value = values[key]
    if isinstance(wanted, list):
        return any(_holds(values, key, one) for one in wanted)
    sign = next((s for s in _COMPARISONS if isinstance(wanted, str) and wanted.startswith(s)), None)
    if sign is None:
        return str(value) == str(wanted)
    limit = str(wanted).removeprefix(sign).strip()
    other = values.get(limit, limit)
    if sign == "!=":
        return str(value) != str(other)
    try:
        return _COMPARISONS[sign](float(value), float(other))
    except (TypeError, ValueError):
        raise TagmaError(f"bench: {key}: {value!r} {wanted}: are not numbers") from None
