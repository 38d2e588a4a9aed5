"""The leaderboard: defences by the worst that any attack does to them.

The score of a defence is the largest, over conditions, of its mean error over seeds: the darkest
tile of its column in the heatmap. Each draw of seeds gives such a score anew, so the interval knows
that another condition might turn out the worst. A defence is compared with the best one draw by
draw; where the middle 95 % of the differences hold zero, the two are tied.

With few seeds the bootstrap's intervals are too narrow: 5 seeds give about 85 % instead of 95 %.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.report.grid import Bench, GridCell
from bench.report.grid_reading import REFERENCE
from bench.report.resampling import Array, Interval, interval, resampled_means, worst_mean
from bench.report.samples import by_seed_and_condition


@dataclass(frozen=True)
class Standing:
    """A defence in the leaderboard of its setting."""

    setting: str
    defence: str
    rank: int
    score: Interval
    worst: str
    """The condition that does most harm."""
    means: dict[str, float]
    """The mean over seeds under each condition."""
    behind: Interval | None
    """How much worse than the best; `None` for the best itself, and where that is not defined."""
    runs: int
    diverged: int
    failed: int
    missing: tuple[str, ...]
    """Conditions without any result: the worst case over the rest is no worst case."""
    misclustering: float | None
    """The largest mean over seeds."""
    times_reference: float | None
    """How many times the error without liars, in the worst condition."""

    @property
    def tied(self) -> bool:
        """Whether the seeds do not tell it from the best."""
        return self.behind is not None and self.behind.known and self.behind.low <= 0


def leaderboard(bench: Bench) -> list[Standing]:
    """All defences of all settings, each setting ranked by itself, incomplete defences last."""
    return [one for setting in bench.settings_varied for one in _ranked(bench, setting)]


def _ranked(bench: Bench, setting: str) -> list[Standing]:
    cells = [cell for cell in bench.cells if bench.setting(cell) == setting]
    wanted = tuple(dict.fromkeys(bench.condition(cell) for cell in cells))
    samples = {
        name: own
        for name in bench.defences
        if (own := [cell for cell in cells if bench.defence(cell) == name])
    }
    scores = {name: _scores(bench, own, wanted) for name, own in samples.items()}
    order = sorted(scores, key=lambda name: _badness(scores[name]))
    best = scores[order[0]].drawn if order else np.array([np.nan])
    return [
        _standing(
            bench, setting, name, rank, samples[name], scores[name], None if rank == 1 else best
        )
        for rank, name in enumerate(order, start=1)
    ]


@dataclass(frozen=True)
class _Scores:
    conditions: tuple[str, ...]
    means: Array
    drawn: Array
    diverged: float


def _scores(bench: Bench, cells: Sequence[GridCell], conditions: tuple[str, ...]) -> _Scores:
    """The mean under each condition, and the score of all seeds and of every draw of them."""
    sample = by_seed_and_condition(
        bench, cells, conditions, lambda cell: cell.numbers.get(bench.metric)
    )
    means = resampled_means(sample)
    return _Scores(conditions, means[0], worst_mean(means), float(np.isinf(sample).mean()))


def _badness(scores: _Scores) -> tuple[bool, float, float]:
    """What ranks: whole results before others, then the score, then how often it diverged."""
    score = scores.drawn[0]
    whole = not np.isnan(scores.means).any()
    return not whole, np.inf if np.isnan(score) else float(score), scores.diverged


def _standing(
    bench: Bench,
    setting: str,
    name: str,
    rank: int,
    cells: Sequence[GridCell],
    scores: _Scores,
    best: Array | None,
) -> Standing:
    means = dict(zip(scores.conditions, map(float, scores.means), strict=True))
    there = {condition: mean for condition, mean in means.items() if not np.isnan(mean)}
    return Standing(
        setting=setting,
        defence=name,
        rank=rank,
        score=interval(scores.drawn),
        worst=max(there, key=lambda condition: there[condition]) if there else "",
        means=there,
        behind=None if best is None else _behind(scores.drawn, best),
        runs=sum(cell.done for cell in cells),
        diverged=sum(np.isinf(cell.numbers.get(bench.metric, 0.0)) for cell in cells),
        failed=sum(not cell.done for cell in cells),
        missing=tuple(condition for condition, mean in means.items() if np.isnan(mean)),
        misclustering=_worst_share(bench, cells),
        times_reference=_times_reference(bench, cells, there),
    )


def _behind(drawn: Array, best: Array) -> Interval | None:
    """The differences to the best; `None` where that diverged as well, or either is not known."""
    with np.errstate(invalid="ignore"):
        differences = drawn - best
    return None if np.isnan(differences[0]) else interval(differences)


def _times_reference(
    bench: Bench, cells: Sequence[GridCell], means: dict[str, float]
) -> float | None:
    if bench.metric != "estimation_error" or not means:
        return None
    worst = max(means, key=lambda condition: means[condition])
    known = [
        cell.numbers[REFERENCE]
        for cell in cells
        if bench.condition(cell) == worst and REFERENCE in cell.numbers
    ]
    return means[worst] / float(np.mean(known)) if known and np.mean(known) > 0 else None


def _worst_share(bench: Bench, cells: Sequence[GridCell]) -> float | None:
    shares: dict[str, list[float]] = {}
    for cell in cells:
        if "misclustering" in cell.numbers:
            shares.setdefault(bench.condition(cell), []).append(cell.numbers["misclustering"])
    return max((float(np.mean(sample)) for sample in shares.values()), default=None)
