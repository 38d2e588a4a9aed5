"""`tagma doctor`: what will not work on this computer, why, and what to do."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from rich.table import Table
from rich.text import Text

from tagma.launch.command_line import CommandLine
from tagma.launch.console import console, say
from tagma.launch.doctor.examination import examine
from tagma.launch.doctor.findings import OK, WARNING, WILL_NOT, Finding, findings_of

_HELP = """What will not work on this computer and in this folder, why, and what to do.

Looks at Python and the packages, torch and NumPy, Flower and the parts of it that Tagma uses,
memory and disk, Ray, the ports of a deployment, Docker, certificates, and what is left of runs that
were killed. It starts nothing and changes nothing. Each line is

  ok              it works, as far as can be seen without a run
  warning         it works, but not as you may expect
  will not work   what for, why, and what to do

What `tagma run` needs comes first. The exit code is 0 if all of that works; Docker, Ray, a tracker
or another option that will not work does not change it.

  tagma doctor
  tagma doctor --keys keys     where `tagma keys` has put the certificates
  tagma doctor --json          the same for programs: about, state, says, needed"""
_COLOURS = {OK: "green", WARNING: "yellow", WILL_NOT: "yellow"}


def main(arguments: list[str]) -> None:
    """Look, print, and say by the exit code whether `tagma run` works."""
    parser = CommandLine("doctor", _HELP)
    parser.add_argument(
        "--keys", type=Path, default=Path("keys"), metavar="FOLDER",
        help="keys of a deployment (default: keys)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.read(arguments)
    found = findings_of(examine(given.keys))
    if given.json:
        say(json.dumps([asdict(one) for one in found], indent=2))
    else:
        console.print(_table(found))
        say(_verdict(found))
    if any(one.fails for one in found):
        sys.exit(1)


def _table(found: list[Finding]) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 1))
    for column in range(3):
        table.add_column(no_wrap=column < 2)
    for one in found:
        table.add_row(
            Text(one.state, "red" if one.fails else _COLOURS[one.state]), one.about, one.says
        )
    return table


def _verdict(found: list[Finding]) -> str:
    failing = [one.about for one in found if one.fails]
    if failing:
        return f"`tagma run` will not work here: {', '.join(failing)}"
    others = sum(one.state == WILL_NOT for one in found)
    return "`tagma run` works here" + (
        f"; {others} of what it can do without does not" if others else ""
    )
