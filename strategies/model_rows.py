"""Models as people have them as rows of an array, and rows as models of the same kind.

A kind is an array or tensor whose first axis is the models; or a list of arrays, of tensors, or of
mappings from names to these, such as state_dicts and Flower's ArrayRecords. What comes back has
the kind, precision and device of what came. Arrays, and tensors in memory, are not copied; lists
are, once. torch is used only where tensors come, so never imported here.
"""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagma.arrays import Array, Mask
from tagma.errors import TagmaError
from tagma.layout import Layout, Named
from tagma.strategies.model_buffers import joined_buffers


@dataclass(frozen=True)
class ModelRows:
    """m models as the rows of an array."""

    rows: Array
    """Shape (m, d)."""
    row_of: Callable[[Any], Array]
    """A model of the same kind as one row, shape (d,)."""
    model_of: Callable[[Array, Mask], Any]
    """A row as a model; of the models that are marked, the buffers are joined."""
    models_of: Callable[[Array, Sequence[Mask]], Any]
    """Several rows as what the models came in: one array, or a list."""
    layers: tuple[int, ...] | None = None
    """How many entries of a row each array of a model has, where models have several."""


def model_rows(models: Any) -> ModelRows:
    """The rows of models of any of the kinds; a `TagmaError` says which one does not fit."""
    if isinstance(models, np.ndarray) or _is_tensor(models):
        return _of_one_array(models)
    if not isinstance(models, Iterable) or isinstance(models, Mapping | str | bytes):
        raise TagmaError(
            f"models={type(models).__name__}: must be an array or tensor, or a list of arrays, "
            "tensors or state_dicts"
        )
    listed = list(models)
    if not listed:
        raise TagmaError("models=[]: at least one is needed")
    return _of_mappings(listed) if isinstance(listed[0], Mapping) else _of_arrays(listed)


def plain(values: Any) -> NDArray[Any]:
    """The numbers of an array, a tensor, or a list of numbers, without copying where possible."""
    if _is_tensor(values):
        try:
            values = values.detach().cpu()
            if str(values.dtype) == "torch.bfloat16":  # which NumPy does not have
                values = values.float()
            return values.numpy()
        except (TypeError, RuntimeError) as problem:  # sparse, quantised, or without data
            reason = str(problem).partition(".")[0]
            raise TagmaError(f"models: a tensor of numbers is needed ({reason})") from None
    return values.numpy() if _is_wire_array(values) else np.asarray(values)


def _of_one_array(models: Any) -> ModelRows:
    values = plain(models)
    if values.ndim == 0 or 0 in values.shape:
        raise TagmaError(f"models: at least one model is needed, not the shape {values.shape}")
    one = values.shape[1:]

    def row_of(model: Any) -> Array:
        row = plain(model)
        if row.shape != one:
            raise TagmaError(f"a model of shape {one} is needed, not {row.shape}")
        return row.ravel()

    return ModelRows(
        rows=values.reshape(len(values), -1),
        row_of=row_of,
        model_of=lambda row, _: _like(models, row.reshape(one)),
        models_of=lambda rows, _: _like(models, rows.reshape(-1, *one)),
    )


def _of_arrays(models: Sequence[Any]) -> ModelRows:
    def named(model: Any) -> dict[str, Any]:
        if isinstance(model, Mapping):
            raise TagmaError("models: all must be of one kind, arrays or state_dicts")
        return {"": model if plain(model).dtype.kind not in "biu" else plain(model).astype(float)}

    of_named = _of_mappings([named(model) for model in models])
    return ModelRows(
        rows=of_named.rows,
        row_of=lambda model: of_named.row_of(named(model)),
        model_of=lambda row, of: of_named.model_of(row, of)[""],
        models_of=lambda rows, of: [each[""] for each in of_named.models_of(rows, of)],
    )


def _of_mappings(models: Sequence[Mapping[str, Any]]) -> ModelRows:
    first = models[0]
    try:
        layout = Layout.of(_plain_named(first, "models[0]"))
    except ValueError as problem:
        raise TagmaError(f"models[0]: {problem}") from None
    rows = np.empty((len(models), layout.size), layout.dtype)
    buffers = []
    for number, model in enumerate(models):
        buffers.append(_fill(rows[number], model, layout, f"models[{number}]"))

    def row_of(model: Mapping[str, Any]) -> Array:
        row = np.empty(layout.size, layout.dtype)
        _fill(row, model, layout, "the model")
        return row

    def model_of(row: Array, of: Mask) -> Any:
        own = [each for each, counts in zip(buffers, of, strict=True) if counts]
        (joined,) = joined_buffers([buffers[0]], own, np.zeros(len(own), dtype=np.int64))
        found = layout.named(row, joined)
        return type(first)({name: _like(first[name], found[name]) for name in found})  # type: ignore[call-arg]

    return ModelRows(
        rows=rows,
        row_of=row_of,
        model_of=model_of,
        models_of=lambda rows, of: [model_of(*each) for each in zip(rows, of, strict=True)],
        layers=layout.sizes,
    )


def _plain_named(model: Any, called: str) -> dict[str, NDArray[Any]]:
    if not isinstance(model, Mapping):
        raise TagmaError(f"{called}: must be named arrays, as in a state_dict")
    return {name: plain(value) for name, value in model.items()}


def _fill(row: Array, model: Any, layout: Layout, called: str) -> Named:
    """Write the parameters of a model into a row, and give its buffers."""
    named = _plain_named(model, called)
    for part in layout.parts:
        found = named.get(part.name)
        if found is None or len(named) != len(layout.parts):
            known = ", ".join(each.name for each in layout.parts)
            raise TagmaError(f"{called}: has other names than the first, which has {known}")
        if found.shape != part.shape or found.dtype.name != part.dtype:
            name = f" {part.name}" if part.name else ""
            raise TagmaError(
                f"{called}:{name} has the shape {found.shape} and dtype {found.dtype}, that of "
                f"the first {part.shape} and {part.dtype}"
            )
    start = 0
    for part in layout.parameters:
        row[start : start + part.size] = named[part.name].ravel()
        start += part.size
    buffers = {part.name: named[part.name] for part in layout.buffers}
    if not all(np.isfinite(each).all() for each in buffers.values()):
        row[:] = np.nan  # so that it takes no part, as where a parameter is not finite
    return buffers


def _like(before: Any, values: NDArray[Any]) -> Any:
    """The values as what was there before: of its kind, precision and device."""
    values = np.asarray(values)  # joined counters are scalars
    if _is_tensor(before):
        torch = sys.modules["torch"]
        dtype = before.dtype if before.is_floating_point() or values.dtype.kind != "f" else None
        return torch.from_numpy(values).to(before.device, dtype)
    if _is_wire_array(before):
        return type(before)(values)
    dtype = np.asarray(before).dtype
    return values.astype(dtype, copy=False) if dtype.kind == "f" else values


def _is_tensor(values: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(values, torch.Tensor)


def _is_wire_array(values: Any) -> bool:
    flower = sys.modules.get("flwr.app")
    return flower is not None and isinstance(values, flower.Array)
