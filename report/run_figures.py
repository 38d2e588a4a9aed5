"""The figures of a run: those that it has the numbers for."""

import re
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from tagma.report.axes import value_axis
from tagma.report.bootstrap import Interval
from tagma.report.cluster_matching import match_clusters, misplaced
from tagma.report.dot_chart import Entry, draw_dots
from tagma.report.figure_files import Key, Sheet
from tagma.report.line_chart import LARGE, Line, draw_lines, percent_axis
from tagma.report.number_format import capitalised, number, shown
from tagma.report.run_data import ERROR, LOSS, ClientRow, Curve, Run, RunScore
from tagma.report.run_tables import SHOWN_CLUSTERS, largest
from tagma.report.scatter import Picture, draw_picture, look
from tagma.report.strip_chart import StripRow, draw_strips

OURS = ("misclustering", "error", "score-*", "strips", "losses", "clients")
"""The names of all figures that a run may have."""
MOST_CURVES = 12
"""Clusters beyond which nobody could tell their curves apart."""
_MARKS = 30


@dataclass(frozen=True)
class RunFigures:
    """The sheets by name, the picture in one of them, and the scores that may have one, by name."""

    sheets: dict[str, Sheet]
    picture: Picture | None
    of_scores: dict[str, RunScore]


def draw_run_figures(run: Run) -> RunFigures:
    """Misclustering, every score, that of each client, the losses of the clusters, the clients.

    Where the clusters' losses have curves, the loss of all needs none. Those of the last round
    alone are shown where there is no curve of the misclustering.
    """
    picture = draw_picture(run)
    shares, losses = _misclustering(run), _loss_curves(run)
    shown = [score for score in run.scores if score.name != LOSS or losses is None]
    named = {figure_name(score): score for score in shown}
    scores = [_score(run, name, score) for name, score in named.items()]
    if losses is None and shares is None:
        losses = _losses(run)
    clients = None if picture is None else clients_sheet(run, picture)
    two_panels = picture is None or picture.truth is not None
    last = (losses, clients) if any(scores) and two_panels else (clients, losses)
    drawn = (shares, *scores, strips_sheet(run), *last)
    sheets = {sheet.name: sheet for sheet in drawn if sheet is not None}
    return RunFigures(sheets, picture, named)


def figure_name(score: RunScore) -> str:
    """The name of a score's figure, which is also that of its files."""
    return "error" if score.name == ERROR else f"score-{re.sub(r'[^A-Za-z0-9]+', '-', score.name)}"


def strips_sheet(run: Run) -> Sheet | None:
    """What every honest client measures with its model at the end, in rows of the clusters.

    These are the found ones; where nobody looked for any, the true ones. Not drawn for the loss.
    """
    score = next((one for one in run.scores if one.name != LOSS and _measuring(run, one)), None)
    if score is None:
        return None
    matched = match_clusters(run.clients, len(run.clusters)) if run.grouped else {}
    groups: dict[int | None, list[tuple[float, str, bool]]] = {}
    for client in _measuring(run, score):
        group = client.assigned if run.grouped else client.true
        wrong = run.grouped and misplaced(client, matched)
        words = f"client {client.name}{', in the wrong cluster' if wrong else ''}"
        groups.setdefault(group, []).append((client.measured[score.name], words, wrong))
    most = sorted(groups, key=lambda group: -len(groups[group]))[:SHOWN_CLUSTERS]
    before = "cluster" if run.grouped else "true cluster"
    none = "no cluster" if run.grouped or len(groups) > 1 else "all clients"
    rows = [
        StripRow(none, "plain", tuple(groups[group])) if group is None
        else StripRow(f"{before} {group}", look(group)[1], tuple(groups[group]))
        for group in sorted(most, key=lambda group: (group is None, group or 0))
    ]  # fmt: skip
    title = f"{capitalised(score.title)} of every client"
    chart = draw_strips("strips", title, score.title, rows, number, score.better)
    table = tuple(
        (one.name, one.assigned, one.true, one.measured[score.name])
        for one in _measuring(run, score)
    )
    columns = ("client", "assigned", "true", score.name)
    return Sheet("strips", title, (chart,), columns, table)


def _measuring(run: Run, score: RunScore) -> list[ClientRow]:
    """The clients that measured it, but for the Byzantine ones, who may say anything."""
    return [one for one in run.clients if score.name in one.measured and not one.byzantine]


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


def _score(run: Run, name: str, score: RunScore) -> Sheet | None:
    """A score's curve beside the oracle's, if that is a yardstick; one round makes no curve."""
    curves = {("oracle", "diamond"): None if score.no_yardstick else score.oracle_curve}
    curves["this run", "circle"] = score.curve
    band = {"this run": tenths(score)}
    lines = [
        _line(
            one, (shape, "oracle" if one == "oracle" else "run"), curve, run.first_step,
            band.get(one),
        )
        for (one, shape), curve in curves.items()
        if curve is not None
    ]  # fmt: skip
    values = [float(v) for line in lines for v in (*line.values, *line.low, *line.high)]
    if score.points < 2 or not np.isfinite(values).any():
        return None
    title = f"{capitalised(score.title)} per {_round(run)}"
    axis = value_axis(values, LARGE.bottom, LARGE.top, score.better)
    chart = draw_lines(
        name, title, (_round(run), score.title), lines, axis, shown,
        steps=max(line.xs[-1] for line in lines), size=LARGE, marks=_MARKS, named=True,
    )  # fmt: skip
    columns = {score.name: score.curve, f"oracle_{score.word}": score.oracle_curve}
    if tenths(score) is not None:
        columns |= {"worst_decile": score.worst_curve, "best_decile": score.best_curve}
    steps = enumerate(zip_longest(*(curve or () for curve in columns.values())), run.first_step)
    rows = tuple((step, *map(_measured, values)) for step, values in steps)
    return Sheet(name, title, (chart,), ("round", *columns), rows)


def tenths(score: RunScore) -> tuple[Curve, Curve] | None:
    """The lower and the upper end of the band about a score: its worst and best tenth."""
    if score.worst_curve is None or score.best_curve is None:
        return None
    ends = score.worst_curve, score.best_curve
    return ends if score.better == "high" else ends[::-1]


def _loss_curves(run: Run) -> Sheet | None:
    """The loss of every cluster, round by round, where it was measured in two at least."""
    curves = {k: curve for k, curve in enumerate(run.loss_curves) if np.isfinite(curve).any()}
    lines = [
        _line(f"{run.group} {k}", look(k), curve, run.first_step) for k, curve in curves.items()
    ]
    if not 1 <= len(lines) <= MOST_CURVES or max(len(line.xs) for line in lines) < 2:
        return None
    title = f"Loss of every {run.group} per {_round(run)}"
    values = [float(value) for line in lines for value in line.values]
    chart = draw_lines(
        "losses", title, (_round(run), "loss of its clients"), lines,
        value_axis(values, LARGE.bottom, LARGE.top), number,
        steps=max(line.xs[-1] for line in lines), size=LARGE, marks=_MARKS,
    )  # fmt: skip
    rows = tuple(
        (step, k, _measured(loss))
        for k, curve in curves.items()
        for step, loss in enumerate(curve, run.first_step)
    )
    keys = tuple(Key(*look(k), f"{run.group} {k}") for k in curves)
    return Sheet("losses", title, (chart,), ("round", "cluster", "median"), rows, keys)


def _losses(run: Run) -> Sheet | None:
    """The loss of every cluster at the end: the median of its clients, and the middle half."""
    entries, rows = [], []
    for k in largest(run.clusters):
        cluster = run.clusters[k]
        if cluster.client_loss is not None:
            low, high = cluster.loss_quartiles or (np.nan, np.nan)
            figure = Interval(cluster.client_loss, low, high)
            entries.append(Entry(f"{run.group} {k}", look(k), figure))
            rows.append((k, cluster.client_loss, low, high))
    if len(entries) < 2:  # the table has it
        return None
    title = f"Loss of every {run.group}"
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
        for one in run.shown
        if one.place is not None
    )
    keys = [Key(*look(k), f"{'' if run.grouped else 'true '}cluster {k}") for k in picture.groups]
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


def _round(run: Run) -> str:
    """What the x axis counts."""
    return "round" if run.clustering is None else "optimisation round"


def _line(
    name: str,
    look: tuple[str, str],
    curve: Curve,
    first: int = 0,
    band: tuple[Curve, Curve] | None = None,
) -> Line:
    """A curve, with a band about it if there is one, through the rounds in which it is known."""
    low, high = band or ((np.nan,) * len(curve),) * 2
    steps = zip(range(first, first + len(curve)), curve, low, high, strict=True)
    known = [(float(step), *rest) for step, *rest in steps if not np.isnan(rest[0])]
    xs, *values = zip(*known, strict=True) if known else ((),) * 4
    return Line(name, look, xs, *map(np.array, values))


def _measured(value: float | None) -> float | None:
    return None if value is None or np.isnan(value) else value


def _percent(value: float) -> str:
    return f"{value:.1f}%"


def _bit(value: Any) -> int | None:
    return None if value is None else int(value)
