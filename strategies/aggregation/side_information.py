"""What may stand beside the rows: their clients and weights, a reference, a memory and an origin.

A rule is handed those that it declares as keyword-only parameters, checked here:

- `clients` (m,): who sent the rows;
- `weights` (m,): how much the rows count, finite and at least 0. A row of weight 0 takes no part,
  as if it were not there. A rule is given the shares of the others, which sum to 1, and None where
  all count the same;
- `reference` (d,): a finite vector that the server trusts, such as an update from data of its own;
- `memory`: named arrays that the rule returned in the round before;
- `origin` (d,): the model that clients started from, where rows are models and not updates.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from tagma.arrays import Array, Labels
from tagma.strategies.numerics.row_blocks import Rows

NAMES = ("clients", "weights", "reference", "memory", "origin")
LAYERS = "layers"
"""What a rule may declare as well: the numbers of entries of the model's arrays, in their order.
They are the same in every round, so they are given when the rule is made."""
_PER_ROW = ("clients", "weights")
_VECTORS = ("reference", "origin")
_NEEDS = "needs_beside_the_rows"
_LEAST = 1e-150
"""Of the largest weight; less is counted as this, so that no claim makes the others vanish."""

Given = Mapping[str, Any]
"""Some of the five by their names."""


def declared(function: Callable[..., Any]) -> frozenset[str]:
    """Which of the five a function takes as keyword-only parameters."""
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:  # some functions written in C do not say
        return frozenset()
    only_by_name = inspect.Parameter.KEYWORD_ONLY
    return frozenset(
        name for name in NAMES if name in parameters and parameters[name].kind is only_by_name
    )


Needing = TypeVar("Needing", bound=Callable[..., Any])


def needs(*names: str) -> Callable[[Needing], Needing]:
    """Marks a rule that is no use without some of the five, such as a reference."""

    def mark(function: Needing) -> Needing:
        setattr(function, _NEEDS, names)
        return function

    return mark


def needed(function: Callable[..., Any]) -> tuple[str, ...]:
    """Those of the five that a rule is no use without."""
    names: tuple[str, ...] = getattr(getattr(function, "func", function), _NEEDS, ())
    return names


def checked(given: Given, m: int, dim: int) -> Given:
    """The same for m rows of `dim` numbers, or a `ValueError` that says what is wrong with one."""
    found = dict(given)
    if given.get("clients") is not None:
        found["clients"] = _of_shape("clients", given["clients"], (m,), "iu")
    if given.get("weights") is not None:
        weights = found["weights"] = _of_shape("weights", given["weights"], (m,)).astype(np.float64)
        if not (np.isfinite(weights).all() and weights.min() >= 0 and weights.max() > 0):
            raise ValueError("weights: must be finite and at least 0, and not all of them 0")
    for name in _VECTORS:
        if given.get(name) is not None:
            vector = found[name] = _of_shape(name, given[name], (dim,))
            if not np.isfinite(vector).all():
                raise ValueError(f"{name}: must be finite")
    return found


def _of_shape(name: str, value: Any, shape: tuple[int, ...], kinds: str = "biuf") -> Array:
    array = np.asarray(value)
    if array.dtype.kind not in kinds or np.ma.isMaskedArray(value):
        raise ValueError(f"{name}: numbers are needed, not {array.dtype}")
    if array.shape != shape:
        raise ValueError(f"{name}: shape {shape} is needed, not {array.shape}")
    return array


def restricted(given: Given, chosen: Labels | None) -> Given:
    """What belongs to these of the rows, or to all of them."""
    if chosen is None:
        return given
    return {
        name: value[chosen] if name in _PER_ROW and value is not None else value
        for name, value in given.items()
    }


def prepared(rows: Rows, given: Given) -> tuple[Rows, Given, Labels | None]:
    """The rows that have weight, what belongs to them, and their numbers if they are not all."""
    if given.get("weights") is None:
        return rows, given, None
    used = None
    if not given["weights"].all():
        used = np.flatnonzero(given["weights"])
        if not len(used):
            raise ValueError("weights: no row that is finite has one above 0")
        rows, given = rows.take(used), restricted(given, used)
    weights = given["weights"]
    shares = np.maximum(weights / weights.max(), _LEAST)  # whose sum cannot overflow
    equal = shares.min() == shares.max()
    return rows, {**given, "weights": None if equal else shares / shares.sum()}, used
