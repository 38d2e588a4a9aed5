"""One import root: nothing of ours shadows a user's module, is shadowed by it, or is loaded twice.

The commands run as a user runs them: Tagma is installed from a copy of the checkout, as a wheel or
to be edited, into an environment of its own that borrows the other packages from this one.
"""

import json
import os
import subprocess
import sys
import sysconfig
import tomllib
import venv
from collections.abc import Callable
from pathlib import Path
from shutil import copytree, ignore_patterns
from zipfile import ZipFile

import numpy as np
import pytest
import yaml

from tagma.launch.engines.process_guard import guarded
from tagma.launch.engines.superlink import CONNECTION, start_simulation
from tagma.settings import compose
from tagma.tasks.task_choice import task_of
from tests.conftest import SMALL

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = PROJECT["tool"]["setuptools"]["packages"]
FOLDERS = PROJECT["tool"]["setuptools"]["package-dir"]
ROOMS = sorted(set(FOLDERS.values()) - {"tagma"})
slow = pytest.mark.multiprocess

BROKEN = "raise RuntimeError('a module of the user that nobody asked for')\n"
OWN_TASKS = """
import os, sys
from pathlib import Path

from tagma.attacks.base import LocalAttack


class MyAttack(LocalAttack):
    def __init__(self, *, scale: float = 1.0) -> None:
        self.scale = scale

    def forge(self, honest, view):
        notes = Path(__file__).parent / "modules"
        notes.mkdir(exist_ok=True)
        files = {n: getattr(m, "__file__", None) or "" for n, m in list(sys.modules.items())}
        lines = [f"{name} {os.path.realpath(file)}" for name, file in files.items() if file]
        (notes / f"{os.getpid()}.txt").write_text("\\n".join(lines))
        return -self.scale * honest
"""
BY_TARGET = ["attack=sign_flip", "attack._target_=tasks.MyAttack"]
RUN = [*SMALL, "attack.fraction=0.2"]


def folder_of(package: str) -> Path:
    """Where a package's files are in a checkout."""
    parts = package.split(".")
    return ROOT / "tagma" if len(parts) == 1 else ROOT.joinpath(*parts[1:])


def tree() -> list[str]:
    """The packages that the folders of the checkout hold, of code or of data."""
    kinds = ("__init__.py", "*.yaml", "*.yml", "*.md")
    found = {
        file.parent
        for room in FOLDERS.values()
        for kind in kinds
        for file in (ROOT / room).rglob(kind)
    }
    names = [".".join(folder.relative_to(ROOT).parts) for folder in found]
    return sorted(name if name == "tagma" else f"tagma.{name}" for name in names)


def test_the_packages_of_the_project_are_its_folders():
    assert sorted(PACKAGES) == tree()
    assert {name: folder_of(name) for name in FOLDERS} == {
        name: ROOT / folder for name, folder in FOLDERS.items()
    }


def test_every_list_of_rooms_is_the_same():
    import tagma

    assert {f"tagma.{room}" for room in ROOMS} == tagma._ROOMS
    (line,) = [x for x in (ROOT / "Makefile").read_text().splitlines() if x.startswith("ROOMS :=")]
    assert sorted(line.split()[2:]) == ROOMS
    image = (ROOT / ".dockerignore").read_text().split()
    assert {f"!{room}" for room in [*ROOMS, "tagma"]} <= set(image)
    bundle = set(PROJECT["tool"]["flwr"]["app"]["fab-include"])
    assert bundle == {"/README.md", "/LICENSE", *(f"{room}/**" for room in [*ROOMS, "tagma"])}


@pytest.mark.parametrize("name", ["tagma", "tests", "docs", "docker", "tests.conftest"])
def test_what_lies_beside_the_rooms_is_no_part_of_the_package(name):
    with pytest.raises(ModuleNotFoundError):
        __import__(f"tagma.{name}")


class Installed:
    """An environment with Tagma, and the packages of the one that runs the tests."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False, symlinks=True)
        (self.site,) = folder.glob("lib/*/site-packages")
        (self.site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
        self.python = folder / "bin/python"

    def install(self, *what: str) -> None:
        self.check(
            "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation",
            "--ignore-installed", "--disable-pip-version-check", *what, cwd=self.site,
        )  # fmt: skip

    def check(self, *arguments: str, cwd: Path, **environment: str) -> str:
        """What a Python in this environment prints; it must end well."""
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
        done = subprocess.run(
            [self.python, *arguments], cwd=cwd, env=clean | {"PATH": path} | environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def all_of(self, *commands: list[str], cwd: Path) -> str:
        """Run commands in one process, which saves its start."""
        code = (
            "import sys\nfrom tagma.launch.cli import main\n"
            f"for sys.argv in {[['tagma', *each] for each in commands]}:\n    main()"
        )
        return self.check("-P", "-c", code, cwd=cwd)

    def tagma(self, *arguments: str, cwd: Path) -> str:
        """Run the command that pip has made."""
        return self.check(str(self.python.parent / "tagma"), *arguments, cwd=cwd)


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, because building leaves files in it."""
    kept_out = (".*", "outputs", "build", "dist", "*.egg-info", "__pycache__", "mlruns")
    copy = tmp_path_factory.mktemp("checkout") / "copy"
    return Path(copytree(ROOT, copy, ignore=ignore_patterns(*kept_out)))


@pytest.fixture(scope="session")
def wheel(checkout: Path) -> Path:
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index",
         "--no-build-isolation", "--disable-pip-version-check", "--wheel-dir", "dist", "."],
        cwd=checkout, check=True,
    )  # fmt: skip
    (file,) = (checkout / "dist").iterdir()
    return file


@pytest.fixture(scope="session")
def from_wheel(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    environment = Installed(tmp_path_factory.mktemp("wheel"))
    environment.install(str(wheel))
    return environment


@pytest.fixture(scope="session")
def editable(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    environment = Installed(tmp_path_factory.mktemp("editable"))
    environment.install("--editable", str(checkout))
    return environment


@pytest.fixture(params=["from_wheel", "editable"])
def installed(request: pytest.FixtureRequest) -> Installed:
    return request.getfixturevalue(request.param)


@pytest.fixture
def workplace(tmp_path: Path) -> Callable[..., Path]:
    """A folder of a user whose modules have the names of our folders, and break when imported."""

    def make(conf_is_package: bool = True) -> Path:
        for room in ROOMS:
            if room not in ("tasks", "client", "conf"):
                (tmp_path / room).mkdir()
                (tmp_path / room / "__init__.py").write_text(BROKEN)
        (tmp_path / "server/app.py").write_text(BROKEN)
        (tmp_path / "client.py").write_text(BROKEN)
        (tmp_path / "tasks.py").write_text(OWN_TASKS)
        (tmp_path / "conf/attack").mkdir(parents=True)
        (tmp_path / "conf/config.yaml").write_text("defaults: [nothing: of yours]\nrounds: many\n")
        (tmp_path / "conf/attack/mine.yaml").write_text(
            "# Mine.\ndefaults: [_byzantine, _self_]\n_target_: tasks.MyAttack\n"
        )
        if conf_is_package:
            (tmp_path / "conf/__init__.py").write_text(BROKEN)
        return tmp_path

    return make


def loaded(place: Path) -> list[dict[str, Path]]:
    """For every process in which the user's attack ran, the modules and their files."""
    notes = sorted((place / "modules").iterdir())
    lines = [[line.split(" ", 1) for line in note.read_text().splitlines()] for note in notes]
    return [{name: Path(file) for name, file in process} for process in lines]


def assert_loaded_once(place: Path, root: Path) -> None:
    """Every file below the root is loaded as tagma.*, and under one name."""
    processes = loaded(place)
    assert processes
    for modules in processes:
        ours = {name: file for name, file in modules.items() if file.is_relative_to(root)}
        assert "tagma.client.app" in ours
        assert {name for name in ours if name.split(".")[0] != "tagma"} == set()
        assert len(set(ours.values())) == len(ours)
        elsewhere = {n for n, f in modules.items() if n.startswith("tagma") and n not in ours}
        assert elsewhere == set()
        assert modules["tasks"] == (place / "tasks.py").resolve()


@slow
def test_a_wheel_holds_tagma_and_nothing_else(wheel):
    names = [name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name]
    assert {name.split("/")[0] for name in names} == {"tagma"}
    in_tree = {
        folder_of(package).joinpath(file.name): f"{package.replace('.', '/')}/{file.name}"
        for package in PACKAGES
        for file in folder_of(package).iterdir()
        if file.suffix == ".py"
    }
    data = {
        f"tagma/{file.relative_to(ROOT).as_posix()}"
        for room in ROOMS
        for kind in ("*.yaml", "*.yml", "*.md")
        for file in (ROOT / room).rglob(kind)
    }
    assert len(data) > 50
    assert sorted(names) == sorted({*in_tree.values(), *data, "tagma/py.typed"})


@slow
@pytest.mark.parametrize("conf_is_package", [True, False], ids=["package", "folder"])
def test_every_command_works_among_modules_of_the_same_names(installed, workplace, conf_is_package):
    place = workplace(conf_is_package)
    data = task_of(compose(SMALL)).test(0)
    np.savez(place / "mine.npz", inputs=data.inputs, targets=data.targets)
    run = ["run", *RUN, "oracle=false", "hydra.run.dir=out"]
    printed = installed.all_of(
        [*run, "clustering=kmeans", "aggregation=mean"],
        [*run, "attack=sign_flip", "clustering.extra_clusters=1"],
        [*run, "preset=tagma", "attack=sign_flip"],
        ["report", "out"],
        ["assign", "out", "mine.npz"],
        ["list", "aggregation"],
        ["compare", *RUN],
        [*run, "--cfg", "job"],
        cwd=place,
    )
    for text in ("estimation error", "report: out", "cluster: ", "trimmed_mean", "not robust"):
        assert text in printed
    assert "rounds: 3" in printed


@slow
def test_a_grid_runs_among_modules_of_the_same_names(installed, workplace):
    place = workplace()
    grid = {
        "axes": {"attack": {"theirs": ["attack=ipm"], "mine": BY_TARGET}},
        "seeds": 1,
        "common": [*SMALL, "attack.fraction=0.2"],
    }
    (place / "tiny.yaml").write_text(yaml.safe_dump(grid))
    installed.tagma("bench", "tiny.yaml", "bench.workers=2", "hydra.run.dir=out", cwd=place)
    assert list(place.rglob("report.html"))
    assert loaded(place)


@slow
@pytest.mark.parametrize(
    ("engine", "way"), [("inprocess", "target"), ("inprocess", "name"), ("ray", "name")]
)
def test_a_plugin_of_the_user_is_found_on_every_engine(installed, workplace, checkout, engine, way):
    place = workplace()
    named = ["attack=mine", f"hydra.searchpath=[file://{place}/conf]"]
    choice = BY_TARGET if way == "target" else named
    installed.tagma(
        "run", *RUN, *choice, f"engine={engine}", "oracle=false", "hydra.run.dir=out", cwd=place
    )
    assert json.loads((place / "out/metrics.json").read_text())["engine"] == engine
    inside = installed.site / "tagma"
    assert_loaded_once(place, inside if inside.exists() else checkout)


@slow
def test_a_checkout_on_the_import_path_loads_nothing_twice(workplace, tmp_path):
    place = workplace()
    (place / "tasks.py").rename(place / "mine.py")
    attack = [text.replace("tasks.", "mine.") for text in BY_TARGET]
    subprocess.run(
        [sys.executable, "-c", "from tagma.launch.cli import main; main()", "run", *RUN, *attack,
         f"hydra.run.dir={tmp_path}/out", "oracle=false"],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(place)])},
        check=True, capture_output=True,
    )  # fmt: skip
    (modules,) = loaded(place)
    ours = {name: file for name, file in modules.items() if file.is_relative_to(ROOT)}
    ours = {name: file for name, file in ours.items() if "site-packages" not in file.parts}
    assert "tagma.client.app" in ours
    assert {name.split(".")[0] for name in ours} == {"tagma"}
    assert len(set(ours.values())) == len(ours)


@slow
def test_flwr_run_ships_the_checkout_and_loads_nothing_twice(
    checkout, workplace, tmp_path, monkeypatch
):
    place = workplace()
    (place / "tasks.py").rename(place / "mine.py")
    monkeypatch.setattr(sys, "path", [*sys.path, str(place)])
    overrides = [*RUN, *BY_TARGET, f"output={tmp_path}/out"]
    text = " ".join(overrides).replace("tasks.", "mine.")
    with guarded() as shelter, (tmp_path / "log").open("w") as output:
        superlink = start_simulation(shelter, 1, output)
        resources = "num-supernodes=20 client-resources-num-cpus=1"
        run = superlink.flwr(
            "run", str(checkout), CONNECTION, "--stream", "-c", f'overrides="{text}"',
            "--federation-config", resources,
        )  # fmt: skip
        said, _ = run.communicate()
        home = Path(superlink.env["FLWR_HOME"]).resolve()
        assert (tmp_path / "out/metrics.json").is_file(), said
        assert (tmp_path / "out/report.html").is_file(), said
        for modules in loaded(place):
            ours = {name: file for name, file in modules.items() if name.startswith("tagma")}
            assert "tagma.client.app" in ours
            assert all(file.is_relative_to(home) for file in ours.values())
            twice = {name for name, file in modules.items() if file in set(ours.values())}
            assert twice == set(ours)


FROM_A_BUNDLE = """
import sys, tomllib
from importlib import import_module
from flwr.app import Context, RecordDict
from tagma.launch.cli import main
from tagma.launch.engines.inprocess_grid import InProcessGrid

with open(sys.argv[1] + "/pyproject.toml", "rb") as file:
    named = tomllib.load(file)["tool"]["flwr"]["app"]["components"]
parts = {}
for kind, where in named.items():
    module, name = where.split(":")
    parts[kind] = getattr(import_module(module), name)
settings = {"overrides": sys.argv[2]}
grid = InProcessGrid(parts["clientapp"], 20, sys.argv[2])
parts["serverapp"](grid, Context(1, 1, {}, RecordDict(), settings))
sys.argv = ["tagma", "compose", "--nodes", "4", "--byzantine", "1"]
main()
ours = [m.__file__ for n, m in sys.modules.items() if n.split(".")[0] == "tagma"]
print("from", *sorted({file.split("/tagma/")[0] for file in ours if "/tagma/" in file}))
"""


@slow
def test_a_bundle_runs_with_reports_where_only_the_dependencies_are(checkout, tmp_path):
    environment = Installed(tmp_path / "environment")
    there = "import importlib.util; print(importlib.util.find_spec('tagma'))"
    assert environment.check("-c", there, cwd=tmp_path).strip() == "None"
    flwr = str(Path(sysconfig.get_path("scripts")) / "flwr")
    quiet = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}
    environment.check(
        flwr, "build", "--app", str(checkout), cwd=tmp_path, FLWR_HOME=str(tmp_path), **quiet
    )
    (file,) = tmp_path.glob("tagma.*.fab")
    bundle = tmp_path / "unpacked"
    ZipFile(file).extractall(bundle)
    held = {found for found in bundle.rglob("*") if found.is_file()}
    for room in [*ROOMS, "tagma"]:
        for wanted in (checkout / room).rglob("*"):
            if wanted.is_file() and wanted.suffix != ".pyc" and wanted.name != "py.typed":
                assert bundle / wanted.relative_to(checkout) in held, f"not carried: {wanted}"
    printed = environment.check(
        "-c", FROM_A_BUNDLE, str(bundle), " ".join([*RUN, f"output={tmp_path}/out"]),
        cwd=tmp_path, PYTHONPATH=str(bundle),
    )  # fmt: skip
    assert f"report: {tmp_path}/out/report.html" in printed
    assert "</html>" in (tmp_path / "out/report.html").read_text()
    assert list((tmp_path / "out/figures").glob("*.svg"))
    assert "node-3:" in printed
    assert printed.splitlines()[-1] == f"from {bundle}"


@slow
def test_a_wheel_runs_benches_and_reports_in_an_empty_folder(from_wheel, tmp_path):
    from_wheel.tagma("run", *RUN, "hydra.run.dir=out", cwd=tmp_path)
    from_wheel.tagma("report", "out", cwd=tmp_path)
    from_wheel.tagma("bench", "quick", "seeds=1", "rounds=2", "bench.workers=2", cwd=tmp_path)
    assert len(list(tmp_path.rglob("report.html"))) == 2


@slow
def test_a_package_beside_an_installed_one_changes_nothing(from_wheel, tmp_path):
    beside = from_wheel.site / "server"
    beside.mkdir()
    try:
        (beside / "__init__.py").write_text(BROKEN)
        code = "import tagma.server; print(tagma.server.__file__)"
        found = from_wheel.check("-c", code, cwd=tmp_path).strip()
        assert Path(found) == from_wheel.site / "tagma/server/__init__.py"
    finally:
        (beside / "__init__.py").unlink()
        beside.rmdir()
