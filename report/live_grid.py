"""The page of a grid that is under way: how far it is, and the leaderboard so far.

It is read from `cells.jsonl` as a run is from its events (`tagma.report.live_run`).
"""

import json
import math
from collections import Counter, deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tagma.escaping import one_line
from tagma.report import bench_headline
from tagma.report.bench_data import Bench, BenchAxis, BenchCell
from tagma.report.bench_figures import heatmap_sheet, leaderboard_sheet
from tagma.report.bench_reading import GENERAL_REFERENCE, ROLES
from tagma.report.file_tail import MALFORMED, Tail
from tagma.report.leaderboard import leaderboard
from tagma.report.line_chart import line_look
from tagma.report.live_page import about
from tagma.report.number_format import count, shown
from tagma.report.run_headline import Figure
from tagma.report.templating import templates

CELLS = "cells.jsonl"
_MOST_POINTS, _MOST_LOG = 20_000, 200


class LiveGridPage:
    """What a browser shows of a folder in which a grid is under way."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cells = Tail(folder / CELLS)
        self._begin({})

    def _begin(self, line: Mapping[str, Any]) -> None:
        self._about: dict[str, Any] = {}
        self._states: dict[str, str] = {}
        self._numbers: dict[str, dict[str, float]] = {}
        self._reasons: dict[str, str] = {}
        self._log: deque[str] = deque(maxlen=_MOST_LOG)
        self._ends: deque[float] = deque(maxlen=50)
        self._drawn: tuple[Any, dict[str, str]] | None = None
        if not line:
            return
        axes = tuple(
            BenchAxis(
                key=one_line(axis["key"], 60),
                label=one_line(axis["key"], 60),
                role=axis["role"] if axis["role"] in ROLES else "other",
                values=tuple(one_line(value, 60) for value in axis["values"][:1000]),
            )
            for axis in line["axes"][:10]
        )
        points = [[one_line(part, 60) for part in one] for one in line["points"][:_MOST_POINTS]]
        if any(len(one) != 2 + len(axes) for one in points):
            raise ValueError("points that do not fit the axes")
        self._about = {
            "name": one_line(line["name"], 60),
            "title": one_line(line["title"], 100),
            "metric": one_line(line["metric"], 60),
            "better": "high" if line["better"] == "high" else "low",
            "axes": axes,
            "points": points,
            "runs": min(int(line["runs"]), 10**9),
        }

    def parts(self) -> dict[str, str]:
        """The page's parts by name, after what is new has been read."""
        self._read()
        made: Any = templates().get_template("live_grid_parts.html.md").make_module()
        counts = Counter(self._states.values())
        total = self._about.get("runs", 0)
        over = counts["ok"] + counts["failed"] + counts["timed out"]
        facts = [("grid", self._about["name"])] if self._about else []
        key = tuple(self._states.items()), bool(self._about)
        if self._drawn is None or self._drawn[0] != key:
            some = counts["ok"] and self._about
            self._drawn = key, self._board(made) if some else {"board": "", "charts": ""}
        return {
            "head": made.head(self._title(over, total), facts, over, total),
            "figures": made.figures(self._figures(counts, over, total)),
            **self._drawn[1],
            "log": made.log([*reversed(self._log)]),
        }

    def shell(self, brand: str) -> str:
        """The whole page as it is now."""
        return templates().get_template("live_grid.html.md").render(
            title="live", brand=brand, groups=0,
            parts=self.parts(),
        )  # fmt: skip

    def _read(self) -> None:
        anew, lines = self._cells.lines()
        if anew:
            self._begin({})
        for line in lines:
            try:
                self._take(json.loads(line))
            except (*MALFORMED, RecursionError):
                continue

    def _take(self, line: Mapping[str, Any]) -> None:
        if line["event"] == "grid":
            self._begin(line)
        elif line["event"] == "cell" and len(self._states) < 2 * _MOST_POINTS:
            key, state = one_line(line["key"], 60), one_line(line["state"], 20)
            if state not in ("running", "ok", "failed", "timed out"):
                return
            self._states[key] = state
            if state == "ok":
                self._numbers[key] = {
                    one_line(name, 60): float(value)
                    for name, value in dict(line["numbers"]).items()
                    if value is not None and not math.isnan(float(value))
                }
            elif state != "running":
                self._reasons[key] = one_line(line.get("reason", ""))
                self._log.append(f"{self._named(key)}: {state}, {self._reasons[key]}")
            if state != "running":
                self._ends.append(float(line["at"]))

    def _named(self, key: str) -> str:
        point = next((one for one in self._about.get("points", ()) if one[0] == key), None)
        return key if point is None else f"{', '.join(point[2:])}, seed {point[1]}"

    def _title(self, over: int, total: int) -> str:
        if not self._about:
            return "Waiting for a grid to begin."
        rest = ""
        if over < total and len(self._ends) > 1 and (pace := self._ends[-1] - self._ends[0]) > 0:
            rest = f"; about {about(pace / (len(self._ends) - 1) * (total - over))} left"
        what = self._about["title"]
        return (
            f"{what}: {over:,} of {count(total, 'run')} {'is' if over == 1 else 'are'} over{rest}."
        )

    def _figures(self, counts: Counter[str], over: int, total: int) -> list[Figure]:
        return [
            Figure("Done", f"{counts['ok']:,}", f"of {total:,}"),
            Figure("Running", str(counts["running"]), "now"),
            Figure("Failed", str(counts["failed"] + counts["timed out"]), "with a reason below"),
            Figure("To come", f"{max(0, total - over - counts['running']):,}", "not begun"),
        ]

    def _board(self, made: Any) -> dict[str, str]:
        bench = self._bench()
        standings = leaderboard(bench)
        sheets = heatmap_sheet(bench, standings), leaderboard_sheet(bench, standings)
        return {
            "board": made.board(bench, standings, line_look, shown, bench_headline.under_words),
            "charts": made.charts([one for one in sheets if one is not None]),
        }

    def _bench(self) -> Bench:
        """What is over, as the report's leaderboard wants it."""
        told, keys = self._about, [axis.key for axis in self._about["axes"]]
        cells = tuple(
            BenchCell(
                key=key,
                values=dict(zip(keys, values, strict=True)),
                seed=seed,
                status=self._states[key],
                reason=self._reasons.get(key, ""),
                numbers=self._numbers.get(key, {}),
                times={},
            )
            for key, seed, *values in told["points"]
            if self._states.get(key, "running") != "running"
        )
        return Bench(
            folder=self._folder, name=told["name"], title=told["title"], command="",
            metric=told["metric"], better=told["better"], curve=told["metric"],
            curve_better=told["better"], reference=GENERAL_REFERENCE, axes=told["axes"],
            cells=cells, total=len(told["points"]), versions={}, hosts=(), settings=None,
        )  # fmt: skip
