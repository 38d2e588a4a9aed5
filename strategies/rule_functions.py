"""Every rule and pre-aggregator as a function of models as people have them: `tagma.rules`."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from tagma.arrays import Array, Mask
from tagma.errors import SettingError, TagmaError
from tagma.plugins import settings_of
from tagma.strategies.aggregation import (
    Aggregate,
    Mixed,
    arc,
    bucketing,
    bulyan,
    caf,
    centered_clipping,
    central_half,
    cge,
    clipping,
    dnc,
    flame,
    fldetector,
    fltrust,
    foolsgold,
    geometric_median,
    iterative_filtering,
    krum,
    lasa,
    mda,
    meamed,
    mean,
    median,
    monna,
    multi_krum,
    nnm,
    norm_clipping,
    rlr,
    signguard,
    smea,
    trimmed_mean,
)
from tagma.strategies.aggregation.side_information import LAYERS, declared
from tagma.strategies.model_rows import model_rows, plain
from tagma.strategies.numerics.row_blocks import LARGEST

_FROM_USER = ("weights", "reference", "origin")


def on_models(function: Callable[..., Aggregate | Mixed]) -> Callable[..., Any]:
    """The same for models of any kind, which gives models of that kind."""
    name, beside_rows = function.__name__, declared(function)

    @wraps(function)
    def of_models(models: Any, /, **settings: Any) -> Any:
        given: dict[str, Any] = dict.fromkeys(beside_rows)
        for key in _FROM_USER:
            if (value := settings.pop(key, None)) is not None:
                if key not in beside_rows:
                    raise SettingError(key, "...", f"{name} takes none")
                given[key] = value
        stacked = model_rows(models)
        checked = settings_of(function, name, settings, {**given, LAYERS: stacked.layers})
        if checked.get("weights") is not None:
            checked["weights"] = plain(checked["weights"])
        for key in ("reference", "origin"):
            if checked.get(key) is not None:
                checked[key] = stacked.row_of(checked[key])
        try:
            found = function(stacked.rows, **checked)
        except ValueError as problem:
            raise TagmaError(f"{name}: {problem}") from None
        if isinstance(found, Mixed):
            return stacked.models_of(found.rows, list(found.weights != 0))
        return stacked.model_of(found.estimate, _counted(found, stacked.rows))

    of_models.__signature__ = _signature(function)  # type: ignore[attr-defined]
    return of_models


def _counted(found: Aggregate, rows: Array) -> Mask:
    """The models whose buffers are joined."""
    if found.weights is not None:
        return found.weights > 0
    if found.kept is not None:
        return found.kept
    if not found.removed:
        return np.ones(len(rows), dtype=bool)
    usable: Mask = np.abs(rows).max(axis=1).astype(np.float64) <= LARGEST  # false for NaN
    return usable


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    models = inspect.Parameter("models", inspect.Parameter.POSITIONAL_ONLY)
    _, *others = inspect.signature(function).parameters.values()
    return inspect.Signature([
        models, *(each for each in others if each.name not in ("clients", "memory", LAYERS))
    ])  # fmt: skip


FUNCTIONS = {
    function.__name__: on_models(function)
    for function in (
        arc, bucketing, bulyan, caf, centered_clipping, central_half, cge, clipping, dnc, flame,
        fldetector, fltrust, foolsgold, geometric_median, iterative_filtering, krum, lasa, mda,
        meamed, mean, median, monna, multi_krum, nnm, norm_clipping, rlr, signguard, smea,
        trimmed_mean,
    )
}  # fmt: skip
