"""The table of a run for a paper: its scores, beside those of the oracle."""

import shlex
from pathlib import Path

from tagma.report.latex import LatexTable, aligned, escaped, label, named, write_tables
from tagma.report.number_format import UNKNOWN, percent, shown
from tagma.report.oracle_yardstick import oracle_given
from tagma.report.run_data import Run
from tagma.report.run_headline import facts
from tagma.report.run_reading import read_run
from tagma.report.short_labels import shorten

_LONGEST = 300


def write_run_latex(folder: Path) -> list[Path]:
    """Write the table of a run into `folder/tables/`, and return its path."""
    source = "Made from a run by `tagma report FOLDER --latex`."
    return [write_tables(folder / "tables" / "scores.tex", source, [_scores(read_run(folder))])]


def _scores(run: Run) -> LatexTable:
    columns = {
        "this run": [_text(score.value) for score in run.scores],
        f"oracle, {escaped(oracle_given(run.oracle_without_byzantine))}": [
            _text(score.oracle) for score in run.scores
        ],
        "worst tenth of clients": [_text(score.worst_decile) for score in run.scores],
    }
    kept = {name: own for name, own in columns.items() if set(own) != {UNKNOWN}}
    cells = [aligned(own, [False] * len(own)) for own in kept.values()]
    rows = [(named(score.title), *(own[i] for own in cells)) for i, score in enumerate(run.scores)]
    if run.misclustering is not None:
        rest = [""] * (len(kept) - 1)
        rows.append(("misclustered honest clients", escaped(percent(run.misclustering)), *rest))
    about = "; ".join(f"{name} {value}" for name, value in facts(run))
    command = shlex.join(["tagma", "run", *(run.overrides or ())])
    return LatexTable(
        caption=f"One run: {escaped(shorten(about, _LONGEST))}. "
        f"By \\texttt{{{escaped(shorten(command, _LONGEST))}}}.",
        label=label("run", str(run.choices.get("task", "")), run.facts.get("seed", "")),
        columns="l" + "r" * len(kept),
        head=("", *kept),
        groups=(tuple(rows),),
    )


def _text(value: float | None) -> str:
    return UNKNOWN if value is None else shown(value)
