"""Names in figures: how wide they are, and short enough to fit."""

LETTER = 7.4
"""Pixels that a letter of a figure's text takes at most, on average."""


def shorten(name: str, longest: int) -> str:
    """The name, its middle left out if it is longer than `longest` letters."""
    if len(name) <= longest:
        return name
    head = (longest - 1) * 2 // 3
    return f"{name[:head]}…{name[head + 1 - longest :]}"
