"""Claims of the paper beside what was measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.stats import t as student


@dataclass(frozen=True)
class Summary:
    """Mean, standard deviation and a 95 % confidence interval of the mean."""

    mean: float
    deviation: float
    low: float
    high: float

    def __str__(self) -> str:
        interval = f"[{number(self.low)}, {number(self.high)}]"
        return f"{number(self.mean)} ± {number(self.deviation)} {interval}"


@dataclass(frozen=True)
class Claim:
    """One line of the table: the paper says, we measure, it holds or not."""

    says: str
    measured: str
    holds: bool | None
    """None where the paper makes no claim that could fail."""


def summarise(sample: Sequence[float]) -> Summary:
    """Student's interval, which assumes nothing but a roughly normal mean."""
    data = np.asarray(sample, dtype=np.float64)
    mean, deviation = float(data.mean()), float(data.std(ddof=1)) if len(data) > 1 else 0.0
    half = student.ppf(0.975, len(data) - 1) * deviation / sqrt(len(data)) if len(data) > 1 else 0.0
    return Summary(mean, deviation, mean - half, mean + half)


def number(value: float) -> str:
    """Three significant digits, without an exponent where that is readable."""
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        return f"{value:.3f}" if abs(value) < 10 else f"{value:.4g}"
    return f"{value:.2e}"


def as_markdown(
    title: str, claims: Sequence[Claim], notes: str, heading: str = "the paper says"
) -> str:
    """The table as a page."""
    lines = [f"# {title}", "", f"| {heading} | we measure | holds? |", "|---|---|---|"]
    words = {True: "yes", False: "no", None: "-"}
    lines += [f"| {claim.says} | {claim.measured} | {words[claim.holds]} |" for claim in claims]
    return "\n".join([*lines, "", notes.strip(), ""]) if notes else "\n".join([*lines, ""])
