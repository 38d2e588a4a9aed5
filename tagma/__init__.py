"""Federated learning that finds the clusters of its clients while some of them are Byzantine.

In a checkout and in a Flower app bundle the other packages (`server`, `client`, ...) are folders
beside this one; installed, they are inside of it. Either way they are imported as `tagma.server`
and so on, and never otherwise: nothing of ours can shadow a user's module, or be shadowed by it.
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

_HERE = Path(__file__).resolve().parent
_ROOMS = {
    f"{__name__}.{room}"
    for room in (
        "attacks", "bench", "client", "conf", "launch", "report", "server", "strategies", "tasks",
    )
}  # fmt: skip


class _RoomFinder:
    """Finds the packages beside this one; what else lies there (tests, docs) is no part of it."""

    @staticmethod
    def find_spec(name: str, *_: object) -> ModuleSpec | None:
        return PathFinder.find_spec(name, [str(_HERE.parent)]) if name in _ROOMS else None


# One finder, also where another Tagma was imported before, as Flower does with app bundles. It is
# the first, because that of an editable install would find the packages of its own checkout.
sys.meta_path[:] = [each for each in sys.meta_path if getattr(each, "__module__", "") != __name__]
if not (_HERE / "server").is_dir():
    sys.meta_path.insert(0, _RoomFinder)

_PUBLIC = {
    "run": "tagma.launch.python_runs",
    "resume": "tagma.launch.python_runs",
    "load": "tagma.launch.python_runs",
    "Run": "tagma.launch.finished_run",
    "benchmark": "tagma.bench.python_bench",
    "Bench": "tagma.bench.python_bench",
    "TagmaError": "tagma.errors",
    "TagmaWarning": "tagma.errors",
    "byzantine": "tagma.attacks.any_app",
    "byzantine_grid": "tagma.attacks.any_app",
    "Clustered": "tagma.server.drop_in.clustered",
    "Robust": "tagma.server.drop_in.robust",
}
"""What `import tagma` offers, and where it is; imported when it is first asked for."""
__all__ = [*_PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'tagma' has no attribute {name!r}")
    with import_module("tagma.environment").libraries_change_nothing():
        return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *_PUBLIC]
