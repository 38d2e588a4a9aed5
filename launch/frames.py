"""Tables for whoever works in Python: a data frame if pandas is there, else arrays by their names.

A column has one kind, whatever is in it. Of whole numbers and of yes or no, what nobody knows is
pandas' NA; without pandas such columns are floating, with NaN.
"""

from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np

WHOLE, YES, NUMBER, TEXT = "Int64", "boolean", "float64", "str"
"""Kinds of columns."""
_READ: Mapping[str, Callable[[str], Any]] = {
    WHOLE: lambda text: int(float(text)),
    YES: lambda text: bool(int(float(text))),
    NUMBER: float,
    TEXT: str,
}


def frame(rows: Iterable[Mapping[str, Any]], kinds: Mapping[str, str]) -> Any:
    """A table of rows whose values are texts or numbers; None and "" are unknown."""
    listed = list(rows)
    columns = {
        name: [_value(row.get(name), kind) for row in listed] for name, kind in kinds.items()
    }
    if find_spec("pandas") is None:
        return {name: _array(values, kinds[name]) for name, values in columns.items()}
    import pandas  # type: ignore[import-untyped]

    return pandas.DataFrame(
        {name: pandas.Series(values, dtype=_dtype(kinds[name])) for name, values in columns.items()}
    )


def _value(value: Any, kind: str) -> Any:
    if value is None or (value == "" and kind != TEXT):
        return None
    return value if kind == TEXT else _READ[kind](str(value) if kind != YES else str(int(value)))


def _dtype(kind: str) -> Any:
    return object if kind == TEXT else kind


def _array(values: list[Any], kind: str) -> Any:
    if kind == TEXT:
        return np.array(["" if value is None else str(value) for value in values])
    if any(value is None for value in values) or kind == NUMBER:
        return np.array([np.nan if value is None else value for value in values], dtype=float)
    return np.array(values, dtype=bool if kind == YES else np.int64)
