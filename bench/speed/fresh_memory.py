"""`tagma bench fresh_memory`: what fresh memory costs, by how long it has been free.

An array of 400 MB is made, filled and freed, again and again, with longer and longer pauses. On a
computer of one's own the pause makes no difference. A virtual machine may give memory that is free
back to its host in the pause, and the host then has to find it again, page by page. That is why
`tagma bench kernels` calls every function once more before it measures it.
"""

from statistics import median
from time import sleep, thread_time
from typing import Any

import numpy as np
from rich.table import Table

from tagma.arrays import Array
from tagma.launch.command_line import CommandLine
from tagma.launch.console import console, notices

_ABOUT = "What 400 MB of fresh memory cost, by how long they have been free. Takes two minutes."
_ENTRIES = 100_000_000
_PAUSES = (0, 1, 2, 5, 10, 20)
"""Seconds."""
_REPEATS = 3


def main(arguments: list[str]) -> None:
    """Measure after every pause, and print a table."""
    CommandLine("bench fresh_memory", _ABOUT).read(arguments)
    memory: Any = np.ones(_ENTRIES, np.float32)
    again = median(_fill(memory) for _ in range(_REPEATS))
    del memory
    table = Table(title="Filling a new array of 400 MB", title_justify="left")
    for title in ("free for", "CPU ms", "filling it again = 1"):
        table.add_column(title, justify="right")
    for pause in _PAUSES:
        notices.print(f"{_REPEATS} times after {pause} s ...", highlight=False)
        seconds = median(_after(pause) for _ in range(_REPEATS))
        table.add_row(f"{pause} s", f"{1000 * seconds:.0f}", f"{seconds / again:.1f}")
    console.print(table)


def _after(pause: float) -> float:
    _fill_new()
    sleep(pause)
    return _fill_new()


def _fill_new() -> float:
    return _fill(np.empty(_ENTRIES, np.float32))


def _fill(memory: Array) -> float:
    started = thread_time()
    memory.fill(1)
    return thread_time() - started
