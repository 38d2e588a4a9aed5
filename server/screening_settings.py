"""From settings to the rules of screening, and where a rule does not apply, why."""

import numpy as np

from tagma.plugins import TARGET, locate
from tagma.settings import Settings
from tagma.strategies.algorithms.three_stage import State
from tagma.strategies.screening.standing import Screening


def screening_of(settings: Settings) -> Screening:
    """The rules that are in force."""
    return Screening(
        quarantine=settings.quarantine,
        readmission=settings.readmission,
        reply_check=settings.reply_check and no_reply_check(settings) is None,
    )


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
    if settings.reply_check and (why := no_reply_check(settings)) is not None:
        found.append(f"the reply check is off: {why}")
    if settings.readmission and not settings.quarantine:
        found.append("readmission=true has no effect: without quarantine=true nobody has to return")
    return found


def notices_of_balls(settings: Settings, state: State) -> list[str]:
    """The same, as far as it depends on what stage II found."""
    without = not np.isfinite(state.clustering.radius).any() and not state.clustering.trimmed.any()
    if not settings.quarantine or not without:
        return []
    return ["quarantine=true had no effect: these clusters have no balls, so nobody is outside"]
