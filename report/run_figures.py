"""The figures of a run as sheets."""

from itertools import zip_longest

from tagma.report.figure_files import Key, Sheet
from tagma.report.line_chart import error_chart, misclustering_chart
from tagma.report.run_data import Run
from tagma.report.scatter import draw_picture, look


def run_sheets(run: Run) -> list[Sheet]:
    """Misclustering, error and clients, those that the run has."""
    return [sheet for sheet in (_misclustering(run), _error(run), clients(run)) if sheet]


def _misclustering(run: Run) -> Sheet | None:
    chart = misclustering_chart(run)
    if chart is None or run.misclustering_curve is None:
        return None
    rows = tuple(enumerate(run.misclustering_curve))
    return Sheet("misclustering", chart.title, (chart,), ("iteration", "misclustering"), rows)


def _error(run: Run) -> Sheet | None:
    chart = error_chart(run)
    if chart is None:
        return None
    pairs = zip_longest(run.error_curve or (), run.oracle_curve or ())
    rows = tuple((number, *pair) for number, pair in enumerate(pairs))
    return Sheet(
        "error", chart.title, (chart,), ("round", "estimation_error", "oracle_error"), rows
    )


def clients(run: Run, name: str = "clients", title: str = "Where the clients are") -> Sheet | None:
    """Both panels of the picture beside each other."""
    picture = draw_picture(run, "" if name == "clients" else f"{name}-")
    if picture is None:
        return None
    panels = (picture.found, picture.truth) if picture.truth else (picture.found,)
    rows = tuple(
        (one.name, one.assigned, one.true, *map(_bit, (one.byzantine, one.trimmed)), *one.place)
        for one in run.clients
        if one.place is not None
    )
    keys = [Key(*look(k), f"cluster {k}") for k in range(len(run.clusters))]
    keys += [Key("plus", "centre", "centre")] if run.centres else []
    keys += [Key("ring", "ball", "ball")] if picture.found.balls else []
    keys += [Key("circle", "plain hollow", "trimmed"), Key("cross", "byzantine", "Byzantine")]
    columns = ("client", "assigned", "true", "byzantine", "trimmed", "x", "y")
    return Sheet(name, title, panels, columns, rows, tuple(keys))


def _bit(value: bool | None) -> int | None:
    return None if value is None else int(value)
