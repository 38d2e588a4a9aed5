"""The same statistics as others compute them: NumPy, Flower, and byzfl and byzpy if installed.

Every formulation is a function of one float32 array (m, d). Ours and theirs assume a tenth of the
rows to be Byzantine clients: that many are trimmed from each side of a coordinate. Flower stacks
the replies before every statistic; its formulations do so, too. NumPy's are what one would write
down first: all differences at once for distances, and steps of Weiszfeld until they are short. The
rows that NNM makes are as large as those it is given, and fresh memory for them is much of the
cost. Ours can also be written into memory that is there already, which is measured as well.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from flwr.serverapp.strategy.fedtrimmedavg import trim_mean
from flwr.serverapp.strategy.multikrum import compute_distances

from tagma.arrays import Array
from tagma.bench.speed.byzfl_import import byzfl_module
from tagma.counts import floor_of
from tagma.strategies import aggregation as ours

FRACTION = 0.1
OURS = "tagma"
OURS_GIVEN = "tagma, given memory"
"""Where the result is as large as the rows, into memory that is there already."""
Formulation = Callable[[Array], object]
PEERS = ("byzfl", "byzpy")
"""Libraries that need not be installed."""
_MOST_BYTES = 4e9
"""A formulation that would need more than this is left out."""
_STEPS, _TOLERANCE = 1000, 1e-6
"""Of Weiszfeld's iteration; the tolerance is relative to the typical distance."""


def formulations(m: int, d: int) -> Mapping[str, Mapping[str, Formulation]]:
    """By statistic and library, ours first, for arrays of this shape."""
    f = floor_of(FRACTION, m)
    memory: Any = np.empty((m, d), np.float32)
    found: dict[str, dict[str, Formulation]] = {
        "trimmed_mean": {
            OURS: partial(ours.trimmed_mean, beta=FRACTION),
            "numpy": lambda rows: np.sort(rows, axis=0)[f : m - f].mean(axis=0),
            "flower": lambda rows: trim_mean(np.stack(list(rows)), FRACTION),
        },
        "median": {
            OURS: ours.median,
            "numpy": partial(np.median, axis=0),
            "flower": lambda rows: np.median(np.stack(list(rows)), axis=0),
        },
        "geometric_median": {OURS: ours.geometric_median, "numpy": _weiszfeld},
        "krum": {
            OURS: partial(ours.krum, fraction=FRACTION),
            "flower": partial(_flower_krum, f=f, kept=1),
        },
        "multi_krum": {
            OURS: partial(ours.multi_krum, fraction=FRACTION),
            "flower": partial(_flower_krum, f=f, kept=m - f),
        },
        "nnm": {
            OURS: lambda rows: ours.nnm(rows, fraction=FRACTION).rows,
            OURS_GIVEN: lambda rows: ours.nnm(rows, fraction=FRACTION).into(memory),
        },
    }
    if 4 * m * m * d < _MOST_BYTES:
        found["krum"]["numpy"] = partial(_numpy_krum, f=f, kept=1)
        found["multi_krum"]["numpy"] = partial(_numpy_krum, f=f, kept=m - f)
        found["nnm"]["numpy"] = partial(_numpy_nnm, f=f)
    for library in (_byzfl, _byzpy):
        for statistic, formulation in library(m, d, f).items():
            found[statistic] |= formulation
    return found


def _weiszfeld(rows: Array) -> Array:
    median = rows.mean(axis=0)
    for _ in range(_STEPS):
        distances = np.linalg.norm(rows - median, axis=1)
        weights = 1 / np.maximum(distances, np.finfo(rows.dtype).tiny)
        moved = weights @ rows / weights.sum()
        step = np.linalg.norm(moved - median)
        median = moved
        if step <= _TOLERANCE * np.median(distances):
            break
    return median


def _squared_distances(rows: Array) -> Array:
    squared: Array = ((rows[:, None] - rows) ** 2).sum(axis=2)
    return squared


def _numpy_krum(rows: Array, f: int, kept: int) -> Array:
    scores = np.sort(_squared_distances(rows), axis=1)[:, 1 : len(rows) - f - 1].sum(axis=1)
    return rows[np.argsort(scores)[:kept]].mean(axis=0)


def _numpy_nnm(rows: Array, f: int) -> Array:
    nearest = np.argsort(_squared_distances(rows), axis=1)[:, : len(rows) - f]
    return np.stack([rows[near].mean(axis=0) for near in nearest])


class _Record:
    """What Flower's Krum asks of a reply, without its cost of decoding."""

    def __init__(self, row: Array) -> None:
        self._row = row

    def to_numpy_ndarrays(self) -> list[Array]:
        return [self._row]


def _flower_krum(rows: Array, f: int, kept: int) -> Array:
    distances = compute_distances([_Record(row) for row in rows])  # type: ignore[misc]
    scores = np.sort(distances, axis=1)[:, 1 : len(rows) - f - 1].sum(axis=1)
    return rows[np.argsort(scores)[:kept]].mean(axis=0)


def _byzfl(m: int, d: int, f: int) -> dict[str, dict[str, Formulation]]:
    try:
        import torch

        byzfl = byzfl_module()
    except ImportError:
        return {}
    rules: dict[str, Any] = {
        "trimmed_mean": byzfl.TrMean(f=f),
        "median": byzfl.Median(),
        "geometric_median": byzfl.GeometricMedian(nu=0.1, T=3),
        "krum": byzfl.Krum(f=f),
        "multi_krum": byzfl.MultiKrum(f=f),
    }
    if 4 * m * (m - f) * d < _MOST_BYTES:  # it gathers the neighbours of all rows at once
        rules["nnm"] = byzfl.NNM(f=f)
    on_torch = {name: partial(_on_torch, rule, torch) for name, rule in rules.items()}
    return {name: {"byzfl": rule, "byzfl on torch": on_torch[name]} for name, rule in rules.items()}


def _on_torch(rule: Callable[[Any], Any], torch: Any, rows: Array) -> object:
    return rule(torch.from_numpy(rows))


def _byzpy(m: int, d: int, f: int) -> dict[str, dict[str, Formulation]]:
    try:
        import torch
        from byzpy.aggregators.coordinate_wise.median import CoordinateWiseMedian
        from byzpy.aggregators.coordinate_wise.trimmed_mean import CoordinateWiseTrimmedMean
        from byzpy.aggregators.geometric_wise.geometric_median import GeometricMedian
        from byzpy.aggregators.geometric_wise.krum import Krum, MultiKrum
        from byzpy.pre_aggregators.nnm import NearestNeighborMixing
    except ImportError:
        return {}
    rules: dict[str, Callable[[list[Any]], object]] = {
        "trimmed_mean": CoordinateWiseTrimmedMean(f).aggregate,
        "median": CoordinateWiseMedian().aggregate,
        "geometric_median": GeometricMedian(tol=1e-6).aggregate,
        "krum": Krum(f).aggregate,
        "multi_krum": MultiKrum(f, m - f).aggregate,
        "nnm": NearestNeighborMixing(f).pre_aggregate,
    }
    return {name: {"byzpy": partial(_on_list, rule, torch)} for name, rule in rules.items()}


def _on_list(rule: Callable[[list[Any]], object], torch: Any, rows: Array) -> object:
    return rule(list(torch.from_numpy(rows)))
