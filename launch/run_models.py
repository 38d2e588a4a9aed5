"""The models of a finished run, from models.safetensors."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load

from tagma.arrays import Array
from tagma.errors import TagmaError
from tagma.foreign_file import read_arrays
from tagma.layout import Layout
from tagma.server.results.run_folder import MODELS

_DAMAGED = (
    OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError,
    SafetensorError,
)  # fmt: skip
_HEADER = 8
"""Bytes that say how long the header is."""


@dataclass(frozen=True, eq=False)
class RunModels:
    """One model for each cluster, in rows and by the names of its arrays."""

    file: Path
    vectors: Array
    """Shape (K, d)."""
    centres: Array | None
    """Of stage II, shape (K, d), where there was one."""
    named: tuple[Mapping[str, NDArray[Any]], ...]
    of_torch: bool
    """Whether the names are those of a torch module."""

    def __len__(self) -> int:
        return len(self.vectors)

    def chosen(self, cluster: int | None) -> int:
        """The number of a cluster that is there; the only one, where none is named."""
        count = len(self)
        if cluster is None and count == 1:
            return 0
        clusters = "0" if count == 1 else f"0 to {count - 1}"
        if cluster is None:
            raise TagmaError(
                f"cluster: name one of {clusters}, or give targets, by which it is chosen"
            )
        if isinstance(cluster, bool) or not isinstance(cluster, int | np.integer):
            raise TagmaError(f"cluster={cluster!r}: must be a number, {clusters}")
        if not 0 <= cluster < count:
            raise TagmaError(f"cluster={cluster}: there is no such cluster; there are {clusters}")
        return int(cluster)

    def fitting(self, layout: Layout) -> None:
        """An error unless these are models of that layout."""
        if self.vectors.shape[1] != layout.size:
            raise TagmaError(
                f"{self.file}: its models have {self.vectors.shape[1]} numbers, those of the "
                f"folder's settings {layout.size}"
            )

    def model(self, cluster: int, layout: Layout) -> tuple[Array, dict[str, NDArray[Any]]]:
        """The vector and the buffers of a model."""
        try:
            own = {part.name: self.named[cluster][part.name] for part in layout.buffers}
        except KeyError as missing:
            raise TagmaError(f"{self.file}: model {cluster} lacks {missing}") from None
        return self.vectors[cluster], own


def read_models(folder: Path) -> RunModels:
    """Those of a run folder; a file that is something else is one line of error."""
    path = folder / MODELS
    try:
        content = read_arrays(path)
        tensors = load(content)
        vectors, centres = tensors["models"], tensors.get("centres")
        for matrix in (vectors, *(() if centres is None else (centres,))):
            if matrix.ndim != 2 or matrix.dtype.kind != "f" or matrix.shape != vectors.shape:
                raise ValueError("its models are no matrix of numbers")
        if not vectors.size or not np.isfinite(vectors).all():
            raise ValueError("it has no models, or one that is not finite")
        return RunModels(path, vectors, centres, _named(tensors, len(vectors)), _of_torch(content))
    except _DAMAGED as problem:
        raise TagmaError(f"{path}: cannot be read ({problem})") from None


def _named(tensors: Mapping[str, NDArray[Any]], count: int) -> tuple[dict[str, NDArray[Any]], ...]:
    """The arrays `k/NAME` of every model k."""
    found: tuple[dict[str, NDArray[Any]], ...] = tuple({} for _ in range(count))
    for key, array in tensors.items():
        number, slash, name = key.partition("/")
        if slash and number.isdecimal() and int(number) < count:
            found[int(number)][name] = array
    if not all(found):
        raise ValueError("a model has no arrays by name")
    return found


def _of_torch(content: bytes) -> bool:
    size = int.from_bytes(content[:_HEADER], "little")
    header = json.loads(content[_HEADER : _HEADER + size])
    return (header.get("__metadata__") or {}).get("format") == "pt"
