"""Imports go one way, so that every part can be read and used without those above it."""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = (
    {"tagma", "conf"}, {"tasks", "strategies", "attacks"}, {"client", "server"},
    {"report"}, {"launch"}, {"bench"},
)  # fmt: skip
"""From the bottom up; what is in one layer does not import each other, but for the next line."""
NEIGHBOURS = {
    ("strategies", "tasks"), ("attacks", "tasks"), ("tasks", "strategies"), ("tagma", "conf"),
    ("server", "client"),
}  # fmt: skip
HEIGHT = {package: height for height, layer in enumerate(LAYERS) for package in layer}
LAZY = {"tagma/__init__.py", "tagma/rules.py", "launch/cli.py"}
"""They have tables of names that are imported when they are first asked for."""
NUMBERS_ONLY = ("algorithms", "clustering", "aggregation", "numerics", "screening")
PUBLIC_FLOWER = {
    "flwr.app", "flwr.serverapp", "flwr.serverapp.strategy", "flwr.clientapp",
    "flwr.clientapp.typing",
}  # fmt: skip
PRIVATE_FLOWER = {"tagma/flower_private.py", "bench/kernels/rivals.py"}
"""The latter measures functions of Flower's beside ours."""
MODULE = re.compile(r"tagma(\.[a-z_]+)+(:\w+)?")


def files(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def imported(file: Path) -> set[str]:
    """What a file imports, at its top or later: modules, and what may be one (from x import y)."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are written in full"
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def named(file: Path) -> set[str]:
    """The modules of ours that a file names in a string, to import them by it."""
    strings = {
        node.value
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return {text for text in strings if MODULE.fullmatch(text)}


def packages(names: set[str]) -> set[str]:
    """The packages that names of modules are in: `tagma.server.app` is in `server`."""
    rooms = {name.split(".")[1] for name in names if name.startswith("tagma.")}
    return {room if room in HEIGHT else "tagma" for room in rooms}


def may_import(package: str, other: str) -> bool:
    return package == other or HEIGHT[package] > HEIGHT[other] or (package, other) in NEIGHBOURS


def test_every_package_has_a_layer():
    folders = {folder.parent.name for folder in ROOT.glob("*/__init__.py")}
    assert folders - {"tests"} == set(HEIGHT)


@pytest.mark.parametrize("package", sorted(HEIGHT))
def test_a_package_imports_only_what_is_below_it(package):
    assert files(package)
    for file in files(package):
        place = file.relative_to(ROOT).as_posix()
        names = imported(file) | (set() if place in LAZY else named(file))
        for other in packages(names):
            assert may_import(package, other), f"{place} imports tagma.{other}"


def test_rules_and_clusterings_stand_on_numerics_and_not_under_them():
    below = {"numerics": {"numerics"}}
    below["aggregation"] = {"aggregation", *below["numerics"]}
    below["clustering"] = {"clustering", *below["aggregation"]}
    for room, allowed in below.items():
        for file in files(f"strategies/{room}"):
            inside = {name for name in imported(file) if name.startswith("tagma.strategies.")}
            assert {name.split(".")[2] for name in inside} <= allowed, file


def test_tasks_use_the_numerics_of_strategies_and_nothing_else_of_them():
    for file in files("tasks"):
        for name in imported(file):
            if name.startswith("tagma.strategies"):
                assert name.startswith("tagma.strategies.numerics"), file


@pytest.mark.parametrize("package", sorted(HEIGHT))
def test_nothing_of_ours_is_imported_but_as_tagma(package):
    for file in files(package):
        tops = {name.partition(".")[0] for name in imported(file)}
        assert not tops & ((set(HEIGHT) | {"tests"}) - {"tagma"}), file


def test_flowers_private_parts_are_used_in_one_place():
    for package in HEIGHT:
        for file in files(package):
            place = file.relative_to(ROOT).as_posix()
            if place in PRIVATE_FLOWER or place.startswith("server/transport/"):
                continue
            for name in flower_modules(file):
                assert name in PUBLIC_FLOWER, f"{place} imports {name}"
            if flower_modules(file):
                assert "__dict__" not in file.read_text(), place


def flower_modules(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "flwr":
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "flwr")


@pytest.mark.parametrize("room", NUMBERS_ONLY)
def test_the_arithmetic_needs_neither_flower_nor_torch_nor_hydra(room):
    folder = ROOT / "strategies" / room
    modules = [
        "tagma." + ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for file in sorted(folder.rglob("*.py"))
    ]
    code = (
        f"import sys, {', '.join(modules)}\n"
        "print([m for m in ('flwr', 'torch', 'hydra') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.multiprocess
def test_a_client_of_a_convex_task_does_not_load_torch():
    code = (
        "import sys, tagma.client.app\n"
        "from tagma.client.local_client import make_client\n"
        "from tagma.settings import compose\n"
        "make_client(compose(['task.dim=3']), 0).answer('local_model', (0, {}), 1, {})\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_no_two_files_have_one_name():
    names = Counter(file.name for package in HEIGHT for file in files(package))
    twice = {name for name, times in names.items() if times > 1}
    assert twice <= {"__init__.py", "app.py"}  # the ServerApp and the ClientApp


def test_the_architecture_names_files_and_functions_that_are_there():
    page = (ROOT / "docs/architecture.md").read_text()
    named = re.findall(r"`([\w/]+/[\w.]*)`(?:\s+`(\w+)`)?", page)
    assert len(named) > 50
    for place, name in named:
        if place.endswith(".py"):
            text = (ROOT / place).read_text()
            assert not name or re.search(rf"^(def|class) {name}\b", text, re.M), f"{place} {name}"
        elif "NAME" not in place and "/" in place.rstrip("/"):
            assert (ROOT / place).is_dir(), place


@pytest.mark.parametrize(
    "file", sorted(ROOT.glob("conf/*/*.yaml")), ids=lambda p: p.parent.name + "/" + p.stem
)
def test_every_choice_says_what_it_is_and_what_its_settings_mean(file):
    lines = file.read_text().splitlines()
    assert lines[0].startswith("# ")
    for line in lines[1:]:
        if line and not line.startswith(("#", "_target_", "defaults: [_", " ", "-", "version")):
            assert "#" in line, f"{file.name}: {line}"
