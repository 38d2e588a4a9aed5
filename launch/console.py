"""The terminal: results on standard output; progress, warnings and errors on standard error."""

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


def _plain(text: str) -> str:
    return text.replace("[", r"\[")
