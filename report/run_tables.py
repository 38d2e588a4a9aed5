"""The rows of the page's tables."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tagma.report.run_data import ClientRow, Cluster, Run

SHOWN_REASONS = 12
SHOWN_CLIENTS = 24
SHOWN_CLUSTERS = 20


@dataclass(frozen=True)
class ClusterRow:
    """A cluster (`None` for no cluster) and how many replies of its clients were rejected."""

    number: int | None
    cluster: Cluster
    rejected: int


def largest(clusters: Sequence[Cluster]) -> list[int]:
    """The numbers of the `SHOWN_CLUSTERS` clusters with most clients, in ascending order."""
    numbers = sorted(range(len(clusters)), key=lambda k: -clusters[k].size)
    return sorted(numbers[:SHOWN_CLUSTERS])


def cluster_rows(run: Run) -> list[ClusterRow]:
    """A row for each of the largest clusters, and one for the clients in none, if there are any."""
    home = {client.name: client.assigned for client in run.clients}
    rejected: Counter[int | None] = Counter()
    for client, reasons in run.replies.clients.items():
        rejected[home.get(client)] += sum(reasons.values())
    rows = [ClusterRow(k, run.clusters[k], rejected[k]) for k in largest(run.clusters)]
    outside = homeless(run)
    return rows + ([ClusterRow(None, _no_cluster(outside), rejected[None])] if outside else [])


def _no_cluster(clients: list[ClientRow]) -> Cluster:
    roles = [client.byzantine for client in clients]
    known = None not in roles
    return Cluster(
        size=len(clients),
        honest=roles.count(False) if known else None,
        byzantine=roles.count(True) if known else None,
        trimmed=None,
        radius=None,
        client_loss=None,
    )


def homeless(run: Run) -> list[ClientRow]:
    """The clients in no cluster: no usable local model came, or no ball holds a late one."""
    return [client for client in run.clients if client.assigned is None]


def homeless_words(run: Run) -> list[str]:
    """The clients in no cluster and why, at most `SHOWN_CLIENTS` of them."""
    clients = homeless(run)
    words = []
    for client in clients[:SHOWN_CLIENTS]:
        why = ", ".join(
            shorten_reason(reason) for reason in run.replies.clients.get(client.name, {})
        )
        words.append(f"{client.name} ({why})" if why else client.name)
    more = len(clients) - SHOWN_CLIENTS
    return words + ([f"and {more} more"] if more > 0 else [])


def reason_rows(run: Run) -> list[tuple[str, int, str]]:
    """Reasons, how many replies, and whose; a flood of reasons ends in one row for the rest."""
    ranked = sorted(run.replies.reasons.items(), key=lambda item: -item[1])
    shown = ranked[:SHOWN_REASONS]
    rows = [(shorten_reason(reason), amount, _whose(run, reason)) for reason, amount in shown]
    rest = ranked[SHOWN_REASONS:]
    if rest:
        rows.append((f"{len(rest)} other reasons", sum(n for _, n in rest), ""))
    return rows


def _whose(run: Run, reason: str) -> str:
    names = [name for name, reasons in run.replies.clients.items() if reason in reasons]
    more = len(names) - SHOWN_CLIENTS
    return ", ".join(names[:SHOWN_CLIENTS]) + (f" and {more} more" if more > 0 else "")


def shorten_reason(reason: str) -> str:
    """A reason that leaves room for others."""
    return reason if len(reason) <= 160 else f"{reason[:159]}…"


def time_rows(run: Run) -> list[tuple[str, float, float]]:
    """Seconds of every part and its share; what no part accounts for is the rest."""
    parts = {part: seconds for part, seconds in run.seconds.items() if part != "total"}
    total = run.seconds.get("total", sum(parts.values()))
    if not (math.isfinite(total) and total > 0):
        return []
    rest = total - sum(parts.values())
    if rest > 0.01 * total:
        parts["the rest"] = rest
    return [(part, seconds, min(1.0, seconds / total)) for part, seconds in parts.items()]
