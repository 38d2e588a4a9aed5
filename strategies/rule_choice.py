"""From the settings of the group `aggregation` to an aggregator."""

import inspect
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tagma.errors import SettingError
from tagma.plugins import TARGET, build, locate
from tagma.strategies.aggregation.aggregate import Aggregator
from tagma.strategies.aggregation.pre.pre_aggregator import PreAggregator
from tagma.strategies.aggregation.pre.with_pre_aggregators import with_pre_aggregators
from tagma.strategies.aggregation.side_information import LAYERS, declared, needed

_KEY = "aggregation.pre"
_OURS = ("nnm", "bucketing", "clipping", "arc")


def aggregator_of(
    config: Mapping[str, Any],
    layers: Sequence[int] | None = None,
    without: Collection[str] = (),
) -> Aggregator:
    """The aggregator, behind those that `pre` lists.

    An entry of `pre` is a name, such as nnm, or a name with settings, {nnm: {fraction: 0.2}}, or
    the settings of a plugin with its `_target_`. A `fraction` that is not given is the aggregator's
    own `fraction` or `beta`. A plugin may be any function of rows. `layers` are for rules that
    declare them; a rule that needs one of those `without` which it will be called is refused.
    """
    own = {key: value for key, value in config.items() if key != "pre"}
    before = config.get("pre") or []
    if not isinstance(before, list):
        raise SettingError(_KEY, before, "must be a list, such as [nnm]")
    assumed = own.get("fraction", own.get("beta"))
    aggregate = _build("aggregation", own, layers)
    if missing := [name for name in needed(aggregate) if name in without]:
        raise SettingError(
            "aggregation", aggregate.__name__, f"needs a {missing[0]}, and this server has none: "
            "task.server_samples gives it data, of images and tables",
        )  # fmt: skip
    return with_pre_aggregators([_pre_aggregator(entry, assumed) for entry in before], aggregate)


def _pre_aggregator(entry: object, assumed: float | None) -> PreAggregator:
    settings = _settings(entry)
    plugin = locate(str(settings[TARGET]), _KEY)
    parameter = inspect.signature(plugin).parameters.get("fraction")
    if parameter is not None and "fraction" not in settings:
        if assumed is not None:
            settings["fraction"] = assumed
        elif parameter.default is inspect.Parameter.empty:
            name = str(settings[TARGET]).rpartition(".")[-1]
            raise SettingError(
                _KEY, entry, "needs a fraction, which this aggregator has not: "
                f"{_KEY}=[{{{name}: {{fraction: 0.2}}}}]",
            )  # fmt: skip
    built: PreAggregator = _build(_KEY, settings)
    return built


def _build(group: str, settings: Mapping[str, Any], layers: Sequence[int] | None = None) -> Any:
    """The plugin with its settings; what comes with the rows, such as weights, is none of them."""
    plugin = locate(str(settings.get(TARGET, "")), f"{group}.{TARGET}")
    with_rows = () if inspect.isclass(plugin) else declared(plugin)
    return build(group, settings, **dict.fromkeys(with_rows), **{LAYERS: layers})


def _settings(entry: object) -> dict[str, Any]:
    if isinstance(entry, str):
        entry = {entry: {}}
    if isinstance(entry, dict) and TARGET in entry:
        return dict(entry)
    if not isinstance(entry, dict) or len(entry) != 1:
        raise SettingError(_KEY, entry, "must be a name, or one name with its settings")
    ((name, values),) = entry.items()
    if name not in _OURS:
        raise SettingError(_KEY, name, f"there is no such choice; known: {', '.join(_OURS)}")
    return {TARGET: f"tagma.strategies.aggregation.pre.{name}.{name}"} | dict(values or {})
