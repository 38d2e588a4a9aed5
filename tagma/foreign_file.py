"""Files of a folder that somebody else may have made: nothing but plain, and of a limited size.

A link could show a file of this computer in a report, a pipe would never end, and a few bytes of
YAML, or of something compressed, can stand for more values than there is memory.
"""

import json
from pathlib import Path
from typing import Any

import psutil
import yaml

from tagma.errors import TagmaError

MOST_TEXT = 2**28
"""Bytes of a table or of metrics."""
MOST_YAML = 2**20
_VALUES = 24
"""Bytes of memory for a byte of JSON, where it is as dense as it can be."""
_DEEPEST = 50
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_OPENS = yaml.MappingStartEvent, yaml.SequenceStartEvent
_CLOSES = yaml.MappingEndEvent, yaml.SequenceEndEvent


def room() -> int:
    """Bytes that something may take: half of the memory that is free."""
    return psutil.virtual_memory().available // 2


def in_folder(folder: Path, *names: str) -> Path:
    """A path in a folder within somebody's folder; a `ValueError` if that is a link to another."""
    path = folder.joinpath(*names)
    if path.parent.is_symlink():
        raise ValueError(f"{path.parent.name} is no folder of this folder")
    return path


def plain_file(path: Path, most: int) -> Path:
    """The path itself; a `ValueError` if it is no file of at most so many bytes."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise ValueError(f"{path.name} is no file of this folder")
    if (size := path.stat().st_size) > most:
        raise ValueError(f"{path.name} has {size} bytes, more than {most}")
    return path


def own_folder(path: Path) -> Path:
    """A folder within one that somebody else may have made: there afterwards, and no link out."""
    if path.is_symlink():
        raise TagmaError(f"{path}: is a link; remove it, or copy the folder")
    path.mkdir(exist_ok=True)
    return path


def read_text(path: Path, most: int = MOST_TEXT) -> str:
    """The text of a file."""
    return plain_file(path, most).read_text(encoding="utf-8")


def read_json(path: Path) -> Any:
    """The values of a JSON file whose values there is room for."""
    return json.loads(read_text(path, min(MOST_TEXT, room() // _VALUES)))


def read_arrays(path: Path) -> bytes:
    """The content of a file of arrays that there is room for."""
    return plain_file(path, room()).read_bytes()


def read_yaml(path: Path) -> Any:
    """The values of a YAML file, as they stand there: no tags, aliases or interpolations.

    A `ValueError` or a `YAMLError` if it is something else.
    """
    text, depth = read_text(path, MOST_YAML), 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, _OPENS) - isinstance(event, _CLOSES)
        if isinstance(event, yaml.AliasEvent):
            raise ValueError(f"{path.name} has aliases")
        if depth > _DEEPEST:
            raise ValueError(f"{path.name} is nested too deeply")
    return yaml.load(text, Loader=_Loader)
