"""Arrays and JSON as the bytes of a safetensors file, with a checksum of all of them.

The JSON is in the metadata of the file's header, and so is the CRC-32 of the file, computed with
zeros in its own place. It shows damage, not malice.
"""

import json
import re
from collections.abc import Mapping
from typing import Any
from zlib import crc32

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

_CHECKSUM = re.compile(rb'"crc32":"([0-9a-f]{8})"')
_NO_CHECKSUM = "00000000"


def sealed(arrays: Mapping[str, Any], about: Any) -> bytes:
    """The content of a file that holds both."""
    metadata = {"tagma": json.dumps(about), "crc32": _NO_CHECKSUM}
    content = save({n: np.asarray(a, order="C") for n, a in arrays.items()}, metadata=metadata)
    return _with_checksum(content, f"{crc32(content):08x}")


def unsealed(content: bytes) -> tuple[dict[str, Any], Any]:
    """What was sealed; a `ValueError` if a byte of it has changed, or if it is something else."""
    checksum = _CHECKSUM.search(content)
    if not checksum or int(checksum[1], 16) != crc32(_with_checksum(content, _NO_CHECKSUM)):
        raise ValueError("its checksum is wrong")
    try:
        arrays = load(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        return arrays, json.loads(header["__metadata__"]["tagma"])
    except (SafetensorError, KeyError, TypeError, RecursionError) as problem:
        raise ValueError(f"it is malformed: {problem}") from None


def _with_checksum(content: bytes, checksum: str) -> bytes:
    """The header comes first, and so does the checksum in it: strings escape their quotes."""
    return _CHECKSUM.sub(f'"crc32":"{checksum}"'.encode(), content, count=1)
