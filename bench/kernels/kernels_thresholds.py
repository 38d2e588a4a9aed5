"""What `tagma bench kernels` requires, on any processor.

Ratios depend on the processor: on its vector instructions, its caches, and what fresh memory costs
there. The limits leave ample room beyond the worst that was seen on an Intel with AVX-512 and on
AMDs without (docs/aggregators.md has the figures): a limit that is missed shows a defect, not
another processor.
"""

from collections.abc import Sequence

from tagma.bench.kernels.kernels_timing import Timing
from tagma.bench.kernels.rivals import OURS, OURS_GIVEN

MOST = {
    ("trimmed_mean", 20): 7,
    ("trimmed_mean", 100): 25,
    ("trimmed_mean", 1000): 36,
    ("median", 20): 7,
    ("median", 100): 25,
    ("median", 1000): 27,
    ("krum", 100): 18,
    ("multi_krum", 100): 22,
    ("nnm", 100): 30,
    ("geometric_median", 100): 22,
}
"""Ratios to the mean, at the largest shape with that many rows.

What is as large as the rows is made in memory that is there already: what new memory costs is for
the computer to say, and nothing of ours.
"""
FASTER_THAN_FLOWER = 2
"""For the coordinate-wise statistics, at every shape."""
FASTER_THAN_OTHERS = 0.75
"""The same for all others: ours are faster nearly everywhere, and nowhere much slower."""
FASTER_THAN_BEST = 1.2
"""For the other statistics, where their ratio is limited."""
CLUSTERING, MEMORY = 5.0, 1.2
_COORDINATE_WISE = ("trimmed_mean", "median")


def missed(timings: Sequence[Timing]) -> list[str]:
    """One line for every threshold that is not met."""
    found = []
    largest: dict[int, int] = {}
    for timing in timings:
        largest[timing.m] = max(largest.get(timing.m, 0), timing.d)
    given = {(t.statistic, t.m, t.d): t for t in timings if t.library == OURS_GIVEN}
    for own in (timing for timing in timings if timing.library == OURS):
        place = f"{own.statistic} at {own.m} x {own.d}"
        ratio = given.get((own.statistic, own.m, own.d), own).ratio
        most = MOST.get((own.statistic, own.m))
        limited = most is not None and own.d == largest[own.m]
        if most is not None and limited and ratio > most:
            found.append(f"{place}: {ratio:.1f} times the mean, not {most}")
        rivals = [
            timing for timing in timings
            if (timing.statistic, timing.m, timing.d) == (own.statistic, own.m, own.d)
            and not timing.library.startswith(OURS)
        ]  # fmt: skip
        for rival in rivals:
            if own.statistic in _COORDINATE_WISE:
                flower = rival.library == "flower"
                wanted = FASTER_THAN_FLOWER if flower else FASTER_THAN_OTHERS
            elif limited:
                wanted = FASTER_THAN_BEST
            else:
                continue
            if rival.to_ours < wanted:
                found.append(
                    f"{place}: {rival.to_ours:.2f} times as fast as {rival.library}, not {wanted:g}"
                )
    return found
