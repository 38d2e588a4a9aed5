"""From how many rows on which way to the middle of every column is the fastest.

Few values are selected by a network, more are sorted, many only partitioned: once for a median,
twice for a trimmed mean. On Intel's processors, NumPy sorts much faster with AVX-512 than with
AVX2, and partitions about as fast, so the crossovers depend on the processor. They are fixed for
two kinds rather than measured as a program starts: the same computer gives the same numbers every
time, to the last bit.
"""

from typing import NamedTuple

import numpy as np


class Crossovers(NamedTuple):
    """Numbers of rows."""

    network: int
    """Up to here a network is faster than sorting, given enough columns to pay for its steps."""
    once: int
    """From here on partitioning once is faster than sorting."""
    twice: int
    """From here on partitioning twice is."""

    def partitions(self, m: int, dropped: int) -> bool:
        """Whether m values are partitioned to leave out the `dropped` smallest and largest.

        If none are left out, there is nothing to partition, let alone to sort.
        """
        return dropped == 0 or m >= (self.once if m - 2 * dropped <= 2 else self.twice)


_WITH_AVX512 = {"f": Crossovers(40, 1000, 4000), "d": Crossovers(28, 300, 1000)}
"""float32 and float64; measured on an Intel Xeon (Sapphire Rapids). Other makers' processors with
AVX-512 are taken to be like it."""
_WITHOUT = {"f": Crossovers(80, 500, 500), "d": Crossovers(40, 200, 300)}
"""Measured on an AMD EPYC (Zen 3); float64 on the Xeon without its AVX-512. All others without it,
also those that are not x86, are taken to be like that."""
_AVX512 = {"X86_V4", "AVX512_SKX"}
"""As newer and older versions of NumPy call it."""


def _of_this_processor() -> dict[str, Crossovers]:
    extensions = np.show_config(mode="dicts").get("SIMD Extensions", {})
    names = {*extensions.get("baseline", ()), *extensions.get("found", ())}
    return _WITH_AVX512 if _AVX512 & names else _WITHOUT


_CHOSEN = _of_this_processor()


def crossovers(dtype: np.dtype[np.float64]) -> Crossovers:
    """For values of float32 or float64."""
    return _CHOSEN[dtype.char]
