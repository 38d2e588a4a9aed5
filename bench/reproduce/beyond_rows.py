"""Figures of the rows of `tagma reproduce beyond`."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tagma.bench.reproduce.experiment import Row, values

_PERFECT = 0.02
"""Misclustering up to this is one client of fifty."""


def mean(rows: Sequence[Row], method: str, column: str) -> float:
    """The mean over trials."""
    return float(np.mean(values(rows, column, method=method)))


def perfect(rows: Sequence[Row], method: str, of: str = "") -> float:
    """The share of trials with hardly any client in a wrong cluster."""
    return _share(rows, method, lambda row: row[f"{of}misclustering"] <= _PERFECT)


def k_found(rows: Sequence[Row], method: str, of: str = "") -> float:
    """The share of trials with the right number of clusters."""
    return _share(rows, method, lambda row: row[f"{of}k"] == row["true k"])


def _share(rows: Sequence[Row], method: str, holds: Callable[[Row], Any]) -> float:
    return float(np.mean([holds(row) for row in rows if row["method"] == method]))
