"""The leaderboard: defences by their worst case, and how sure one can be of it."""

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagma.report import write_bench_report
from tagma.report.bench_headline import terminal_lines
from tagma.report.bench_reading import read_bench
from tagma.report.bootstrap import (
    Interval,
    interval,
    resampled_means,
    worst_interval,
    worst_mean,
)
from tagma.report.heatmap import COLOURS, TileValue, draw_heatmap
from tagma.report.leaderboard import leaderboard
from tagma.report.seed_swaps import holm, swap_test
from tests.report.report_folders import (
    ATTACK,
    DEFENCE,
    Page,
    bench_folder,
    grid_rows,
    rows_where,
)


def board(path: Path, rows: list[dict[str, Any]] | None = None, **index: Any) -> dict[str, Any]:
    bench = read_bench(bench_folder(path, rows, pictures=False, **index))
    return {one.defence: one for one in leaderboard(bench)}


def test_a_defence_ranks_by_the_attack_that_hurts_it_most(tmp_path: Path) -> None:
    standings = board(tmp_path / "bench")
    assert list(standings) == ["tagma", "paper", "undefended"]
    assert standings["tagma"].score.value == pytest.approx(0.17)
    assert standings["tagma"].worst == "alie"
    assert standings["paper"].score.value == pytest.approx(0.26)
    assert standings["tagma"].means == pytest.approx(
        {"none": 0.12, "sign_flip": 0.16, "alie": 0.17}
    )


def test_a_diverged_run_makes_the_mean_infinite_and_ranks_last(tmp_path: Path) -> None:
    standing = board(tmp_path / "bench")["undefended"]
    assert standing.score.value == math.inf
    assert (standing.rank, standing.diverged, standing.worst) == (3, 1, "sign_flip")
    assert math.isfinite(standing.score.low), "draws without that seed are finite"
    assert standing.score.high == math.inf


def test_success_and_false_positives_are_those_of_the_worst_attack(tmp_path: Path) -> None:
    rows = grid_rows()
    for row in rows:
        goal, tagma = row["attack"] == "sign_flip", row["defence"] == "tagma"
        row["attack_success"] = (0.9 if goal else "") if not tagma else (0.02 if goal else "")
        judged = {"none": 0.1, "sign_flip": 0.3 + 0.1 * row["seed"], "alie": 0.0}[row["attack"]]
        row["false_positive"] = judged if tagma else ""
    bench = read_bench(
        bench_folder(tmp_path / "bench", rows, pictures=False, metrics=["attack_success"])
    )
    standings = {one.defence: one for one in leaderboard(bench)}
    first = standings["tagma"]
    assert first.success is not None
    assert first.success.value == pytest.approx(0.02)
    assert first.false_positive is not None
    assert first.false_positive.value == pytest.approx(0.4)  # of the mean over three seeds
    assert 0.29 < first.false_positive.low < 0.4 < first.false_positive.high < 0.51
    assert first.cpu_seconds == 1.2
    assert standings["paper"].success is not None
    assert standings["paper"].success.value == pytest.approx(0.9)
    assert standings["paper"].false_positive is None
    assert "success up to 2%" in terminal_lines(bench, leaderboard(bench))[1]
    write_bench_report(tmp_path / "bench")
    page = (tmp_path / "bench" / "report.html").read_text()
    assert all(title in page for title in ("Worst success rate", "False positives", "CPU s"))


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
    assert six.differs
    five = duel(tmp_path / "five", low[:5], high[:5])["second"]
    assert (five.chance, five.differs, five.tied) == (None, False, False)
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


def accuracies() -> list[dict[str, Any]]:
    """Accuracies: 1 less the errors of the grid, and none diverges."""
    return [
        {key: value for key, value in row.items() if key != "estimation_error"}
        | {"accuracy": 1 - min(row["estimation_error"], 0.8), "without_byzantine": 0.9}
        for row in grid_rows()
    ]


def accuracy_bench(path: Path, **index: Any) -> Path:
    ways: dict[str, Any] = {"metric": "accuracy", "better": {"accuracy": "high"}}
    made = bench_folder(path, [], pictures=False, **(ways | index))
    rows = accuracies()
    with (made / "table.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    curves = ["cell,round,accuracy"]
    for row in rows:
        curves += [
            f"{row['cell']},{at},{row['accuracy'] * part}" for at, part in ((0, 0.1), (4, 1))
        ]
    (made / "rounds.csv").write_text("\n".join(curves) + "\n")
    return made


def test_the_worst_accuracy_is_the_lowest_and_the_highest_of_these_ranks_first(
    tmp_path: Path,
) -> None:
    bench = read_bench(accuracy_bench(tmp_path / "bench"))
    standings = leaderboard(bench)
    assert [one.defence for one in standings] == ["tagma", "paper", "undefended"]
    first, second = standings[:2]
    assert (first.score.value, first.worst) == (pytest.approx(0.83), "alie")
    assert first.means == pytest.approx({"none": 0.88, "sign_flip": 0.84, "alie": 0.83})
    assert first.score.low < 0.83 < first.score.high <= 1
    assert second.behind == pytest.approx(0.09)
    assert first.times_reference == pytest.approx(0.83 / 0.9)
    assert terminal_lines(bench, standings)[0] == (
        "tagma is highest in these 3 seeds; too few to tell: at worst its accuracy is 0.830, "
        "under alie; next comes paper with 0.740."
    )


def test_the_page_of_accuracies_knows_neither_errors_nor_divergence(tmp_path: Path) -> None:
    page = Page(write_bench_report(accuracy_bench(tmp_path / "bench")))
    words = "".join(text for tag, text in page.texts if tag not in ("style", "script"))
    for word in ("estimation error", "iverged", "lowest in", "Behind the lowest", "logarithm"):
        assert word not in words
    assert "Behind the highest" in page.text("th")
    assert "the lowest, over attacks, of its mean accuracy" in page.text("p")
    with (tmp_path / "bench/figures/heatmap.csv").open(newline="") as file:
        tiles = list(csv.DictReader(file))
    with (tmp_path / "bench/figures/leaderboard.csv").open(newline="") as file:
        scores = {row["defence"]: float(row["mean"]) for row in csv.DictReader(file)}
    for name, score in scores.items():
        assert score == min(float(t["mean"]) for t in tiles if t["defence"] == name)
    with (tmp_path / "bench/figures/rounds.csv").open(newline="") as file:
        assert {row["round"] for row in csv.DictReader(file)} == {"0.0", "4.0"}


def test_an_accuracy_of_nearly_one_has_an_interval_that_ends_at_one() -> None:
    drawn = -np.array([0.99, 0.999, 0.96])
    assert worst_interval(drawn, -1.0, 0.0).turned(-1).high == 1.0


def test_tiles_of_accuracies_are_darker_the_lower() -> None:
    found = [0.9, 0.6, 0.3]
    values = {("a", d): TileValue(Interval(v, v, v), "") for d, v in zip("xyz", found, strict=True)}
    drawn = draw_heatmap("h", "", "", ["a"], ["x", "y", "z"], values, "high")
    shades = [COLOURS.index(tile.colour) for tile in drawn.tiles]
    assert shades[0] == 0 < shades[1] < shades[2] == len(COLOURS) - 1
    alike = {("a", d): TileValue(Interval(v, v, v), "") for d, v in (("x", 0.9), ("y", 0.895))}
    near = draw_heatmap("h", "", "", ["a"], ["x", "y"], alike, "high")
    assert [COLOURS.index(tile.colour) for tile in near.tiles] == [0, 0], "half a hundredth"
