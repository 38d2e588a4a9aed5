"""The identity of a result: the resolved configuration, and the code and libraries that compute it.

What the configuration only names is followed: the code of a user's own plugins and of what they
import, the contents of data files, the attacks that an attack turns to. What cannot change a number
does not count: code is compared by its syntax tree, without comments and docstrings.
"""

import ast
import hashlib
import json
import platform
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

import tagma
from tagma.bench.plugin_files import plugin_files
from tagma.choices import CONF, offered
from tagma.plugins import TARGET

LIBRARIES = ("numpy", "scipy", "scikit-learn", "torch", "flwr")
"""Those that compute: another version may give other numbers."""
_SHARED = Path(tagma.__file__).parent
"""The package's own modules, which lie beside the rooms or, in a checkout, in a folder."""
_ROOT = CONF.parent
_THAT_COMPUTE = (
    "tasks", "strategies", "attacks", "client", "server", "bench/experiments",
    "bench/attack_hunt.py", "bench/federation_cell.py", "launch/engines/inprocess.py",
    "launch/engines/inprocess_grid.py", "launch/engines/vectorised.py",
    "launch/engines/array_rounds.py", "launch/oracle_run.py",
)  # fmt: skip
"""Packages and modules whose code decides what a run's result is, beside the package's own."""
_WITHOUT_EFFECT = ("overrides", "output", "resume", "checkpoint_every", "live", "pause")


def config_of_run(settings: Mapping[str, Any]) -> str:
    """A hash of the settings of a federation, resolved, and of the files that they name."""
    counts = {key: value for key, value in settings.items() if key not in _WITHOUT_EFFECT}
    return _hash([counts, sorted(_named(dict(counts["groups"])))])


def hash_of(identity: Any) -> str:
    """A hash of anything that JSON can say, and of the code."""
    return _hash([identity, code_fingerprint()])


@cache
def versions() -> dict[str, str]:
    """What a result was made with."""
    return {
        "code": code_fingerprint()[:24],
        "version": tagma.__version__,
        "python": platform.python_version(),
        **{name: version(name) for name in LIBRARIES},
    }


def _hash(identity: Any) -> str:
    text = json.dumps(identity, sort_keys=True, default=dict)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


@cache
def code_fingerprint() -> str:
    """A hash of the source files and libraries that compute, and of the attacks others may name."""
    digest = hashlib.sha256()
    for name in LIBRARIES:
        digest.update(f"{name} {version(name)}\n".encode())
    for place, file in _sources():
        digest.update(f"{place} {_fingerprint(file)}\n".encode())
    for file in sorted(CONF.glob("attack/*.yaml")):
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
        digest.update(json.dumps([file.stem, content], sort_keys=True).encode())
    return digest.hexdigest()


def _sources() -> Iterator[tuple[str, Path]]:
    """Files that compute, with names that are the same in a checkout and in a wheel."""
    for file in sorted(_SHARED.glob("*.py")):
        yield file.name, file
    for name in _THAT_COMPUTE:
        path = _ROOT / name
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            yield file.relative_to(_ROOT).as_posix(), file


def _named(settings: Any) -> Iterator[str]:
    """Fingerprints of the files that settings name: modules that are not ours, and data."""
    if isinstance(settings, Mapping):
        for key, value in settings.items():
            if key == TARGET:
                yield from map(_fingerprint, plugin_files(str(value).rpartition(".")[0]))
            else:
                yield from _named(value)
    elif isinstance(settings, list | tuple):
        for value in settings:
            yield from _named(value)
    elif isinstance(settings, str):
        if (offer := offered("attack").get(settings)) is not None:  # what an attack turns to
            yield from map(_fingerprint, plugin_files(offer.target.rpartition(".")[0]))
        with suppress(OSError, ValueError):  # what cannot be the name of a file
            if Path(settings).is_file():
                yield _fingerprint(Path(settings))


def _fingerprint(file: Path) -> str:
    """A hash of what a file says."""
    status = file.stat()
    return _content_hash(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=1024)
def _content_hash(file: Path, changed: int, size: int) -> str:
    if file.suffix == ".py":
        with suppress(SyntaxError, ValueError):  # it will be said when it is imported
            return hashlib.sha256(_program(file.read_bytes()).encode()).hexdigest()
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _program(source: bytes) -> str:
    """The syntax tree of a module without docstrings: where two are the same, so are the numbers.

    A string that stands alone, behind an attribute for example, is a docstring as well.
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [one for one in body if not _is_text(one)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_text(statement: ast.AST) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
