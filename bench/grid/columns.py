"""Tables as CSV and Parquet: the same bytes for the same rows."""

import csv
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

TEXT, WHOLE, NUMBER = "text", "whole", "number"
Columns = dict[str, str]
"""Names of columns and what they hold."""
Row = dict[str, Any]
_TYPES = {TEXT: pa.string(), WHOLE: pa.int64(), NUMBER: pa.float64()}
_PYTHON = {TEXT: str, WHOLE: int, NUMBER: float}


def write_table(path: Path, columns: Columns, rows: Iterable[Mapping[str, Any]]) -> None:
    """PATH.csv and PATH.parquet, each of which appears whole; what a row does not have is empty."""
    typed = [[_typed(row.get(name), kind) for name, kind in columns.items()] for row in rows]
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    with partial.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(columns)
        table.writerows([["" if v is None else v for v in row] for row in typed])
    os.replace(partial, path.with_suffix(".csv"))
    by_column = list(zip(*typed, strict=True)) or [()] * len(columns)
    arrays = [
        pa.array(values, _TYPES[kind])
        for values, kind in zip(by_column, columns.values(), strict=True)
    ]
    parquet.write_table(pa.table(arrays, names=list(columns)), partial, compression="zstd")
    os.replace(partial, path.with_suffix(".parquet"))


def _typed(value: Any, kind: str) -> Any:
    return None if value is None else _PYTHON[kind](value)
