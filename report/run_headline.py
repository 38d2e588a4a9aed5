"""The run in words: the verdict that heads the page, what was run, and the key figures."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tagma.attacks.goal import SUCCESS
from tagma.report.number_format import (
    UNKNOWN,
    capitalised,
    count,
    duration,
    number,
    percent,
    size,
)
from tagma.report.oracle_yardstick import GREW, oracle_given
from tagma.report.run_data import ERROR, LOSS, ClientRow, Run, RunScore
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
    grouping = _grouping(run) if run.truth_known else _places(run)
    parts = [*grouping, *_learning(run)]
    if doubt := run.facts.get("contradiction"):
        parts = [f"not to be trusted: {doubt}", *parts]
    return f"{capitalised('; '.join(parts))}."


def _places(run: Run) -> list[str]:
    """Who is where, for a run of which nobody knows the truth."""
    placed = sum(client.assigned is not None for client in run.clients)
    outside = len(run.clients) - placed
    words = [_models(run, placed)]
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


def _models(run: Run, placed: int) -> str:
    """How many models there are for how many clients."""
    if run.grouped:
        return f"{count(placed, 'client')} in {count(len(run.clusters), 'cluster')}"
    if len(run.clusters) == 1:
        return f"one model for {count(placed, 'client')}"
    return f"{count(placed, 'client')}, each with a model of its own"


def _grouping(run: Run) -> list[str]:
    if run.misclustering is None or not run.grouped:
        return [_models(run, len(run.clients))]
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
    """The first score beside the oracle's; where nobody knows the truth, the loss says little."""
    score = next((one for one in run.scores if one.value is not None), None)
    if score is None or score.value is None or (score.name == LOSS and not run.truth_known):
        return []
    worst = score.worst_decile
    tenth = "" if worst is None else f" ({number(worst)} in the worst tenth of clients)"
    if not math.isfinite(score.value):
        return [f"the optimisation diverged: its {score.word} is no longer finite"]
    start = _start(score)
    if score.better == "low" and start is not None and score.value > GREW * start >= 0:
        return [f"the {score.word} grew from {number(start)} to {number(score.value)}"]
    words = f"the {score.word} is {number(score.value)}{tenth}"
    if score.oracle is None:
        return [words]
    if score.no_yardstick:
        return [words, f"the oracle is no yardstick: {score.no_yardstick}"]
    ratio = score.value / score.oracle if score.oracle and score.better == "low" else math.nan
    times = f"{_times(ratio)} " if ratio > FAR_FROM_ORACLE else ""
    return [f"{words}, {times}the oracle’s {number(score.oracle)}"]


def _start(score: RunScore) -> float | None:
    """The score after the first round, if it was measured then."""
    first = score.curve[0] if score.curve else math.nan
    return None if math.isnan(first) else first


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
    rule = [*(chosen.get("pre") or ()), chosen["aggregation"]] if chosen.get("aggregation") else []
    screens = [name.replace("_", " ") for name in _SCREENS if chosen.get(name)]
    defence = [chosen.get("clustering"), " + ".join(map(str, rule)), *screens]
    ours = chosen.get("strategy") == "three_stage"
    found = {
        "task": chosen.get("task"),
        "attack": chosen.get("attack"),
        "strategy": None if ours else _strategy(chosen),
        "defence" if ours else "aggregation": ", ".join(str(one) for one in defence if one),
        "optimiser": None if ours else chosen.get("optimiser"),
        "rounds": chosen.get("rounds"),
        **{name: run.facts.get(name) for name in ("seed", "engine")},
    }
    return [(name, str(value)) for name, value in found.items() if value not in (None, "")]


def _strategy(chosen: Mapping[str, Any]) -> str | None:
    """An algorithm with its own settings: `ifca, k 5, weights equal`."""
    own = dict(chosen.get("strategy_settings") or {})
    words = [f"{key.replace('_', ' ')} {value}" for key, value in own.items()]
    return ", ".join([str(chosen["strategy"]), *words]) if chosen.get("strategy") else None


def key_figures(run: Run) -> list[Figure]:
    """The row under the verdict: what is known. The loss is there where nothing else is."""
    values = [_value(run, score) for score in run.scores if score.name != LOSS]
    losses = [_value(run, score) for score in run.scores]
    scores = [_misclustered(run), *(values or losses), _oracle(run), _byzantine(run)]
    if not run.truth_known:
        models = "Clusters" if run.grouped else "Models"
        scores = [
            Figure(models, str(len(run.clusters)), f"of {count(len(run.clients), 'client')}"),
            *values,
            _loss(run),
            *(
                Figure(state.capitalize(), str(len(held)), "of the clients")
                for screen, state, held in _held(run)
                if held or run.choices.get(screen)
            ),
        ]
    known = [one for one in scores if one is not None]
    return [*known, _rejected(run), _time(run)]


def _misclustered(run: Run) -> Figure | None:
    if run.misclustering is None or not run.grouped:
        return None
    wrong = misclustered(run)
    note = "of the honest clients" if wrong is None else f"{wrong} of {run.honest} honest clients"
    return Figure("Misclustered", percent(run.misclustering), note)


def _value(run: Run, score: RunScore) -> Figure | None:
    if score.value is None:
        return None
    start, note = _start(score), ""
    if score.name == SUCCESS and score.oracle is not None:
        note = f"{number(score.oracle)} without the attack"
    elif score.worst_decile is not None:
        note = f"{number(score.worst_decile)} in the worst tenth of clients"
    elif start is not None:
        when = "after round 1" if run.clustering is None else "at the warm start"
        note = f"{_finite(start)} {when}"
    elif score.name == ERROR:
        note = "of the worst cluster"
    return Figure(capitalised(score.title), _finite(score.value), note)


def _oracle(run: Run) -> Figure | None:
    """Of the first score that the oracle has."""
    score = next((one for one in run.scores if one.oracle is not None), None)
    if score is None or score.oracle is None:
        return None
    given = f"given {oracle_given(run.oracle_without_byzantine)}"
    note = "no yardstick" if score.no_yardstick else given
    return Figure(f"Oracle’s {score.word}", _finite(score.oracle), note)


def _finite(value: float) -> str:
    return number(value) if math.isfinite(value) else "diverged"


def _byzantine(run: Run) -> Figure | None:
    if run.honest is None:
        return None
    trimmed = sum(client.trimmed for client in run.clients)
    note = f"of {count(len(run.clients), 'client')}"
    note += "" if run.clustering is None else f"; {trimmed} trimmed"
    return Figure("Byzantine", str(len(run.clients) - run.honest), note)


def _loss(run: Run) -> Figure | None:
    losses = [one.client_loss for one in run.clusters if one.client_loss is not None]
    worst = "of the worst " + ("cluster" if run.grouped else "model")
    return Figure("Loss", number(max(losses)), worst) if losses else None


def _rejected(run: Run) -> Figure:
    used = "" if run.replies.used is None else f"{run.replies.used:,} used"
    return Figure("Replies rejected", f"{run.replies.rejected:,}", used)


def _time(run: Run) -> Figure:
    messages = run.facts.get("messages")
    sent = [f"{int(messages):,} messages"] if messages and messages.isdigit() else []
    sent += [f"{size(many)} {way}" for way, many in run.bytes.items()]
    total = run.seconds.get("total")
    return Figure("Time", UNKNOWN if total is None else duration(total), ", ".join(sent))
