"""The source files that a user's plugin is made of: its module and what that imports.

Imports are read from the syntax tree: nothing is executed. Followed are modules of the plugin's own
package, single files wherever they lie, and whatever is not installed as a library; the standard
library and our own code are not.
"""

import ast
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, resolve_name
from pathlib import Path

import tagma

_NEVER = {tagma.__name__, "__main__", *sys.stdlib_module_names}
_INSTALLED = {"site-packages", "dist-packages"}


def plugin_files(module: str) -> list[Path]:
    """The files of a module and of those that it imports, at any remove; none if it is ours."""
    own = _top(module)
    found: dict[str, Path | None] = {}
    waiting = _with_parents(module)
    while waiting:
        name = waiting.pop()
        if name in found or not _followed(_top(name), own):
            continue
        spec = _spec(name)
        file = Path(spec.origin) if spec and spec.has_location and spec.origin else None
        found[name] = file
        if spec and file and file.suffix == ".py":
            status = file.stat()
            for each in _imports(file, status.st_mtime_ns, status.st_size, spec.parent or ""):
                waiting += _with_parents(each)
    return sorted({file for file in found.values() if file is not None})


def _followed(top: str, own: str) -> bool:
    if top in _NEVER:
        return False
    if top == own:
        return True
    spec = _spec(top)
    if spec is None:
        return False
    places = [Path(place) for place in spec.submodule_search_locations or ()]
    return not any(_INSTALLED.intersection(place.parts) for place in places)


def _spec(name: str) -> ModuleSpec | None:
    """Where a module is, without importing the packages that it lies in."""
    package, _, _ = name.rpartition(".")
    if package:
        parent = _spec(package)
        places = parent.submodule_search_locations if parent else None
        return PathFinder.find_spec(name, places) if places else None
    try:
        return find_spec(name)
    except (ImportError, ValueError, AttributeError):  # it will be said when the plugin is built
        return None


def _top(name: str) -> str:
    return name.partition(".")[0]


def _with_parents(name: str) -> list[str]:
    """A module and the packages that it lies in, which are imported before it."""
    parts = name.split(".")
    return [".".join(parts[: i + 1]) for i in range(len(parts))] if all(parts) else []


@lru_cache(maxsize=1024)
def _imports(file: Path, changed: int, size: int, package: str) -> tuple[str, ...]:
    """What a file imports: modules, and names in modules, which may be modules as well."""
    with suppress(SyntaxError, ValueError):  # it will be said when it is imported
        return tuple(dict.fromkeys(_named(ast.parse(file.read_bytes()), package)))
    return ()


def _named(tree: ast.AST, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            with suppress(ImportError):  # beyond the top of its package
                module = resolve_name("." * node.level + (node.module or ""), package)
                yield module
                yield from (f"{module}.{one.name}" for one in node.names if one.name != "*")
