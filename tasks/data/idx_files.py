"""IDX files, as MNIST and Fashion-MNIST come in: whole, or compressed with gzip."""

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagma.tasks.data.data_file import check_size, opened

_KINDS = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
_PARTS = {"train": ("train-images", "train-labels"), "test": ("t10k-images", "t10k-labels")}


def is_idx_folder(folder: Path) -> bool:
    """Whether the files of a training set are there."""
    return all(_find(folder, start) for start in _PARTS["train"])


def read_idx_folder(folder: Path) -> dict[str, tuple[NDArray[Any], NDArray[Any]]]:
    """Images and labels of the parts `train` and, where there is one, `test`."""
    found = {}
    for part, starts in _PARTS.items():
        files = [_find(folder, start) for start in starts]
        if all(files):
            images, labels = (read_idx(file) for file in files if file)
            if images.ndim not in (3, 4) or labels.shape != images.shape[:1]:
                raise ValueError(f"{part}: {len(images)} images and {labels.shape} labels")
            found[part] = images, labels
    return found


def read_idx(file: Path) -> NDArray[Any]:
    """One array; no more is read than its header says."""
    with opened(file) as source:
        header = source.read(4)
        if len(header) < 4 or header[:2] != b"\0\0" or header[2] not in _KINDS:
            raise ValueError(f"{file.name} is not an IDX file")
        kind, dimensions = header[2:]
        shape = tuple(np.frombuffer(source.read(4 * dimensions), ">u4").tolist())
        size = prod(shape) * np.dtype(_KINDS[kind]).itemsize
        if len(shape) != dimensions or not shape:
            raise ValueError(f"{file.name} has no size that can be read")
        check_size(size)
        content = source.read(size)
        if len(content) != size or source.read(1):
            raise ValueError(f"{file.name} does not have the {shape} numbers that it announces")
    found = np.frombuffer(content, _KINDS[kind]).reshape(shape)
    return found.astype(found.dtype.newbyteorder("="), copy=False)


def _find(folder: Path, start: str) -> Path | None:
    return next((file for file in sorted(folder.glob(f"{start}*")) if file.is_file()), None)
