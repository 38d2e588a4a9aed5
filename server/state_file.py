"""Arrays and JSON as the bytes of a safetensors file, with a checksum of all of them.

The header says of every array its dtype and shape, and has in its metadata the JSON, the names of
arrays that are not finite, and the CRC-32 of the file, computed with zeros in its own place. That
shows damage, not malice.
"""

import json
import re
from collections.abc import Mapping
from math import isfinite
from typing import Any
from zlib import crc32

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

_CHECKSUM = re.compile(rb'"crc32":"([0-9a-f]{8})"')
_NO_CHECKSUM = b"00000000"


def sealed(arrays: Mapping[str, Any], about: Any) -> tuple[bytes | memoryview, ...]:
    """The content of a file that holds both, in pieces, since it may be large."""
    with np.errstate(over="ignore", invalid="ignore"):
        infinite = [name for name, array in arrays.items() if not _finite(array)]
    said = {"tagma": json.dumps(about), "infinite": json.dumps(infinite)}
    metadata = {**said, "crc32": _NO_CHECKSUM.decode()}
    content = save({n: np.asarray(a, order="C") for n, a in arrays.items()}, metadata=metadata)
    start, end = _place(content)
    return content[:start], b"%08x" % crc32(content), memoryview(content)[end:]


def unsealed(content: bytes) -> tuple[dict[str, Any], Any]:
    """What was sealed; a `ValueError` if a byte of it has changed, or if it is something else.

    An array that is not finite now and was then is something else.
    """
    start, end = _place(content)
    blank = crc32(content[end:], crc32(_NO_CHECKSUM, crc32(content[:start])))
    if b"%08x" % blank != content[start:end]:
        raise ValueError("its checksum is wrong")
    try:
        arrays = load(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        said = header["__metadata__"]
        infinite = json.loads(said["infinite"])
        with np.errstate(over="ignore", invalid="ignore"):
            strange = [n for n, a in arrays.items() if n not in infinite and not _finite(a)]
        if strange:
            raise ValueError(f"{strange[0]} is not finite")
        return arrays, json.loads(said["tagma"])
    except (SafetensorError, KeyError, TypeError, RecursionError) as problem:
        raise ValueError(f"it is malformed: {problem}") from None


def _finite(array: np.ndarray) -> bool:
    """Whether all entries are; one pass where none is very large."""
    return (
        array.dtype.kind != "f" or isfinite(np.vdot(array, array)) or bool(np.isfinite(array).all())
    )


def _place(content: bytes) -> tuple[int, int]:
    """Where the checksum is; no other string looks like it, as they escape their quotes."""
    found = _CHECKSUM.search(content)
    if found is None:
        raise ValueError("it has no checksum")
    return found.span(1)
