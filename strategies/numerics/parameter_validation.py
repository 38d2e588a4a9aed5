"""The bounds that annotations of settings state, checked on every call.

    def trimmed_mean(updates: Rows, *, beta: Annotated[float, Ge(0), Lt(0.5)]) -> Aggregate: ...

A run checks its configuration before; this is for those who call the functions themselves. It
costs a comparison for each bound.
"""

import operator
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from types import NoneType
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt

_BOUNDS: dict[type, tuple[str, str, Callable[[Any, Any], bool]]] = {
    Ge: ("ge", "at least", operator.ge),
    Gt: ("gt", "more than", operator.gt),
    Le: ("le", "at most", operator.le),
    Lt: ("lt", "less than", operator.lt),
}


def checker(function: Callable[..., Any]) -> Callable[[Mapping[str, Any]], None]:
    """A function that raises a `ValueError` if one of these settings of `function` is not allowed.

    Settings that are not given are not checked, nor are those without stated bounds.
    """
    hints = get_type_hints(function, include_extras=True)
    stated = {name: found for name, hint in hints.items() if (found := _stated(hint)) is not None}

    def check(settings: Mapping[str, Any]) -> None:
        for name, value in settings.items():
            if name not in stated:
                continue
            usual, kind, optional, bounds = stated[name]
            if type(value) is not usual:  # which is much faster to see
                if optional and value is None:
                    continue
                if not isinstance(value, kind):
                    raise ValueError(f"{name}={value!r}: must be a {_WORDS[kind]}")
            for words, holds, bound in bounds:
                if not holds(value, bound):
                    raise ValueError(f"{name}={value}: must be {words} {bound}")

    return check


class _Stated(NamedTuple):
    """What an annotation says."""

    usual: type
    kind: type
    """What else is as good, such as the numbers of NumPy."""
    optional: bool
    bounds: list[tuple[str, Callable[[Any, Any], bool], Any]]
    """In words, how to compare, with what."""


_WORDS: dict[type, str] = {Integral: "whole number", Real: "number"}


def _stated(hint: Any) -> _Stated | None:
    """None for what is not a number with bounds, nor such a number or None."""
    parts = [hint] if get_origin(hint) is Annotated else list(get_args(hint))
    others = [part for part in parts if get_origin(part) is not Annotated]
    if len(parts) != len(others) + 1 or set(others) - {NoneType}:
        return None
    (number,) = (part for part in parts if part not in others)
    usual, *metadata = get_args(number)
    if usual not in (int, float):
        return None
    bounds = [
        (words, holds, getattr(each, attribute))
        for each in metadata
        if type(each) in _BOUNDS
        for attribute, words, holds in [_BOUNDS[type(each)]]
    ]
    return _Stated(usual, Integral if usual is int else Real, bool(others), bounds)
