"""NumPy's npz files from anywhere: nothing is unpickled, and nothing is larger than it may be."""

import zlib
from lzma import LZMAError
from pathlib import Path
from tokenize import TokenError
from zipfile import BadZipFile

import numpy as np
from numpy.lib.npyio import NpzFile

from tagma.tasks.data.data_file import check_file, check_size

DAMAGED = (
    ValueError, OverflowError, EOFError, OSError, KeyError, BadZipFile, zlib.error, LZMAError,
    TokenError, RuntimeError,
)  # fmt: skip
"""What is raised for a file of this or another format that is damaged, encrypted or none."""

_ARCHIVE, _ARRAY = b"PK", b"\x93NUMPY"
"""How npz and npy files begin; NumPy would take any other for a pickle, and say so."""


def open_npz(path: Path) -> NpzFile:
    """The file, whose arrays are read when they are asked for."""
    check_file(path)
    with path.open("rb") as start:
        if not start.read(len(_ARRAY)).startswith((_ARCHIVE, _ARRAY)):
            raise ValueError("it is no npz file")
    file = np.load(path, allow_pickle=False)
    if not isinstance(file, NpzFile):
        raise ValueError(
            "holds a single array; save it with np.savez(..., inputs=..., targets=...)"
        )
    assert file.zip is not None
    check_size(sum(part.file_size for part in file.zip.infolist()))
    return file
