"""Imports go one way, so that every part can be read and used without those above it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = {
    "tagma": {"tagma", "conf"},
    "tasks": {"tagma", "tasks"},
    "strategies": {"tagma", "strategies"},
    "attacks": {"tagma", "tasks", "attacks"},
    "client": {"tagma", "tasks", "strategies", "attacks", "client"},
    "server": {"tagma", "tasks", "strategies", "attacks", "server"},
}
OURS = {*LAYERS, "launch", "bench", "conf"}


def imported(file: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("package", LAYERS)
def test_a_package_imports_only_what_is_below_it(package):
    for file in (ROOT / package).rglob("*.py"):
        assert imported(file) & OURS <= LAYERS[package], file


def test_the_arithmetic_needs_neither_flower_nor_torch_nor_hydra():
    code = (
        "import sys, tagma.strategies.aggregation, tagma.strategies.clustering\n"
        "print([m for m in ('flwr', 'torch', 'hydra') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_client_of_a_convex_task_does_not_load_torch():
    code = (
        "import sys, tagma.client.app\n"
        "from tagma.client.local_client import make_client\n"
        "from tagma.settings import compose\n"
        "make_client(compose(['task.dim=3']), 0).local_model()\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    "file", sorted(ROOT.glob("conf/*/*.yaml")), ids=lambda p: p.parent.name + "/" + p.stem
)
def test_every_choice_says_what_it_is_and_what_its_settings_mean(file):
    lines = file.read_text().splitlines()
    assert lines[0].startswith("# ")
    for line in lines[1:]:
        if line and not line.startswith(("#", "_target_", "defaults: [_", " ", "-", "version")):
            assert "#" in line, f"{file.name}: {line}"
