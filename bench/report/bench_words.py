"""A bench in words: the verdict that heads the page, and the key figures under it."""

import math
from collections import Counter
from collections.abc import Sequence

from bench.report.bench_figures import metric_name, shown
from bench.report.grid import ALL, Bench
from bench.report.numerals import UNKNOWN, count, duration
from bench.report.ranking import Standing
from bench.report.resampling import Interval
from bench.report.words import NOT_KNOWN, Figure

_NAMED = 3


def bench_verdict(bench: Bench, standings: Sequence[Standing]) -> str:
    """What came out, in one sentence."""
    if not bench.known():
        return f"{count(len(bench.cells), 'run')}; the {metric_name(bench)} is {NOT_KNOWN}."
    settings = len(bench.settings_varied)
    leaders = Counter(one.defence for one in standings if one.rank == 1)
    best, wins = leaders.most_common(1)[0]
    if settings > 1:
        if len(bench.defences) == 1:
            return f"{metric_name(bench).capitalize()} in {count(settings, 'setting')}."
        return f"{best} holds out best in {wins} of {count(settings, 'setting')}."
    first, rest = standings[0], standings[1:]
    if math.isinf(first.score.value):
        return "Every defence diverged under some attack." if rest else "It diverged."
    score = f"its {metric_name(bench)} is {shown(first.score.value)}{_under(first)}"
    if not rest:
        return f"At worst {score}."
    return f"{best} holds out best: at worst {score}; {_others(rest)}."


def _under(one: Standing) -> str:
    return "" if one.worst == ALL else f", under {one.worst}"


def _others(rest: Sequence[Standing]) -> str:
    tied = [one.defence for one in rest if one.tied]
    if not tied:
        return f"next comes {rest[0].defence} with {shown(rest[0].score.value)}"
    named = ", ".join(tied[:_NAMED])
    more = f" and {len(tied) - _NAMED} more" if len(tied) > _NAMED else ""
    return f"tied with it: {named}{more}"


def bench_figures_row(bench: Bench) -> list[Figure]:
    """The row under the verdict."""
    done = len(bench.cells) - len(bench.failed)
    diverged = sum(math.isinf(cell.numbers.get(bench.metric, 0.0)) for cell in bench.cells)
    fractions = [v for axis in bench.role("fraction") for v in axis.values]
    seconds = sum(cell.times.get("seconds", 0.0) for cell in bench.cells)
    settings = len(bench.settings_varied)
    return [
        Figure(
            "Defences", str(len(bench.defences)), count(settings, "setting") if settings > 1 else ""
        ),
        Figure(
            "Attacks",
            str(len(bench.attacks)),
            f"fractions {', '.join(fractions)}" if fractions else "",
        ),
        Figure("Seeds", str(len(bench.seeds)), ""),
        Figure("Runs", f"{done:,}", f"of {bench.total:,}; {count(len(bench.failed), 'failure')}"),
        Figure("Diverged", f"{diverged:,}", "of the runs with a result"),
        Figure("Time", duration(seconds) if seconds else UNKNOWN, "of all runs together"),
    ]


def standing_words(one: Standing) -> str:
    """A defence beside the best of its setting."""
    if one.rank == 1:
        return "the best"
    if one.missing:
        return f"not comparable: {count(len(one.missing), 'attack')} without a result"
    if math.isinf(one.score.value):
        return f"{one.diverged} of {one.runs} runs diverged"
    if one.behind is None:
        return UNKNOWN
    return f"{'tied with the best: ' if one.tied else ''}{shown(one.behind.value)}"


def interval_words(one: Interval) -> str:
    """From where to where; infinity where runs diverged."""
    low, high = ("∞" if math.isinf(end) else shown(end) for end in (one.low, one.high))
    return f"{low} to {high}"
