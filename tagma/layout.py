"""How the named arrays of a model are one vector, and how they come back.

The vector holds the parameters: every floating array, in the order of the names. Buffers, such as
the running statistics of a batch normalisation, are no parameters: they travel beside the vector
and never enter a distance. Integer arrays are always buffers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagma.arrays import Array

Named = Mapping[str, NDArray[Any]]
"""Arrays by name, as a torch module's state_dict has them."""

_STATISTICS = ("running_mean", "running_var")
"""How torch names the floating buffers of its normalisations."""


@dataclass(frozen=True)
class Part:
    """One array of a model."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    """NumPy's name for it, such as "float32"."""
    buffer: bool

    @property
    def size(self) -> int:
        """The number of its entries."""
        return prod(self.shape)


@dataclass(frozen=True)
class Layout:
    """The arrays of a model, in their order."""

    parts: tuple[Part, ...]

    @classmethod
    def of(cls, named: Named, buffers: Sequence[str] = ()) -> "Layout":
        """The layout of a model; `buffers` names floating arrays that are no parameters."""
        parts = []
        for name, array in named.items():
            still = array.dtype.kind != "f" or name in buffers or name.endswith(_STATISTICS)
            parts.append(Part(name, array.shape, array.dtype.name, still))
        if all(part.buffer for part in parts):
            raise ValueError("the model has no floating array that could be trained")
        return cls(tuple(parts))

    @cached_property
    def parameters(self) -> tuple[Part, ...]:
        """The parts of the vector."""
        return tuple(part for part in self.parts if not part.buffer)

    @cached_property
    def buffers(self) -> tuple[Part, ...]:
        """The other parts."""
        return tuple(part for part in self.parts if part.buffer)

    @cached_property
    def size(self) -> int:
        """The length d of the vector."""
        return sum(self.sizes)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The lengths of the arrays of which the vector is made."""
        return tuple(part.size for part in self.parameters)

    @cached_property
    def nbytes(self) -> int:
        """The bytes of all parts."""
        return sum(part.size * np.dtype(part.dtype).itemsize for part in self.parts)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """That of the vector: float32 if all parameters are, so that nothing is widened.

        Half precision is too little for distances: it is widened, and narrowed when it is sent.
        """
        return np.result_type(np.float32, *(np.dtype(part.dtype) for part in self.parameters))

    def vector(self, named: Named) -> Array:
        """The parameters as one vector."""
        return np.concatenate(
            [np.asarray(named[part.name], self.dtype).ravel() for part in self.parameters]
        )

    def named(self, vector: Array, buffers: Named | None = None) -> dict[str, NDArray[Any]]:
        """The arrays of a vector, and the buffers, by their names and in their order."""
        if len(self.parts) == 1:
            only = self.parts[0]
            return {only.name: vector.reshape(only.shape)}
        pieces = dict(zip([p.name for p in self.parameters], self.split(vector), strict=True))
        return {
            part.name: (buffers or {})[part.name] if part.buffer else pieces[part.name]
            for part in self.parts
        }

    def check_buffers(self, named: Named) -> None:
        """A `ValueError` unless these are all buffers of the model, as they should be."""
        found = {name: (array.shape, array.dtype.name) for name, array in named.items()}
        if found != {part.name: (part.shape, part.dtype) for part in self.buffers}:
            raise ValueError("its buffers are another model's")

    def split(self, vector: Array) -> list[NDArray[Any]]:
        """The parameters of a vector, each in its shape and precision, without copying."""
        ends = np.cumsum([part.size for part in self.parameters])[:-1]
        return [
            piece.reshape(part.shape).astype(part.dtype, copy=False)
            for piece, part in zip(np.split(vector, ends), self.parameters, strict=True)
        ]
