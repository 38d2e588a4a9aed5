"""The page and the table of real runs by algorithms without stage II, and of a neural-like task."""

import csv
import io
import statistics
from pathlib import Path

import pytest
from rich.console import Console

from tagma.launch import summary_table
from tagma.launch.run import run
from tagma.server.results.run_folder import read_metrics
from tagma.settings import compose
from tests.report.report_folders import Page

TINY = ["task.clients=12", "task.clusters=2", "task.dim=5", "task.samples=30", "rounds=3"]
SIGNS = "task._target_=tests.report.signs_task.Signs"
CASES = {
    "fedavg": (
        ["strategy=fedavg"],
        "One model for 12 clients; the error",
        {"error", "score-served-error", "clients"},
    ),
    "ifca": (
        ["strategy=ifca", "strategy.k=2", "attack=none"],
        "honest clients",
        {"error", "score-served-error", "clients"},
    ),
    "local": (
        ["strategy=local", "attack=none"],
        "12 clients, each with a model",
        {"error", "score-served-error", "clients"},
    ),
    "signs": (
        [SIGNS, "attack=none", "evaluate_every=1"],
        "the accuracy is",
        {"misclustering", "score-accuracy", "strips", "clients"},
    ),
    "signs by fedavg": (
        [SIGNS, "strategy=fedavg", "attack=none", "evaluate_every=1"],
        "One model for 12 clients; the accuracy is",
        {"score-accuracy", "strips", "clients"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_page_and_table_show_what_there_is_and_nothing_else(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overrides, headline, figures = CASES[case]
    run(compose([*TINY, *overrides]), tmp_path / "run")
    metrics = read_metrics(tmp_path / "run")
    page = Page(tmp_path / "run" / "report.html")
    assert headline in page.text("h1")
    assert "the oracle’s" in page.text("h1")
    drawn = {file.stem for file in (tmp_path / "run/figures").iterdir()}
    assert drawn - {"losses"} == figures
    assert not page.having("p", **{"class": "unknown"})
    stage_two = metrics["clustering"] is not None
    assert ("Trimmed" in page.text("th")) == stage_two
    caption = "".join(data for tag, data in page.texts if tag == "p")
    assert ("local model, projected" in caption) == stage_two
    assert ("last answer, projected" in caption) != stage_two
    out = io.StringIO()
    monkeypatch.setattr(summary_table, "console", Console(file=out, width=80))
    summary_table.print_summary(metrics)
    first = next(iter(metrics["scores"].values()))
    assert f"{first['value']:.4f}" in out.getvalue()
    assert "oracle, given the true clusters" in out.getvalue()
    assert ("trimmed" in out.getvalue()) == stage_two
    assert ("estimation error" in out.getvalue()) == ("estimation_error" in metrics["scores"])


def test_curves_of_the_figure_are_those_of_metrics(tmp_path: Path) -> None:
    run(compose([*TINY, *CASES["signs by fedavg"][0]]), tmp_path / "run")
    metrics = read_metrics(tmp_path / "run")
    with (tmp_path / "run/figures/score-accuracy.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    curve = metrics["scores"]["accuracy"]["per_round"]
    assert [float(row["accuracy"]) for row in rows] == curve
    assert [int(row["round"]) for row in rows] == [1, 2, 3, 4]
    oracle = metrics["oracle_scores"]["accuracy"]["per_round"]
    assert [float(row["oracle_accuracy"]) for row in rows] == oracle


def test_strips_have_every_honest_client_and_what_it_measured(tmp_path: Path) -> None:
    settings = [*TINY, SIGNS, "strategy=fedavg", "attack=sign_flip", "attack.fraction=0.25"]
    run(compose([*settings, "oracle=false"]), tmp_path)
    with (tmp_path / "clusters.csv").open(newline="") as file:
        honest = [row for row in csv.DictReader(file) if row["byzantine"] == "0"]
    with (tmp_path / "figures/strips.csv").open(newline="") as file:
        drawn = list(csv.DictReader(file))
    assert len(honest) == 9
    assert [row["client"] for row in drawn] == [row["client"] for row in honest]
    assert [row["accuracy"] for row in drawn] == [row["accuracy"] for row in honest]
    assert statistics.fmean(float(row["accuracy"]) for row in drawn) == pytest.approx(
        read_metrics(tmp_path)["accuracy"]["mean"]
    )


def test_an_algorithm_without_groups_has_clients_in_the_colours_of_their_true_clusters(
    tmp_path: Path,
) -> None:
    run(compose([*TINY, "strategy=fedavg", "attack=sign_flip", "oracle=false"]), tmp_path)
    page = Page(tmp_path / "report.html")
    marks = page.text("title")
    assert "has model 0" in marks
    assert "Byzantine" in marks
    assert "found in" not in marks
    assert len(page.having("svg", **{"class": "panel"})) == 1
    assert "Single out a true cluster" in page.text("legend")
