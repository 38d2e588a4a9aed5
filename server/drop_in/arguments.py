"""Which of the arguments that a user gives are FedAvg's own."""

import inspect
from collections.abc import Mapping
from typing import Any

from flwr.serverapp.strategy import FedAvg

_FEDAVGS = set(inspect.signature(FedAvg).parameters)


def fedavg_arguments(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """FedAvg's own arguments, and the others."""
    own = {name: value for name, value in given.items() if name in _FEDAVGS}
    return own, {name: value for name, value in given.items() if name not in _FEDAVGS}
