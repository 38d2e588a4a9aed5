"""The bounds that annotations of settings state, checked on every call.

    def trimmed_mean(updates: Rows, *, beta: Annotated[float, Ge(0), Lt(0.5)]) -> Aggregate: ...

A run checks its configuration before; this is for those who call the functions themselves. It
costs a comparison for each bound.
"""

import operator
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

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


_WORDS: dict[type, str] = {Integral: "whole number", Real: "number"}
_Stated = tuple[type, type, bool, list[tuple[str, Callable[[Any, Any], bool], Any]]]


def _stated(hint: Any) -> _Stated | None:
    """The usual type, the kind of number, whether None is allowed, and the bounds with their words."""
    parts = [hint] if get_origin(hint) is Annotated else get_args(hint)
    numbers = [part for part in parts if get_origin(part) is Annotated]
    if len(numbers) != 1:
        return None
    kind, *metadata = get_args(numbers[0])
    bounds = [
        (words, holds, getattr(each, attribute))
        for each in metadata
        for attribute, words, holds in [_BOUNDS[type(each)]]
    ]
    return kind, (Integral if kind is int else Real), NoneType in parts, bounds
