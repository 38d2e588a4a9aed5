"""The figures of a run: those that it has the numbers for."""

from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from tagma.report.axes import value_axis
from tagma.report.bootstrap import Interval
from tagma.report.dot_chart import Entry, draw_dots
from tagma.report.figure_files import Key, Sheet
from tagma.report.line_chart import LARGE, Line, draw_lines, percent_axis
from tagma.report.number_format import number, shown
from tagma.report.run_data import Curve, Run
from tagma.report.scatter import Picture, draw_picture, look

OURS = ("misclustering", "error", "losses", "clients")
"""The names of all figures that a run may have."""
_MARKS = 30


@dataclass(frozen=True)
class RunFigures:
    """The sheets by name, and the picture of the clients that one of them shows."""

    sheets: dict[str, Sheet]
    picture: Picture | None


def draw_run_figures(run: Run) -> RunFigures:
    """Misclustering, error and clients; without a curve of the misclustering, the losses."""
    picture = draw_picture(run)
    shares, errors = _misclustering(run), _error(run)
    losses = _losses(run) if shares is None else None
    clients = None if picture is None else clients_sheet(run, picture)
    drawn = (shares, errors, *((losses, clients) if errors else (clients, losses)))
    return RunFigures({sheet.name: sheet for sheet in drawn if sheet is not None}, picture)


def _misclustering(run: Run) -> Sheet | None:
    curve = run.misclustering_curve
    if curve is None or len(curve) < 2 or not np.isfinite(curve).any():
        return None
    line = _line("this run", ("circle", "run"), tuple(100 * share for share in curve))
    title = "Misclustering per clustering iteration"
    labels = ("clustering iteration", "honest clients in the wrong cluster")
    chart = draw_lines(
        "misclustering", title, labels, [line], percent_axis([line], LARGE), _percent,
        steps=line.xs[-1], unit="%", size=LARGE, marks=_MARKS,
    )  # fmt: skip
    rows = tuple(enumerate(curve))
    return Sheet("misclustering", title, (chart,), ("iteration", "misclustering"), rows)


def _error(run: Run) -> Sheet | None:
    """The error beside the oracle's, if that is a yardstick."""
    curves = {("oracle", "diamond"): None if run.no_yardstick else run.oracle_curve}
    curves["this run", "circle"] = run.error_curve
    lines = [
        _line(name, (shape, "oracle" if name == "oracle" else "run"), curve)
        for (name, shape), curve in curves.items()
        if curve is not None
    ]
    values = [float(value) for line in lines for value in line.values]
    if not np.isfinite(values).any():
        return None
    title = "Estimation error per optimisation round"
    labels = ("optimisation round", "estimation error")
    chart = draw_lines(
        "error", title, labels, lines, value_axis(values, LARGE.bottom, LARGE.top), shown,
        steps=max(line.xs[-1] for line in lines), size=LARGE, marks=_MARKS, named=True,
    )  # fmt: skip
    pairs = zip_longest(run.error_curve or (), run.oracle_curve or ())
    rows = tuple((step, *pair) for step, pair in enumerate(pairs))
    return Sheet("error", title, (chart,), ("round", "estimation_error", "oracle_error"), rows)


def _losses(run: Run) -> Sheet | None:
    """The loss of every cluster at the end: the median of its clients, and the middle half."""
    entries, rows = [], []
    for k, cluster in enumerate(run.clusters):
        if cluster.client_loss is not None:
            low, high = cluster.loss_quartiles or (np.nan, np.nan)
            figure = Interval(cluster.client_loss, low, high)
            entries.append(Entry(f"cluster {k}", look(k), figure))
            rows.append((k, cluster.client_loss, low, high))
    if not entries:
        return None
    title = "Loss of every cluster"
    chart = draw_dots("losses", "", title, "loss of its clients", entries, number, "quartiles")
    columns = ("cluster", "median", "lower_quartile", "upper_quartile")
    return Sheet("losses", title, (chart,), columns, tuple(rows))


def clients_sheet(
    run: Run, picture: Picture, name: str = "clients", title: str = "Where the clients are"
) -> Sheet:
    """The panels of the picture beside each other."""
    panels = (picture.found, picture.truth) if picture.truth else (picture.found,)
    rows = tuple(
        (one.name, one.assigned, one.true, *map(_bit, (one.byzantine, one.trimmed)), *one.place)
        for one in run.clients
        if one.place is not None
    )
    keys = [Key(*look(k), f"cluster {k}") for k in range(len(run.clusters))]
    keys += [Key(*entry) for entry in picture_keys(run, picture)]
    columns = ("client", "assigned", "true", "byzantine", "trimmed", "x", "y")
    return Sheet(name, title, panels, columns, rows, tuple(keys))


def picture_keys(run: Run, picture: Picture) -> list[tuple[str, str, str]]:
    """The marks in the picture that are not clusters: shape, classes, and what they mean."""
    outside = any(one.assigned is None for one in run.clients)
    entries = [
        (bool(run.centres), ("plus", "centre", "centre")),
        (bool(picture.found.balls), ("ring", "ball", "ball")),
        (any(one.trimmed for one in run.clients), ("circle", "plain hollow", "trimmed")),
        (any(one.byzantine for one in run.clients), ("cross", "byzantine", "Byzantine")),
        (picture.misplaced > 0, ("ring", "wrong", "honest, in the wrong cluster")),
        (outside, ("reject", "out", "in no cluster")),
        (bool(picture.outside), ("arrow", "plain far", "outside the frame")),
    ]
    lost = [(*look(k), f"true cluster {true}, not found") for true, k in picture.lost.items()]
    return [entry for there, entry in entries if there] + lost


def _line(name: str, look: tuple[str, str], curve: Curve) -> Line:
    """A curve without intervals; what is no number has diverged."""
    values = np.array([np.inf if np.isnan(value) else value for value in curve])
    unknown = np.full(len(curve), np.nan)
    return Line(name, look, tuple(map(float, range(len(curve)))), values, unknown, unknown)


def _percent(value: float) -> str:
    return f"{value:.1f}%"


def _bit(value: Any) -> int | None:
    return None if value is None else int(value)
