"""Tab completion: Hydra's own, for a command whose settings stand behind a subcommand.

    eval "$(tagma run -sc install=bash)"     in Bash and Zsh
    tagma run -sc install=fish | source      in Fish

Hydra's script asks `tagma -sc query=SHELL` for what may follow the line in COMP_LINE.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, suppress
from io import StringIO

import hydra

from tagma import offered_choices  # noqa: F401 (Hydra shall know them)
from tagma.choices import CONF
from tagma.environment import environment
from tagma.errors import TagmaError

_TAKE_SETTINGS = ("run", "compare")
_WAYS = [f"{way}={shell}" for way in ("install", "uninstall") for shell in ("bash", "zsh", "fish")]


def complete(words: Sequence[str], commands: Sequence[str]) -> None:
    """Print the script that a shell reads, or the words that may follow."""
    asked = " ".join(words)
    if not asked.startswith("query="):
        if asked not in _WAYS:
            raise TagmaError(f"-sc {asked}: must be one of {', '.join(_WAYS)}")
        _ask_hydra(asked)
        return
    command, *rest = os.environ.get("COMP_LINE", "").lstrip().split(" ", 2)
    if len(rest) < 2:
        print("\n".join(name for name in commands if name.startswith("".join(rest))))
    elif rest[0] in _TAKE_SETTINGS:
        # Hydra knows no subcommands. A line that it cannot read has no completion.
        settings = environment({"COMP_LINE": f"{command} {rest[1]}"})
        with settings, redirect_stderr(StringIO()), suppress(Exception, SystemExit):
            _ask_hydra(asked)


def _ask_hydra(action: str) -> None:
    sys.argv = ["tagma", "-sc", action]
    hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")(print)()
