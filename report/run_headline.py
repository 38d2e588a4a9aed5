"""The run in words: the verdict that heads the page, what was run, and the key figures."""

import math
from dataclasses import dataclass

from tagma.report.number_format import UNKNOWN, count, duration, number, percent
from tagma.report.oracle_yardstick import GREW, oracle_given
from tagma.report.run_data import ClientRow, Run
from tagma.server.results.participation import some_of

FAR_FROM_ORACLE = 1.25
_SCREENS = ("quarantine", "readmission", "reply_check", "spectral_filter")


@dataclass(frozen=True)
class Figure:
    """A key figure: its name, its value and a note under it."""

    name: str
    value: str
    note: str


def verdict(run: Run) -> str:
    """What came out, in one sentence."""
    if not run.truth_known:
        return f"{'; '.join(_places(run))}."
    parts = [*_grouping(run), *_learning(run)]
    return f"{'; '.join(parts)}."


def _places(run: Run) -> list[str]:
    """Who is where, for a run of which nobody knows the truth."""
    placed = sum(client.assigned is not None for client in run.clients)
    outside = len(run.clients) - placed
    words = [f"{count(placed, 'client')} in {count(len(run.clusters), 'cluster')}"]
    words += [f"{outside} in none"] if outside else []
    for screen, state, held in _held(run):
        if held:
            words.append(f"{state}: {some_of([client.name for client in held])}")
        elif run.choices.get(screen):
            words.append(f"nobody {state}")
    return words


def _held(run: Run) -> list[tuple[str, str, list[ClientRow]]]:
    """The clients that each screen keeps out."""
    return [
        ("quarantine", "in quarantine", [one for one in run.clients if one.quarantined]),
        ("reply_check", "excluded", [one for one in run.clients if one.excluded]),
    ]


def _grouping(run: Run) -> list[str]:
    if run.misclustering is None:
        return [f"{count(len(run.clients), 'client')} in {count(len(run.clusters), 'cluster')}"]
    if run.misclustering == 0:
        outside = sum(one.assigned is None and one.byzantine is False for one in run.clients)
        exceptions = f", but for {outside} in none" if outside else ""
        return [f"All honest clients found their cluster{exceptions}"]
    wrong = misclustered(run)
    if wrong is None:
        return [f"{percent(run.misclustering)} of the honest clients are in the wrong cluster"]
    verb = "is" if wrong == 1 else "are"
    return [f"{wrong} of {run.honest} honest clients {verb} in the wrong cluster"]


def _learning(run: Run) -> list[str]:
    if run.error is None:
        return []
    if not math.isfinite(run.error):
        return ["the optimisation diverged: its error is no longer finite"]
    start = run.error_curve[0] if run.error_curve else run.error
    if run.error > GREW * start:
        return [f"the error grew from {number(start)} to {number(run.error)}"]
    error = f"the error is {number(run.error)}"
    if run.oracle is None:
        return [error]
    if run.no_yardstick:
        return [error, f"the oracle is no yardstick: {run.no_yardstick}"]
    ratio = run.error / run.oracle if run.oracle else math.nan
    times = f"{_times(ratio)} " if ratio > FAR_FROM_ORACLE else ""
    return [f"{error}, {times}the oracle’s {number(run.oracle)}"]


def _times(ratio: float) -> str:
    return "over 100 times" if ratio > 100 else f"{ratio:.{1 if ratio < 10 else 0}f} times"


def misclustered(run: Run) -> int | None:
    """How many honest clients are in the wrong cluster."""
    if run.misclustering is None or run.honest is None:
        return None
    return round(run.misclustering * run.honest)


def facts(run: Run) -> list[tuple[str, str]]:
    """What was run: task, attack, defence, and where it comes from."""
    chosen = run.choices
    aggregation = " + ".join(map(str, [*(chosen.get("pre") or ()), chosen.get("aggregation")]))
    screens = [name.replace("_", " ") for name in _SCREENS if chosen.get(name)]
    defence = [chosen.get("clustering"), aggregation, *screens] if "aggregation" in chosen else []
    found = {
        "task": chosen.get("task"),
        "attack": chosen.get("attack"),
        "defence": ", ".join(map(str, defence)),
        "strategy": None if chosen.get("strategy") == "three_stage" else chosen.get("strategy"),
        "rounds": chosen.get("rounds"),
        **{name: run.facts.get(name) for name in ("seed", "engine")},
    }
    return [(name, str(value)) for name, value in found.items() if value not in (None, "")]


def key_figures(run: Run) -> list[Figure]:
    """The row under the verdict: what is known."""
    scores = [_misclustered(run), _error(run), _oracle(run), _byzantine(run)]
    if not run.truth_known:
        scores = [
            Figure("Clusters", str(len(run.clusters)), f"of {count(len(run.clients), 'client')}"),
            _loss(run),
            *(
                Figure(state.capitalize(), str(len(held)), "of the clients")
                for screen, state, held in _held(run)
                if held or run.choices.get(screen)
            ),
        ]
    return [*(one for one in scores if one is not None), _rejected(run), _time(run)]


def _misclustered(run: Run) -> Figure | None:
    if run.misclustering is None:
        return None
    wrong = misclustered(run)
    note = "of the honest clients" if wrong is None else f"{wrong} of {run.honest} honest clients"
    return Figure("Misclustered", percent(run.misclustering), note)


def _error(run: Run) -> Figure | None:
    if run.error is None:
        return None
    start = run.error_curve[0] if run.error_curve else None
    note = "of the worst cluster" if start is None else f"{number(start)} at the warm start"
    return Figure("Estimation error", _finite(run.error), note)


def _oracle(run: Run) -> Figure | None:
    if run.oracle is None:
        return None
    note = (
        "no yardstick"
        if run.no_yardstick
        else f"given {oracle_given(run.oracle_without_byzantine)}"
    )
    return Figure("Oracle’s error", _finite(run.oracle), note)


def _finite(value: float) -> str:
    return number(value) if math.isfinite(value) else "diverged"


def _byzantine(run: Run) -> Figure | None:
    if run.honest is None:
        return None
    trimmed = sum(client.trimmed for client in run.clients)
    note = f"of {count(len(run.clients), 'client')}; {trimmed} trimmed"
    return Figure("Byzantine", str(len(run.clients) - run.honest), note)


def _loss(run: Run) -> Figure | None:
    losses = [one.client_loss for one in run.clusters if one.client_loss is not None]
    return Figure("Loss", number(max(losses)), "of the worst cluster") if losses else None


def _rejected(run: Run) -> Figure:
    used = "" if run.replies.used is None else f"{run.replies.used:,} used"
    return Figure("Replies rejected", f"{run.replies.rejected:,}", used)


def _time(run: Run) -> Figure:
    messages = run.facts.get("messages")
    note = f"{int(messages):,} messages" if messages and messages.isdigit() else ""
    total = run.seconds.get("total")
    return Figure("Time", UNKNOWN if total is None else duration(total), note)
