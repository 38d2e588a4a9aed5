"""A bench in words: the verdict that heads the page, and the key figures under it."""

import math
from collections import Counter
from collections.abc import Callable, Sequence

from tagma.report.bench_data import ALL, Bench
from tagma.report.bench_figures import metric_name
from tagma.report.bootstrap import Interval
from tagma.report.leaderboard import RankedDefence
from tagma.report.number_format import UNKNOWN, count, duration, percent, shown
from tagma.report.run_headline import Figure
from tagma.report.seed_swaps import least_seeds

_NAMED = 3
_LINES = 10


def bench_verdict(bench: Bench, standings: Sequence[RankedDefence]) -> str:
    """What came out, in one sentence; nobody is called the best whom too few seeds show."""
    if not bench.known():
        runs = count(len(bench.cells), "run")
        return f"{runs}; the {metric_name(bench)} is not known for this task."
    if len(bench.settings_varied) > 1:
        return _of_settings(bench, standings)
    leaders = [one for one in standings if one.rank == 1]
    rest = [one for one in standings if one.rank > 1]
    first = leaders[0]
    if math.isinf(first.score.value):
        return "Every defence diverged under some attack." if len(standings) > 1 else "It diverged."
    whole = "" if first.competes else " (no defence has all its results)"
    score = f"{metric_name(bench)} is {shown(first.score.value)}{under_words(first)}{whole}"
    if len(standings) == 1:
        return f"At worst its {score}."
    if len(leaders) > 1:
        names = _listed([one.defence for one in leaders])
        return f"{names} are equal, the {best(bench)}: at worst their {score}{_next(rest)}."
    rivals = [one for one in rest if one.competes]
    tied = [one.defence for one in rivals if one.tied]
    if len(bench.seeds) < least_seeds(sum(math.isfinite(one.score.value) for one in rivals)):
        seeds = count(len(bench.seeds), "seed")
        these = "this 1 seed" if len(bench.seeds) == 1 else f"these {seeds}"
        few = f"{these}; too few to tell"
        return f"{first.defence} is {best(bench)} in {few}: at worst its {score}{_next(rest)}."
    leads = f"{first.defence} is {best(bench)}"
    if tied:
        return f"{leads}: at worst its {score}; tied with it: {_listed(tied)}."
    if first.competes and all(one.differs for one in rivals):
        leads = f"{first.defence} holds out best"
    return f"{leads}: at worst its {score}{_next(rest)}."


def best(bench: Bench) -> str:
    """What the first in the leaderboard is."""
    return "lowest" if bench.better == "low" else "highest"


def _of_settings(bench: Bench, standings: Sequence[RankedDefence]) -> str:
    settings = count(len(bench.settings_varied), "setting")
    if len(bench.defences) == 1:
        return f"{metric_name(bench).capitalize()} in {settings}."
    wins = Counter(
        one.defence for one in standings if one.rank == 1 and math.isfinite(one.score.value)
    )
    if not wins:
        return f"Every defence diverged under some attack in all {settings}."
    most = max(wins.values())
    names = [name for name in wins if wins[name] == most]
    are = "is" if len(names) == 1 else "are each"
    few = "; too few seeds to tell" if len(bench.seeds) < least_seeds(1) else ""
    return f"{_listed(names)} {are} {best(bench)} in {most} of {settings}{few}."


def under_words(one: RankedDefence, before: str = ", under ") -> str:
    """The condition that does most harm, and how many more do as much to three digits."""
    if one.worst in ("", ALL):
        return ""
    alike = sum(shown(mean) == shown(one.score.value) for mean in one.means.values()) - 1
    return f"{before}{one.worst}{f' and {alike} more alike' if alike > 0 else ''}"


def _next(rest: Sequence[RankedDefence]) -> str:
    following = [one for one in rest if one.competes]
    if not following:
        return ""
    return f"; next comes {following[0].defence} with {shown(following[0].score.value)}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


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
        *(
            [Figure("Diverged", f"{diverged:,}", "of the runs with a result")]
            if bench.better == "low"
            else []
        ),
        Figure("Time", duration(seconds) if seconds else UNKNOWN, "of all runs together"),
    ]


def standing_words(bench: Bench, one: RankedDefence) -> str:
    """A defence beside the first of its setting."""
    if math.isnan(one.score.value):
        return "no result"
    if one.missing:
        return f"incomplete, not comparable: {count(len(one.missing), 'attack')} without a result"
    if math.isinf(one.score.value):
        return f"{one.diverged} of {one.runs} runs diverged"
    whole = f"incomplete, {count(one.lacking, 'run')} missing: " if one.lacking else ""
    if one.rank == 1:
        return f"{whole}{best(bench)}"
    if one.behind is None:
        return f"{whole}{UNKNOWN}"
    return f"{whole}{'tied: ' if one.tied else ''}{shown(one.behind)}"


def terminal_lines(bench: Bench, standings: Sequence[RankedDefence]) -> list[str]:
    """The verdict and the first of every setting's leaderboard, for a terminal."""
    lines = [bench_verdict(bench, standings)]
    if not bench.known() or len(bench.defences) == 1:
        return lines
    width = max(len(one.defence) for one in standings)
    for setting in bench.settings_varied[:_NAMED]:
        lines += [f"{setting}:"] if setting else []
        own = [one for one in standings if one.setting == setting][:_LINES]
        lines += [
            f"{one.rank:3}  {one.defence:{width}}  {shown(one.score.value):>9}"
            f"{under_words(one, '  under ')}{_success_words(one)}"
            for one in own
        ]
    return lines


def _success_words(one: RankedDefence) -> str:
    return "" if one.success is None else f"; success up to {percent(one.success.value)}"


def interval_words(one: Interval, words: Callable[[float], str] = shown) -> str:
    """From where to where; infinity where runs diverged."""
    low, high = ("∞" if math.isinf(end) else words(end) for end in (one.low, one.high))
    return f"{low} to {high}"
