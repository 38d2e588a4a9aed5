"""An algorithm's state as arrays and JSON, and back, by the types of its fields.

A state is a dataclass of arrays, numbers, strings, None, and tuples, dictionaries and dataclasses
of these. Which algorithm it belongs to does not matter.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

_ARRAY = "array"


def taken_apart(value: Any, name: str, arrays: dict[str, Any]) -> Any:
    """The value as JSON; its arrays are put into `arrays`, by names that begin with `name`."""
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {_ARRAY: name}
    if is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: taken_apart(part, f"{name}.{key}", arrays) for key, part in value.items()}
    if isinstance(value, tuple):
        return [taken_apart(part, f"{name}.{i}", arrays) for i, part in enumerate(value)]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{name}: a state cannot hold a {type(value).__name__}")


def put_together(kind: Any, plain: Any, arrays: Mapping[str, Any]) -> Any:
    """The value of this type; a `ValueError` or `TypeError` if it cannot be."""
    options = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    if plain is None and NoneType in options:
        return None
    (kind,) = (option for option in options if option is not NoneType)
    origin = get_origin(kind) or kind
    if origin is np.ndarray:
        return arrays[plain[_ARRAY]]
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{key: put_together(hints[key], part, arrays) for key, part in plain.items()})
    if origin is tuple:
        part = get_args(kind)[0]
        return tuple(put_together(part, each, arrays) for each in plain)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        part = get_args(kind)[1]
        return {key: put_together(part, each, arrays) for key, each in plain.items()}
    if origin is float and isinstance(plain, int) and not isinstance(plain, bool):
        return float(plain)
    if not isinstance(plain, origin):
        raise TypeError(f"{plain!r} is no {origin.__name__}")
    return plain
