"""NumPy's npz files from anywhere: nothing is unpickled, and nothing is larger than it may be."""

from pathlib import Path

import numpy as np
from numpy.lib.npyio import NpzFile

_MOST = 2**34
"""Bytes of all arrays together."""


def open_npz(path: Path) -> NpzFile:
    """The file, whose arrays are read when they are asked for."""
    file = np.load(path, allow_pickle=False)
    if not isinstance(file, NpzFile):
        raise ValueError(
            "holds a single array; save it with np.savez(..., inputs=..., targets=...)"
        )
    if file.zip is None or sum(part.file_size for part in file.zip.infolist()) > _MOST:
        raise ValueError("is too large")
    return file
