"""The pages' and figures' templates: everything that they are given is escaped, and shows.

Their files are called `page.html.md` and so on: of text, a Flower app bundle carries `.md` only.
"""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tagma.escaping import visible
from tagma.report import number_format
from tagma.report.scatter import drawn_by, look


@cache
def templates() -> Environment:
    """Jinja with our filters; a name that a template misspells is an error."""
    made = Environment(
        loader=PackageLoader("tagma.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
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
        "digest": digest,
    }
    made.globals |= {"look": look, "drawn_by": drawn_by, "count": number_format.count}
    return made


def _shown(value: Any) -> Any:
    """What is put on a page; what is a part of one already stays as it is."""
    return value if not isinstance(value, str) or isinstance(value, Markup) else visible(value)


def digest(element: str) -> str:
    """What a page's policy names a style or a script by that it has."""
    return "sha256-" + b64encode(sha256(element.encode()).digest()).decode()
