"""What commands that run many trials take on their command line."""

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile

from tagma.errors import TagmaError


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


def trial_options(arguments: list[str], trials: int = 20) -> tuple[argparse.Namespace, list[str]]:
    """`--trials`, `--seed`, `--workers` and `--out`, and the Hydra overrides beside them."""
    parser = argparse.ArgumentParser(exit_on_error=False, add_help=False, allow_abbrev=False)
    parser.add_argument("--trials", type=at_least(1), default=trials)
    parser.add_argument("--seed", type=at_least(0), default=0)
    parser.add_argument("--workers", type=at_least(1), default=os.cpu_count() or 1)
    parser.add_argument("--out")
    try:
        options, overrides = parser.parse_known_args(arguments)
    except (argparse.ArgumentError, argparse.ArgumentTypeError) as error:
        raise TagmaError(str(error)) from None
    for unknown in (text for text in overrides if text.startswith("-")):
        raise TagmaError(
            f"{unknown}: there is no such option; known: --trials --seed --workers --out"
        )
    return options, overrides


def cells_folder(folder: Path, setting: str = "--out ") -> Path:
    """The place for finished cells in a folder for results, which is made if need be.

    `setting` is how the user names the folder.
    """
    kept = folder / "cells"
    try:
        kept.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=kept).close()
    except OSError as error:
        raise TagmaError(f"{setting}{folder}: cannot be written to ({error.strerror})") from None
    return kept
