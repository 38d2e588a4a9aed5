"""What makes a process quick at much arithmetic on small arrays.

One BLAS thread: more cost more than they bring, above all where there is other work to do. And
memory that is freed stays with the process, as far as glibc can be told so: else arrays of some
megabytes, made and dropped in every step, are fetched from the system page by page, ever again.
"""

import ctypes
from contextlib import AbstractContextManager, suppress
from functools import cache

from threadpoolctl import ThreadpoolController

_KEPT = {-3: 32 * 2**20, -1: 256 * 2**20}
"""Of glibc's `mallopt`: M_MMAP_THRESHOLD, up to which arrays share one heap (the most that it
takes), and M_TRIM_THRESHOLD, how much of its free end stays."""


def quick_at_small_arrays(threads: int) -> AbstractContextManager[object]:
    """While it lasts, BLAS has so many threads; from now on, freed memory stays."""
    keep_freed_memory()
    return _libraries().limit(limits=threads, user_api="blas")


@cache
def keep_freed_memory() -> None:
    """Freed memory stays with this process; nothing happens where the C library is another."""
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        for parameter, value in _KEPT.items():
            mallopt(parameter, value)


@cache
def _libraries() -> ThreadpoolController:
    """The BLAS libraries of this process; looking for them costs as much as a round."""
    import scipy.linalg  # noqa: F401  # which brings one of its own

    return ThreadpoolController()
