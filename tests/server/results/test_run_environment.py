"""A run says what it was made with."""

import json
import platform
import subprocess
from pathlib import Path

import numpy as np

from tagma.server.results.run_environment import commit_of, packages_of, run_environment
from tagma.settings import compose


def test_versions_and_computer_are_there_and_are_plain_json() -> None:
    found = json.loads(json.dumps(run_environment()))
    assert found["python"] == platform.python_version()
    assert found["numpy"] == np.__version__
    assert {"tagma", "flwr", "torch", "processor", "cores", "platform", "commit"} <= found.keys()
    assert found["processor"]
    assert packages_of(compose([])) == {}


def test_the_commit_is_that_of_the_folder_itself_and_says_if_files_differ(tmp_path: Path) -> None:
    assert commit_of(tmp_path) is None

    def git(*words: str) -> str:
        names = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
        command = ["git", "-C", str(tmp_path), *names, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("commit", "-q", "-m", "first")
    head = git("rev-parse", "HEAD")
    assert commit_of(tmp_path) == head
    (tmp_path / "file").write_text("two")
    assert commit_of(tmp_path) == f"{head}-dirty"
    inside = tmp_path / "inside"
    inside.mkdir()
    assert commit_of(inside) is None
