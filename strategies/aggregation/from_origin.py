"""Rules that measure from 0, for clients that answer with models.

Lengths, angles and signs mean something of updates, not of models. With `origin`, the model that
the clients were sent, such a rule is given the rows' differences from it, and so is its reference;
the estimate is moved back. Without one, the rows are updates already, such as gradients.
"""

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from tagma.arrays import Array
from tagma.strategies.aggregation.aggregate import Aggregate
from tagma.strategies.aggregation.rule import as_floats
from tagma.strategies.aggregation.side_information import checked
from tagma.strategies.numerics.row_blocks import Rows

Marked = TypeVar("Marked", bound=Callable[..., Any])
_MARK = "measures_from_origin"


def measures_from_origin(function: Callable[..., Any]) -> bool:
    """Whether a rule or pre-aggregator takes rows for updates."""
    return hasattr(getattr(function, "func", function), _MARK)


def marked(function: Marked) -> Marked:
    """A pre-aggregator that measures from 0: what stands around it moves the rows."""
    setattr(function, _MARK, True)
    return function


def from_origin(function: Callable[..., Aggregate]) -> Callable[..., Aggregate]:
    """The same aggregator, of the rows' differences from `origin`. Cost O(m d) more with one."""

    @wraps(function)
    def aggregate(
        updates: Array | Rows, /, *, origin: Array | None = None, **rest: Any
    ) -> Aggregate:
        if origin is None:
            return function(updates, **rest)
        array = updates.dense() if isinstance(updates, Rows) else as_floats(updates)
        fixed = checked({"origin": origin, "reference": rest.get("reference")}, *array.shape)
        start = fixed["origin"]
        if fixed["reference"] is not None:
            rest["reference"] = fixed["reference"] - start
        with np.errstate(over="ignore", invalid="ignore"):
            result = function(np.subtract(array, start, dtype=array.dtype), **rest)
        return replace(result, estimate=np.add(result.estimate, start, dtype=array.dtype))

    own = inspect.signature(function)
    if "origin" not in own.parameters:
        more = inspect.Parameter("origin", inspect.Parameter.KEYWORD_ONLY, default=None)
        aggregate.__signature__ = own.replace(  # type: ignore[attr-defined]
            parameters=[*own.parameters.values(), more]
        )
    return marked(aggregate)
