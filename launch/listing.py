"""`tagma list`: what can be chosen, read from the configuration itself."""

from rich.table import Table

from launch.console import console, say
from tagma.errors import TagmaError
from tagma.settings import CONF

_HELP = """tagma list [group]: the choices of every configuration group, or of one.

Choose with `tagma run group=choice`; its settings are group.setting=value."""


def main(arguments: list[str]) -> None:
    """Print the choices of all groups, or of the one that is named."""
    if arguments in (["--help"], ["-h"]):
        say(_HELP)
        return
    groups = sorted(p.name for p in CONF.iterdir() if p.is_dir() and p.name[0] not in "_h")
    for unknown in set(arguments) - set(groups):
        raise TagmaError(f"{unknown}: there is no such group; known: {', '.join(groups)}")
    for group in arguments or groups:
        table = Table(title=group, title_justify="left", title_style="bold", show_header=False)
        for file in sorted((CONF / group).glob("*.yaml")):
            about = file.read_text().partition("\n")[0].removeprefix("# ")
            table.add_row(file.stem, about)
        console.print(table)
