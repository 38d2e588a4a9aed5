"""An algorithm's state as arrays and JSON, and back, by the types of its fields.

A state is a dataclass of arrays, numbers, strings, None, and tuples, dictionaries and dataclasses
of these. Which algorithm it belongs to does not matter.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

_ARRAY = "array"
_NUMBERS = frozenset({bool, int, float, str})
_KINDS = {"f": "real numbers", "i": "whole numbers", "b": "booleans"}
"""Of entries whose type is checked."""
_hints = cache(get_type_hints)
T = TypeVar("T")


def taken_apart(value: Any, name: str, arrays: dict[str, Any]) -> Any:
    """The value as JSON; its arrays are put into `arrays`, by names that begin with `name`."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biuf":
            raise TypeError(f"{name}: a state cannot hold {described(value)}")
        arrays[name] = value
        return {_ARRAY: name}
    if is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError(f"{name}: the keys of a state's dictionary must be strings")
        return {key: taken_apart(part, f"{name}.{key}", arrays) for key, part in value.items()}
    if isinstance(value, tuple):
        return [taken_apart(part, f"{name}.{i}", arrays) for i, part in enumerate(value)]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{name}: a state cannot hold {described(value)}")


def put_together(kind: Any, plain: Any, arrays: Mapping[str, Any]) -> Any:
    """The value of this type; a `ValueError` or `TypeError` if it cannot be."""
    options = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    if plain is None and NoneType in options:
        return None
    kinds = [option for option in options if option is not NoneType]
    if len(kinds) != 1:
        raise TypeError(f"a part of type {kind} can be several things")
    (kind,) = kinds
    origin = get_origin(kind) or kind
    if origin is np.ndarray:
        if not isinstance(plain, Mapping):
            raise TypeError(f"{plain!r} is no array")
        array, wanted = arrays[plain[_ARRAY]], _kind_of_entries(kind)
        if wanted is not None and array.dtype.kind != wanted:
            raise TypeError(f"{described(array)} is none of {_KINDS[wanted]}")
        return array
    if isinstance(kind, type) and is_dataclass(kind):
        hints = _hints(kind)
        return kind(**{key: _part(key, hints[key], each, arrays) for key, each in plain.items()})
    if origin is tuple:
        parts = get_args(kind) or (_unsaid(kind),)
        if parts[-1] is Ellipsis:
            parts = (parts[0],) * len(plain)
        both = zip(parts, plain, strict=True)
        return tuple(put_together(part, each, arrays) for part, each in both)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        _, part = get_args(kind) or (str, _unsaid(kind))
        return {key: put_together(part, each, arrays) for key, each in plain.items()}
    if origin is float and isinstance(plain, int) and not isinstance(plain, bool):
        return float(plain)
    if not isinstance(plain, origin):
        raise TypeError(f"{plain!r} is no {origin.__name__}")
    return plain


def locked(value: T) -> T:
    """The value itself, with all arrays in it made read-only."""
    if isinstance(value, np.ndarray):
        value.setflags(write=False)
    elif isinstance(value, tuple):
        for part in value:
            locked(part)
    elif isinstance(value, Mapping):
        for part in value.values():
            locked(part)
    elif value is not None and not isinstance(value, int | float | str):
        kind: type = type(value)
        for name in _field_names(kind):
            part = getattr(value, name)
            if part is not None and type(part) not in _NUMBERS:
                locked(part)
    return value


@cache
def _field_names(kind: type) -> tuple[str, ...]:
    """The fields of a dataclass; of another class, none."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()


def is_frozen(value: object) -> bool:
    """Whether the fields of a dataclass cannot be set anew."""
    return bool(type(value).__dataclass_params__.frozen)  # type: ignore[attr-defined]


def type_name(value: object) -> str:
    """The name of its class."""
    return type(value).__name__


def described(value: object) -> str:
    """What a value is, for messages: "a list", or an array's dtype and shape."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} and shape {value.shape}"
    return f"a {type_name(value)}"


@cache
def _kind_of_entries(kind: Any) -> str | None:
    """What an array's type says of its entries: floats are "f", whatever their precision."""
    entries = [each for part in get_args(kind)[1:] for each in get_args(part)]
    found = np.dtype(entries[0]).kind if entries and isinstance(entries[0], type) else None
    return found if found in _KINDS else None


def _part(name: str, kind: Any, plain: Any, arrays: Mapping[str, Any]) -> Any:
    try:
        return put_together(kind, plain, arrays)
    except TypeError as problem:
        raise TypeError(f"{name}: {problem}") from None


def _unsaid(kind: Any) -> Any:
    raise TypeError(f"its type, {kind.__name__}, does not say what is in it")
