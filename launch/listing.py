"""`tagma list`: what can be chosen, read from the configuration itself."""

import json
from typing import Any

from omegaconf import OmegaConf
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tagma.attacks.base import LocalAttack
from tagma.errors import TagmaError
from tagma.launch.console import console, say
from tagma.plugins import TARGET, locate
from tagma.settings import CONF, choices

_HELP = """tagma list [group]: the choices of every configuration group, or of one.

  tagma list                  everything, a line each
  tagma list attacks          every attack: what it sees and may change, its settings, its source

Choose with `tagma run group=choice`; its settings are group.setting=value."""


def main(arguments: list[str]) -> None:
    """Print the choices of all groups, or of those that are named."""
    if "--help" in arguments or "-h" in arguments:
        say(_HELP)
        return
    groups = sorted(p.name for p in CONF.iterdir() if p.is_dir() and p.name[0] not in "_h")
    for name in arguments:
        if name not in groups and name.removesuffix("s") not in groups:
            raise TagmaError(f"{name}: there is no such group; known: {', '.join(groups)}")
    for name in arguments or groups:
        group = name if name in groups else name.removesuffix("s")
        if arguments and group == "attack":
            for choice in choices(group):
                _print_attack(choice)
        else:
            _print_choices(group)


def _print_choices(group: str) -> None:
    table = Table(title=group, title_justify="left", title_style="bold", show_header=False)
    for name in choices(group):
        table.add_row(name, about(group, name))
    console.print(table)


def _print_attack(name: str) -> None:
    file = CONF / "attack" / f"{name}.yaml"
    settings: Any = OmegaConf.to_container(OmegaConf.load(file))
    settings.pop("defaults", None)
    kind, threat = "of any kind", "as the attacks it is made of"
    target = settings.pop(TARGET, None)
    if target is not None:
        attack: Any = locate(target, TARGET)
        kind = "local" if issubclass(attack, LocalAttack) else "omniscient"
        kind += f"; {attack.source}" if attack.source else ""
        threat = str(attack.threat)
    shown = ", ".join(f"{key}={json.dumps(value)}" for key, value in settings.items())
    console.print(f"[bold]{name}[/]  ({kind})", highlight=False)
    for line in (about("attack", name), threat, f"settings: {shown}" if shown else ""):
        if line:
            console.print(Padding(Text(line), (0, 0, 0, 4)))


def about(group: str, name: str) -> str:
    """The first line of a choice: what it is."""
    lines = (CONF / group / f"{name}.yaml").read_text().splitlines()
    return next(line.removeprefix("# ") for line in lines if not line.startswith("# @"))
