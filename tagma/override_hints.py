"""What to say about overrides that Hydra refuses: what was meant, most likely."""

import re
from collections.abc import Sequence
from difflib import get_close_matches

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, MissingConfigException

from tagma.choices import choices
from tagma.errors import TagmaError
from tagma.override import key_of


def hint(overrides: Sequence[str], error: Exception) -> str | None:
    """One line about the override that is to blame, if the overrides alone tell which it is."""
    try:
        for text in overrides:
            if (found := _about(text, overrides, error)) is not None:
                return found
    except TagmaError as other:  # a place for own choices that is not there
        return str(other)
    return None


def refuse_parts(overrides: Sequence[str]) -> None:
    """Raise an error if a file is chosen that is only a part of others: Hydra would take it."""
    for text in overrides:
        key, value = key_of(text), text.partition("=")[2]
        parts = re.findall(r"(?<![^\[\s,'\"])_\w+", value)
        if parts and (known := choices(key, overrides)):
            raise TagmaError(f"{key}={parts[0]}: {no_such_choice(parts[0], known)}")


def no_such_choice(value: str, known: Sequence[str]) -> str:
    """What to say about a choice that does not exist."""
    close = get_close_matches(value.lower().replace("-", "_"), known, n=1)
    also = f"did you mean {close[0]}?" if close else f"known: {', '.join(known)}"
    return f"there is no such choice; {also}"


def _about(text: str, overrides: Sequence[str], error: Exception) -> str | None:
    name, _, rest = text.partition("=")
    try:
        override = OverridesParser.create().parse_override(text)
    except HydraException:
        if not rest:
            return f"{text}: is not of the form key=value"
        return f"{text}: the value cannot be read; if it is text, quote it: '{name}=\"...\"'"
    if override.is_sweep_override():
        if "--multirun" not in str(error):
            return None
        a_list = "" if choices(name) else f"; a list needs brackets: {name}=[{rest}]"
        return f"{text}: several values are several runs and need -m{a_list}"
    if isinstance(error, MissingConfigException):
        key, value = override.key_or_group, str(override.value())
        known = choices(key, overrides)
        if known and value not in known:
            return f"{key}={value}: {no_such_choice(value, known)}"
    return None
