"""What a grid consists of: a file of conf/bench, changed by the command line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from annotated_types import Ge, Gt
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException

from tagma.bench.grid.axis import ROLES, Axis, axis_of, with_defences
from tagma.bench.grid.conditions import Condition, check_condition
from tagma.bench.grid.gate import Requirement, read_gate
from tagma.choices import CONF, choices
from tagma.errors import SettingError, TagmaError
from tagma.override import key_of
from tagma.plugins import settings_of
from tagma.tasks.task import Better

MISCLUSTERING = "misclustering"
_FOLDER = Path("outputs") / "bench"
_UNNAMED = "grid"
"""What a grid is called that comes from no file."""


@dataclass(frozen=True)
class Plan:
    """A grid and how to run it."""

    name: str
    title: str
    axes: tuple[Axis, ...]
    seeds: tuple[int, ...]
    common: tuple[str, ...]
    """Settings of every cell."""
    reference: tuple[str, ...]
    """Settings, instead of the defence's, of the runs that all others are measured by."""
    skip: tuple[Condition, ...]
    gate: tuple[Requirement, ...]
    """What the finished grid must show."""
    metric: str | None
    """What the report ranks by; None: not chosen yet."""
    timeout: float
    workers: int | None
    """How many cells at a time; None: as many as there are processors."""
    runner: str
    folder: Path
    scores: Mapping[str, Better] = field(default_factory=dict)
    """The scores of its cells, and which way is good, as soon as the cells are known."""

    @property
    def measured(self) -> set[str]:
        """What the grid asks for by name: the metric, and what its gate looks at."""
        return {name for name in (self.metric, *(one.metric for one in self.gate)) if name}

    @property
    def size(self) -> int:
        """The number of cells before any are skipped."""
        return prod(len(axis.values) for axis in self.axes) * len(self.seeds)


def read_plan(grid: str | Mapping[str, Any], arguments: Sequence[str]) -> Plan:
    """The grid of a file, or of what a file would say, with the arguments of the command line."""
    name = grid if isinstance(grid, str) else _UNNAMED
    values, own = _file_values(grid), list[Override]()
    for text in arguments:
        override = _parsed(text)
        key = override.key_or_group
        if key == "seed":
            raise TagmaError(f"{text}: use seeds={override.value()} for so many, or seeds=[1,2]")
        if key == "seeds" or key.startswith("bench."):
            values[key.removeprefix("bench.")] = _value(override)
        else:
            own.append(override)
    checked = settings_of(_of_a_grid, "bench", values, {})
    axes, common = _changed(_axes(checked), _keyed(checked["common"]), own)
    stem = Path(name).stem
    keys = [axis.key for axis in axes]
    return Plan(
        name=stem,
        title=checked["title"] or stem,
        axes=with_defences(axes, checked["roles"] or {}),
        seeds=_seeds(checked["seeds"]),
        common=tuple(common.values()),
        reference=tuple(checked["reference"] or ()),
        skip=tuple(check_condition("bench.skip", one, keys) for one in checked["skip"] or ()),
        gate=read_gate(checked["gate"] or (), axes),
        metric=checked["metric"],
        timeout=checked["timeout"],
        workers=checked["workers"],
        runner=checked["runner"],
        folder=Path(checked["folder"] or _FOLDER / stem),
    )


def _of_a_grid(
    *,
    title: str | None = None,
    axes: dict[str, Any],
    roles: dict[str, str] | None = None,
    seeds: int | list[int] = 5,
    common: list[str] | None = None,
    reference: list[str] | None = None,
    skip: list[Any] | None = None,
    gate: list[Any] | None = None,
    metric: str | None = None,
    timeout: Annotated[float, Gt(0)] = 600.0,
    workers: Annotated[int, Ge(1)] | None = None,
    runner: Literal["local", "ray"] = "local",
    folder: str | None = None,
) -> None:
    """The settings of a grid; a file may leave out those that have a default."""


def _file_values(name: str | Mapping[str, Any]) -> dict[str, Any]:
    """What a file says: one of conf/bench by its name, any other by its path."""
    if not isinstance(name, str):
        return _with_axes(_UNNAMED, dict(name))
    path = Path(name) if name.endswith((".yaml", ".yml")) else CONF / "bench" / f"{name}.yaml"
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError:
        known = f"there is no such grid; known: {', '.join(choices('bench'))}, or a file: my.yaml"
        raise SettingError("bench", name, known) from None
    except UnicodeDecodeError:
        raise SettingError("bench", name, "is not UTF-8 text") from None
    except yaml.YAMLError as error:
        problem = " ".join(str(error).split())
        raise SettingError("bench", name, f"is not YAML ({problem})") from None
    return _with_axes(name, values)


def _with_axes(name: str, values: Any) -> dict[str, Any]:
    if (
        not isinstance(values, dict)
        or not isinstance(values.get("axes"), dict)
        or not values["axes"]
    ):
        raise SettingError("bench", name, "must have `axes`: see conf/bench/quick.yaml")
    return values


def _parsed(text: str) -> Override:
    if text.startswith("-"):
        raise TagmaError(f"{text}: there is no such option; settings are key=value")
    try:
        override = OverridesParser.create().parse_override(text)
    except HydraException:
        raise TagmaError(f"{text}: is not of the form key=value") from None
    if override.is_delete():
        raise TagmaError(f"{text}: a setting of a grid cannot be removed")
    return override


def _value(override: Override) -> Any:
    """The value, a sweep such as a,b or range(3) as a list."""
    if override.is_sweep_override():
        return list(override.sweep_iterator())
    return override.value()


def _axes(checked: Mapping[str, Any]) -> dict[str, Axis]:
    roles = checked["roles"] or {}
    for key, role in roles.items():
        if key not in checked["axes"]:
            raise SettingError(f"bench.roles.{key}", role, "is not an axis of this grid")
        if role not in ROLES:
            raise SettingError(f"bench.roles.{key}", role, f"must be one of {', '.join(ROLES)}")
    return {key: axis_of(key, values, roles.get(key)) for key, values in checked["axes"].items()}


def _keyed(overrides: Sequence[str] | None) -> dict[str, str]:
    return {key_of(text): text for text in overrides or ()}


def _changed(
    axes: dict[str, Axis], common: dict[str, str], own: Sequence[Override]
) -> tuple[tuple[Axis, ...], dict[str, str]]:
    """Axes and common settings after the user's: an axis gets other values, the rest is common."""
    for override in own:
        key, value = override.key_or_group, _value(override)
        if key in axes:
            axes[key] = axes[key].chosen(value if isinstance(value, list) else [value])
        elif override.is_sweep_override():
            axes[key] = axis_of(key, value)
            common.pop(key, None)
        else:
            common[key] = str(override.input_line)
    setter: dict[str, str] = {}
    for axis in axes.values():
        for given in sorted({key_of(text) for value in axis.values for text in value.overrides}):
            if given in setter:
                raise TagmaError(
                    f"{given}: both the axis {setter[given]} and the axis {axis.key} set this; "
                    "leave it to one of them"
                )
            setter[given] = axis.key
            if given in common and given != axis.key:
                raise TagmaError(
                    f"{common[given]}: the values of the axis {axis.key} set this themselves; "
                    f"choose among them with '{axis.key}=[...]'"
                )
    return tuple(axes.values()), common


def _seeds(given: int | list[int]) -> tuple[int, ...]:
    seeds = list(range(given)) if isinstance(given, int) else given
    if not seeds or min(seeds) < 0 or len(set(seeds)) < len(seeds):
        raise TagmaError(f"seeds={given}: must be how many, or a list of different numbers from 0")
    return tuple(seeds)
