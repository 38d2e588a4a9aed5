"""The pages' and figures' templates: everything that they are given is escaped."""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from bench.report import numerals
from bench.report.scatter import look


@cache
def environment() -> Environment:
    """Jinja with our filters; a name that a template misspells is an error."""
    made = Environment(
        loader=PackageLoader("bench.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "number": numerals.number,
        "percent": numerals.percent,
        "duration": numerals.duration,
        "script": numerals.script_number,
    }
    made.globals |= {"look": look, "count": numerals.count}
    return made
