"""`tagma.benchmark`: grids of federations from Python, as `tagma bench` runs them."""

import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import fields
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from pyarrow import ArrowException, parquet

from tagma.bench.grid.expand import expand
from tagma.bench.grid.gate import check_findings
from tagma.bench.grid.grid_command import check_failures, failures, found_by_gate, run_grid
from tagma.bench.grid.metric import with_metric
from tagma.bench.grid.plan import read_plan
from tagma.errors import TagmaError
from tagma.escaping import one_line
from tagma.foreign_file import MOST_TEXT, plain_file
from tagma.given_path import given_path
from tagma.kept import forget
from tagma.launch.frames import NUMBER, TEXT, WHOLE, frame
from tagma.launch.left_as_found import left_as_found
from tagma.launch.progress_line import ProgressLine
from tagma.launch.python_runs import checked_texts, warner
from tagma.launch.shown_figure import Figure, as_image, figure_of
from tagma.report.bench_figures import metric_name
from tagma.report.bench_headline import bench_verdict, under_words
from tagma.report.bench_reading import read_bench
from tagma.report.bench_report import bench_sheets
from tagma.report.leaderboard import leaderboard
from tagma.report.number_format import shown

_BOARD = {
    "setting": TEXT, "rank": WHOLE, "defence": TEXT, "worst": TEXT, "score": NUMBER, "low": NUMBER,
    "high": NUMBER, "behind": NUMBER, "chance": NUMBER, "runs": WHOLE, "diverged": WHOLE,
    "failed": WHOLE, "lacking": WHOLE, "misclustering": NUMBER, "times_reference": NUMBER,
}  # fmt: skip


class Bench:
    """A grid's folder: its tables and figures."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = given_path("folder", folder)
        read_bench(self.folder)  # what is damaged is said now

    @property
    def table(self) -> Any:
        """A row for every combination and seed: a data frame, or without pandas arrays by name."""
        path = self.folder / "table.parquet"
        try:
            table = parquet.read_table(plain_file(path, MOST_TEXT))
        except (OSError, ValueError, ArrowException) as problem:
            raise TagmaError(f"{path}: cannot be read ({problem})") from None
        kinds = {"string": TEXT, "int64": WHOLE}
        return frame(
            table.to_pylist(),
            {column.name: kinds.get(str(column.type), NUMBER) for column in table.schema},
        )

    @property
    def leaderboard(self) -> Any:
        """The defences by the worst that any attack does to them, likewise."""
        rows = []
        for one in leaderboard(read_bench(self.folder)):
            row = {each.name: getattr(one, each.name) for each in fields(one)}
            ends = {"score": one.score.value, "low": one.score.low, "high": one.score.high}
            rows.append({name: _plain(value) for name, value in (row | ends).items()})
        return frame(rows, _BOARD)

    def plot(self, name: str | None = None) -> Figure:
        """A figure of the report, the first unless one is named; a notebook shows it."""
        return figure_of(bench_sheets(read_bench(self.folder)), name)

    def __repr__(self) -> str:
        try:
            bench = read_bench(self.folder)
            verdict = bench_verdict(bench, leaderboard(bench))
            return one_line(f"<Bench {self.folder}: {verdict}>")
        except Exception:  # the folder may be gone
            return f"<Bench {self.folder}>"

    def _repr_html_(self) -> str:
        try:
            return self._html()
        except Exception:  # a notebook would show nothing at all
            return f"<pre>{escape(repr(self))}</pre>"

    def _html(self) -> str:
        bench = read_bench(self.folder)
        standings = leaderboard(bench)
        columns = {
            "rank": [str(one.rank) for one in standings],
            "defence": [one.defence for one in standings],
            metric_name(bench): [shown(one.score.value) for one in standings],
            "worst under": [under_words(one, "") for one in standings],
        }
        if len(bench.settings_varied) > 1:
            columns["setting"] = [one.setting for one in standings]
        sheets = bench_sheets(bench)
        picture = as_image(figure_of(sheets, None).svg) if sheets else ""
        verdict = escape(bench_verdict(bench, standings))
        rows = [("th", [*columns]), *(("td", row) for row in zip(*columns.values(), strict=True))]
        table = "".join(
            f"<tr>{''.join(f'<{cell}>{escape(text)}</{cell}>' for text in row)}</tr>"
            for cell, row in rows
        )
        return (
            f"<div><p><b>{verdict}</b></p><table>{table}</table>{picture}"
            f"<p>{escape(str(self.folder))}</p></div>"
        )


def benchmark(
    grid: str | Mapping[str, Any],
    *settings: str,
    folder: str | Path | None = None,
    progress: bool = True,
) -> Bench:
    """Every combination of a grid: `tagma.benchmark("quick", "seeds=2")`.

    `grid` is a name of `tagma bench`, a path of a YAML file, or a mapping of what such a file says.
    Results go to `folder`, or to outputs/bench/NAME; cells that are finished there never run again.
    Cells that fail are a warning, and so is what a grid's gate asks for in vain.
    """
    notify = warner(sys._getframe(1))
    if not isinstance(grid, str | Mapping):
        raise TagmaError(f"{grid!r}: must be the name of a grid, a path, or a mapping")
    texts = checked_texts(settings)
    if folder is not None:
        texts.append(f"bench.folder={_quoted(folder)}")
    with left_as_found(own_modules=True):
        forget()
        plan = read_plan(grid, texts)
        points = expand(plan)
        plan = with_metric(plan, points)
        words = ["tagma", "bench", f"bench={grid}", *texts] if isinstance(grid, str) else []
        line = ProgressLine(plan.name, wanted=progress)
        outcomes = run_grid(plan, points, shlex.join(words), line)
        for text in failures(outcomes.values()):
            notify(text)
        try:
            check_failures(outcomes.values())
            if plan.gate:
                check_findings(found_by_gate(plan, points, outcomes))
        except TagmaError as problem:
            notify(str(problem))
    return Bench(plan.folder)


def _quoted(folder: str | Path) -> str:
    """A text that Hydra's grammar takes as it is: only before a quote do backslashes count."""
    escaped = re.sub(r"(\\+)(?='|$)", r"\1\1", str(given_path("folder", folder)))
    return "'" + escaped.replace("'", "\\'") + "'"


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
