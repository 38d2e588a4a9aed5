"""Paths as arguments of whoever calls from Python."""

from os import PathLike
from pathlib import Path

from tagma.errors import SettingError


def given_path(name: str, value: object) -> Path:
    """The path that an argument names; an error of one line if it is something else."""
    if not isinstance(value, str | PathLike):
        raise SettingError(name, value, "must be a path")
    return Path(value)
