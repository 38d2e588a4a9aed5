"""The tables at the end of a run."""

from typing import Any

from rich.table import Table

from tagma.launch.console import console

_LARGE = 1e4
_NAMED = 10
"""How many clients a line names."""


def print_summary(metrics: dict[str, Any]) -> None:
    """Clusters, then how good they and their models are."""
    console.print(_clusters(metrics))
    console.print(_scores(metrics))


def _clusters(metrics: dict[str, Any]) -> Table:
    table = Table(title="Clusters", title_justify="left", title_style="bold")
    names = {
        "byzantine": "Byz.", "trimmed": "trim", "excluded": "excl", "rejected": "rej",
        "error_bound": "error<",
    }  # fmt: skip
    keys = ["size", "honest", "byzantine", "trimmed", "excluded", "rejected", "scatter",
            "error_bound"]  # fmt: skip
    for key in ("excluded", "rejected", "error_bound"):
        if not any(cluster[key] for cluster in metrics["clusters"]):
            keys.remove(key)
    table.add_column("#", justify="right")
    for key in keys:
        table.add_column(names.get(key, key), justify="right")
    suspects = any(cluster["suspect"] for cluster in metrics["clusters"])
    if suspects:
        table.add_column("suspect", style="red")
    for number, cluster in enumerate(metrics["clusters"]):
        mark = ["yes" if cluster["suspect"] else ""] if suspects else []
        table.add_row(str(number), *(show(cluster[key]) for key in keys), *mark)
    return table


def _scores(metrics: dict[str, Any]) -> Table:
    table = Table(show_header=False, box=None)
    table.add_column()
    table.add_column(style="bold")
    wrong = metrics["misclustering"]
    table.add_row("misclustered honest clients", "-" if wrong is None else f"{100 * wrong:.1f} %")
    table.add_row("estimation error", show(metrics["estimation_error"]))
    given = (
        "nobody Byzantine, clusters"
        if metrics["oracle_without_byzantine"]
        else "with the true clusters"
    )
    table.add_row(f"  {given} given", show(metrics["oracle_error"]))
    rejected = metrics["replies"]["rejected"]
    reasons = ", ".join(f"{count} {reason}" for reason, count in rejected.items()) or "none"
    table.add_row("rejected replies", reasons)
    waiting = metrics["participation"]["quarantined"]
    if waiting:
        names = ", ".join(map(str, waiting[:_NAMED])) + (", ..." if len(waiting) > _NAMED else "")
        table.add_row("clients in quarantine", f"{len(waiting)} ({names})")
    return table


def show(value: Any) -> str:
    """A number or nothing, short."""
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    return f"{value:.4f}" if abs(value) < _LARGE else f"{value:.2e}"
