"""Tables: csv, parquet, npz or svmlight files, with columns of numbers and of text.

- csv and parquet: columns by their names. A csv may be compressed (`.csv.gz`).
- npz: a matrix `inputs` (or `X`), the column `targets` (or `y`), and any other array of as many
  entries as a column.
- anything else is read as svmlight text, also compressed (`.gz`, `.bz2`): numbered features, the
  column `label`, and the queries, if there are some, as the column `qid`.

Nothing is unpickled; nothing is guessed: an empty cell, text where numbers are needed and a number
that is not finite are errors that say where, in columns that are used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv, parquet
from scipy.sparse import csr_array
from sklearn.datasets import load_svmlight_file

from tagma.errors import SettingError
from tagma.kept import kept
from tagma.tasks.data.data_file import check_file, check_size, opened
from tagma.tasks.data.examples import LARGEST
from tagma.tasks.data.npz_file import DAMAGED, open_npz

KEY = "task.data"
_CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
_FEW = 8
_ENTRY = 8
"""Bytes of a number."""


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of one length, and maybe a matrix whose columns have no names of their own."""

    columns: Mapping[str, NDArray[Any]]
    matrix: NDArray[Any] | None = None
    target: str | None = None
    """The column to be predicted, where the file says which."""
    sparse: bool = False
    """Whether the matrix may lack columns at its end that are 0."""

    def names(self) -> str:
        """The first columns, for messages."""
        shown = ", ".join(list(self.columns)[:_FEW])
        return shown + (", ..." if len(self.columns) > _FEW else "")

    def column(self, name: str, key: str) -> NDArray[Any]:
        """A column that a setting names, without gaps."""
        if name not in self.columns:
            raise SettingError(key, name, f"there is no such column; there are {self.names()}")
        values = self.columns[name]
        missing = values == "" if values.dtype.kind == "U" else ~np.isfinite(values)
        if missing.any():
            row, more = int(missing.argmax()) + 1, int(missing.sum()) - 1
            also = f" and {more} more" if more else ""
            said = f"is empty or not finite in row {row}{also}; fill or drop such rows"
            raise SettingError(key, name, said)
        if values.dtype.kind == "f" and (too_large := np.abs(values) > LARGEST).any():
            row = int(too_large.argmax())
            said = f"holds {values[row]:g} in row {row + 1}, too large to compute with; rescale it"
            raise SettingError(key, name, said)
        return values

    def feature_names(
        self, names: Sequence[str] | None, without: Sequence[str]
    ) -> Sequence[str] | None:
        """The columns that are features: all but those `without`, if none are named.

        None for a matrix, whose columns have no names.
        """
        if names is None and self.matrix is None:
            return [name for name in self.columns if name not in without]
        return names

    def features(
        self, names: Sequence[str] | None, without: Sequence[str], width: int | None = None
    ) -> NDArray[Any]:
        """Some columns as a matrix (N, d); all but those `without`, if none are named.

        A sparse matrix gets the columns that it lacks for a `width`.
        """
        chosen = self.feature_names(names, without)
        if chosen is None:
            assert self.matrix is not None
            missing = (width or 0) - self.matrix.shape[1]
            if self.sparse and missing > 0:
                return np.pad(self.matrix, ((0, 0), (0, missing)))
            return self.matrix
        if not chosen:
            raise SettingError("task.features", names, f"there is none; there are {self.names()}")
        found = []
        for name in chosen:
            values = self.column(name, "task.features")
            if values.dtype.kind not in "fiub":
                raise SettingError(
                    "task.features", name,
                    f"holds text, such as {str(values[0])[:30]!r}; make it numbers, or name the "
                    "columns to be used: task.features=[...]",
                )  # fmt: skip
            found.append(values)
        return np.column_stack(found).astype(np.float64, copy=False)


@kept(maxsize=4)
def read_table(data: str) -> Table:
    """The table that `task.data` names, read once."""
    return table_of(data)


def table_of(data: str) -> Table:
    """The table in a file."""
    path = Path(data).expanduser()
    if not path.is_file():
        raise SettingError(KEY, data, "there is no such file")
    name = path.name.lower()
    try:
        check_file(path)
        if name.endswith(_CSV):
            table = from_arrow(_csv(path))
        elif name.endswith((".parquet", ".pq")):
            table = from_arrow(_parquet(path))
        elif name.endswith(".npz"):
            table = _npz(path)
        elif name.endswith((".npy", ".pkl", ".pickle", ".xlsx", ".json", ".feather")):
            raise ValueError("must be csv, parquet, npz or svmlight")
        else:
            table = _svmlight(path)
    except MemoryError as error:
        raise SettingError(KEY, data, f"does not fit into memory ({error})") from None
    except (*DAMAGED, pa.ArrowException) as error:
        reason = " ".join(str(error).split())
        raise SettingError(KEY, data, f"cannot be read as a table: {reason}") from None
    _check(data, table)
    return table


def _check(data: str, table: Table) -> None:
    lengths = {len(values) for values in table.columns.values()}
    if lengths in (set(), {0}):
        raise SettingError(KEY, data, "has no rows")
    if table.matrix is not None and (bad := ~(np.abs(table.matrix) <= LARGEST)).any():
        row = int(bad.any(axis=1).argmax()) + 1
        raise SettingError(
            KEY, data, f"has an input that is not finite, or too large, in row {row}"
        )


def _csv(path: Path) -> pa.Table:
    tabs = ".tsv" in path.name.lower()
    source = opened(path) if path.suffix.lower() == ".gz" else path
    return csv.read_csv(
        source,
        read_options=csv.ReadOptions(use_threads=False),
        parse_options=csv.ParseOptions(delimiter="\t" if tabs else ","),
        convert_options=csv.ConvertOptions(strings_can_be_null=True),
    )


def _parquet(path: Path) -> pa.Table:
    """A few bytes of it can stand for many rows, and a few entries for long texts."""
    file = parquet.ParquetFile(path)
    check_size(file.metadata.num_rows * file.metadata.num_columns * _ENTRY)
    texts = [field.name for field in file.schema_arrow if pa.types.is_string(field.type)]
    return parquet.read_table(path, read_dictionary=texts)


def from_arrow(table: pa.Table) -> Table:
    """The columns of an Arrow table."""
    if len(set(table.column_names)) < len(table.column_names):
        raise ValueError("two columns have one name")
    return Table({name: _column(table[name]) for name in table.column_names})


def _column(column: pa.ChunkedArray) -> NDArray[Any]:
    """Numbers, nan where there is none, or text, empty where there is none."""
    kind = column.type
    if pa.types.is_boolean(kind):
        column, kind = column.cast(pa.int8()), pa.int8()
    if any(is_kind(kind) for is_kind in _NUMBERS):
        return column.cast(pa.float64()).to_numpy()
    if pa.types.is_nested(kind):
        raise ValueError(f"a column holds {kind}, neither numbers nor text")
    return _texts(column)


def _texts(column: pa.ChunkedArray) -> NDArray[Any]:
    """Text, empty where there is none; each different one is made once."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    entries = column.unify_dictionaries().combine_chunks()
    texts = ["" if value is None else str(value) for value in entries.dictionary.to_pylist()]
    check_size(4 * max(map(len, texts), default=0) * (len(texts) + len(entries)))
    numbers = entries.indices.cast(pa.int64()).fill_null(len(texts))
    return np.array([*texts, ""])[numbers.to_numpy(zero_copy_only=False)]


def _npz(path: Path) -> Table:
    with open_npz(path) as file:
        arrays = {name: file[name] for name in file.files}
    inputs = next((name for name in ("inputs", "X", "x") if name in arrays), None)
    target = next((name for name in ("targets", "y", "Y", "labels") if name in arrays), None)
    matrix = None
    if inputs is not None:
        matrix = arrays.pop(inputs)
        if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
            raise ValueError(
                f"{inputs} must be a matrix of numbers, not {matrix.shape} {matrix.dtype}"
            )
        matrix = matrix if matrix.dtype.kind == "f" else matrix.astype(np.float64)
    columns = {}
    for name, values in arrays.items():
        if values.ndim != 1 or (matrix is not None and len(values) != len(matrix)):
            raise ValueError(
                f"{name} must have one entry for every row, and has shape {values.shape}"
            )
        if values.dtype.kind in "fiub":
            columns[name] = values.astype(np.float64)
        elif values.dtype.kind == "U":
            columns[name] = values
        else:
            raise ValueError(f"{name} holds {values.dtype}, neither numbers nor text")
    if len({len(values) for values in columns.values()}) > 1:
        raise ValueError("its arrays have different lengths")
    return Table(columns, matrix, target)


def _svmlight(path: Path) -> Table:
    sparse: csr_array
    with opened(path) as file:
        sparse, labels, queries = load_svmlight_file(file, dtype=np.float32, query_id=True)
    rows, features = sparse.shape
    check_size(4 * rows * features, f"{rows} rows of {features} features")
    columns = {"label": labels.astype(np.float64)}
    if len(queries) == len(labels):
        columns["qid"] = queries.astype(np.float64)
    return Table(columns, sparse.toarray(), "label", sparse=True)
