"""Examples of somebody who was not in a run, from the sources that `table` and `images` read.

Targets may be missing. Nothing is kept: a file may be another one the next time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagma.errors import SettingError, TagmaError
from tagma.tasks.data.image_files import channels_first, images_of
from tagma.tasks.data.npz_file import DAMAGED, open_npz
from tagma.tasks.data.preparation import Preparation
from tagma.tasks.data.table_source import Table, table_of

_TARGETS = ("targets", "target", "y", "Y", "label", "labels")
_INPUTS = ("inputs", "X", "x")


@dataclass(frozen=True, eq=False)
class RawExamples:
    """As they came: inputs of any shape each, and labels or numbers where there are some."""

    inputs: NDArray[Any]
    targets: NDArray[Any] | None


def read_examples(given: Any, preparation: Preparation | None) -> RawExamples:
    """From a path, a data frame or a mapping of columns, or an array of inputs.

    A mapping or an npz file with `inputs` (and `targets`) holds arrays of any shape.
    """
    name = str(given) if isinstance(given, str | Path) else "data"
    try:
        found = _read(given, preparation)
        if preparation is not None and len(preparation.shape) == 3:
            found = replace(found, inputs=channels_first(found.inputs))
    except SettingError as error:
        told = error.allowed if error.key == "task.data" else f"{error.value}: {error.allowed}"
        raise TagmaError(f"{name}: {told}") from None
    except (ValueError, TypeError) as error:
        raise TagmaError(f"{name}: {' '.join(str(error).split())}") from None
    check_examples(name, found)
    return found


def _read(given: Any, preparation: Preparation | None) -> RawExamples:
    images = preparation is not None and len(preparation.shape) == 3
    if isinstance(given, str | Path):
        text = str(given)
        if images:
            return RawExamples(*images_of(text))
        if (
            text.lower().endswith(".npz")
            and (arrays := _arrays_of(Path(text), preparation)) is not None
        ):
            return arrays
        if text.lower().endswith(".npy"):
            raise ValueError("is a single array; save it with np.savez(..., inputs=...)")
        return _of_table(table_of(text), preparation)
    if hasattr(given, "columns") and hasattr(given, "to_numpy"):  # a data frame
        given = {str(name): given[name].to_numpy() for name in given.columns}
    if isinstance(given, Mapping):
        inputs = next((given[name] for name in _INPUTS if name in given), None)
        if inputs is not None and np.ndim(inputs) != 1:
            targets = next((given[name] for name in _TARGETS if name in given), None)
            return RawExamples(as_array(inputs), None if targets is None else as_array(targets))
        columns = {str(name): _column(values) for name, values in given.items()}
        return _of_table(Table(columns), preparation)
    return RawExamples(as_array(given), None)


def as_array(values: Any) -> NDArray[Any]:
    """What NumPy, torch, pandas or lists hold."""
    if hasattr(values, "detach"):  # a tensor of torch
        values = values.detach().cpu()
    return np.asarray(values)


def _column(values: Any) -> NDArray[Any]:
    """Numbers, or text; None is nothing."""
    found = as_array(values)
    if found.dtype.kind in "biuf":
        return found.astype(np.float64)
    return np.array(["" if one is None or one != one else str(one) for one in found.tolist()])


def _arrays_of(path: Path, preparation: Preparation | None) -> RawExamples | None:
    """The arrays of an npz file with `inputs`, of any shape; None: it holds columns."""
    by_name = None if preparation is None else preparation.features
    target = None if preparation is None else preparation.target
    try:
        with open_npz(path.expanduser()) as file:
            inputs = next((name for name in _INPUTS if name in file.files), None)
            if inputs is None or by_name is not None:
                if preparation is None:
                    raise ValueError("it has no inputs")
                return None
            names = _TARGETS if target is None else (target,)
            found = next((name for name in names if name in file.files), None)
            return RawExamples(file[inputs], None if found is None else file[found])
    except DAMAGED as problem:
        raise ValueError(f"cannot be read as examples ({problem})") from None


def _of_table(table: Table, preparation: Preparation | None) -> RawExamples:
    names = None if preparation is None else preparation.features
    target = table.target or next((name for name in _TARGETS if name in table.columns), None)
    if preparation is not None and preparation.target is not None:
        target = preparation.target if preparation.target in table.columns else None
    if names is not None and table.matrix is not None:
        raise ValueError(f"holds a matrix, and needs columns: {', '.join(names[:8])}")
    targets = None if target is None else table.column(target, "target")
    width = None if preparation is None else preparation.shape[0]
    inputs = table.features(names, (target,) if target else (), width)
    return RawExamples(inputs, targets)


def check_examples(name: str, found: RawExamples) -> None:
    """An error of one line unless they are n finite inputs, with a target each or none."""
    inputs, targets = found.inputs, found.targets
    if inputs.dtype.kind not in "biuf":
        raise TagmaError(f"{name}: inputs must be real numbers, not {inputs.dtype}")
    if inputs.ndim < 2:
        raise TagmaError(f"{name}: inputs must be n rows and targets n numbers, not {inputs.shape}")
    if not len(inputs):
        raise TagmaError(f"{name}: has no examples")
    if not np.isfinite(inputs).all():
        row = int((~np.isfinite(inputs)).reshape(len(inputs), -1).any(axis=1).argmax()) + 1
        raise TagmaError(f"{name}: inputs holds numbers that are not finite, in row {row}")
    if targets is None:
        return
    if targets.shape != inputs.shape[:1]:
        raise TagmaError(
            f"{name}: inputs must be n rows and targets n numbers, not {len(inputs)} rows and "
            f"targets of shape {targets.shape}"
        )
    if targets.dtype.kind not in "biufU":
        raise TagmaError(f"{name}: targets must be real numbers or text, not {targets.dtype}")
    if targets.dtype.kind == "f" and not np.isfinite(targets).all():
        raise TagmaError(f"{name}: targets holds numbers that are not finite")
