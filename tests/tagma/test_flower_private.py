"""Flower's private parts are those of one version, and another one is told in one line."""

import subprocess
import sys
import tomllib
from pathlib import Path

from tagma.flower_private import TESTED

ROOT = Path(__file__).parents[2]
OTHER = "import flwr\nflwr.__version__ = '9.9.9'\n"


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_the_version_that_was_tested_is_the_one_that_is_pinned():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"flwr[simulation]=={TESTED}" in project["dependencies"]


def test_another_version_is_one_line_and_no_more():
    done = run(OTHER + "import tagma.client.app, tagma.server.app")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        f"Flower 9.9.9 is installed, Tagma is tested with {TESTED}: pip install flwr=={TESTED}"
    ]


def test_a_part_that_another_version_lacks_is_an_error_of_one_line():
    done = run(
        OTHER + "import sys, flwr.common.constant\ndel flwr.common.constant.ErrorCode\n"
        "sys.argv = ['tagma', 'run']\nfrom tagma.launch.cli import main\nmain()"
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(
        "tagma: error: Flower 9.9.9 lacks what Tagma uses of"
    )
    assert "Traceback" not in done.stderr
