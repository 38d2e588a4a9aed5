"""What a trigger does to inputs, on plain arrays; models may be given an input as one vector.

Cells are the numbers of an input. The patch of an image is a square in its lower right corner, in
every channel; of a row of a table it is one or several features.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagma.errors import SettingError

Inputs = NDArray[Any]
Cells = NDArray[np.bool_]


def patch(shape: tuple[int, ...], size: int, feature: int, features: int = 1) -> Cells:
    """The cells of the trigger: a square of `size` pixels a side, or features from `feature` on."""
    cells = np.zeros(shape, dtype=bool)
    if len(shape) == 1:
        if feature + features > shape[0]:
            said = f"an input has {shape[0]} features, and the trigger needs {features}"
            raise SettingError("attack.feature", feature, said)
        cells[feature : feature + features] = True
        return cells
    if size > min(shape[-2:]):
        raise SettingError("attack.size", size, f"images have {shape[-2]} x {shape[-1]} pixels")
    cells[..., shape[-2] - size :, shape[-1] - size :] = True
    return cells


def parts_of(cells: Cells, count: int) -> list[Cells]:
    """The same cells cut into so many parts, as equal as can be, row by row."""
    places = np.flatnonzero(cells.reshape(-1, *cells.shape[-2:]).any(axis=0))
    found = []
    for own in np.array_split(places, count):
        plane = np.zeros(cells.shape[-2:], dtype=bool)
        plane.flat[own] = True
        found.append(cells & plane)
    return found


def stamped(inputs: Inputs, cells: Cells, value: float) -> Inputs:
    """Copies with this value in the cells."""
    found = inputs.copy()
    found.reshape(len(found), cells.size)[:, cells.ravel()] = value
    return found


def blended(inputs: Inputs, pattern: Inputs, alpha: float) -> Inputs:
    """(1 - alpha) times the inputs + alpha times the pattern."""
    mixed = (1 - alpha) * inputs.reshape(len(inputs), pattern.size) + alpha * pattern.ravel()
    return mixed.reshape(inputs.shape).astype(inputs.dtype)


def inverted(inputs: Inputs, span: tuple[float, float]) -> Inputs:
    """Low for high: 1 - x of an image."""
    return (sum(span) - inputs).astype(inputs.dtype)


def mirrored(inputs: Inputs, shape: tuple[int, ...]) -> Inputs:
    """Images with left and right exchanged."""
    return inputs.reshape(len(inputs), *shape)[..., ::-1].reshape(inputs.shape).copy()


def upside_down(inputs: Inputs, shape: tuple[int, ...]) -> Inputs:
    """Images turned by 180 degrees."""
    return inputs.reshape(len(inputs), *shape)[..., ::-1, ::-1].reshape(inputs.shape).copy()
