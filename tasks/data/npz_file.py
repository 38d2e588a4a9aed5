"""NumPy's npz files from anywhere: nothing is unpickled, and nothing is larger than it may be."""

import zlib
from lzma import LZMAError
from pathlib import Path
from tokenize import TokenError
from zipfile import BadZipFile

import numpy as np
from numpy.lib.npyio import NpzFile

_MOST = 2**34
"""Bytes of all arrays together."""
DAMAGED = (
    ValueError, OverflowError, EOFError, OSError, KeyError, BadZipFile, zlib.error, LZMAError,
    TokenError, RuntimeError,
)  # fmt: skip
"""What is raised for a file of this or another format that is damaged, encrypted or none."""


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
