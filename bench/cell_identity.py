"""The identity of a result: the resolved configuration and the code that computes it.

What the configuration only names is followed: the code of a user's own plugins, the contents of
data files, the attacks that an attack turns to. What cannot change a number does not count.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from tagma.plugins import TARGET
from tagma.settings import CONF

_ROOT = CONF.parent
_THAT_COMPUTE = (
    "tagma", "tasks", "strategies", "attacks", "client", "server", "bench/experiments",
    "launch/engines/inprocess.py", "launch/engines/inprocess_grid.py", "launch/oracle_run.py",
)  # fmt: skip
"""Packages and modules whose code decides what a run's result is."""
_WITHOUT_EFFECT = ("overrides", "output", "resume", "checkpoint_every")


def key_of_run(settings: Mapping[str, Any]) -> str:
    """The key of a whole federation: its configuration and the code."""
    return hash_of(config_of_run(settings))


def config_of_run(settings: Mapping[str, Any]) -> str:
    """A hash of the settings of a federation, resolved, and of the files that they name."""
    counts = {key: value for key, value in settings.items() if key not in _WITHOUT_EFFECT}
    return _hash([counts, sorted(_named(dict(counts["groups"])))])


def hash_of(identity: Any) -> str:
    """A hash of anything that JSON can say, and of the code."""
    return _hash([identity, code_fingerprint()])


def _hash(identity: Any) -> str:
    text = json.dumps(identity, sort_keys=True, default=dict)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


@cache
def code_fingerprint() -> str:
    """A hash of the source files that compute results, and of the attacks others may name."""
    digest = hashlib.sha256()
    for name in _THAT_COMPUTE:
        path = _ROOT / name
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            digest.update(str(file.relative_to(_ROOT)).encode())
            digest.update(file.read_bytes())
    for file in sorted(CONF.glob("attack/*.yaml")):
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
        digest.update(json.dumps([file.stem, content], sort_keys=True).encode())
    return digest.hexdigest()


def _named(settings: Any) -> Iterator[str]:
    """Fingerprints of the files that settings name: modules that are not ours, and data."""
    if isinstance(settings, Mapping):
        for key, value in settings.items():
            if key == TARGET:
                yield from _foreign_module(str(value).rpartition(".")[0])
            else:
                yield from _named(value)
    elif isinstance(settings, list | tuple):
        for value in settings:
            yield from _named(value)
    elif isinstance(settings, str):
        yield from _fingerprint(Path(settings))


def _foreign_module(name: str) -> Iterator[str]:
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return  # it will be said when the plugin is built
    if spec is not None and spec.origin and not Path(spec.origin).is_relative_to(_ROOT):
        yield from _fingerprint(Path(spec.origin))


def _fingerprint(file: Path) -> Iterator[str]:
    with suppress(OSError, ValueError):  # what cannot be the name of a file
        if not file.is_file():
            return
        status = file.stat()
        yield _content_hash(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=256)
def _content_hash(file: Path, changed: int, size: int) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
