"""The settings that a run folder names, which may come from somebody else.

They are overrides of conf/, composed with our own files. Settings can name code to be run
(`_target_`), folders of choices (`hydra.searchpath`), and values to be taken from elsewhere
(`${oc.env:NAME}`). Nobody's but ours are followed, unless the user says that the folder is to be
trusted: then modules are looked for in the working folder, too, as for `tagma run`.
"""

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from yaml import YAMLError

from tagma.choices import CONF, SEARCHPATH, offered
from tagma.errors import TagmaError
from tagma.foreign_file import MOST_YAML, in_folder, plain_file, read_yaml
from tagma.override import key_of
from tagma.plugins import TARGET
from tagma.settings import GROUPS, Settings, compose, composed

_REFERENCE = re.compile(r"\$\{(oc\.select:)?[\w.]+(,[\d.]+)?\}")
"""To another setting."""
_MOST, _LONGEST = 500, 10_000
"""Overrides, and the characters of one: Hydra takes its time for each."""
_SWEEPS = re.compile(r"\b(choice|range|interval|glob|sort|shuffle|tag)\s*\(")
"""What stands for many values, and makes them in some cases."""
_FILE_OF_OURS = re.compile(r"\[?[\w, ]*\]?")


def settings_of_run(folder: Path, *, trust: bool = False, more: Sequence[str] = ()) -> Settings:
    """Those of a run folder, with the places where the run looked for the user's choices."""
    try:
        for name in ("config", "overrides"):  # which reports show
            if (file := in_folder(folder, ".hydra", f"{name}.yaml")).exists():
                plain_file(file, MOST_YAML)
        of_run = read_yaml(in_folder(folder, ".hydra", "hydra.yaml"))["hydra"]["overrides"]
        places = [text for text in of_run["hydra"] if key_of(text) == SEARCHPATH]
        overrides = [*of_run["task"], *places]
        if not isinstance(of_run["task"], list) or not all(isinstance(o, str) for o in overrides):
            raise TypeError("its overrides are no list of texts")
    except (OSError, YAMLError, ValueError, LookupError, TypeError, AttributeError) as problem:
        reason = " ".join(str(problem).split())
        raise TagmaError(f"{folder}: its settings in .hydra cannot be read ({reason})") from None
    check_trust(folder, overrides, trust=trust)
    return compose([*overrides, *more])


def check_trust(folder: Path, overrides: Sequence[str], *, trust: bool) -> None:
    """Raise an error that names the first thing outside of Tagma that these overrides want."""
    if trust:
        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())
        return
    if len(overrides) > _MOST or any(len(text) > _LONGEST for text in overrides):
        raise TagmaError(f"{folder}: its settings are too many or too long to be somebody's")
    for text in overrides:
        if wanted := _wants(text):
            raise TagmaError(
                f"{folder}: {text[:200]}: {wanted}; if you trust whoever made it: --trust "
                "(trust=True in Python)"
            )
    config: Any = OmegaConf.to_container(composed(overrides), resolve=False)
    for name in _texts(config):  # an attack may name another one, also by a reference
        if (offer := offered("attack").get(name)) is not None:
            raise TagmaError(
                f"{folder}: would import and run the attack {name} of {offer.package}, which is "
                "not Tagma's own; if you trust it: --trust (trust=True in Python)"
            )
    for keys, target in _targets(config):
        if target not in _ours(keys[0]):
            raise TagmaError(
                f"{folder}: would import and run {target!s:.200} ({'.'.join(keys)}), which is not "
                "Tagma's own; if you trust it: --trust (trust=True in Python)"
            )


def _wants(text: str) -> str | None:
    """What an override takes from outside of conf/, if anything."""
    key, value = key_of(text), text.partition("=")[2]
    if key == SEARCHPATH:
        return "takes settings from another folder"
    if "$" in text and not _REFERENCE.fullmatch(value):
        return "takes a value from elsewhere"
    if _SWEEPS.search(value):
        return "stands for several values"
    group = key.partition("@")[0]
    is_choice = "." not in group and group not in Settings.model_fields
    if is_choice and not _FILE_OF_OURS.fullmatch(value):
        return "is none of Tagma's own choices"
    if is_choice and (names := set(re.findall(r"\w+", value)) & offered(group).keys()):
        return f"would import and run what {offered(group)[min(names)].package} offers"
    return None


def _texts(values: Any) -> Iterator[str]:
    """Every text in the settings."""
    if isinstance(values, str):
        yield values
    elif isinstance(values, Mapping):
        for value in values.values():
            yield from _texts(value)
    elif isinstance(values, list):
        for value in values:
            yield from _texts(value)


def _targets(values: Any, keys: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every `_target_` in the settings, and where it stands."""
    entries: Iterator[tuple[Any, Any]] = iter(())
    if isinstance(values, Mapping):
        entries = iter(values.items())
    elif isinstance(values, list):
        entries = iter(enumerate(values))
    for key, value in entries:
        if key == TARGET:
            yield (*keys, TARGET), value
        else:
            yield from _targets(value, (*keys, str(key)))


@cache
def _ours(group: str) -> frozenset[str]:
    """What the files of a group name themselves."""
    if group not in GROUPS:
        return frozenset()
    texts = (file.read_text(encoding="utf-8") for file in (CONF / group).glob("*.yaml"))
    return frozenset(name for text in texts for name in re.findall(r"_target_: ([\w.]+)", text))
