"""A grid that takes a second."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.conftest import SMALL

TINY = {
    "axes": {
        "attack": ["none", "sign_flip"],
        "defence": {
            "plain": ["clustering=kmeans", "aggregation=mean"],
            "paper": ["preset=paper"],
        },
    },
    "seeds": 2,
    "common": [*SMALL, "attack.fraction=0.2"],
}


@pytest.fixture
def grid_file(tmp_path: Path) -> Callable[..., str]:
    """Write a grid to a file and give its path; keywords replace what the tiny grid says."""

    def write(**changes: object) -> str:
        path = tmp_path / "tiny.yaml"
        path.write_text(yaml.safe_dump(TINY | changes, sort_keys=False))
        return str(path)

    return write
