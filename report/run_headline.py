"""The run in words: the verdict that heads the page, and the key figures under it."""

import math
from dataclasses import dataclass

from tagma.report.number_format import UNKNOWN, count, duration, number, percent
from tagma.report.run_data import Run

NOT_KNOWN = "not known for this task"
GREW = 10.0
FAR_FROM_ORACLE = 1.25


@dataclass(frozen=True)
class Figure:
    """A key figure: its name, its value and a note under it."""

    name: str
    value: str
    note: str


def verdict(run: Run) -> str:
    """What came out, in one sentence."""
    return f"{_grouping(run)}; {_learning(run)}." if run.error is not None else f"{_grouping(run)}."


def _grouping(run: Run) -> str:
    if run.misclustering is None:
        clusters, clients = (
            count(len(run.clusters), "cluster"),
            count(len(run.clients), "client"),
        )
        truth = "" if run.error is not None else f"; the truth is {NOT_KNOWN}"
        return f"{clusters} found among {clients}{truth}"
    if run.misclustering == 0:
        outside = sum(m.assigned is None and m.byzantine is False for m in run.clients)
        exceptions = f", but for {outside} in none" if outside else ""
        return f"All honest clients found their cluster{exceptions}"
    wrong = misclustered(run)
    if wrong is None:
        return f"{percent(run.misclustering)} of the honest clients are in the wrong cluster"
    verb = "is" if wrong == 1 else "are"
    return f"{wrong} of {run.honest} honest clients {verb} in the wrong cluster"


def _learning(run: Run) -> str:
    error = math.nan if run.error is None else run.error
    if not math.isfinite(error):
        return "the optimisation diverged: its error is no longer finite"
    start = run.error_curve[0] if run.error_curve else error
    if error > GREW * start:
        return f"the error grew from {number(start)} to {number(error)}"
    if run.oracle is None:
        return f"the error is {number(error)}"
    if not math.isfinite(run.oracle):
        return f"the error is {number(error)}, while the oracle diverged"
    ratio = error / run.oracle if run.oracle else math.nan
    times = f"{_times(ratio)} " if ratio > FAR_FROM_ORACLE else ""
    return f"the error is {number(error)}, {times}the oracle’s {number(run.oracle)}"


def _times(ratio: float) -> str:
    return "over 100 times" if ratio > 100 else f"{ratio:.{1 if ratio < 10 else 0}f} times"


def misclustered(run: Run) -> int | None:
    """How many honest clients are in the wrong cluster."""
    if run.misclustering is None or run.honest is None:
        return None
    return round(run.misclustering * run.honest)


def key_figures(run: Run) -> list[Figure]:
    """The row under the verdict."""
    return [
        _misclustered(run),
        _error(run),
        _oracle(run),
        _byzantine(run),
        _rejected(run),
        _time(run),
    ]


def _misclustered(run: Run) -> Figure:
    if run.misclustering is None:
        return Figure("Misclustered", UNKNOWN, NOT_KNOWN)
    wrong = misclustered(run)
    note = "of the honest clients" if wrong is None else f"{wrong} of {run.honest} honest clients"
    return Figure("Misclustered", percent(run.misclustering), note)


def _error(run: Run) -> Figure:
    if run.error is None:
        return Figure("Estimation error", UNKNOWN, NOT_KNOWN)
    start = run.error_curve[0] if run.error_curve else None
    note = "of the worst cluster" if start is None else f"{number(start)} at the warm start"
    value = number(run.error) if math.isfinite(run.error) else "diverged"
    return Figure("Estimation error", value, note)


def _oracle(run: Run) -> Figure:
    if run.oracle is None:
        return Figure("Oracle’s error", UNKNOWN, NOT_KNOWN)
    value = number(run.oracle) if math.isfinite(run.oracle) else "diverged"
    return Figure("Oracle’s error", value, "told the true clusters")


def _byzantine(run: Run) -> Figure:
    trimmed = sum(client.trimmed for client in run.clients)
    note = f"of {count(len(run.clients), 'client')}; {trimmed} trimmed"
    if run.honest is None:
        return Figure("Byzantine", UNKNOWN, note)
    return Figure("Byzantine", str(len(run.clients) - run.honest), note)


def _rejected(run: Run) -> Figure:
    used = "" if run.replies.used is None else f"{run.replies.used:,} used"
    return Figure("Replies rejected", f"{run.replies.rejected:,}", used)


def _time(run: Run) -> Figure:
    messages = run.facts.get("messages")
    note = f"{int(messages):,} messages" if messages and messages.isdigit() else ""
    total = run.seconds.get("total")
    return Figure("Time", UNKNOWN if total is None else duration(total), note)
