"""Which combinations of a grid are left out.

A rule names axes and what their values must be for a combination to be skipped: a value, a list of
values, or a comparison such as "> 0.2" or "<= task.dim" (another axis). All of them must hold.
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
Rule = Mapping[str, Any]


def skipped(place: Mapping[str, Any], rules: Sequence[Rule]) -> bool:
    """Whether a combination, as a mapping from axes to values, is left out."""
    return any(all(_holds(place, key, wanted) for key, wanted in rule.items()) for rule in rules)


def check_rules(rules: Any, axes: Sequence[str]) -> list[Rule]:
    """Rules as they should be: mappings from axes that exist."""
    if not isinstance(rules, list) or not all(isinstance(rule, Mapping) for rule in rules):
        raise TagmaError(f"bench.skip={rules}: must be a list such as [{{attack: none}}]")
    for rule in rules:
        for key in rule:
            if key not in axes:
                raise TagmaError(
                    f"bench.skip: {key} is not an axis of this grid; known: {', '.join(axes)}"
                )
    return rules


def _holds(place: Mapping[str, Any], key: str, wanted: Any) -> bool:
    value = place[key]
    if isinstance(wanted, list):
        return any(_holds(place, key, one) for one in wanted)
    sign = next((s for s in _COMPARISONS if isinstance(wanted, str) and wanted.startswith(s)), None)
    if sign is None:
        return str(value) == str(wanted)
    limit = str(wanted).removeprefix(sign).strip()
    other = place.get(limit, limit)
    if sign == "!=":
        return str(value) != str(other)
    try:
        return _COMPARISONS[sign](float(value), float(other))
    except (TypeError, ValueError):
        raise TagmaError(f"bench.skip: {key}: {value!r} {wanted}: are not numbers") from None
