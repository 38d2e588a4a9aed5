"""The arguments that a user gives: which are FedAvg's own, and whether they can be meant."""

import inspect
from collections.abc import Mapping
from typing import Annotated, Any

from annotated_types import Ge, Le
from flwr.serverapp.strategy import FedAvg

from tagma.plugins import settings_of

_FEDAVGS = set(inspect.signature(FedAvg).parameters)
Share = Annotated[float, Ge(0), Le(1)]
Count = Annotated[int, Ge(0)]
Seconds = Annotated[float, Ge(0)]


def fedavg_arguments(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """FedAvg's own arguments, and the others."""
    own = {name: value for name, value in given.items() if name in _FEDAVGS}
    return own, {name: value for name, value in given.items() if name not in _FEDAVGS}


def with_checked_numbers(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, without numbers that FedAvg would take and make nonsense of."""
    known = inspect.signature(_numbers).parameters
    numbers = {name: value for name, value in given.items() if name in known}
    checked = settings_of(_numbers, "", numbers, {})
    return {**given, **{name: checked[name] for name in numbers}}


def _numbers(
    *,
    seed: Count = 0,
    num_rounds: Count = 1,
    fraction_train: Share = 1.0,
    fraction_evaluate: Share = 1.0,
    min_train_nodes: Count = 2,
    min_evaluate_nodes: Count = 2,
    min_available_nodes: Count = 2,
    quorum: Share = 0.5,
    quorum_timeout: Seconds = 600.0,
) -> None:
    """All arguments that are numbers."""
