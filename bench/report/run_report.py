"""`report.html` of a run folder: one page that needs no network, no server and no JavaScript."""

import shlex
from pathlib import Path

from bench.report import tables, words
from bench.report.data import Run
from bench.report.lines import error_chart, misclustering_chart
from bench.report.page import environment
from bench.report.reading import read_run
from bench.report.run_figures import run_sheets
from bench.report.scatter import draw_picture
from bench.report.sheets import write_sheets


def write_run_report(folder: Path) -> Path:
    """Write `folder/report.html` from the data files beside it, and return its path.

    Its figures, and the numbers in them, are also files in `folder/figures/`.
    """
    run = read_run(folder)
    write_sheets(folder / "figures", run_sheets(run))
    page = render(run)
    path = folder / "report.html"
    # A machine's own words may hold a lone surrogate, which no encoding can write.
    path.write_text(page, encoding="utf-8", errors="replace")
    return path


def render(run: Run) -> str:
    """The page of a run. Everything that came from a file or a machine is escaped."""
    template = environment().get_template("run.html.j2")
    return template.render(
        run=run,
        verdict=words.verdict(run),
        figures=words.key_figures(run),
        not_known=words.NOT_KNOWN,
        misclustering=misclustering_chart(run),
        error=error_chart(run),
        picture=draw_picture(run),
        clusters=tables.cluster_rows(run),
        homeless=tables.homeless_words(run),
        reasons=tables.reason_rows(run),
        times=tables.time_rows(run),
        command=None if run.overrides is None else shlex.join(["tagma", "run", *run.overrides]),
    )
