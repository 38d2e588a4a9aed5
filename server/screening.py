"""From settings to the rules of screening, and where a rule does not apply, why."""

from strategies.screening import Screening
from tagma.plugins import TARGET
from tagma.settings import Settings

_MINIMISERS = ("closed_form", "lbfgs", "average")
"""Solvers whose answer is the minimiser of a machine's own loss, up to rounding."""
_STRONG_RIDGE = 0.1
"""Beyond this, gradients of the plain loss point elsewhere than away from the local model."""


def screening_of(settings: Settings) -> Screening:
    """The rules that are in force."""
    return Screening(
        quarantine=settings.quarantine,
        readmission=settings.readmission,
        reply_check=settings.reply_check and no_reply_check(settings) is None,
    )


def no_reply_check(settings: Settings) -> str | None:
    """Why the reply check cannot be used with these settings; None if it can."""
    solver = settings.choice("solver")
    name = str(solver[TARGET]).rpartition(".")[2]
    if name not in _MINIMISERS:
        return f"solver={name} does not send the minimiser of the machine's own loss"
    if float(solver.get("ridge") or 0) > _STRONG_RIDGE:
        return f"solver.ridge={solver['ridge']} pulls local models away from the minimisers"
    return None


def notices_of_screening(settings: Settings) -> list[str]:
    """What the user asked for and does not get."""
    if not settings.reply_check or (why := no_reply_check(settings)) is None:
        return []
    return [f"the reply check is off: {why}"]
