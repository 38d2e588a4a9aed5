"""The tables at the end of a run."""

import math
from collections.abc import Iterator
from typing import Any

from rich.table import Table

from tagma.launch.console import console
from tagma.report.oracle_yardstick import no_yardstick
from tagma.server.results.participation import some_of

_LARGE = 1e4
ERROR = "estimation_error"
_MANY = 7
"""Columns beyond which cells stand close together, or 80 letters would not hold them."""
_WHERE_ANY = ("excluded", "rejected", "error_bound", "suspect")


def print_summary(metrics: dict[str, Any]) -> None:
    """Clusters, then how good they and their models are; what nobody knows is left out."""
    console.print(_clusters(metrics))
    console.print(_scores(metrics))


def _clusters(metrics: dict[str, Any]) -> Table:
    losses = metrics["client_loss"] or [None] * len(metrics["clusters"])
    rows = [
        cluster | {"loss": loss, "suspect": "yes" if cluster["suspect"] else ""}
        for cluster, loss in zip(metrics["clusters"], losses, strict=True)
    ]
    known = any(row["honest"] is not None for row in rows)
    keys = [
        "size", *(("honest", "byzantine") if known else ()), "trimmed", "excluded", "rejected",
        "scatter", *(() if known else ("loss",)), "error_bound", "suspect",
    ]  # fmt: skip
    keys = [key for key in keys if key not in _WHERE_ANY or any(row[key] for row in rows)]
    padding = (0, 1 if len(keys) <= _MANY else 0)
    table = Table(title="Clusters", title_justify="left", title_style="bold", padding=padding)
    table.add_column("#", justify="right")
    names = {"byzantine": "Byzantine", "error_bound": "error\nbelow"}
    for key in keys:
        red = "red" if key == "suspect" else None
        table.add_column(names.get(key, key), justify="left" if red else "right", style=red)
    for number, row in enumerate(rows):
        table.add_row(str(number), *(show(row[key]) for key in keys))
    return table


def _scores(metrics: dict[str, Any]) -> Table:
    table = Table(show_header=False, box=None)
    table.add_column()
    table.add_column(style="bold")
    wrong = metrics["misclustering"]
    if wrong is not None:
        table.add_row("misclustered honest clients", f"{100 * wrong:.1f} %")
    for name, score in metrics["scores"].items():
        value = score["value"]
        if name == ERROR or value is not None:
            table.add_row(score["title"], "diverged" if value is None else show(value))
    for metric, spread in _spreads(metrics):
        table.add_row(f"  {metric} of the worst tenth of clients", show(spread["worst_decile"]))
        if spread["worst_cluster"] is not None:
            table.add_row(f"  {metric} of the worst true cluster", show(spread["worst_cluster"]))
    if metrics["oracle_error_per_round"]:
        table.add_row(
            "  oracle, without Byzantine clients"
            if metrics["oracle_without_byzantine"]
            else "  oracle, given the true clusters",
            _oracle(metrics),
        )
    rejected = metrics["replies"]["rejected"]
    reasons = ", ".join(f"{count} {reason}" for reason, count in rejected.items()) or "none"
    table.add_row("rejected replies", reasons)
    for state, words in (("quarantined", "in quarantine"), ("excluded", "excluded")):
        if held := metrics["screening"][state]:
            table.add_row(f"clients {words}", f"{len(held)} ({some_of(held)})")
    return table


def _spreads(metrics: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """How unequal the clients are, for every metric that says so."""
    for name in metrics["scores"]:
        spread = metrics.get(name)
        if isinstance(spread, dict) and spread.get("worst_decile") is not None:
            yield name, spread


def _oracle(metrics: dict[str, Any]) -> str:
    oracle, curve = metrics["oracle_error"], metrics["oracle_error_per_round"]
    value = math.nan if oracle is None else oracle
    suspect = bool(metrics["oracle_suspect"])
    why = no_yardstick(metrics["estimation_error"], value, curve, suspect)
    return f"no yardstick: {why}" if why else show(oracle)


def show(value: Any) -> str:
    """A number or nothing, short."""
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    return f"{value:.4f}" if abs(value) < _LARGE else f"{value:.2e}"
