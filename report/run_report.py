"""`report.html` of a run folder: one page that needs no network, no server and no JavaScript."""

import shlex
from pathlib import Path

from tagma.report import run_headline, run_tables
from tagma.report.figure_files import write_sheets
from tagma.report.folder_files import write_page
from tagma.report.oracle_yardstick import oracle_given
from tagma.report.run_data import Run
from tagma.report.run_figures import OURS, RunFigures, draw_run_figures, picture_keys
from tagma.report.run_reading import read_run
from tagma.report.templating import templates


def write_run_report(folder: Path, *, pdf: bool = False) -> Path:
    """Write `folder/report.html` from the data files beside it, and return its path.

    Its figures, and the numbers in them, are also files in `folder/figures/`; with `pdf` for a
    paper, too.
    """
    run, figures = _drawn(folder)
    write_sheets(folder / "figures", list(figures.sheets.values()), OURS, pdf=pdf)
    return write_page(folder, _render(run, figures))


def run_page(folder: Path) -> str:
    """The same page, and nothing is written."""
    return _render(*_drawn(folder))


def _drawn(folder: Path) -> tuple[Run, RunFigures]:
    run = read_run(folder)
    return run, draw_run_figures(run)


def _render(run: Run, figures: RunFigures) -> str:
    """The page of a run. Everything that came from a file or a client is escaped."""
    template = templates().get_template("run.html.md")
    return template.render(
        run=run,
        title=run_headline.verdict(run),
        facts=run_headline.facts(run),
        key_figures=run_headline.key_figures(run),
        sheets=figures.sheets,
        scores=figures.of_scores,
        numbers={name: number for number, name in enumerate(figures.sheets, 1)},
        picture=figures.picture,
        picture_keys=picture_keys,
        oracle_given=oracle_given(run.oracle_without_byzantine),
        clusters=run_tables.cluster_rows(run),
        more_clusters=len(run.clusters) - len(run_tables.largest(run.clusters)),
        per_client=[s for s in run.scores if any(s.name in one.measured for one in run.clients)],
        homeless=run_tables.homeless_words(run),
        reasons=run_tables.reason_rows(run),
        times=run_tables.time_rows(run),
        command=None if run.overrides is None else shlex.join(["tagma", "run", *run.overrides]),
    )
