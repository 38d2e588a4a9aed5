"""The apps of examples/digits: in one process and by `flwr run`, with the same numbers."""

import filecmp
import re
import sys
from contextlib import redirect_stdout
from difflib import unified_diff
from functools import cache
from io import StringIO
from pathlib import Path
from runpy import run_path
from unittest.mock import patch

import pytest
import torch

from tagma.launch.engines.process_guard import guarded
from tagma.launch.engines.superlink import CONNECTION, start_simulation

EXAMPLES = Path(__file__).parents[2] / "examples"
APPS = EXAMPLES / "digits"
CLIENTS = 20
CHANCE, CLOSE = 0.15, 0.03
IMAGE = 1 / 360
"""What one of the test images is worth: sums of models in another order may read it otherwise."""


def lines_of(folder: Path) -> dict[str, list[str]]:
    files = [f for kind in ("*.py", "*.toml") for f in folder.rglob(kind)]
    return {f.relative_to(folder).as_posix(): f.read_text().splitlines() for f in files}


def test_a_plain_app_is_made_robust_by_three_lines():
    plain, robust = lines_of(APPS / "plain"), lines_of(APPS / "robust")
    assert len(plain) == 5
    assert plain.keys() == robust.keys()
    changes = [
        line
        for name in plain
        for line in unified_diff(plain[name], robust[name], lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    ]
    assert sorted(changes) == [
        '+    "tagma",',
        "+    strategy = Robust(fraction_evaluate=0.5)",
        "+from tagma import Robust",
        "-    strategy = FedAvg(fraction_evaluate=0.5)",
        "-from flwr.serverapp.strategy import FedAvg",
    ]
    page = re.search(r"```diff\n(.*?)```", (APPS / "README.md").read_text(), re.S)
    assert sorted(page[1].splitlines()) == sorted(changes)
    same = ("digits/task.py", "digits/__init__.py")
    assert filecmp.cmpfiles(APPS / "plain", APPS / "attacked", same, shallow=False)[0] == [*same]


def numbers_in(printed: str) -> dict[str, list[float]]:
    """What an app prints in the end: a name and its numbers, line by line."""
    found = re.findall(r"^(accuracy:|FedAvg|Robust|Clustered)((?: +[\d.]+)+)$", printed, re.M)
    return {name: [float(text) for text in numbers.split()] for name, numbers in found}


@cache
def in_process(app: str) -> dict[str, list[float]]:
    """What an app prints, run by in_process.py in this process, which is afterwards as it was."""
    path, threads, output = list(sys.path), torch.get_num_threads(), StringIO()
    command = ["in_process.py", str(APPS / app), "--clients", str(CLIENTS)]
    try:
        with patch.object(sys, "argv", command), redirect_stdout(output):
            run_path(str(EXAMPLES / "in_process.py"), run_name="__main__")
    finally:
        sys.path[:] = path
        torch.set_num_threads(threads)
        for name in [name for name in sys.modules if name.partition(".")[0] == "digits"]:
            del sys.modules[name]
    return numbers_in(output.getvalue())


@pytest.fixture(scope="module")
def flwr_run(tmp_path_factory):
    with guarded() as shelter, (tmp_path_factory.mktemp("link") / "log").open("w") as output:
        superlink = start_simulation(shelter, 1, output)

        def run(app):
            size = f"num-supernodes={CLIENTS} client-resources-num-cpus=1"
            command = superlink.flwr(
                "run", str(APPS / app), CONNECTION, "--stream", "--federation-config", size
            )
            said, _ = command.communicate()
            numbers = numbers_in(said)
            assert numbers, said
            return numbers

        yield run


@pytest.mark.slow
def test_fedavg_falls_to_chance_under_attack_and_ours_do_not():
    found = in_process("attacked")
    assert set(found) == {"FedAvg", "Robust", "Clustered"}
    for name, (calm, attacked) in found.items():
        assert calm > 0.93
        if name == "FedAvg":
            assert attacked < CHANCE
        else:
            assert abs(attacked - calm) < CLOSE
    told = numbers_in((APPS / "README.md").read_text())
    assert numbers_in((EXAMPLES.parent / "README.md").read_text()) == told
    assert {name: pytest.approx(each, abs=2.5 * IMAGE) for name, each in told.items()} == found
    assert in_process("plain")["accuracy:"] == [found["FedAvg"][0]]
    assert in_process("robust")["accuracy:"] == [found["Robust"][0]]


FULL = [pytest.param(app, marks=pytest.mark.full) for app in ("plain", "robust")]


@pytest.mark.multiprocess
@pytest.mark.parametrize("app", ["attacked", *FULL])
def test_flwr_run_gives_the_same_numbers(app, flwr_run):
    expected, found = in_process(app), flwr_run(app)
    assert found.keys() == expected.keys()
    for name, numbers in expected.items():
        assert found[name] == pytest.approx(numbers, abs=2.5 * IMAGE)
