"""Where a check that the settings ask for does not apply, and why."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tagma.plugins import TARGET, locate
from tagma.settings import Settings
from tagma.strategies.algorithms.clustered_clients import Clustered

ON_MINIMISERS = ("reply_check", "confined")
"""What relies on local models that minimise their client's loss."""


def without_useless_checks(settings: Settings) -> Mapping[str, Any]:
    """The settings of the strategy, without a reply check that cannot be right."""
    chosen = settings.choice("strategy")
    if no_reply_check(settings) is not None:
        return {**chosen, **{name: False for name in ON_MINIMISERS if name in chosen}}
    return chosen


def no_reply_check(settings: Settings) -> str | None:
    """Why the reply check cannot be used with these settings; None if it can.

    It can with solvers that declare to find minimisers (`tagma.client.solvers.solution.minimises`).
    """
    chosen = settings.choice("solver")
    solver = locate(str(chosen[TARGET]), f"solver.{TARGET}")
    doubt = getattr(solver, "doubt", None)
    if doubt is None:
        return f"solver={solver.__name__} does not send the minimiser of the client's own loss"
    why: str | None = doubt(chosen)
    return why


def notices_of_screening(settings: Settings) -> list[str]:
    """What the user asked for and does not get."""
    found = []
    chosen = settings.choice("strategy")
    if chosen.get("reply_check") and (why := no_reply_check(settings)) is not None:
        found.append(f"the reply check is off: {why}")
    if chosen.get("readmission") and not chosen.get("quarantine"):
        found.append(
            "strategy.readmission=true has no effect: without strategy.quarantine=true nobody has "
            "to return"
        )
    return found


def notices_of_balls(settings: Settings, state: Clustered) -> list[str]:
    """The same, as far as it depends on what stage II found."""
    without = not np.isfinite(state.clustering.radius).any() and not state.clustering.trimmed.any()
    if not settings.choice("strategy").get("quarantine") or not without:
        return []
    return [
        "strategy.quarantine=true had no effect: these clusters have no balls, so nobody is outside"
    ]
