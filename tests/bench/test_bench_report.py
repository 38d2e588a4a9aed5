"""The bench report: ranks by the worst case, and shows what diverged, failed or is hostile."""

import csv
import json
import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from bench.report import write_bench_report, write_run_report
from bench.report.bands import band_look, error_axis
from bench.report.bench_words import terminal_lines
from bench.report.curves import step_panels, sweep_panels
from bench.report.grid_reading import read_bench
from bench.report.heatmap import COLOURS, Value, draw_heatmap, ink_on
from bench.report.labels import shorten
from bench.report.ranking import leaderboard
from bench.report.resampling import Interval, interval, resampled_means, worst_interval, worst_mean
from bench.report.telling import holm, swap_test
from launch.report import write_report
from tagma.errors import TagmaError
from tests.bench.report_folders import (
    ATTACK,
    DEFENCE,
    DEFENCES,
    HOSTILE,
    Page,
    bench_folder,
    folder,
    grid_rows,
)

FRACTION = {"key": "fraction", "label": "share of liars", "role": "fraction"}


def rows_where(**where: Any) -> list[dict[str, Any]]:
    return [row for row in grid_rows() if all(row[k] == v for k, v in where.items())]


def board(path: Path, rows: list[dict[str, Any]] | None = None, **index: Any) -> dict[str, Any]:
    bench = read_bench(bench_folder(path, rows, pictures=False, **index))
    return {one.defence: one for one in leaderboard(bench)}


def figures(path: Path) -> dict[str, list[dict[str, str]]]:
    found = {}
    for file in (path / "figures").glob("*.csv"):
        with file.open(newline="") as text:
            found[file.stem] = list(csv.DictReader(text))
    return found


def test_a_defence_ranks_by_the_attack_that_hurts_it_most(tmp_path: Path) -> None:
    standings = board(tmp_path / "bench")
    assert list(standings) == ["tagma", "paper", "undefended"]
    assert standings["tagma"].score.value == pytest.approx(0.17)
    assert standings["tagma"].worst == "alie"
    assert standings["paper"].score.value == pytest.approx(0.26)
    assert standings["tagma"].means == pytest.approx(
        {"none": 0.12, "sign_flip": 0.16, "alie": 0.17}
    )


def test_the_score_is_the_worst_tile_of_the_heatmap(tmp_path: Path) -> None:
    write_bench_report(bench_folder(tmp_path / "bench"))
    data = figures(tmp_path / "bench")
    for row in data["leaderboard"]:
        tiles = [float(t["mean"]) for t in data["heatmap"] if t["defence"] == row["defence"]]
        assert float(row["mean"]) == max(tiles)


def test_a_diverged_run_makes_the_mean_infinite_and_ranks_last(tmp_path: Path) -> None:
    standing = board(tmp_path / "bench")["undefended"]
    assert standing.score.value == math.inf
    assert (standing.rank, standing.diverged, standing.worst) == (3, 1, "sign_flip")
    assert math.isfinite(standing.score.low), "draws without that seed are finite"
    assert standing.score.high == math.inf


def test_among_diverged_defences_the_one_that_diverged_less_often_is_first(tmp_path: Path) -> None:
    rows = [r | {"estimation_error": math.inf} for r in rows_where(attack="alie")]
    rows[-1]["estimation_error"] = 0.2
    assert next(iter(board(tmp_path / "bench", rows))) == "tagma"


def duel(path: Path, first: list[float], second: list[float]) -> dict[str, Any]:
    rows = []
    for name, errors in (("first", first), ("second", second)):
        row = rows_where(attack="alie", defence="paper")[0]
        rows += [
            row | {"defence": name, "cell": f"{name}{i}", "seed": i, "estimation_error": error}
            for i, error in enumerate(errors)
        ]
    defence = DEFENCE | {"values": ["first", "second"]}
    index: dict[str, Any] = {"axes": [ATTACK, defence]}
    return board(path, [row for row in rows if row["estimation_error"] != ""], **index)


def test_attacks_that_harm_alike_are_counted_and_the_terminal_has_the_leaderboard(
    tmp_path: Path,
) -> None:
    rows = [row | {"estimation_error": 0.2} for row in rows_where(defence="tagma")]
    rows += [row | {"estimation_error": 0.5} for row in rows_where(defence="paper", attack="alie")]
    bench = read_bench(bench_folder(tmp_path / "bench", rows, pictures=False))
    lines = terminal_lines(bench, leaderboard(bench))
    assert "under none and 2 more alike" in lines[0]
    assert [line.split()[:3] for line in lines[1:]] == [
        ["1", "tagma", "0.200"],
        ["2", "paper", "0.500"],
    ]


def test_six_seeds_that_agree_tell_two_defences_apart_five_do_not_and_disputed_ones_tie(
    tmp_path: Path,
) -> None:
    low, high = [0.10, 0.11, 0.12, 0.13, 0.14, 0.15], [0.19, 0.20, 0.21, 0.22, 0.23, 0.24]
    six = duel(tmp_path / "six", low, high)["second"]
    assert six.behind == pytest.approx(0.09)
    assert six.chance == pytest.approx(2 / 64), "only no swap and all swaps differ as much"
    assert six.told
    five = duel(tmp_path / "five", low[:5], high[:5])["second"]
    assert (five.chance, five.told, five.tied) == (None, False, False)
    text = Page(write_bench_report(tmp_path / "five")).text("h1")
    assert "first is lowest in these 5 seeds; too few to tell" in text
    assert "first holds out best" in Page(write_bench_report(tmp_path / "six")).text("h1")
    other = duel(tmp_path / "disputed", low, [0.3, 0.05, 0.3, 0.05, 0.1, 0.2])["second"]
    assert other.tied
    assert "tied with it: second" in Page(write_bench_report(tmp_path / "disputed")).text("h1")


def test_equal_scores_share_a_rank_and_all_leaders_are_named(tmp_path: Path) -> None:
    both = duel(tmp_path / "equal", [0.2], [0.2])
    assert [one.rank for one in both.values()] == [1, 1]
    assert both["second"].tied
    page = Page(write_bench_report(tmp_path / "equal"))
    assert page.text("h1").startswith("first, second are equal, the lowest")


def test_holm_corrects_the_least_most() -> None:
    assert holm({"a": 0.04, "b": 0.01, "c": 0.03}) == pytest.approx(
        {"a": 0.06, "b": 0.03, "c": 0.06}
    )


def test_swaps_of_defences_that_are_alike_rarely_tell_them_apart() -> None:
    source = np.random.default_rng(0)
    samples = source.standard_normal((400, 2, 7, 3))
    told = [(swap_test(first, second) or 1.0) <= 0.05 for first, second in samples]
    assert 0.02 < np.mean(told) < 0.08


def test_an_incomplete_defence_is_behind_and_compared_on_the_seeds_that_both_have(
    tmp_path: Path,
) -> None:
    both: Any = duel(tmp_path / "b", [0.2, 0.3, 0.4], [0.1, 0.2, ""])  # type: ignore[list-item]
    assert list(both) == ["first", "second"]
    assert (both["second"].rank, both["second"].lacking) == (2, 1)
    assert both["second"].behind == pytest.approx(-0.1)
    assert "incomplete, 1 run missing: −0.1" in Page(write_bench_report(tmp_path / "b")).text("td")


def test_an_attack_without_any_result_is_left_out_and_named(tmp_path: Path) -> None:
    rows = grid_rows()
    for row in rows:
        if row["attack"] == "alie":
            row |= {"status": "failed", "reason": "no", "estimation_error": ""}
    standings = board(tmp_path / "bench", rows)
    assert next(iter(standings.values())).left_out == ("alie",)
    assert standings["tagma"].missing == ()
    assert standings["tagma"].lacking == 0
    page = Page(write_bench_report(tmp_path / "bench"))
    assert "Left out, because no defence has a result: alie." in page.text("p")


def test_nobody_leads_where_all_diverged(tmp_path: Path) -> None:
    duel(tmp_path / "bench", [math.inf] * 2, [math.inf] * 2)
    page = Page(write_bench_report(tmp_path / "bench"))
    assert page.text("h1") == "Every defence diverged under some attack."
    assert "lowest" not in page.text("td")
    assert "2 of 2 runs diverged" in page.text("td")


@pytest.mark.parametrize(
    ("seeds", "attacks", "share"),
    [(5, 1, 0.85), (5, 12, 0.68), (10, 1, 0.90), (10, 12, 0.74)],
)
def test_intervals_of_the_score_hold_the_true_worst_case_as_often_as_the_page_says(
    seeds: int, attacks: int, share: float
) -> None:
    samples = 1 + 0.1 * np.random.default_rng(0).standard_normal((seeds, 400, attacks))
    drawn = resampled_means(samples).max(axis=2)
    ends = [worst_interval(drawn[:, i]) for i in range(400)]
    assert np.mean([end.low <= 1 <= end.high for end in ends]) == pytest.approx(share, abs=0.04)


def test_an_interval_of_errors_is_not_below_zero() -> None:
    assert worst_interval(np.array([0.1, 0.1, 0.9])).low == 0.0


def test_a_defence_with_an_attack_missing_does_not_lead(tmp_path: Path) -> None:
    rows = grid_rows()
    for row in rows:
        if (row["defence"], row["attack"]) == ("tagma", "alie"):
            row |= {"status": "failed", "reason": "out of memory", "estimation_error": ""}
    standings = board(tmp_path / "bench", rows)
    assert list(standings) == ["paper", "undefended", "tagma"]
    assert standings["tagma"].missing == ("alie",)
    assert standings["tagma"].failed == 3


def test_settings_are_ranked_apart(tmp_path: Path) -> None:
    rows = [r | {"task": t} for t in ("a", "b") for r in rows_where(attack="alie")]
    for row in rows:
        row["cell"] += row["task"]
        if row["task"] == "b":
            row["estimation_error"] = 100 - row["estimation_error"]
    task = {"key": "task", "label": "task", "role": "other", "values": ["a", "b"]}
    bench = read_bench(bench_folder(tmp_path / "b", rows, [ATTACK, DEFENCE, task], pictures=False))
    order = [(one.setting, one.rank, one.defence) for one in leaderboard(bench)]
    assert order[0] == ("task a", 1, "tagma")
    assert order[3] == ("task b", 1, "undefended")


def test_draws_of_equal_values_do_not_vary_and_one_seed_has_no_interval() -> None:
    same = interval(resampled_means(np.full(4, 0.5)))
    assert (same.value, same.low, same.high) == (0.5, 0.5, 0.5)
    assert not interval(resampled_means(np.array([0.5]))).known


def test_an_interval_holds_the_mean_and_lies_within_the_sample() -> None:
    sample = np.array([1.0, 2.0, 3.0, 4.0, 10.0])
    one = interval(resampled_means(sample))
    assert one.value == 4.0
    assert 1.0 < one.low < 4.0 < one.high < 10.0


@pytest.mark.parametrize(("seeds", "share"), [(5, 0.85), (10, 0.90), (20, 0.93)])
def test_intervals_of_fewer_seeds_hold_the_true_mean_less_often(seeds: int, share: float) -> None:
    samples = np.random.default_rng(0).standard_normal((seeds, 1000))
    drawn = resampled_means(samples)
    ends = [interval(drawn[:, i]) for i in range(samples.shape[1])]
    assert np.mean([end.low <= 0 <= end.high for end in ends]) == pytest.approx(share, abs=0.02)


def test_a_missing_run_is_left_out_and_a_mean_of_none_is_not_known() -> None:
    means = resampled_means(np.array([[1.0, np.nan], [3.0, np.nan]]))
    assert means[0, 0] == 2.0
    assert np.isnan(means[:, 1]).all()
    assert worst_mean(means)[0] == 2.0
    assert np.isnan(worst_mean(np.array([[np.nan, np.nan]])))[0]


def test_error_against_the_fraction_is_the_worst_case_at_each(tmp_path: Path) -> None:
    rows = []
    for fraction in (0.1, 0.3):
        for row in grid_rows():
            error = row["estimation_error"] * (10 * fraction)
            name = f"{row['cell']}-{fraction}"
            rows.append(row | {"cell": name, "fraction": fraction, "estimation_error": error})
    axes = [ATTACK, DEFENCE, FRACTION | {"values": ["0.1", "0.3"]}]
    bench = read_bench(bench_folder(tmp_path / "bench", rows, axes, pictures=False))
    bands = sweep_panels(bench, bench.axes[2], lambda cell: cell.numbers.get(bench.metric))[""]
    assert [band.name for band in bands] == list(DEFENCES)
    assert bands[2].xs == (0.1, 0.3)
    assert bands[2].mean == pytest.approx([0.17, 0.51])
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
    assert kept.mean == pytest.approx([0.5, 0.3])
    assert left.mean == pytest.approx([0.5, 0.1])


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
        | {f"machines-{i}" for i in (1, 2, 3)},
        "run": {"misclustering", "error", "machines"},
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
    (tmp_path / "bench/figures/machines-9.svg").touch()
    (tmp_path / "bench/figures/mine.svg").touch()
    write_bench_report(tmp_path / "bench")
    names = {file.name for file in (tmp_path / "bench/figures").iterdir()}
    assert "mine.svg" in names
    assert "machines-9.svg" not in names


def test_failed_runs_are_listed_with_their_reason_and_hostile_words_stay_words(
    tmp_path: Path,
) -> None:
    rows = grid_rows()
    words = HOSTILE[:-1] + "\x1b\x00"
    for row in rows[:2]:
        row |= {"status": "timed out", "reason": words[:-1], "estimation_error": ""}
    for row in rows:
        row["defence"] += "<b>" * (row["defence"] == "paper")
    index: dict[str, Any] = {"title": words, "command": words, "machines": [words]}
    path = bench_folder(tmp_path / "bench", rows, pictures=False, **index)
    page = Page(write_bench_report(path))
    assert len(page.having("script")) == len(page.having("style")) == 1
    assert not page.having("img")
    assert not page.having("b")
    assert "<script>alert(1)</script>" in page.text("bdi")
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


def test_a_bench_without_known_truth_has_a_page_that_says_so(tmp_path: Path) -> None:
    rows = [row | {"estimation_error": "", "misclustering": ""} for row in grid_rows()]
    path = bench_folder(tmp_path / "bench", rows, pictures=False, metrics=[])
    (path / "timings.csv").unlink()
    page = Page(write_bench_report(path))
    assert page.text("h1") == "27 runs; the estimation error is not known for this task."
    assert "No times are on record" in page.text("p")


def test_a_bench_in_which_everything_failed_has_a_page(tmp_path: Path) -> None:
    gone = {"status": "failed", "reason": "no", "estimation_error": "", "misclustering": ""}
    path = bench_folder(tmp_path / "bench", [row | gone for row in grid_rows()], pictures=False)
    assert "27 failures" in Page(write_bench_report(path)).text("span")


def test_tiles_are_darker_the_worse_and_their_text_contrasts() -> None:
    values = {
        ("a", d): Value(Interval(v, v, v), "") for d, v in zip("xyz", (0.1, 1, 9), strict=True)
    }
    values["a", "n"] = Value(Interval(math.inf, 1.0, math.inf), "")
    drawn = draw_heatmap("h", "", "", ["a"], ["x", "y", "z", "n", "-"], values)
    shades = [COLOURS.index(tile.colour) for tile in drawn.tiles[:3]]
    assert shades == sorted(set(shades))
    alike = {("a", "x"): values["a", "x"], ("a", "y"): Value(Interval(0.11, 0.1, 0.12), "")}
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
    panels = step_panels(bench, lambda cell: cell.error_curve, stays=False)
    axis = error_axis(panels["alie"])
    assert axis.place(0.2) != axis.place(0.4)


def test_21_curves_differ_in_colour_or_dash_or_mark() -> None:
    assert len({band_look(i)[0] + band_look(i)[1].rpartition(" ")[0] for i in range(21)}) == 21


def test_a_long_name_keeps_its_ends() -> None:
    assert shorten("geometric_median", 20) == "geometric_median"
    cut = shorten("geometric_median_and_bucketing", 20)
    assert len(cut) == 20
    assert cut.startswith("geometric_me")
    assert cut.endswith("cketing")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda path: (path / "table.csv").unlink(), "table.csv is missing"),
        (lambda path: (path / "bench.json").write_text("{"), "damaged"),
        (lambda path: (path / "bench.json").write_text("[]"), "damaged"),
        (lambda path: (path / "table.csv").write_text("cell\n1\n"), "damaged"),
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
    (damaged / "metrics.json").write_text(json.dumps({"seconds": {"erm": "soon"}}))
    with pytest.raises(TagmaError, match="damaged"):
        write_report(damaged)
