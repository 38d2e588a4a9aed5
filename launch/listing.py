"""`tagma list`: what can be chosen, read from the configuration itself."""

import json
from collections.abc import Sequence

import yaml
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tagma.attacks.base import LocalAttack, OmniscientAttack
from tagma.choices import SEARCHPATH, choices, file_of, groups, not_offered, offered, text_of
from tagma.errors import TagmaError
from tagma.escaping import visible
from tagma.launch.command_line import CommandLine
from tagma.launch.console import console, warn
from tagma.override import key_of
from tagma.plugins import TARGET, locate

_HELP = """The choices of every configuration group, or of those that are named.

  tagma list                  everything, a line each
  tagma list attacks          every attack: what it sees and may change, its settings, its source
  tagma list 'hydra.searchpath=[file://FOLDER]'     your own choices in FOLDER as well

What installed packages offer as entry points is marked with the package that it is of.

Choose with `tagma run group=choice`; its settings are group.setting=value."""


def main(arguments: list[str]) -> None:
    """Print the choices of all groups, or of those that are named."""
    parser = CommandLine("list", _HELP)
    parser.add_argument("words", nargs="*", metavar="GROUP", help="or hydra.searchpath=...")
    words = parser.read(arguments).words
    places = [text for text in words if key_of(text) == SEARCHPATH]
    known, named = groups(), [text for text in words if text not in places]
    for name in named:
        if name not in known and name.removesuffix("s") not in known:
            raise TagmaError(f"{name}: there is no such group; known: {', '.join(known)}")
    for name in named or known:
        group = name if name in known else name.removesuffix("s")
        if named and group == "attack":
            for choice in choices(group, places):
                _print_attack(choice, places)
            _print_not_offered(group)
        else:
            _print_choices(group, places)


def _print_choices(group: str, places: Sequence[str]) -> None:
    table = Table(title=group, title_justify="left", title_style="bold", show_header=False)
    packages = offered(group)
    for name in choices(group, places):
        if name not in packages:
            table.add_row(name, about(group, name, places))
            continue
        try:
            what = about(group, name)
        except TagmaError as problem:  # of a package that somebody else may have to mend
            what = str(problem).partition(" offers ")[2]
        table.add_row(name, f"{what} (of {packages[name].package})")
    console.print(table)
    _print_not_offered(group)


def _print_not_offered(group: str) -> None:
    for line in not_offered(group):
        warn(line)


def _print_attack(name: str, places: Sequence[str]) -> None:
    package = offered("attack").get(name)
    try:
        settings = dict(yaml.safe_load(_text("attack", name, places)) or {})
    except TagmaError as problem:  # of a package that somebody else may have to mend
        if package is None:
            raise
        _print_name(name, f"(of {package.package})")
        console.print(Padding(str(problem), (0, 0, 0, 4)))
        return
    except (yaml.YAMLError, TypeError, ValueError) as problem:
        raise TagmaError(
            f"{file_of('attack', name, places)}: is no configuration ({problem})"
        ) from None
    settings.pop("defaults", None)
    kind, threat = "of any kind", "as the attacks it is made of"
    target = settings.pop(TARGET, None)
    if target is not None:
        kind, threat = _threat(target)
    kind += f"; of {package.package}" if package else ""
    shown = ", ".join(f"{key}={json.dumps(value)}" for key, value in settings.items())
    _print_name(name, f"({kind})")
    for line in (about("attack", name, places), threat, f"settings: {shown}" if shown else ""):
        if line:
            console.print(Padding(line, (0, 0, 0, 4)))


def _print_name(name: str, more: str) -> None:
    console.print(Text.assemble((visible(name), "bold"), f"  {visible(more)}"), highlight=False)


def _threat(target: object) -> tuple[str, str]:
    """What kind of attack it is, and what it sees and may change."""
    try:
        attack = locate(str(target), TARGET)
    except TagmaError as problem:
        return "unknown", str(problem)
    if not isinstance(attack, type) or not issubclass(attack, LocalAttack | OmniscientAttack):
        return "unknown", f"{target}: is no attack"
    kind = "local" if issubclass(attack, LocalAttack) else "omniscient"
    if attack.goal not in (LocalAttack.goal, OmniscientAttack.goal):
        kind += ", with a goal"
    return kind + (f"; {attack.published}" if attack.published else ""), str(attack.threat)


def about(group: str, name: str, places: Sequence[str] = ()) -> str:
    """What a choice is: its first comment, up to the line that ends a sentence."""
    said = []
    for line in _text(group, name, places).splitlines():
        if line.startswith("# @"):
            continue
        if not line.startswith("#"):
            break
        said.append(line.removeprefix("#").strip())
        if line.endswith((".", ":")):
            break
    return " ".join(said)


def _text(group: str, name: str, places: Sequence[str]) -> str:
    return text_of(group, name, places)
