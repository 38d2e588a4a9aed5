"""Runs that `kill -9` ends at random points go on, as often as it takes, to the same bytes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("kill_at_random.py")


def killed(count, cwd):
    done = subprocess.run(
        [sys.executable, SCRIPT, str(count), "7"], cwd=cwd, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.multiprocess
@pytest.mark.parametrize("count", [4, pytest.param(50, marks=pytest.mark.full)])
def test_whenever_a_run_is_killed_it_ends_with_the_same_bytes(count, tmp_path):
    found = killed(count, tmp_path)
    assert len(found) == count
    assert sum(len(run["kills"]) for run in found) >= count
    assert not [run for run in found if run["differs"]]
