"""The oracle in words: what it is given, and whether its error is a yardstick for the run.

Its clusters are the true ones. Where the run keeps Byzantine clients out, so does the oracle;
otherwise each of them is in the cluster it is nearest to, may be the majority there, and the oracle
is lost while the run is not.
"""

import math
from collections.abc import Sequence

from tagma.report.number_format import number

GREW = 10.0
"""An error that grows so many times is lost, and so is one that is so many times the run's."""


def oracle_given(without_byzantine: bool) -> str:
    """What the oracle is given."""
    return "the true clusters" + (", without Byzantine clients" if without_byzantine else "")


def no_yardstick(
    error: float | None, oracle: float, curve: Sequence[float] | None, suspect: bool
) -> str | None:
    """Why the oracle's error is no yardstick for the run's, or None."""
    if not math.isfinite(oracle):
        return "it diverged"
    if curve and oracle > GREW * curve[0]:
        return f"its error grew from {number(curve[0])} to {number(oracle)}"
    if error is not None and oracle > GREW * error:
        return f"its error is {number(oracle)}"
    return "it has a suspect cluster" if suspect else None
