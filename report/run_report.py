"""`report.html` of a run folder: one page that needs no network, no server and no JavaScript."""

import shlex
from pathlib import Path

from tagma.report import run_headline, run_tables
from tagma.report.figure_files import write_sheets
from tagma.report.line_chart import error_chart, misclustering_chart
from tagma.report.run_data import Run
from tagma.report.run_figures import run_sheets
from tagma.report.run_reading import read_run
from tagma.report.scatter import draw_picture
from tagma.report.templating import environment


def write_run_report(folder: Path) -> Path:
    """Write `folder/report.html` from the data files beside it, and return its path.

    Its figures, and the numbers in them, are also files in `folder/figures/`.
    """
    run = read_run(folder)
    write_sheets(folder / "figures", run_sheets(run))
    page = render(run)
    path = folder / "report.html"
    # A client's own words may hold a lone surrogate, which no encoding can write.
    path.write_text(page, encoding="utf-8", errors="replace")
    return path


def render(run: Run) -> str:
    """The page of a run. Everything that came from a file or a client is escaped."""
    template = environment().get_template("run.html.j2")
    return template.render(
        run=run,
        verdict=run_headline.verdict(run),
        figures=run_headline.key_figures(run),
        not_known=run_headline.NOT_KNOWN,
        misclustering=misclustering_chart(run),
        error=error_chart(run),
        picture=draw_picture(run),
        clusters=run_tables.cluster_rows(run),
        homeless=run_tables.homeless_words(run),
        reasons=run_tables.reason_rows(run),
        times=run_tables.time_rows(run),
        command=None if run.overrides is None else shlex.join(["tagma", "run", *run.overrides]),
    )
