"""Plugins: a `_target_` in the configuration and the settings it accepts.

A plugin is any importable callable. Its settings are its keyword-only parameters; their
annotations say what is allowed, for example

    def trimmed_mean(updates: Array, *, beta: Annotated[float, Ge(0), Lt(0.5)]) -> Aggregate: ...

`settings_of` checks a configuration group against them: unknown, missing, mistyped and
out-of-range settings are `SettingError`s that name the key as the user wrote it.
"""

import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cache, partial
from importlib import import_module
from typing import Any, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from tagma.errors import SettingError

TARGET = "_target_"

Model = TypeVar("Model", bound=BaseModel)


def locate(path: str, key: str) -> Callable[..., Any]:
    """Import the object that a dotted path names; `key` is the setting that holds the path."""
    module_name, _, name = path.rpartition(".")
    if module_name.startswith("."):
        raise SettingError(key, path, "must be a whole path, as in package.module.name")
    try:
        found = getattr(import_module(module_name), name)
    except Exception as error:  # a module of the user's own may do anything when it is imported
        reason = f"{type(error).__name__}: {error}"
        raise SettingError(key, path, f"cannot be imported ({reason})") from None
    if not callable(found):
        raise SettingError(key, path, "is not a class or function")
    return found


@cache
def _model_of(plugin: Callable[..., Any], given: frozenset[str]) -> type[BaseModel]:
    """A model with one field per keyword-only parameter that the program does not give itself."""
    hints = get_type_hints(
        plugin.__init__ if inspect.isclass(plugin) else plugin, include_extras=True
    )
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(plugin).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.name not in given:
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[parameter.name] = (hints.get(parameter.name, Any), default)
    name = getattr(plugin, "__name__", "plugin")
    return create_model(name, __config__=ConfigDict(extra="forbid", allow_inf_nan=False), **fields)


def settings_of(
    plugin: Callable[..., Any], group: str, values: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Check `values` (from the configuration group) and return all keyword arguments.

    `given` are arguments that the program supplies itself, such as the seed: only those that the
    plugin asks for are passed on, and the user cannot set them.
    """
    accepted = inspect.signature(plugin).parameters
    injected = {name: value for name, value in given.items() if name in accepted}
    model = _model_of(plugin, frozenset(injected))
    found = checked(model, group, values)
    return {name: getattr(found, name) for name in model.model_fields} | injected


def checked(model: type[Model], group: str, values: Mapping[str, Any], **given: Any) -> Model:
    """The model of these values; a wrong one is a `SettingError` that names its key."""
    known = [name for name in model.model_fields if name not in given]
    for name, value in values.items():
        if name not in known:
            raise SettingError(_key(group, name), value, unknown(name, known))
    try:
        return model(**values, **given)
    except ValidationError as error:
        raise _as_setting_error(group, values, error) from None


def _key(group: str, name: str) -> str:
    return f"{group}.{name}" if group else name


def unknown(name: str, known: list[str]) -> str:
    """What to say about a setting that does not exist."""
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(known) or 'none'}"
    return f"there is no such setting; {hint}"


def build(group: str, config: Mapping[str, Any], **given: Any) -> Any:
    """Instantiate the class, or bind the settings of the function, that a group's target names.

    A class becomes an instance. A function becomes a callable of its positional parameters.
    """
    values = {key: value for key, value in config.items() if key != TARGET}
    plugin = locate(str(config.get(TARGET, "")), f"{group}.{TARGET}")
    keywords = settings_of(plugin, group, values, given)
    if inspect.isclass(plugin):
        try:
            return plugin(**keywords)
        except ValueError as error:
            raise SettingError(group, config[TARGET], str(error)) from None
    return _bind(plugin, keywords)


def _bind(function: Callable[..., Any], keywords: dict[str, Any]) -> Callable[..., Any]:
    bound = partial(function, **keywords)
    bound.__name__ = getattr(function, "__name__", "plugin")  # type: ignore[attr-defined]
    return bound


def _as_setting_error(
    group: str, values: Mapping[str, Any], error: ValidationError
) -> SettingError:
    first = error.errors()[0]
    path = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing":
        return SettingError(_key(group, path), "", "is required")
    reasons = [first["msg"]]
    name = str(first["loc"][0])
    if first["input"] is values.get(name):  # not a part of it; a union gives one reason per kind
        path = name
        reasons = [each["msg"] for each in error.errors() if each["loc"][0] == name]
    said = [reason.removeprefix("Input ").removeprefix("Value error, ") for reason in reasons]
    return SettingError(_key(group, path), first["input"], ", or ".join(dict.fromkeys(said)))
