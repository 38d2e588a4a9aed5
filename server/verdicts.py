"""What the server thinks of every cluster, without the truth: how wrong it may be, and why."""

from math import sqrt
from typing import Any

from strategies.algorithm import State
from strategies.error_bars import error_bound


def verdicts(state: State, seen: list[str | None]) -> list[dict[str, Any]]:
    """Per cluster: a bound on its error, how many machines are excluded, and why it is suspect.

    The bound is in the units of the estimation error, ||w - w*|| / sqrt(d); there is none where
    machines outside the ball take part, whose influence nobody can bound. `seen` are suspicions
    from the replies of the last round; those of stage II come first, and a cluster most of whose
    machines failed the reply check is suspect whatever the others say.
    """
    standing = state.standing
    suspected = state.clustering.suspect or (None,) * state.clustering.k
    rows = []
    for k in range(state.clustering.k):
        inside = state.labels == k
        counting = inside & standing.counts
        bound = None
        if not state.trimmed[counting].any():
            bound = error_bound(state.erms[counting])
        if bound is not None:
            bound = bound / sqrt(state.erms.shape[1])
        excluded = int((inside & standing.excluded).sum())
        taking_part = int((inside & ~standing.quarantined).sum())
        reason = suspected[k] or seen[k]
        if 2 * excluded > taking_part:
            reason = f"{excluded} of {taking_part} machines failed the reply check"
        rows.append({"error_bound": bound, "excluded": excluded, "suspect": reason})
    return rows


def screened(state: State) -> dict[str, list[int]]:
    """The machines that do not count at the end, and those that were let go again."""
    standing, machines = state.standing, state.machines
    return {
        "quarantined": machines[standing.quarantined].tolist(),
        "excluded": machines[standing.excluded].tolist(),
        "readmitted": machines[(standing.evidence > 0) & ~standing.quarantined].tolist(),
    }
