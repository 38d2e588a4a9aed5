"""Tables as CSV and Parquet: the same bytes for the same rows."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from tagma.atomic_file import whole_file
from tagma.bench.cell_identity import LIBRARIES
from tagma.escaping import TableWriter
from tagma.server.results.cluster_scores import CLUSTERING

TEXT, WHOLE, NUMBER = "text", "whole", "number"
Columns = dict[str, str]
"""Names of columns and what they hold."""
Row = dict[str, Any]
COUNTS: Columns = dict.fromkeys(
    ("clusters_found", "replies_used", "replies_rejected", "suspects"), WHOLE
)
RATES: Columns = dict.fromkeys(("true_positive", "false_positive"), NUMBER)
"""The shares of Byzantine and of honest clients that a defence left out."""
PROVENANCE: Columns = dict.fromkeys(("config", "code", "version", "python", *LIBRARIES), TEXT)
OUTCOME: Columns = {"seed": WHOLE, "status": TEXT, "reason": TEXT}
RESERVED = frozenset(
    {"cell", "estimation_error", "oracle_error", "error_without_byzantine", *CLUSTERING}
    | {"without_byzantine", *OUTCOME, *COUNTS, *RATES, *PROVENANCE}
)
"""The columns of every grid's table: no axis may have such a name, nor that of another score."""
_TYPES = {TEXT: pa.string(), WHOLE: pa.int64(), NUMBER: pa.float64()}
_PYTHON = {TEXT: str, WHOLE: int, NUMBER: float}


def write_table(path: Path, columns: Columns, rows: Iterable[Mapping[str, Any]]) -> None:
    """PATH.csv and PATH.parquet, each of which appears whole; what a row does not have is empty."""
    typed = [[_typed(row.get(name), kind) for name, kind in columns.items()] for row in rows]
    with (
        whole_file(path.with_suffix(".csv")) as partial,
        partial.open("w", newline="", encoding="utf-8") as file,
    ):
        table = TableWriter(file)
        table.row(columns)
        table.rows(["" if v is None else v for v in row] for row in typed)
    by_column = list(zip(*typed, strict=True)) or [()] * len(columns)
    arrays = [
        pa.array(values, _TYPES[kind])
        for values, kind in zip(by_column, columns.values(), strict=True)
    ]
    with whole_file(path.with_suffix(".parquet")) as partial:
        parquet.write_table(pa.table(arrays, names=list(columns)), partial, compression="zstd")


def _typed(value: Any, kind: str) -> Any:
    return None if value is None else _PYTHON[kind](value)
