"""Whole numbers from shares, as on paper: 0.29 of 100 is 29, although 0.29 * 100 < 29."""

from math import ceil, floor

_ROUNDING = 1e-9


def floor_of(share: float, number: int) -> int:
    """floor(share * number)."""
    return floor(share * number + _ROUNDING)


def ceil_of(share: float, number: int) -> int:
    """ceil(share * number)."""
    return ceil(share * number - _ROUNDING)
