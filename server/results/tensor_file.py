"""Files in the format of safetensors, written array by array: nothing is held twice.

The package's own `save` makes bytes of all arrays, and then of the file. What it writes for real
numbers this writes, byte for byte.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_KINDS = {"f": "F", "i": "I", "u": "U"}
_ALIGNED = 8


def write_tensors(
    path: Path, tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]
) -> None:
    """Write named arrays of real numbers or truth values, those with the longest entries first."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    end = 0
    ordered = sorted(tensors.items(), key=lambda named: (-named[1].itemsize, named[0]))
    for name, array in ordered:
        start, end = end, end + array.nbytes
        header[name] = {
            "dtype": _name(array.dtype), "shape": list(array.shape), "data_offsets": [start, end],
        }  # fmt: skip
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % _ALIGNED)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, array in ordered:
            flat = np.asarray(array, array.dtype.newbyteorder("<"), order="C").reshape(-1)
            file.write(flat.view(np.uint8).data)


def _name(dtype: np.dtype[Any]) -> str:
    return "BOOL" if dtype.kind == "b" else f"{_KINDS[dtype.kind]}{8 * dtype.itemsize}"
