"""Own data: where nobody knows the truth, nothing is asserted about honest or Byzantine clients."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tagma.launch import summary_table
from tagma.launch.run import run
from tagma.settings import compose
from tests.conftest import SMALL
from tests.report.report_folders import Page

OWN = ["task._target_=tests.report.own_data.OwnData", "task.clusters=3", "task.dim=8"]
CLAIMS = re.compile(r"honest|byzantine|misclustered|oracle|estimation error|truth", re.IGNORECASE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run under attack with own data, by the whole algorithm of the preset."""
    path = tmp_path_factory.mktemp("own") / "run"
    overrides = [*SMALL, *OWN, "task.clients=30", "preset=tagma", "attack=random_model"]
    run(compose([*overrides, "attack.fraction=0.1"]), path)
    return path


@pytest.fixture(scope="module")
def metrics(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "metrics.json").read_text())
    return found


def test_metrics_have_null_for_what_nobody_knows(metrics: dict[str, Any]) -> None:
    unknown = [name for name in metrics if name.startswith(("misclustering", "estimation_error"))]
    unknown += [name for name in metrics if "oracle" in name or name.endswith("_per_iteration")]
    assert len(unknown) >= 10
    assert [name for name in unknown if metrics[name] is not None] == []
    assert len(metrics["clusters"]) == 3
    assert {(one["honest"], one["byzantine"]) for one in metrics["clusters"]} == {(None, None)}


def test_losses_and_their_quartiles_are_those_of_the_clusters(metrics: dict[str, Any]) -> None:
    for middle, (low, high) in zip(
        metrics["client_loss"], metrics["client_loss_quartiles"], strict=True
    ):
        assert 0 < low <= middle <= high < 1


def test_the_page_says_who_is_kept_out_and_asserts_nothing_about_roles(
    folder: Path, metrics: dict[str, Any]
) -> None:
    page = Page(folder / "report.html")
    held = metrics["screening"]["quarantined"]
    assert len(held) >= 3, "the three that attack"
    assert page.text("h1") == (
        f"30 clients in 3 clusters; in quarantine: {', '.join(map(str, held))}; nobody excluded."
    )
    for tag in ("h1", "h2", "h3", "dt", "th", "p", "span", "text", "desc", "title", "td", "li"):
        assert not CLAIMS.search(page.text(tag)), tag


def test_the_page_has_the_clients_and_the_losses_and_no_empty_picture(folder: Path) -> None:
    page = Page(folder / "report.html")
    drawn = [str(svg["aria-labelledby"]).split()[0] for svg in page.having("svg", role="img")]
    assert drawn == ["found-title", "losses-title"]
    assert not page.having("p", **{"class": "unknown"})
    figures = {file.name for file in (folder / "figures").iterdir()}
    assert figures == {"clients.svg", "clients.csv", "losses.svg", "losses.csv"}


def test_losses_of_the_figure_are_those_of_metrics(folder: Path, metrics: dict[str, Any]) -> None:
    with (folder / "figures/losses.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    found: list[list[float]] = [[] for _ in metrics["client_loss_per_round"]]
    for row in rows:
        found[int(row["round"])].append(float(row["median"]))
    assert len(found) == 4, "the warm start and three rounds"
    assert found == metrics["client_loss_per_round"]
    assert found[-1] == metrics["client_loss"]


def test_the_table_has_losses_and_no_roles(
    metrics: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = io.StringIO()
    monkeypatch.setattr(summary_table, "console", Console(file=out, width=80))
    summary_table.print_summary(metrics)
    assert not CLAIMS.search(out.getvalue())
    assert f"{metrics['client_loss'][0]:.4f}" in out.getvalue()
    assert "clients in quarantine" in out.getvalue()
