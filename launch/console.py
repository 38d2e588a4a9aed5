"""The terminal: results on standard output; progress, warnings and errors on standard error."""

import logging
import sys
from typing import Any, NoReturn

from rich.console import Console
from rich.text import Text

from tagma.escaping import visible


class _Terminal(Console):
    """A console to which texts are texts: no markup, no names of emoji, no control characters."""

    def __init__(self, **how: Any) -> None:
        super().__init__(markup=False, emoji=False, **how)

    def render_str(self, text: str, **how: Any) -> Text:
        """Any string that is printed, alone or in a table."""
        return super().render_str(visible(text), **how)


console = _Terminal()
"""For results."""

notices = _Terminal(stderr=True)
"""For everything that is not a result."""


def say(text: str) -> None:
    """Plain text, as it is."""
    console.print(text, highlight=False, soft_wrap=True)


def warn(message: str) -> None:
    """One line about something allowed but unwise."""
    _line("warning:", "yellow", message)


def fail(message: str, code: int = 2) -> NoReturn:
    """One line about what went wrong, and the end of the program."""
    _line("tagma: error:", "red", message)
    sys.exit(code)


def _line(head: str, style: str, message: str) -> None:
    text = Text(f"{head} {visible(' '.join(message.split()))}")
    text.stylize(style, end=len(head))
    notices.print(text, highlight=False, soft_wrap=True)


class _ToTerminal(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        notices.print(record.getMessage(), highlight=False, soft_wrap=True)


def show_log(name: str) -> None:
    """Show what this logger writes on the terminal, too."""
    logger = logging.getLogger(name)
    logger.setLevel(logging.INFO)
    logger.addHandler(_ToTerminal())
