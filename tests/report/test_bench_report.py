"""The page of a bench: its figures, and what diverged, failed or is hostile."""

import csv
import json
import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tagma.errors import TagmaError
from tagma.launch.report_command import write_report
from tagma.report import write_bench_report, write_run_report
from tagma.report.bench_reading import read_bench
from tagma.report.bootstrap import Interval
from tagma.report.heatmap import COLOURS, TileValue, draw_heatmap, ink_on
from tagma.report.line_chart import line_look, score_axis
from tagma.report.seed_curves import step_panels, sweep_panels
from tagma.report.short_labels import shorten
from tests.report.report_folders import (
    ATTACK,
    DEFENCE,
    DEFENCES,
    HOSTILE,
    Page,
    bench_folder,
    folder,
    grid_rows,
    rows_where,
)

FRACTION = {"key": "fraction", "label": "share of Byzantine clients", "role": "fraction"}


def figures(path: Path) -> dict[str, list[dict[str, str]]]:
    found = {}
    for file in (path / "figures").glob("*.csv"):
        with file.open(newline="") as text:
            found[file.stem] = list(csv.DictReader(text))
    return found


def test_the_score_is_the_worst_tile_of_the_heatmap(tmp_path: Path) -> None:
    write_bench_report(bench_folder(tmp_path / "bench"))
    data = figures(tmp_path / "bench")
    for row in data["leaderboard"]:
        tiles = [float(t["mean"]) for t in data["heatmap"] if t["defence"] == row["defence"]]
        assert float(row["mean"]) == max(tiles)


def test_error_against_the_fraction_is_the_worst_case_at_each(tmp_path: Path) -> None:
    rows = []
    for fraction in (0.1, 0.3):
        for row in grid_rows():
            error = row["estimation_error"] * (10 * fraction)
            name = f"{row['cell']}-{fraction}"
            rows.append(row | {"cell": name, "fraction": fraction, "estimation_error": error})
    axes = [ATTACK, DEFENCE, FRACTION | {"values": ["0.1", "0.3"]}]
    bench = read_bench(bench_folder(tmp_path / "bench", rows, axes, pictures=False))
    lines = sweep_panels(bench, bench.axes[2], lambda cell: cell.numbers.get(bench.metric))[""]
    assert [line.name for line in lines] == list(DEFENCES)
    assert lines[2].xs == (0.1, 0.3)
    assert lines[2].values == pytest.approx([0.17, 0.51])
    write_bench_report(tmp_path / "bench")
    assert (tmp_path / "bench/figures/against-fraction.svg").exists()
    assert "alie at 0.3" in Page(tmp_path / "bench/report.html").text("h1")


def test_a_curve_that_ends_early_keeps_its_last_share_but_no_error(tmp_path: Path) -> None:
    bench_folder(tmp_path / "bench", rows_where(attack="alie", defence="paper"), pictures=False)
    table = "cell,iteration,misclustering\nalie-paper-0,0,0.5\nalie-paper-1,0,0.5\n"
    (tmp_path / "bench/iterations.csv").write_text(table + "alie-paper-1,1,0.1\n")
    bench = read_bench(tmp_path / "bench")
    (kept,) = step_panels(bench, lambda cell: cell.misclustering_curve, stays=True)["alie"]
    (left,) = step_panels(bench, lambda cell: cell.misclustering_curve, stays=False)["alie"]
    assert kept.values == pytest.approx([0.5, 0.3])
    assert left.values == pytest.approx([0.5, 0.1])


def test_a_page_is_well_formed_complete_and_alone(tmp_path: Path) -> None:
    page = Page(write_bench_report(bench_folder(tmp_path / "bench")))
    assert page.text("h1") == (
        "tagma is lowest in these 3 seeds; too few to tell: "
        "at worst its estimation error is 0.170, under alie; "
        "next comes paper with 0.260."
    )
    links = [v for _, attrs in page.elements for k, v in attrs.items() if k in ("href", "src")]
    assert all(str(link).startswith("#") for link in links)
    assert not re.search(r"https?:|url\(|@import|<link|fetch\(", page.source)
    assert "tagma bench bench=small" in page.text("code")
    assert len(page.having("svg", role="img")) == 15
    ids = [str(attrs["id"]) for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    for svg in page.having("svg", role="img"):
        assert set(str(svg["aria-labelledby"]).split()) <= set(ids)


def test_every_figure_is_a_drawing_and_a_table(tmp_path: Path) -> None:
    write_bench_report(bench_folder(tmp_path / "bench"))
    write_run_report(folder(tmp_path / "run"))
    names = {
        "bench": {"leaderboard", "heatmap", "rounds", "iterations", "seconds-defence"}
        | {f"clients-{i}" for i in (1, 2, 3)},
        "run": {"misclustering", "error", "clients"},
    }
    for kind, expected in names.items():
        found = tmp_path / kind / "figures"
        assert {f.stem for f in found.glob("*.svg")} == expected
        assert {f.stem for f in found.glob("*.csv")} == expected
        for file in found.glob("*.svg"):
            root = ElementTree.parse(file).getroot()
            assert root.findtext("{*}title")
            assert root.findtext("{*}desc")
            assert "var(" not in file.read_text(), "not every program knows variables"
    errors = figures(tmp_path / "run")["error"]
    assert [float(row["estimation_error"]) for row in errors] == [0.2, 0.15, 0.13]


def test_figures_of_an_earlier_report_are_removed_and_those_of_others_stay(tmp_path: Path) -> None:
    bench_folder(tmp_path / "bench")
    (tmp_path / "bench/figures").mkdir()
    (tmp_path / "bench/figures/clients-9.svg").touch()
    (tmp_path / "bench/figures/mine.svg").touch()
    write_bench_report(tmp_path / "bench")
    names = {file.name for file in (tmp_path / "bench/figures").iterdir()}
    assert "mine.svg" in names
    assert "clients-9.svg" not in names


def test_failed_runs_are_listed_with_their_reason_and_hostile_words_stay_words(
    tmp_path: Path,
) -> None:
    rows = grid_rows()
    words = HOSTILE[:-1] + "\x1b\x00\u202e"
    for row in rows[:2]:
        row |= {"status": "timed out", "reason": words[:-1], "estimation_error": ""}
    for row in rows:
        row["defence"] += "<b>" * (row["defence"] == "paper")
    index: dict[str, Any] = {"title": words, "command": words, "hosts": [words]}
    path = bench_folder(tmp_path / "bench", rows, pictures=False, **index)
    page = Page(write_bench_report(path))
    assert len(page.having("script")) == len(page.having("style")) == 1
    assert not page.having("img")
    assert not page.having("b")
    assert "<script>alert(1)</script>" in page.text("bdi")
    assert "\\x1b\\x00\\u202e" in page.text("h1") + page.text("title")
    assert not set(page.source) & set("\x1b\x00\u202e")
    assert page.text("bdi").count("alert(1)") == 1, "two seeds that failed alike share a row"
    for file in (path / "figures").glob("*.svg"):
        ElementTree.parse(file)


def test_a_picture_that_cannot_be_read_is_left_out_and_named(tmp_path: Path) -> None:
    path = bench_folder(tmp_path / "bench")
    for content, name in (("{", "alie-tagma-0"), ("[]", "alie-paper-0")):
        (path / "cells" / name / "metrics.json").write_text(content)
    page = Page(write_bench_report(path))
    assert "left out: cells/alie-tagma-0, cells/alie-paper-0." in page.text("p")
    assert len(page.having("figure", **{"class": "places"})) == 1


@pytest.mark.parametrize("link", ["cells", "cells/alie-tagma-0"])
def test_no_run_is_shown_that_lies_elsewhere(link: str, tmp_path: Path) -> None:
    path = bench_folder(tmp_path / "bench")
    (path / link).rename(tmp_path / "elsewhere")
    (path / link).symlink_to(tmp_path / "elsewhere")
    page = Page(write_bench_report(path))
    assert "left out: cells/alie-tagma-0" in page.text("p")


def test_a_bench_without_known_truth_has_a_page_that_says_so(tmp_path: Path) -> None:
    rows = [row | {"estimation_error": "", "misclustering": ""} for row in grid_rows()]
    path = bench_folder(tmp_path / "bench", rows, pictures=False, metrics=[])
    (path / "timings.csv").unlink()
    page = Page(write_bench_report(path))
    assert page.text("h1") == "27 runs; the estimation error is not known for this task."
    assert "Leaderboard" not in page.text("h2")
    assert "Misclustered" not in page.text("th")
    assert not page.having("svg", role="img")
    assert "No times are on record" in page.text("p")


def test_a_bench_in_which_everything_failed_has_a_page(tmp_path: Path) -> None:
    gone = {"status": "failed", "reason": "no", "estimation_error": "", "misclustering": ""}
    path = bench_folder(tmp_path / "bench", [row | gone for row in grid_rows()], pictures=False)
    assert "27 failures" in Page(write_bench_report(path)).text("span")


def test_tiles_are_darker_the_worse_and_their_text_contrasts() -> None:
    values = {
        ("a", d): TileValue(Interval(v, v, v), "") for d, v in zip("xyz", (0.1, 1, 9), strict=True)
    }
    values["a", "n"] = TileValue(Interval(math.inf, 1.0, math.inf), "")
    drawn = draw_heatmap("h", "", "", ["a"], ["x", "y", "z", "n", "-"], values)
    shades = [COLOURS.index(tile.colour) for tile in drawn.tiles[:3]]
    assert shades == sorted(set(shades))
    alike = {("a", "x"): values["a", "x"], ("a", "y"): TileValue(Interval(0.11, 0.1, 0.12), "")}
    near = draw_heatmap("h", "", "", ["a"], ["x", "y"], alike)
    assert [COLOURS.index(tile.colour) for tile in near.tiles] == [0, 0], "a tenth is not much"
    assert [tile.text for tile in drawn.tiles] == ["0.100", "1.00", "9.00", "∞", "–"]
    assert (ink_on(COLOURS[0]), ink_on(COLOURS[-1])) == ("dark", "light")


def test_one_hopeless_defence_does_not_flatten_the_curves_of_others(tmp_path: Path) -> None:
    rows = rows_where(attack="alie")
    for row in rows:
        if row["defence"] == "undefended":
            row["estimation_error"] = 1e30
    bench = read_bench(bench_folder(tmp_path / "bench", rows, pictures=False))
    panels = step_panels(bench, lambda cell: cell.score_curve, stays=False)
    axis = score_axis(panels["alie"])
    assert axis.place(0.2) != axis.place(0.4)


def test_21_curves_differ_in_colour_or_dash_or_mark() -> None:
    assert len({line_look(i)[0] + line_look(i)[1].rpartition(" ")[0] for i in range(21)}) == 21


def test_a_long_name_keeps_its_ends() -> None:
    assert shorten("geometric_median", 20) == "geometric_median"
    cut = shorten("geometric_median_and_bucketing", 20)
    assert len(cut) == 20
    assert cut.startswith("geometric_me")
    assert cut.endswith("cketing")


def named_cell(path: Path, name: str) -> None:
    table = path / "table.csv"
    table.write_text(table.read_text().replace("alie-tagma-0", name))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda path: (path / "table.csv").unlink(), "table.csv is missing"),
        (lambda path: (path / "bench.json").write_text("{"), "damaged"),
        (lambda path: (path / "bench.json").write_text("[]"), "damaged"),
        (lambda path: (path / "table.csv").write_text("cell\n1\n"), "damaged"),
        (lambda path: named_cell(path, "../../elsewhere"), "is no name of a cell"),
        (lambda path: named_cell(path, "9" * 500), "is no name of a cell"),
        (lambda path: (path / "bench.json").unlink(), "has neither metrics.json nor bench.json"),
    ],
)
def test_a_folder_that_is_no_bench_is_one_clear_line(
    tmp_path: Path, damage: Any, words: str
) -> None:
    path = bench_folder(tmp_path / "bench", pictures=False)
    damage(path)
    with pytest.raises(TagmaError, match=re.escape(words)) as error:
        write_report(path)
    assert "\n" not in str(error.value)


def test_report_knows_a_run_from_a_bench_and_gives_the_same_again(tmp_path: Path) -> None:
    for path in (bench_folder(tmp_path / "bench"), folder(tmp_path / "run")):
        first = write_report(path).read_bytes()
        assert write_report(path).read_bytes() == first
    damaged = folder(tmp_path / "damaged")
    (damaged / "metrics.json").write_text(json.dumps({"seconds": {"local_model": "soon"}}))
    with pytest.raises(TagmaError, match="damaged"):
        write_report(damaged)
