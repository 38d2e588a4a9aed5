"""The rows of the page's tables."""

import math
from collections import Counter
from dataclasses import dataclass

from tagma.report.run_data import Cluster, Machine, Run

SHOWN_REASONS = 12
SHOWN_MACHINES = 24


@dataclass(frozen=True)
class ClusterRow:
    """A cluster (`None` for no cluster) and how many replies of its machines were rejected."""

    number: int | None
    cluster: Cluster
    rejected: int


@dataclass(frozen=True)
class ReasonRow:
    """Why replies were rejected, how many, and whose."""

    reason: str
    count: int
    machines: str


@dataclass(frozen=True)
class TimeRow:
    """A stage's seconds and its share of the total."""

    stage: str
    seconds: float
    share: float


def cluster_rows(run: Run) -> list[ClusterRow]:
    """One row per found cluster, and one for the machines in none, if there are any."""
    home = {machine.name: machine.assigned for machine in run.machines}
    rejected: Counter[int | None] = Counter()
    for machine, reasons in run.replies.machines.items():
        rejected[home.get(machine)] += sum(reasons.values())
    rows = [ClusterRow(i, cluster, rejected[i]) for i, cluster in enumerate(run.clusters)]
    outside = homeless(run)
    return rows + ([ClusterRow(None, _no_cluster(outside), rejected[None])] if outside else [])


def _no_cluster(machines: list[Machine]) -> Cluster:
    roles = [machine.byzantine for machine in machines]
    known = None not in roles
    return Cluster(
        size=len(machines),
        honest=roles.count(False) if known else None,
        byzantine=roles.count(True) if known else None,
        trimmed=None,
        radius=None,
        client_loss=None,
    )


def homeless(run: Run) -> list[Machine]:
    """The machines in no cluster: their first reply was rejected, or never came."""
    return [machine for machine in run.machines if machine.assigned is None]


def homeless_words(run: Run) -> list[str]:
    """The machines in no cluster and why, at most `SHOWN_MACHINES` of them."""
    machines = homeless(run)
    words = []
    for machine in machines[:SHOWN_MACHINES]:
        why = ", ".join(
            shorten_reason(reason) for reason in run.replies.machines.get(machine.name, {})
        )
        words.append(f"{machine.name} ({why})" if why else machine.name)
    more = len(machines) - SHOWN_MACHINES
    return words + ([f"and {more} more"] if more > 0 else [])


def reason_rows(run: Run) -> list[ReasonRow]:
    """Reasons by count; a flood of different reasons ends in one row for the rest."""
    ranked = sorted(run.replies.reasons.items(), key=lambda item: -item[1])
    shown = ranked[:SHOWN_REASONS]
    rows = [
        ReasonRow(shorten_reason(reason), amount, _whose(run, reason)) for reason, amount in shown
    ]
    rest = ranked[SHOWN_REASONS:]
    if rest:
        rows.append(ReasonRow(f"{len(rest)} other reasons", sum(n for _, n in rest), ""))
    return rows


def _whose(run: Run, reason: str) -> str:
    names = [name for name, reasons in run.replies.machines.items() if reason in reasons]
    more = len(names) - SHOWN_MACHINES
    return ", ".join(names[:SHOWN_MACHINES]) + (f" and {more} more" if more > 0 else "")


def shorten_reason(reason: str) -> str:
    """A reason that leaves room for others."""
    return reason if len(reason) <= 160 else f"{reason[:159]}…"


def time_rows(run: Run) -> list[TimeRow]:
    """The stages' times; what no stage accounts for is the rest."""
    stages = {stage: seconds for stage, seconds in run.seconds.items() if stage != "total"}
    total = run.seconds.get("total", sum(stages.values()))
    if not (math.isfinite(total) and total > 0):
        return []
    rest = total - sum(stages.values())
    if rest > 0.01 * total:
        stages["the rest"] = rest
    return [TimeRow(stage, seconds, min(1.0, seconds / total)) for stage, seconds in stages.items()]
