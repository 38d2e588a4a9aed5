"""The oracle in words: what it is given, and whether it is a yardstick for the run.

Its clusters are the true ones. Where the run keeps Byzantine clients out, so does the oracle;
otherwise each of them is in the cluster it is nearest to, may be the majority there, and the oracle
is lost while the run is not.
"""

import math
from collections.abc import Sequence

from tagma.report.number_format import number

GREW = 10.0
"""An error that grows so many times is lost, and so is one that is so many times the run's."""
HALF = 0.5
"""What should be high and is below this share of the run's is lost as well."""


def oracle_given(without_byzantine: bool) -> str:
    """What the oracle is given."""
    return "the true clusters" + (", without Byzantine clients" if without_byzantine else "")


def no_yardstick(
    word: str,
    better: str,
    value: float | None,
    oracle: float,
    curve: Sequence[float] | None,
    suspect: bool,
) -> str | None:
    """Why the oracle's score, by its name in words, is no yardstick for the run's, or None."""
    if not math.isfinite(oracle):
        return "it diverged"
    first = next((one for one in curve or () if not math.isnan(one)), oracle)
    if better == "low" and first >= 0 and oracle > GREW * first:
        return f"its {word} grew from {number(first)} to {number(oracle)}"
    own = math.nan if value is None or value < 0 else value
    if (oracle > GREW * own) if better == "low" else (oracle < HALF * own):
        return f"its {word} is {number(oracle)}"
    return "it has a suspect cluster" if suspect else None
