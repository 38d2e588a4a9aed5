"""The command line of every subcommand: words, options and overrides, and mistakes of one line.

The help of a command begins with its usage, then says what it does, with examples; options come
last. Overrides (`key=value`) are passed on untouched, wherever they stand.
"""

from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

from hydra._internal.utils import get_args_parser

from tagma.errors import TagmaError
from tagma.override_hints import refuse_parts
from tagma.settings import is_setting

_NOT_SEEN_BY_CLIENTS = ("config_dir", "config_name", "config_path")


class CommandLine(ArgumentParser):
    """The words and options of one subcommand; with `overrides`, settings may stand beside them."""

    def __init__(
        self, name: str, about: str, *, overrides: bool = False, flags: ArgumentParser | None = None
    ) -> None:
        super().__init__(
            f"tagma {name}",
            description=about,
            formatter_class=RawDescriptionHelpFormatter,
            allow_abbrev=False,
            parents=[flags] if flags else [],
            add_help=flags is None,
        )
        self._takes_settings = overrides or flags is not None
        self._adds_overrides = overrides

    def add_run_folder(self, what: str) -> None:
        """The first word, a run folder, and whether what it names may be run."""
        self.add_argument("folder", type=Path, metavar="FOLDER", help=what)
        self.add_argument(
            "--trust", action="store_true",
            help="run what the folder's settings name, such as plugins of yours; not if it is a "
            "stranger's",
        )  # fmt: skip

    def read(self, arguments: Sequence[str]) -> Namespace:
        """What was given; asked for help, it prints it and ends the program with code 0."""
        if self._adds_overrides:  # last, so that words come before them
            self.add_argument("overrides", nargs="*", help="settings of `tagma run`: key=value")
        for text in arguments:  # first: what is misspelt seems to be missing as well
            if text.startswith("--") and text.partition("=")[0] not in self._option_string_actions:
                self._refuse(text, arguments)
        given, unknown = self.parse_known_intermixed_args(list(arguments))
        if unknown and unknown[0].startswith("-"):
            self._refuse(unknown[0], arguments)
        if unknown:
            raise TagmaError(f"{unknown[0]}: is one word too many; see {self.prog} --help")
        if self._takes_settings:
            refuse_parts(given.overrides)
        return given

    def error(self, message: str) -> NoReturn:
        """Every mistake that argparse finds."""
        missing = message.partition("the following arguments are required: ")[2]
        if missing:
            needed = missing.removesuffix(", overrides")
            raise TagmaError(f"{self.prog} needs {needed}; see {self.prog} --help")
        raise TagmaError(message.removeprefix("argument "))

    def _refuse(self, wrong: str, arguments: Sequence[str]) -> NoReturn:
        """Say what an option that does not exist should have been."""
        option, _, value = wrong.partition("=")
        key = option.lstrip("-").replace("-", "_")
        if self._takes_settings and is_setting(key):
            after = arguments[list(arguments).index(wrong) + 1 :][:1]
            value = value or next((text for text in after if "=" not in text), "VALUE")
            raise TagmaError(f"{wrong}: settings are written without dashes: {key}={value}")
        known = [name for name in self._option_string_actions if name.startswith("--")]
        close = get_close_matches(option, known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"known: {' '.join(known)}"
        raise TagmaError(f"{option}: there is no such option; {hint}")


def at_least(least: int) -> Callable[[str], int]:
    """A type of option: a whole number from `least` on."""

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise ArgumentTypeError(f"{text}: must be a whole number from {least} on")
        return value

    return number


def run_arguments(arguments: Sequence[str]) -> list[str]:
    """The arguments of `tagma run` as Hydra wants them: its own flags first, then overrides."""
    given = CommandLine("run", "", flags=get_args_parser()).read(arguments)
    for name in _NOT_SEEN_BY_CLIENTS:
        if getattr(given, name) is not None:
            raise TagmaError(
                f"--{name.replace('_', '-')}: clients compose the settings themselves and would not"
                " see it; use 'hydra.searchpath=[file://FOLDER]' instead"
            )
    flags = [text for text in arguments if text not in given.overrides]
    return [*flags, *given.overrides]
