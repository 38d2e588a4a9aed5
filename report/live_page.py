"""The page of a run that is under way: its parts, each a piece of HTML, and the page around them.

The figures are those of the report. A part that has not changed is not drawn again.
"""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tagma.report import run_headline
from tagma.report.live_run import LiveClient, LiveRun
from tagma.report.number_format import capitalised, count, duration, number, percent
from tagma.report.run_data import ERROR, LOSS, Run
from tagma.report.run_figures import draw_run_figures, figure_name, picture_keys
from tagma.report.run_headline import Figure
from tagma.report.templating import templates

WORKS = {"local_model": "local models", "gradient": "gradients", "local": "local steps"}
_GROUPS = 24
"""Clusters that can be singled out."""


class LivePage:
    """What a browser shows of a folder in which a run is under way."""

    def __init__(self, folder: Path) -> None:
        self.run = LiveRun(folder)
        self._kept: dict[str, tuple[Any, str]] = {}
        self._table: Callable[[], Any] = str

    def parts(self) -> dict[str, str]:
        """The page's parts by name, after what is new has been read."""
        self.run.read()
        live, run = self.run, self.run.run()
        rows = tuple(
            (row.name, row.assigned, row.trimmed, row.quarantined, row.place) for row in run.clients
        )
        drawn = live.done, rows, live.centres, tuple(live.radii)
        figures = self._once("drawn", drawn, lambda: draw_run_figures(run))
        parts = templates().get_template("live_parts.html.md")
        made: Any = parts.make_module({"state_of": state_of})
        others = {figure_name(score) for score in run.scores[1:]}
        sheets = [one for name, one in figures.sheets.items() if name not in {*others, "clients"}]
        keys = None if figures.picture is None else picture_keys(run, figures.picture)
        return {
            "head": made.head(live, title(live), run_headline.facts(run) if live.begun else []),
            "figures": made.figures(key_figures(live, run)),
            "curves": self._once("curves", live.done, lambda: made.curves(run, sheets)),
            "places": self._once("places", drawn[1:], lambda: made.places(run, figures, keys)),
            **self._clients(made, run),
            "log": self._once("log", [*live.log], lambda: made.log([*reversed(live.log)])),
        }

    def _clients(self, made: Any, run: Run) -> dict[str, str]:
        """The table of the clients, which changes with its columns only, and each of its rows."""
        live, measured = self.run, measure(run)
        truth = live.about.get("byzantine") is not None
        rows = {
            f"client-{number}": made.client(live, run.grouped, truth, number, one, measured)
            for number, one in live.clients.items()
        }
        columns = run.grouped, truth, measured
        self._table = partial(made.clients, *columns, rows)
        table = self._once("clients", (*columns, len(rows)), self._table)
        return {"clients": table, **rows}

    def shell(self, brand: str) -> str:
        """The whole page as it is now; the table, which rows have changed since, is made anew."""
        parts = self.parts() | {"clients": self._table()}
        return templates().get_template("live.html.md").render(
            title="live", brand=brand, groups=_GROUPS,
            parts=parts,
        )  # fmt: skip

    def _once(self, name: str, key: Any, make: Callable[[], Any]) -> Any:
        if name not in self._kept or self._kept[name][0] != key:
            self._kept[name] = key, make()
        return self._kept[name][1]


def title(live: LiveRun) -> str:
    """Where the run is, in one sentence."""
    if not live.begun:
        return "Waiting for a run to begin."
    if live.broken:
        return f"The run broke off after round {live.done} of {live.rounds}."
    if not live.done:
        if live.waiting:
            return "Waiting for clients: {} of {} are there.".format(*live.waiting)
        return "Stage I: clients compute their local models."
    if live.done >= live.rounds:
        return "All rounds are over; the report is being made."
    left = live.left()
    rest = "" if left is None else f"; about {about(left)} left"
    work = f" ({WORKS.get(live.work, live.work.replace('_', ' '))})" if live.done > 1 else ""
    stage = "Stage III: round" if live.clustered else "Round"
    return f"{stage} {live.done + 1} of {live.rounds} is under way{work}{rest}."


def about(seconds: float) -> str:
    """A time that is estimated."""
    return f"{max(1, round(seconds))} s" if seconds < 60 else duration(seconds)


def key_figures(live: LiveRun, run: Run) -> list[Figure]:
    """The row of numbers."""
    there = [one for one in live.clients.values() if one.here]
    away = sum(one.absent for one in there)
    figures = [Figure("Rounds done", str(live.done), f"of {live.rounds}")] if live.begun else []
    for score in run.scores[:1]:
        if score.value is not None:
            worst = score.worst_curve[-1] if score.worst_curve else math.nan
            note = "of the worst cluster" if score.name == ERROR else "mean over clients"
            note = note if math.isnan(worst) else f"{number(worst)} in the worst tenth"
            value = number(score.value) if math.isfinite(score.value) else "diverged"
            figures.append(Figure(capitalised(score.title), value, note))
    if there:
        figures += [
            Figure("Clusters" if run.grouped else "Models", str(len(run.clusters)),
                   f"of {count(len(there), 'client')}"),
            Figure("Online", str(len(there) - away), f"{away} away"),
        ]  # fmt: skip
        if run.misclustering is not None and run.grouped:
            figures.append(Figure("Misclustered", percent(run.misclustering), "of honest clients"))
        held = [row for row in run.clients if row.quarantined or row.excluded]
        caught = sum(bool(row.byzantine) for row in held)
        known = live.about.get("byzantine") is not None
        note = (
            f"{caught} of {len(live.about['byzantine'])} Byzantine" if known else "of the clients"
        )
        figures.append(Figure("Left out", str(len(held)), note))
    return figures


def measure(run: Run) -> tuple[str, str] | None:
    """The name and the title of what is shown of every client."""
    named = {score.name: score.title for score in run.scores}
    found = [name for name in named if any(name in row.measured for row in run.clients)]
    found += sorted({name for row in run.clients for name in row.measured} - {*found})
    best = next((name for name in found if name != LOSS), found[0] if found else None)
    return None if best is None else (best, named.get(best, best.replace("_", " ")))


def state_of(one: LiveClient) -> tuple[str, str]:
    """A client's state in a word, and the class of its mark."""
    if not one.here:
        return "not there yet", "gone"
    if one.absent:
        return "absent", "gone"
    if one.excluded:
        return "excluded", "held"
    if one.quarantined:
        return "in quarantine", "held"
    return ("refused", "held") if one.missing else ("online", "well")
