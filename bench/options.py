"""Numbers on a command line."""

import argparse
from collections.abc import Callable


def at_least(least: int) -> Callable[[str], int]:
    """A type for argparse: a whole number from `least` on."""

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"{text}: must be a whole number from {least} on")
        return value

    return number
