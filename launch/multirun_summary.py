"""What several runs came to: a row for each combination of the settings that were varied.

Seeds are not a setting of a row: their runs are summed up by the mean, with the bootstrap interval
of the report. A run that failed is counted and left out; an error that diverged is infinite.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE
from rich.table import Table

from tagma.atomic_file import whole_file
from tagma.escaping import TableWriter
from tagma.launch.console import console, say
from tagma.override import key_of
from tagma.report.bootstrap import Interval, interval, resampled_means
from tagma.report.number_format import UNKNOWN, shown
from tagma.server.results.scores import ERRORS

MISCLUSTERING = "misclustering"
SHOWN = 2
"""So many numbers have a column on the terminal; the files have all."""
_SEED = "seed"


@dataclass(frozen=True)
class EndedRun:
    """One run of several: its overrides and folder, and its metrics or why it has none."""

    overrides: tuple[str, ...]
    folder: Path
    metrics: Mapping[str, Any] | None
    failure: BaseException | None = None

    @property
    def settings(self) -> dict[str, str]:
        """Its overrides by their keys."""
        return {key_of(text): text.partition("=")[2] for text in self.overrides}


@dataclass(frozen=True)
class SummaryRow:
    """The runs of one combination."""

    varied: dict[str, str]
    runs: tuple[EndedRun, ...]
    numbers: dict[str, Interval]

    @property
    def failed(self) -> int:
        """How many have no result."""
        return sum(run.metrics is None for run in self.runs)


def summarise(runs: Sequence[EndedRun]) -> list[SummaryRow]:
    """The rows, in the order in which their first runs ended."""
    varied = _varied(runs)
    names = list(dict.fromkeys(name for run in runs for name in _numbers(run)))
    groups: dict[tuple[str, ...], list[EndedRun]] = {}
    for run in runs:
        groups.setdefault(tuple(run.settings.get(key, "") for key in varied), []).append(run)
    return [
        SummaryRow(
            dict(zip(varied, values, strict=True)),
            tuple(own),
            {name: _over_seeds(own, name) for name in names},
        )
        for values, own in groups.items()
    ]


def show_summary(runs: Sequence[EndedRun], folder: Path) -> None:
    """Print the table, and write it to `folder/summary.csv` and `folder/summary.json`."""
    rows = summarise(runs)
    say(f"{len(runs)} runs in {folder}; means over seeds, with 95 % bootstrap intervals:")
    console.print(_table(rows, folder))
    with (
        whole_file(folder / "summary.csv") as partial,
        partial.open("w", newline="", encoding="utf-8") as file,
    ):
        flat = [_flat(row, folder) for row in rows]
        table = TableWriter(file)
        table.row(flat[0])
        table.rows(row.values() for row in flat)
    with whole_file(folder / "summary.json") as partial:
        partial.write_text(json.dumps(_plain(rows, folder), indent=2) + "\n", encoding="utf-8")
    say(f"summary: {folder / 'summary.csv'}, .json")


def _varied(runs: Sequence[EndedRun]) -> list[str]:
    """The keys that not all runs set alike, but the seed."""
    keys = dict.fromkeys(key for run in runs for key in run.settings)
    different = [key for key in keys if len({run.settings.get(key) for run in runs}) > 1]
    return [key for key in different if key != _SEED]


def _numbers(run: EndedRun) -> dict[str, float]:
    """The scores of a run, and before them its misclustering; NaN: not known."""
    if run.metrics is None:
        return {}
    wrong, scores = run.metrics[MISCLUSTERING], run.metrics["scores"]
    found = {} if wrong is None else {MISCLUSTERING: float(wrong)}
    for name, score in scores.items():
        if score["of"] is None:
            unknown = math.inf if name in ERRORS else math.nan
            found[name] = unknown if score["value"] is None else float(score["value"])
    return found


def _over_seeds(runs: Sequence[EndedRun], name: str) -> Interval:
    values = [_numbers(run).get(name, math.nan) for run in runs]
    known = np.array([value for value in values if not math.isnan(value)])
    return interval(resampled_means(known)) if len(known) else Interval(*[math.nan] * 3)


def _table(rows: Sequence[SummaryRow], folder: Path) -> Table:
    table = Table(box=SIMPLE, padding=(0, 1, 0, 0), pad_edge=False)
    names = list(rows[0].numbers)[:SHOWN]
    for key in rows[0].varied:
        table.add_column(key, no_wrap=True)
    table.add_column("runs", justify="right")
    table.add_column("failed", justify="right", style="red")
    for name in names:
        table.add_column(name.replace("_", " "), justify="right", no_wrap=True)
    table.add_column("folders")
    for row in rows:
        numbers = [_words(row.numbers[name]) for name in names]
        where = " ".join(_names(row, folder))
        failed = str(row.failed) if row.failed else ""
        table.add_row(*row.varied.values(), str(len(row.runs)), failed, *numbers, where)
    return table


def _words(one: Interval) -> str:
    if math.isnan(one.value):
        return UNKNOWN
    ends = f"\n{shown(one.low)} to {shown(one.high)}" if one.known else ""
    return f"{shown(one.value)}{ends}"


def _flat(row: SummaryRow, folder: Path) -> dict[str, Any]:
    """A line of the CSV file."""
    found: dict[str, Any] = {**row.varied, "runs": len(row.runs), "failed": row.failed}
    for name, one in row.numbers.items():
        ends = {name: one.value, f"{name}_low": one.low, f"{name}_high": one.high}
        found |= {key: "" if math.isnan(value) else repr(value) for key, value in ends.items()}
    return found | {"folders": " ".join(_names(row, folder))}


def _plain(rows: Sequence[SummaryRow], folder: Path) -> dict[str, Any]:
    """What the JSON file says; null: not known, `Infinity` as text: diverged."""
    return {
        "rows": [
            {
                "varied": row.varied,
                "seeds": [run.settings.get(_SEED) for run in row.runs],
                "runs": len(row.runs),
                "failed": row.failed,
                "numbers": {
                    name: dict(zip(("mean", "low", "high"), _ends(one), strict=True))
                    for name, one in row.numbers.items()
                },
                "folders": _names(row, folder),
            }
            for row in rows
        ],
        "failures": [
            {"folder": name, "reason": " ".join(str(run.failure).split())}
            for row in rows
            for name, run in zip(_names(row, folder), row.runs, strict=True)
            if run.metrics is None
        ],
    }


def _ends(one: Interval) -> Iterator[float | str | None]:
    for value in (one.value, one.low, one.high):
        yield None if math.isnan(value) else value if math.isfinite(value) else "Infinity"


def _names(row: SummaryRow, folder: Path) -> list[str]:
    """The folders, as they are called within that of all runs."""
    return [
        str(run.folder.relative_to(folder) if run.folder.is_relative_to(folder) else run.folder)
        for run in row.runs
    ]
