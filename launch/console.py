"""The terminal: results on standard output; progress, warnings and errors on standard error."""

import logging
import sys
from typing import NoReturn

from rich.console import Console

console = Console()
"""For results."""

notices = Console(stderr=True)
"""For everything that is not a result."""


def say(text: str) -> None:
    """Plain text, as it is."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def warn(message: str) -> None:
    """One line about something allowed but unwise."""
    notices.print(f"[yellow]warning:[/] {_plain(message)}", highlight=False, soft_wrap=True)


def fail(message: str, code: int = 2) -> NoReturn:
    """One line about what went wrong, and the end of the program."""
    text = " ".join(message.split())
    notices.print(f"[red]tagma: error:[/] {_plain(text)}", highlight=False, soft_wrap=True)
    sys.exit(code)


class _ToTerminal(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        notices.print(_plain(record.getMessage()), highlight=False, soft_wrap=True)


def show_log(name: str) -> None:
    """Show what this logger writes on the terminal, too."""
    logger = logging.getLogger(name)
    logger.setLevel(logging.INFO)
    logger.addHandler(_ToTerminal())


def _plain(text: str) -> str:
    return text.replace("[", r"\[")
