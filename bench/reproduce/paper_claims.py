"""Claims of the paper beside what was measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Literal

import numpy as np
from scipy.stats import t as student

from tagma.report.bootstrap import draws

Verdict = Literal["yes", "no", "undecided", "-"]
"""Whether a claim holds; "undecided" where the 95 % interval does not tell, "-" without a claim."""


@dataclass(frozen=True)
class Summary:
    """A figure, its standard deviation and a 95 % interval; the latter two NaN for one trial."""

    mean: float
    deviation: float
    low: float
    high: float

    def __str__(self) -> str:
        return self.written("")

    def written(self, unit: str) -> str:
        """The figure, with a unit behind it."""
        if not isfinite(self.low):
            return f"{number(self.mean)}{unit} (no interval)"
        interval = f"[{number(self.low)}, {number(self.high)}]"
        return f"{number(self.mean)} ± {number(self.deviation)} {interval}{unit}"

    def at_least(self, bound: float) -> Verdict:
        """Whether the figure is at least the bound."""
        return self.within(bound, np.inf)

    def at_most(self, bound: float) -> Verdict:
        """Whether the figure is at most the bound."""
        return self.within(-np.inf, bound)

    def within(self, low: float, high: float) -> Verdict:
        """Yes if the whole interval is between the bounds, no if none of it is.

        One trial has no interval, and decides nothing.
        """
        if not (isfinite(self.low) and isfinite(self.high)):
            return "undecided"
        if low <= self.low and self.high <= high:
            return "yes"
        return "no" if self.high < low or self.low > high else "undecided"

    def mean_within(self, low: float, high: float) -> Verdict:
        """Whether the figure itself is between bounds that allow for chance already."""
        return verdict(low <= self.mean <= high)


@dataclass(frozen=True)
class Claim:
    """One line of the table: the paper says, we measure, it holds or not."""

    says: str
    measured: str
    holds: Verdict


def verdict(holds: bool) -> Verdict:
    """The verdict on a figure with a bound that allows for chance already."""
    return "yes" if holds else "no"


def summarise(sample: Sequence[float] | np.ndarray) -> Summary:
    """Mean, deviation and Student's interval, which assumes only a roughly normal mean."""
    data = np.asarray(sample, dtype=np.float64)
    if len(data) < 2 or not np.isfinite(data).all():
        return Summary(float(data.mean()), np.nan, np.nan, np.nan)
    mean, deviation = float(data.mean()), float(data.std(ddof=1))
    half = float(student.ppf(0.975, len(data) - 1)) * deviation / sqrt(len(data))
    return Summary(mean, deviation, mean - half, mean + half)


def bootstrap(statistic: Callable[..., float], *samples: Sequence[float] | np.ndarray) -> Summary:
    """A statistic of samples over the same trials, and how it varies from trial to trial.

    The trials are drawn anew, with replacement and jointly for all samples, since methods of one
    trial share their data: the deviation is that of the statistic over 2000 such draws, and the
    interval holds the middle 95 % of them. Always the same for the same samples.
    """
    data = [np.asarray(sample, dtype=np.float64) for sample in samples]
    trials = len(data[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(statistic(*data))
        if trials < 2:
            return Summary(value, np.nan, np.nan, np.nan)
        drawn = np.array([statistic(*(sample[rows] for sample in data)) for rows in draws(trials)])
    if not np.isfinite(drawn).all():
        return Summary(value, np.nan, np.nan, np.nan)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Summary(value, float(drawn.std(ddof=1)), float(low), float(high))


def over(above: np.ndarray, below: np.ndarray) -> float:
    """The ratio of two means, a statistic for `bootstrap`."""
    return float(above.mean() / below.mean())


def median_over(above: np.ndarray, below: np.ndarray) -> float:
    """The ratio of two medians, for samples of which a part may have diverged."""
    return float(np.median(above) / np.median(below))


def quartiles(sample: Sequence[float]) -> str:
    """Median and quartiles in words, for heavy tails; infinity stands for a run that diverged."""
    low, middle, high = (number(value) for value in quarters(sample))
    diverged = int(np.isinf(sample).sum())
    beside = f"; {diverged} of {len(sample)} diverged" if diverged else ""
    return f"median {middle}, quartiles {low} to {high}{beside}"


def quarters(sample: Sequence[float]) -> np.ndarray:
    """The lower quartile, the median and the upper quartile; each a value of the sample."""
    return np.quantile(sample, [0.25, 0.5, 0.75], method="nearest")


def number(value: float) -> str:
    """Three significant digits, without an exponent where that is readable."""
    if np.isinf(value):
        return "diverged"
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        return f"{value:.3f}" if abs(value) < 10 else f"{value:.4g}"
    return f"{value:.2e}"


def as_markdown(
    title: str,
    made_by: str,
    claims: Sequence[Claim],
    notes: str,
    heading: str = "the paper says",
) -> str:
    """The table as a page; `made_by` is the command."""
    lines = [f"# {title}", "", f"Made by {made_by}.", ""]
    lines += [f"| {heading} | we measure | holds? |", "|---|---|---|"]
    lines += [_row(claim.says, claim.measured, claim.holds) for claim in claims]
    return "\n".join([*lines, "", notes.strip(), ""]) if notes else "\n".join([*lines, ""])


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
