"""The tables at the end of a run."""

import math
from collections.abc import Iterator
from typing import Any

from rich.table import Table

from tagma.attacks.goal import SUCCESS
from tagma.launch.console import console
from tagma.report.number_format import size
from tagma.report.oracle_yardstick import no_yardstick
from tagma.report.run_data import are_groups
from tagma.server.results.client_metrics import PARTS
from tagma.server.results.participation import some_of
from tagma.server.results.scores import ERRORS

_LARGE = 1e4
ERROR = "estimation_error"
SHOWN = 20
"""So many clusters, the largest, have a row."""
_MANY = 7
"""Columns beyond which cells stand close together, or 80 letters would not hold them."""
_HAPPENED = {"kept_model": "clusters that kept their model", "tried_again": "rounds tried again"}
_WHERE_ANY = ("excluded", "rejected", "loss", "error_bound", "suspect")
_STRETCHED = """\
stretched: spreads to some sides more than noise explains, so no bound holds; it
may be two that are too close to tell apart, or hold Byzantine clients"""


def print_summary(metrics: dict[str, Any]) -> None:
    """Clusters, then how good they and their models are; what nobody knows is left out."""
    console.print(_clusters(metrics))
    console.print(_scores(metrics))


def _clusters(metrics: dict[str, Any]) -> Table:
    losses = metrics["client_loss"] or [None] * len(metrics["clusters"])
    rows = [
        cluster | {"number": k, "loss": loss, "suspect": _doubt(cluster)}
        for k, (cluster, loss) in enumerate(zip(metrics["clusters"], losses, strict=True))
    ]
    more = len(rows) - SHOWN
    rows = sorted(sorted(rows, key=lambda row: -row["size"])[:SHOWN], key=lambda r: r["number"])
    known = any(row["honest"] is not None for row in rows)
    found = metrics["clustering"] is not None
    keys = [
        "size", *(("honest", "byzantine") if known else ()), *(("trimmed",) if found else ()),
        "excluded", "rejected", *(("scatter",) if found else ()),
        *(() if known and found else ("loss",)), "error_bound", "suspect",
    ]  # fmt: skip
    keys = [key for key in keys if key not in _WHERE_ANY or any(row[key] for row in rows)]
    notes = [f"the largest {SHOWN}; {more} more"] if more > 0 else []
    notes += [_STRETCHED] if any(row["suspect"] == "stretched" for row in rows) else []
    padding = (0, 1 if len(keys) <= _MANY else 0)
    table = Table(
        title="Clusters" if _grouped(metrics) else "Models",
        title_justify="left", title_style="bold", padding=padding, caption_justify="left",
        caption="\n".join(notes) or None,
    )  # fmt: skip
    table.add_column("#", justify="right")
    names = {"byzantine": "Byzantine", "error_bound": "error\nbelow"}
    for key in keys:
        red = "red" if key == "suspect" else None
        table.add_column(names.get(key, key), justify="left" if red else "right", style=red)
    for row in rows:
        table.add_row(str(row["number"]), *(show(row[key]) for key in keys))
    return table


def _doubt(cluster: dict[str, Any]) -> str:
    return "yes" if cluster["suspect"] else "stretched" if cluster.get("stretched") else ""


def _scores(metrics: dict[str, Any]) -> Table:
    table = Table(show_header=False, box=None)
    table.add_column()
    table.add_column(style="bold")
    wrong = metrics["misclustering"]
    if wrong is not None and _grouped(metrics):
        table.add_row("misclustered honest clients", f"{100 * wrong:.1f} %")
        table.add_row("adjusted Rand index", show(metrics["ari"]))
    first = next(iter(metrics["oracle_scores"] or ()), None)
    for name, score in metrics["scores"].items():
        value = score["value"]
        if score["of"] is not None:
            continue
        if name in ERRORS or value is not None:
            table.add_row(score["title"], "diverged" if value is None else show(value))
        if name == first:
            given = (
                "without Byzantine clients"
                if metrics["oracle_without_byzantine"]
                else "given the true clusters"
            )
            table.add_row(f"  oracle, {given}", _oracle(metrics, name))
        if name == SUCCESS and (without := metrics[SUCCESS]["without_attack"]) is not None:
            table.add_row("  without the attack", show(without))
        for words, worst in _worst(metrics["scores"], name):
            table.add_row(f"  {words}", show(worst))
    rejected = metrics["replies"]["rejected"]
    reasons = ", ".join(f"{count} {reason}" for reason, count in rejected.items()) or "none"
    table.add_row("rejected replies", reasons)
    for name, title in _HAPPENED.items():
        if found := metrics["participation"][name]:
            table.add_row(f"  {title}", f"{len(found)} ({some_of(found)})")
    sent = metrics["bytes"]
    words = f"{metrics['messages']} ({size(sent['down'])} down, {size(sent['up'])} up)"
    table.add_row("messages", words)
    for state, words in (("quarantined", "in quarantine"), ("excluded", "excluded")):
        if held := metrics["screening"][state]:
            table.add_row(f"clients {words}", f"{len(held)} ({some_of(held)})")
    return table


def _grouped(metrics: dict[str, Any]) -> bool:
    sizes = [cluster["size"] for cluster in metrics["clusters"]]
    return are_groups(sizes, metrics["clustering"] is not None)


def _worst(scores: dict[str, Any], name: str) -> Iterator[tuple[str, float]]:
    """How unequal the clients are, for a metric that says so."""
    for part in ("worst_decile", "worst_cluster"):
        value = scores.get(f"{name}_{part}", {}).get("value")
        if value is not None:
            yield PARTS[part], value


def _oracle(metrics: dict[str, Any], name: str) -> str:
    score, oracle = metrics["scores"][name], metrics["oracle_scores"][name]
    value = math.nan if oracle["value"] is None else oracle["value"]
    curve = [math.nan if one is None else one for one in oracle["per_round"]]
    word = "error" if name == ERROR else score["title"]
    suspect = bool(metrics["oracle_suspect"])
    why = no_yardstick(word, score["better"], score["value"], value, curve, suspect)
    return f"no yardstick: {why}" if why else show(oracle["value"])


def show(value: Any) -> str:
    """A number or nothing, short."""
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    return f"{value:.4f}" if abs(value) < _LARGE else f"{value:.2e}"
