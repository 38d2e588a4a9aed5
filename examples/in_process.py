"""Run a Flower app in this process: no Ray, no SuperLink, and a debugger sees everything.

python in_process.py digits/robust --clients 20 -c num-server-rounds=2
"""

import sys
import tomllib
from argparse import ArgumentParser
from importlib import import_module
from pathlib import Path

from flwr.app import Context, RecordDict
from tagma.launch.engines.inprocess_grid import InProcessGrid


def run(folder: Path, clients: int, changes: str = "") -> None:
    """Run the app in a folder; `changes` are lines of TOML for its run configuration."""
    described = tomllib.loads((folder / "pyproject.toml").read_text())["tool"]["flwr"]["app"]
    settings = described.get("config", {}) | tomllib.loads(changes)
    sys.path.insert(0, str(folder.resolve()))
    server, client = (
        getattr(import_module(module), name)
        for module, _, name in (
            described["components"][part].partition(":") for part in ("serverapp", "clientapp")
        )
    )
    grid = InProcessGrid(client, clients, run_config=settings)
    server(grid, Context(1, 1, {}, RecordDict(), settings))


if __name__ == "__main__":
    parser = ArgumentParser(description="Run a Flower app in this process.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("-c", "--config", action="append", default=[], metavar="KEY=VALUE")
    given = parser.parse_args()
    run(given.folder, given.clients, "\n".join(given.config))
