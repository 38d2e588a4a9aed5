"""`report.html` of a bench folder: one page that needs no network, no server and no JavaScript."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tagma.report import bench_headline, bench_tables
from tagma.report.bench_data import Bench
from tagma.report.bench_figures import (
    OURS,
    curve_name,
    heatmap_sheet,
    iterations_sheet,
    keys,
    leaderboard_sheet,
    metric_name,
    rounds_sheet,
    seconds_sheet,
    sweep_sheets,
)
from tagma.report.bench_reading import read_bench
from tagma.report.figure_files import Sheet, write_sheets
from tagma.report.folder_files import write_page
from tagma.report.leaderboard import RankedDefence, leaderboard
from tagma.report.line_chart import line_look
from tagma.report.number_format import percent, shown
from tagma.report.run_figures import picture_keys
from tagma.report.seed_swaps import least_seeds
from tagma.report.templating import templates
from tagma.report.worst_case_pictures import worst_cases


def write_bench_report(folder: Path, *, pdf: bool = False) -> Path:
    """Write `folder/report.html` from the tables beside it, and return its path.

    Its figures, and the numbers in them, are also files in `folder/figures/`; with `pdf` for a
    paper, too.
    """
    return write_page(folder, _write(read_bench(folder), folder / "figures", pdf))


def bench_page(folder: Path) -> str:
    """The same page, and nothing is written."""
    return _write(read_bench(folder), None, False)


def bench_sheets(bench: Bench) -> dict[str, Sheet]:
    """The figures of a bench by their names, but for the pictures of clients."""
    drawn = [*_main_sheets(bench, leaderboard(bench)).values(), *sweep_sheets(bench)]
    return {sheet.name: sheet for sheet in drawn if sheet is not None}


def _main_sheets(bench: Bench, standings: Sequence[RankedDefence]) -> dict[str, Sheet | None]:
    return {
        "leaderboard": leaderboard_sheet(bench, standings),
        "heatmap": heatmap_sheet(bench, standings),
        "rounds": rounds_sheet(bench),
        "iterations": iterations_sheet(bench),
        "seconds": seconds_sheet(bench),
    }


def _write(bench: Bench, figures: Path | None, pdf: bool) -> str:
    """The page; figures are written on the way, if a folder for them is given.

    Everything that came from a file is escaped.
    """
    standings = leaderboard(bench)
    pictures, unreadable = worst_cases(bench, standings)
    sheets = _main_sheets(bench, standings)
    sweeps = sweep_sheets(bench)
    drawn = [*sheets.values(), *sweeps, *(place.sheet for place in pictures)]
    if figures is not None:
        write_sheets(figures, [sheet for sheet in drawn if sheet is not None], OURS, pdf=pdf)
    return (
        templates()
        .get_template("bench.html.md")
        .render(
            bench=bench,
            title=bench_headline.bench_verdict(bench, standings),
            key_figures=bench_headline.bench_figures_row(bench),
            standings=standings,
            standing_words=partial(bench_headline.standing_words, bench),
            best=bench_headline.best(bench),
            curve_name=curve_name(bench),
            under_words=bench_headline.under_words,
            least_seeds=least_seeds(1),
            interval_words=bench_headline.interval_words,
            percent=percent,
            metric=metric_name(bench),
            defence_look=line_look,
            shown=shown,
            picture_keys=picture_keys,
            sweeps=sweeps,
            places=pictures,
            unreadable=unreadable,
            keys=keys(bench),
            spent=bench_tables.spent_rows(bench),
            failed=bench_tables.failed_rows(bench),
            most=bench_tables.SHOWN_CELLS,
            clusters=max(
                (group + 1 for place in pictures for group in place.picture.groups), default=0
            ),
            **sheets,
        )
    )
