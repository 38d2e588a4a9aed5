"""The leaderboard: defences by the worst that any attack does to them.

The score of a defence is the worst, over conditions, of its mean over seeds, the largest error or
the lowest accuracy: the darkest tile of its column in the heatmap. Inside this module all numbers
are harms: what should be high has its sign turned. Where conditions are close, the worst mean is
too bad on average; its interval is that of the basic bootstrap, every draw of which finds its own
worst condition.

Equal scores share a rank. A defence that lacks runs which others have is incomplete and ranks
behind all that are whole; it is compared on the seeds that both have. A condition without a result
of any defence is left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tagma.report.bench_data import Bench, BenchCell
from tagma.report.bootstrap import Array, Interval, resampled_means, worst_interval, worst_mean
from tagma.report.seed_swaps import LEVEL, holm, swap_test


@dataclass(frozen=True)
class RankedDefence:
    """A defence in the leaderboard of its setting."""

    setting: str
    defence: str
    rank: int
    """Defences with equal scores share one."""
    score: Interval
    worst: str
    """The condition that does most harm."""
    means: dict[str, float]
    """The mean over seeds under each condition."""
    behind: float | None
    """How much worse than the first, over the seeds that both have; None where not defined."""
    chance: float | None
    """The corrected p-value of that difference; None where the seeds are too few for one."""
    runs: int
    diverged: int
    failed: int
    lacking: int
    """Runs without a result that some other defence has."""
    missing: tuple[str, ...]
    """Conditions without any result: the worst case over the rest is no worst case."""
    left_out: tuple[str, ...]
    """Conditions without a result of any defence: they count for nobody."""
    misclustering: float | None
    """The mean over seeds under the condition that does most harm."""
    times_reference: float | None
    """How many times the metric without Byzantine clients, in the worst condition."""
    success: Interval | None
    """The largest mean success rate of an attack with a goal, where one has."""
    false_positive: Interval | None
    """The largest mean share of the honest clients that it left out, where it judges any."""
    cpu_seconds: float | None
    """The median over its runs."""

    @property
    def tied(self) -> bool:
        """Whether it is equal to the first, or enough seeds show no difference."""
        return self.behind == 0 or (self.chance is not None and self.chance > LEVEL)

    @property
    def differs(self) -> bool:
        """Whether the seeds show that it is worse than the first."""
        return self.chance is not None and self.chance <= LEVEL

    @property
    def competes(self) -> bool:
        """Whether its score is a whole and finite one."""
        return not self.lacking and bool(np.isfinite(self.score.value))


@dataclass(frozen=True)
class _Sample:
    """The harms to a defence, over seeds and conditions."""

    harms: Array
    means: Array
    drawn: Array
    lacking: int

    @property
    def badness(self) -> tuple[bool, bool, float, float]:
        """What ranks: whole results before others, then the score, then how often it diverged."""
        score = self.drawn[0]
        return (
            self.lacking > 0,
            bool(np.isnan(self.means).any()),
            np.inf if np.isnan(score) else float(score),
            float(np.isinf(self.harms).mean()) if self.harms.size else 0.0,
        )


def leaderboard(bench: Bench) -> list[RankedDefence]:
    """All defences of all settings, each setting ranked by itself, incomplete defences last."""
    return [one for setting in bench.settings_varied for one in _ranked(bench, setting)]


def _ranked(bench: Bench, setting: str) -> list[RankedDefence]:
    cells = [cell for cell in bench.cells if bench.setting(cell) == setting]
    known = {bench.condition(cell) for cell in cells if bench.metric in cell.numbers}
    conditions = tuple(dict.fromkeys(map(bench.condition, cells)))
    wanted = tuple(one for one in conditions if one in known or not known)
    left_out = tuple(one for one in conditions if one not in wanted)
    own = {name: [c for c in cells if bench.defence(c) == name] for name in bench.defences}
    samples = _samples(bench, {name: some for name, some in own.items() if some}, wanted)
    order = sorted(samples, key=lambda name: samples[name].badness)
    places = [samples[name].badness for name in order]
    behind = {name: _behind(samples[order[0]], samples[name]) for name in order[1:]}
    chances = _chances(samples, order[0], [name for name in behind if behind[name] is not None])
    return [
        _standing(
            bench,
            (setting, name, 1 + places.index(samples[name].badness)),
            own[name],
            wanted,
            left_out,
            samples[name],
            behind.get(name),
            chances.get(name),
        )
        for name in order
    ]


def _samples(
    bench: Bench, cells: Mapping[str, Sequence[BenchCell]], conditions: tuple[str, ...]
) -> dict[str, _Sample]:
    """The harms to every defence; what one lacks is what it does not have and another has."""
    harms = {name: bench.sample(own, conditions, bench.harm) for name, own in cells.items()}
    there = np.any([~np.isnan(one) for one in harms.values()], axis=0)
    found = {}
    for name, one in harms.items():
        means = resampled_means(one)
        lacking = int((np.isnan(one) & there).sum())
        found[name] = _Sample(one, means[0], worst_mean(means), lacking)
    return found


def _common(first: _Sample, second: _Sample) -> tuple[Array, Array]:
    """Both samples over the seeds that both have whole; without conditions that one never has."""
    never = np.isnan(first.harms).all(axis=0) | np.isnan(second.harms).all(axis=0)
    one, other = first.harms[:, ~never], second.harms[:, ~never]
    whole = ~(np.isnan(one) | np.isnan(other)).any(axis=1)
    return one[whole], other[whole]


def _behind(first: _Sample, second: _Sample) -> float | None:
    """The difference of scores; None where both diverged, or where there is none to compare."""
    if np.isnan(first.means).any() or np.isnan(second.means).any():
        return None
    samples = _common(first, second)
    if not len(samples[0]):
        return None
    with np.errstate(invalid="ignore"):
        one, other = (some.mean(axis=0).max(initial=-np.inf) for some in samples)
        difference = float(other - one)
    return None if np.isnan(difference) else difference


def _chances(samples: Mapping[str, _Sample], first: str, rivals: Sequence[str]) -> dict[str, float]:
    """The corrected p-values of the rivals' distances, where the seeds suffice for a test."""
    tests = {name: swap_test(*_common(samples[first], samples[name])) for name in rivals}
    return holm({name: chance for name, chance in tests.items() if chance is not None})


def _standing(
    bench: Bench,
    place: tuple[str, str, int],
    cells: Sequence[BenchCell],
    conditions: tuple[str, ...],
    left_out: tuple[str, ...],
    sample: _Sample,
    behind: float | None,
    chance: float | None,
) -> RankedDefence:
    means = dict(zip(conditions, map(float, sample.means), strict=True))
    there = {condition: mean for condition, mean in means.items() if not np.isnan(mean)}
    setting, name, rank = place
    worst = max(there, key=lambda condition: there[condition]) if there else ""
    return RankedDefence(
        setting=setting,
        defence=name,
        rank=rank,
        score=worst_interval(sample.drawn, *bench.bounds).turned(bench.sign),
        worst=worst,
        means={condition: bench.sign * harm for condition, harm in there.items()},
        behind=behind,
        chance=chance,
        runs=sum(cell.done for cell in cells),
        diverged=sum(np.isinf(cell.numbers.get(bench.metric, 0.0)) for cell in cells),
        failed=sum(not cell.done for cell in cells),
        lacking=sample.lacking,
        missing=tuple(condition for condition, mean in means.items() if np.isnan(mean)),
        left_out=left_out,
        misclustering=_misclustering(bench, cells, worst),
        times_reference=_times_reference(bench, cells, worst, there),
        success=_worst_rate(bench, cells, conditions, "attack_success"),
        false_positive=_worst_rate(bench, cells, conditions, "false_positive"),
        cpu_seconds=_median_cpu(cells),
    )


def _times_reference(
    bench: Bench, cells: Sequence[BenchCell], worst: str, harms: Mapping[str, float]
) -> float | None:
    known = [
        cell.numbers[bench.reference]
        for cell in cells
        if bench.condition(cell) == worst and bench.reference in cell.numbers
    ]
    if not known or not np.mean(known) > 0:
        return None
    return bench.sign * harms[worst] / float(np.mean(known))


def _worst_rate(
    bench: Bench, cells: Sequence[BenchCell], conditions: Sequence[str], name: str
) -> Interval | None:
    """The largest mean over seeds of a share that should be low, over all conditions."""
    known = [cell for cell in cells if cell.done and bench.condition(cell) in conditions]
    sample = bench.sample(known, conditions, lambda cell: cell.numbers.get(name))
    if np.isnan(sample).all():
        return None
    return worst_interval(worst_mean(resampled_means(sample)), 0.0, 1.0)


def _median_cpu(cells: Sequence[BenchCell]) -> float | None:
    seconds = [cell.times["cpu_seconds"] for cell in cells if "cpu_seconds" in cell.times]
    return float(np.median(seconds)) if seconds else None


def _misclustering(bench: Bench, cells: Sequence[BenchCell], worst: str) -> float | None:
    under = [cell.numbers for cell in cells if bench.condition(cell) == worst]
    shares = [numbers["misclustering"] for numbers in under if "misclustering" in numbers]
    return float(np.mean(shares)) if shares else None
