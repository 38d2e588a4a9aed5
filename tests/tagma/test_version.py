import tomllib
from pathlib import Path

import tagma


def test_the_version_is_the_same_wherever_it_is_written():
    root = Path(__file__).parent.parent.parent
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert project["version"] == tagma.__version__
    assert f"version: {tagma.__version__}\n" in (root / "CITATION.cff").read_text()
    assert f"## {tagma.__version__} " in (root / "CHANGELOG.md").read_text()
