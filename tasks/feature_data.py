"""Feature matrices: scikit-learn's digits, or a file of the user's.

- `digits`: 1797 images of 8 x 8 pixels, in scikit-learn's package; intensities from 0 to 1.
- `*.npz`: NumPy's format; the array `X`, or the only one with two dimensions.
- any other file: svmlight/libsvm text, such as the ranking sets of Yahoo, MSLR and LETOR; also
  compressed (`.gz`, `.bz2`). Labels and query numbers are ignored. Features that no line mentions
  are left out, so that a set which uses 595 of 700 numbers has 595 columns. Single precision.

A file is read once in a process. An svmlight file of N lines with z entries needs about 8 z bytes
for them beside the matrix of 4 N d bytes. Nothing is unpickled.
"""

from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, load_svmlight_file

from tagma.errors import SettingError
from tagma.kept import kept
from tagma.tasks.data.data_file import check_size, opened
from tagma.tasks.data.npz_file import DAMAGED, open_npz
from tagma.tasks.pairwise_distances import Features

Scaling = Literal["none", "standard", "unit"]

_KEY = "task.data"
_ROWS, _ENTRIES = 4096, 2**22
"""Rows that are checked or scaled at once; entries that are renumbered at once."""


@kept(maxsize=2)
def load_features(data: str, scaling: Scaling = "none") -> Features:
    """The feature matrix that `data` names, scaled and read-only.

    `standard`: every feature has mean 0 and variance 1. `unit`: every feature reaches from 0 to 1.
    A constant feature becomes 0 in both.
    """
    features = _digits() if data == "digits" else _read(data)
    points, columns = features.shape
    if points < 2 or columns < 1:
        raise SettingError(_KEY, data, f"has {points} points with {columns} features; too few")
    for start in range(0, points, _ROWS):
        bad = ~np.isfinite(features[start : start + _ROWS]).all(axis=1)
        if bad.any():
            row = start + int(bad.argmax()) + 1
            raise SettingError(_KEY, data, f"has an entry that is not finite, in row {row}")
    _scale(features, scaling)
    features.setflags(write=False)
    return features


def _digits() -> Features:
    return load_digits().data / 16.0


def _read(data: str) -> Features:
    path = Path(data).expanduser()
    if not path.is_file():
        raise SettingError(_KEY, data, "there is no such file; or use digits")
    if path.suffix in (".csv", ".npy", ".parquet", ".pkl"):
        raise SettingError(_KEY, data, "must be an npz or an svmlight file")
    try:
        return _npz(path) if path.suffix == ".npz" else _svmlight(path)
    except MemoryError as error:
        raise SettingError(_KEY, data, f"does not fit into memory ({error})") from None
    except DAMAGED as error:
        kind = "npz" if path.suffix == ".npz" else "svmlight"
        reason = " ".join(str(error).split())
        raise SettingError(_KEY, data, f"cannot be read as {kind}: {reason}") from None


def _npz(path: Path) -> Features:
    with open_npz(path) as file:
        names = ["X"] if "X" in file.files else file.files
        found: list[np.ndarray[Any, Any]] = [file[name] for name in names]
    matrices = [array for array in found if array.ndim == 2]
    if len(matrices) != 1:
        raise ValueError(f"needs a matrix X or a single one, has {', '.join(names) or 'nothing'}")
    matrix = matrices[0]
    if matrix.dtype.kind not in "fiub":
        raise ValueError(f"its matrix holds {matrix.dtype}, not real numbers")
    precision = np.float32 if np.can_cast(matrix.dtype, np.float32) else np.float64
    return matrix.astype(precision)


def _svmlight(path: Path) -> Features:
    with opened(path) as file:
        sparse: csr_array = load_svmlight_file(file, dtype=np.float32)[0]
    columns = sparse.indices
    used = np.unique(columns)
    for start in range(0, len(columns), _ENTRIES):
        part = slice(start, start + _ENTRIES)
        columns[part] = np.searchsorted(used, columns[part])
    shape = (sparse.shape[0], len(used))
    check_size(4 * shape[0] * shape[1], f"{shape[0]} points with {shape[1]} features")
    return csr_array((sparse.data, columns, sparse.indptr), shape=shape).toarray()


def _scale(features: Features, scaling: Scaling) -> None:
    """In place, by runs of rows, with sums in double precision."""
    if scaling == "none":
        return
    origin, width, constant = _measured(features, scaling)
    parts = [features[start : start + _ROWS] for start in range(0, len(features), _ROWS)]
    for part in parts:
        part[:] = (part - origin) / width
        part[:, constant] = 0.0


def scaled_alike(data: str, scaling: Scaling, points: Features) -> Features:
    """Other points, scaled as those that `data` names are."""
    if scaling == "none":
        return points
    own = _digits() if data == "digits" else _read(data)
    origin, width, constant = _measured(own, scaling)
    found = (points - origin) / width
    found[:, constant] = 0.0
    return found


def _measured(features: Features, scaling: Scaling) -> tuple[Features, Features, Features]:
    """What is subtracted from every feature, and what it is divided by; and which are constant."""
    parts = [features[start : start + _ROWS] for start in range(0, len(features), _ROWS)]
    if scaling == "standard":
        origin = features.mean(axis=0, dtype=np.float64)
        squares = sum(((part - origin) ** 2).sum(axis=0) for part in parts)
        width = np.sqrt(squares / len(features))
    else:
        origin = features.min(axis=0).astype(np.float64)
        width = features.max(axis=0) - origin
    # Rounding leaves a constant feature a width of some units in its last place.
    constant = features.min(axis=0) == features.max(axis=0)
    width[constant] = 1.0
    return origin, width, constant
