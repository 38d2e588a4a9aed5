"""An axis of a grid: a setting with a list of values, or named sets of settings."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tagma.bench.grid.table_files import RESERVED
from tagma.errors import TagmaError
from tagma.settings import is_setting

_ROLES = {"attack": "attack", "attack.fraction": "fraction", "defence": "defence"}
_DEFENDING = ("strategy", "clustering", "aggregation", "preset")
"""Settings that are defences, if the grid has no other."""
ROLES = ("attack", "defence", "fraction", "other")
Plain = str | int | float | bool | None


@dataclass(frozen=True)
class Value:
    """A value on an axis: how it is called in tables, and what it sets."""

    name: Plain
    overrides: tuple[str, ...]


@dataclass(frozen=True)
class Axis:
    """What is varied."""

    key: str
    values: tuple[Value, ...]
    role: str = "other"
    """What the report takes it for: attack | defence | fraction | other."""

    def chosen(self, names: Sequence[Any]) -> "Axis":
        """The same axis with other values: those named here, or plain ones of the setting."""
        known = {str(value.name): value for value in self.values if _is_named(self.key, value)}
        values = []
        for name in names:
            if str(name) in known:
                values.append(known[str(name)])
            else:
                values += axis_of(self.key, [name], known=list(known)).values
        return Axis(self.key, _different(self.key, values), self.role)


def axis_of(key: str, entries: Any, role: str | None = None, known: Sequence[str] = ()) -> Axis:
    """An axis from its description: a list, or a mapping from names to lists of overrides.

    A list holds plain values of the setting `key`, and mappings for those with a name.
    """
    if key in RESERVED or key == "seeds" or key.startswith("bench."):
        hint = "see `seeds`" if key in ("seed", "seeds") else "call it something else"
        raise TagmaError(f"bench.axes.{key}: a grid has this name for something else; {hint}")
    if isinstance(entries, Mapping):
        entries = [{name: overrides} for name, overrides in entries.items()]
    if not isinstance(entries, list):
        entries = [entries]
    values: list[Value] = []
    for entry in entries:
        if isinstance(entry, Mapping):
            values += [_named(key, str(name), given) for name, given in entry.items()]
        else:
            values.append(_plain(key, entry, known))
    return Axis(key, _different(key, values), role or _ROLES.get(key, "other"))


def with_defences(axes: Sequence[Axis], given: Container[str]) -> tuple[Axis, ...]:
    """The axes, those of defending settings as defences, unless one is already.

    Of several, the combinations are the defences. `given`: axes whose role the grid sets.
    """
    if any(axis.role == "defence" for axis in axes):
        return tuple(axes)
    return tuple(
        replace(axis, role="defence") if axis.key in _DEFENDING and axis.key not in given else axis
        for axis in axes
    )


def _named(key: str, name: str, overrides: Any) -> Value:
    if not isinstance(overrides, list) or not all("=" in str(text) for text in overrides):
        raise TagmaError(
            f"{key}: {name}={overrides}: must be a list of settings, "
            f"as in \"{key}={{{name}:['aggregation=krum']}}\""
        )
    return Value(name, tuple(str(text) for text in overrides))


def _plain(key: str, value: Any, known: Sequence[str]) -> Value:
    if not isinstance(value, Plain):
        raise TagmaError(f"{key}={value}: must be a single value; give a list of settings a name")
    if not is_setting(key):
        names = ", ".join(known) or "none"
        raise TagmaError(f"{key}={value}: there is no such entry on this axis; known: {names}")
    return Value(value, (f"{key}={_text(value)}",))


def _different(key: str, values: Sequence[Value]) -> tuple[Value, ...]:
    names = [str(value.name) for value in values]
    if not names:
        raise TagmaError(f"{key}: must be a list of values, as in '{key}=[a,b]'")
    for name in names:
        if names.count(name) > 1:
            raise TagmaError(f"{key}: {name} is there twice")
    return tuple(values)


def _is_named(key: str, value: Value) -> bool:
    return value.overrides != (f"{key}={_text(value.name)}",)


def _text(value: Plain) -> str:
    """A value as Hydra reads it."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
