"""The peak memory of this process."""

import resource
import sys
from pathlib import Path


def peak_memory() -> int:
    """The largest resident memory so far, in bytes.

    Linux counts to `ru_maxrss` what the parent had when it started this process, so there its own
    figure is taken.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024)
