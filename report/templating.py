"""The pages' and figures' templates: everything that they are given is escaped.

Their files are called `page.html.md` and so on: of text, a Flower app bundle carries `.md` only.
"""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from tagma.report import number_format
from tagma.report.scatter import drawn_by, look


@cache
def templates() -> Environment:
    """Jinja with our filters; a name that a template misspells is an error."""
    made = Environment(
        loader=PackageLoader("tagma.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "number": number_format.number,
        "percent": number_format.percent,
        "duration": number_format.duration,
        "script": number_format.script_number,
        "size": number_format.size,
        "capitalised": number_format.capitalised,
    }
    made.globals |= {"look": look, "drawn_by": drawn_by, "count": number_format.count}
    return made
