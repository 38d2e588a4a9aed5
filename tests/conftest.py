"""Small federations that tests run again and again."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings as hypothesis_settings

from tagma.client.app import app as client_app
from tagma.launch.engines.inprocess_grid import Client, InProcessGrid
from tagma.server.federation import run_federation
from tagma.server.results.run_folder import read_metrics
from tagma.settings import compose, join_overrides

# Clients that run tests are busy; how long an example takes says nothing. Continuous integration
# tries the same examples every time; new ones are for those who can look at them.
hypothesis_settings.register_profile("tagma", deadline=None, derandomize="CI" in os.environ)
hypothesis_settings.load_profile("tagma")

SMALL = [
    "task.clients=20",
    "task.clusters=2",
    "task.dim=5",
    "task.samples=60",
    "task.noise=0.5",
    "rounds=3",
]

RunSmall = Callable[..., dict[str, Any]]


@pytest.fixture
def run_small(tmp_path: Path) -> RunSmall:
    """Run a small federation in this process; `client` stands in for the ClientApp."""

    def run(*overrides: str, client: Client = client_app) -> dict[str, Any]:
        settings = compose([*SMALL, *overrides])
        grid = InProcessGrid(
            client, settings.choice("task")["clients"], join_overrides(settings.overrides)
        )
        run_federation(grid, settings, tmp_path, [])
        return read_metrics(tmp_path)

    return run


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, for tests that are marked `IN_BROWSER`."""
    from tests.chromium import started

    yield from started()


@pytest.fixture(scope="session")
def features(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file of 108 points in the plane: 42, 33 and 21 in three boxes, and 12 each alone."""
    source = np.random.default_rng(3)
    corners = np.repeat([[0.0, 0.0], [30.0, 0.0], [0.0, 30.0]], [42, 33, 21], axis=0)
    alone = np.column_stack([200.0 + 10 * np.arange(12), np.full(12, 100.0)])
    path = tmp_path_factory.mktemp("features") / "boxes.npz"
    np.savez(path, X=np.vstack([corners + 3 * source.random((96, 2)), alone]))
    return str(path)
