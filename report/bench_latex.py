"""The tables of a bench for a paper: the leaderboard, and every attack against every defence.

The numbers are those of the page, with its intervals. Each setting has tables of its own, and what
is too wide or too long for a page goes on in another table.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from tagma.errors import TagmaError
from tagma.report.bench_data import Bench
from tagma.report.bench_figures import metric_name
from tagma.report.bench_headline import under_words
from tagma.report.bench_reading import read_bench
from tagma.report.bootstrap import Interval, interval, resampled_means
from tagma.report.latex import LatexTable, aligned, between, escaped, label, named, write_tables
from tagma.report.leaderboard import RankedDefence, leaderboard
from tagma.report.number_format import UNKNOWN, count, percent, shown
from tagma.report.short_labels import shorten

ACROSS, DOWN = 5, 20
"""So many defences and conditions a table has at most."""
_COMMAND = 300


def write_bench_latex(folder: Path) -> list[Path]:
    """Write the tables of a bench into `folder/tables/`, and return their paths."""
    bench = read_bench(folder)
    if not bench.known():
        raise TagmaError(
            f"{folder}: no run has the {metric_name(bench)}: there is no table to make"
        )
    standings = leaderboard(bench)
    source = f"Made from the bench {shorten(bench.name, 60)} by `tagma report FOLDER --latex`."
    found = {"leaderboard": _leaderboards(bench, standings), "attacks": _grids(bench, standings)}
    return [
        write_tables(folder / "tables" / f"{name}.tex", source, list(tables))
        for name, tables in found.items()
    ]


def _leaderboards(bench: Bench, standings: Sequence[RankedDefence]) -> Iterator[LatexTable]:
    for setting in bench.settings_varied:
        own = [one for one in standings if one.setting == setting]
        empty = [""] * len(own)
        scores = aligned([_number(one.score.value) for one in own], [False] * len(own))
        columns = {
            "rank": ("r", [str(one.rank) for one in own], empty),
            "defence": ("l", [named(one.defence) for one in own], empty),
            escaped(metric_name(bench)): ("r", scores, [_interval(one.score) for one in own]),
            "under": ("l", [escaped(under_words(one, "")) for one in own], empty),
        }
        if any(one.misclustering is not None for one in own):
            columns["misclustered"] = ("r", [_share(one.misclustering) for one in own], empty)
        for title, rates in (
            ("success", [one.success for one in own]),
            ("false positives", [one.false_positive for one in own]),
        ):
            if any(rate is not None for rate in rates):
                shares = [_share(None if rate is None else rate.value) for rate in rates]
                between_them = ["" if rate is None else _interval(rate) for rate in rates]
                columns[title] = ("r", shares, between_them)
        spent = [one.cpu_seconds for one in own]
        if any(seconds is not None for seconds in spent):
            columns["CPU s"] = ("r", [UNKNOWN if s is None else shown(s) for s in spent], empty)
        for name in ("diverged", "failed"):
            if any(getattr(one, name) for one in own):
                columns[name] = ("r", [str(getattr(one, name)) for one in own], empty)
        above, beneath = (
            zip(*(column[part] for column in columns.values()), strict=True) for part in (1, 2)
        )
        rows = [line for pair in zip(above, beneath, strict=True) for line in pair if any(line)]
        yield LatexTable(
            caption=f"Defences by their worst case: {_extreme(bench)} mean "
            f"{escaped(metric_name(bench))} over {_conditions(bench)}, beneath it its 95\\,\\% "
            f"interval of the basic bootstrap. {_provenance(bench, setting)}",
            label=label(bench.name, "leaderboard", setting),
            columns="".join(kind for kind, *_ in columns.values()),
            head=tuple(columns),
            groups=(tuple(rows),),
        )


def _grids(bench: Bench, standings: Sequence[RankedDefence]) -> Iterator[LatexTable]:
    """A row for every condition and a column for every defence, the best first."""
    for setting in bench.settings_varied:
        own = [one for one in standings if one.setting == setting]
        cells = [cell for cell in bench.cells if bench.setting(cell) == setting]
        conditions = list(dict.fromkeys(map(bench.condition, cells)))
        columns = [_column(bench, one, conditions) for one in own]
        pages = [
            (slice(left, left + ACROSS), slice(top, top + DOWN))
            for left in range(0, len(own), ACROSS)
            for top in range(0, len(conditions), DOWN)
        ]
        for page, (across, down) in enumerate(pages, 1):
            part = f" Part {page} of {len(pages)}." if len(pages) > 1 else ""
            names = enumerate(conditions[down], down.start)
            chosen = columns[across]
            rows = [line for i, name in names for line in _lines(named(name), chosen, i)]
            yield LatexTable(
                caption=f"Mean {escaped(metric_name(bench))} of every defence (columns) under "
                f"{_conditions(bench)}, beneath it its 95\\,\\% bootstrap interval. In bold the "
                f"worst of each defence, in the last row with the interval of the basic bootstrap."
                f"{part} {_provenance(bench, setting)}",
                label=label(bench.name, setting, str(page) if len(pages) > 1 else ""),
                columns="l" + "r" * len(chosen),
                head=("", *(named(one.defence) for one in own[across])),
                groups=(tuple(rows), tuple(_lines("worst case", chosen, len(conditions)))),
            )


def _column(bench: Bench, one: RankedDefence, conditions: Sequence[str]) -> list[tuple[str, str]]:
    """Number and interval under every condition, and in the end of the worst case."""
    cells = [
        cell
        for cell in bench.cells
        if (bench.setting(cell), bench.defence(cell)) == (one.setting, one.defence)
    ]
    drawn = bench.sign * resampled_means(bench.sample(cells, conditions, bench.harm))
    intervals = [*(interval(own) for own in drawn.T), one.score]
    texts = [_number(own.value) for own in intervals]
    numbers = aligned(texts, [text == texts[-1] for text in texts])  # those alike to all digits
    return list(zip(numbers, map(_interval, intervals), strict=True))


def _lines(
    name: str, columns: Sequence[list[tuple[str, str]]], row: int
) -> Iterator[tuple[str, ...]]:
    """The row of a condition: numbers, and beneath them the intervals, where there are any."""
    yield (name, *(column[row][0] for column in columns))
    if any(column[row][1] for column in columns):
        yield ("", *(column[row][1] for column in columns))


def _number(value: float) -> str:
    return UNKNOWN if np.isnan(value) else shown(value)


def _interval(one: Interval) -> str:
    return rf"{{\scriptsize {between(shown(one.low), shown(one.high))}}}" if one.known else ""


def _share(share: float | None) -> str:
    return escaped(UNKNOWN if share is None else percent(share))


def _extreme(bench: Bench) -> str:
    return "the largest" if bench.better == "low" else "the lowest"


def _conditions(bench: Bench) -> str:
    """What the worst case is taken over."""
    attacks = count(len(bench.attacks), "attack")
    fractions = bench.role("fraction")
    of = ", ".join(value for axis in fractions for value in axis.values)
    return f"{attacks} with these shares of Byzantine clients: {escaped(of)}" if of else attacks


def _provenance(bench: Bench, setting: str) -> str:
    """What a reader needs to make the table again."""
    where = f"{escaped(shorten(setting, 2 * ACROSS * DOWN))}. " if setting else ""
    seeds = escaped(shorten(", ".join(bench.seeds), 80))
    how_many = count(len(bench.seeds), "seed")
    made = f", by \\texttt{{{escaped(shorten(bench.command, _COMMAND))}}}" if bench.command else ""
    return f"{where}Grid \\texttt{{{named(bench.name)}}}, {how_many} ({seeds}){made}."
