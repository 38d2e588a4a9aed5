"""What does not fit into memory is refused before any of it is asked for."""

import psutil

from tagma.errors import TagmaError

_GB = 1e9


def check_memory(needed: int, what: str, instead: str) -> None:
    """A `TagmaError` of one line if so many bytes are more than the computer has to spare."""
    there = psutil.virtual_memory().available
    if needed > there:
        raise TagmaError(
            f"{what} takes {needed / _GB:,.0f} GB of memory, and {there / _GB:,.0f} are free; "
            f"{instead}"
        )
