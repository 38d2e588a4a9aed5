"""Run folders from strangers: no command runs what they name, shows, writes or waits for more.

Every command on every trick of `hostile_folders`, the most telling of them in every run of the
tests, the others in full ones.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest

import tagma as library
from tagma.errors import TagmaError
from tagma.server.checkpoint import CHECKPOINTS
from tagma.settings import compose
from tagma.tasks.task_choice import task_of
from tests.command import Done, tagma
from tests.launch.hostile_folders import HUGE, OF_CODE, SECRET, TRICKS, name_in
from tests.server.test_checkpoint import run as run_until

SMALL = ["task.clients=6", "task.clusters=2", "task.dim=3", "rounds=2", "oracle=false"]
EVIL = """
from pathlib import Path
from tagma.attacks.local.sign_flip import SignFlip as Attack

Path("was_run").touch()
"""


def loaded():
    """All that `tagma.load` offers, as a command."""
    try:
        run = library.load("run")
        said = [run.settings, run.metrics, run.history, run.clients, run.models, repr(run)]
        said += [run._repr_html_(), run.plot(), run.predict("mine.npz", cluster=0)]
        return Done(0, str(said), "")
    except TagmaError as problem:
        return Done(2, "", f"tagma: error: {problem}\n")


COMMANDS = {
    "resume": ["resume", "run"],
    "assign": ["assign", "run", "mine.npz"],
    "predict": ["predict", "run", "mine.npz", "--cluster", "0"],
    "export": ["export", "run", "--cluster", "0", "--out", "model.pt"],
    "report": ["report", "run", "--latex"],
    "load": [],
}
ON_SETTINGS = ("resume", "assign", "predict", "export")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A finished run with a checkpoint, a client's examples, and what is nobody else's."""
    desk = tmp_path_factory.mktemp("made") / "desk"
    done = tagma("run", *SMALL, "hydra.run.dir=run", cwd=_folder(desk))
    assert done.returncode == 0, done.stderr
    with pytest.raises(KeyboardInterrupt):
        run_until(desk / "off", digits=SMALL, dies_in=3)
    for name in (CHECKPOINTS[0], "checkpoint.rounds.jsonl"):
        shutil.move(desk / "off" / name, desk / "run" / name)
    shutil.rmtree(desk / "off")
    data = task_of(compose(SMALL)).train(0)
    np.savez(desk / "mine.npz", inputs=data.inputs, targets=data.targets)
    (desk / "evil.py").write_text(EVIL)
    elsewhere = _folder(desk.with_name("elsewhere"))
    (elsewhere / "secret").write_text(f"password {SECRET}\n")
    (elsewhere / "precious").write_text("mine")
    _folder(elsewhere / "attack").joinpath("mine.yaml").write_text("_target_: evil.Attack\n")
    for name in ("error.svg", "clients.csv", "score-mine.svg", "scores.tex"):
        _folder(elsewhere / "figures").joinpath(name).write_text("mine")
    for name in ("config", "hydra", "overrides"):
        _folder(elsewhere / "settings").joinpath(f"{name}.yaml").write_text(f"a: {SECRET}\n")
    return desk.parent


def _folder(path):
    path.mkdir(exist_ok=True)
    return path


@pytest.fixture
def desk(made, tmp_path):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    os.mkfifo(tmp_path / "elsewhere/pipe")
    return tmp_path / "desk"


def contents(folder):
    """Every file with its bytes, but for huge ones, which are empty."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    small = (path for path in files if path.stat().st_size < HUGE)
    return {str(path.relative_to(folder)): path.read_bytes() for path in small}


@contextmanager
def in_the_end():
    """Whoever waits for a pipe or reads a device is not waited for."""

    def give_up(number, frame):
        raise AssertionError("it waits, or reads without end")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(300)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def done_by(command, desk, monkeypatch, *more):
    with in_the_end():
        if command == "load":
            monkeypatch.chdir(desk)
            monkeypatch.setenv("SECRET", SECRET)
            return loaded()
        return tagma(*COMMANDS[command], *more, cwd=desk, SECRET=SECRET)


def one_line(done):
    assert done.returncode in (1, 2)
    assert done.stderr.startswith("tagma: error: ")
    assert done.stderr.count("\n") == 1
    assert "defect" not in done.stderr
    return done.stderr


TELLING = {
    "a target": ("resume", "assign", "load"),
    "the environment": ("resume", "predict", "report"),
    "another folder of choices": ("export",),
    "aliases": ("resume", "load", "report"),
    "settings elsewhere": ("report", "load"),
    "settings that are a link": ("report",),
    "a log to somewhere": ("resume",),
    "a history to somewhere": ("resume",),
    "figures to somewhere": ("resume", "report"),
    "another lock to somewhere": ("report",),
    "pickles": ("resume", "assign", "load"),
    "names that are paths": ("report",),
    "models without end": ("load",),
    "a device for data": ("resume",),
    "a pipe for data": ("resume",),
    "a tracker of theirs": ("resume",),
    "results elsewhere": ("resume",),
}
"""In every run of the tests; a command that is not here meets each of the others' tricks, too."""


def pairs():
    for number, trick in enumerate(TRICKS):
        usual = TELLING.get(trick, (list(COMMANDS)[number % len(COMMANDS)],))
        for command in COMMANDS:
            marks = () if command in usual else pytest.mark.full
            yield pytest.param(command, trick, marks=marks, id=f"{command}-{trick}")


@pytest.mark.parametrize(("command", "trick"), [*pairs()])
def test_no_command_falls_for_it(command, trick, desk, monkeypatch):
    folder, elsewhere = desk / "run", desk.with_name("elsewhere")
    TRICKS[trick](folder, elsewhere)
    before, around = contents(elsewhere), set(os.listdir(desk))
    done = done_by(command, desk, monkeypatch)
    assert "Traceback" not in done.stderr
    if done.returncode or (trick in OF_CODE and command in ON_SETTINGS):
        one_line(done)
    assert contents(elsewhere) == before
    assert set(os.listdir(desk)) - around <= {"model.pt"}
    written = [done.stdout, done.stderr, *(map(str, contents(folder).values()))]
    assert not [text for text in written if SECRET in text]


def test_the_command_does_what_it_should_where_there_is_no_trick(desk, monkeypatch):
    for command in ("assign", "predict", "report", "load", "resume"):
        assert done_by(command, desk, monkeypatch).returncode == 0
    assert "the task has no torch module" in one_line(done_by("export", desk, monkeypatch))


@pytest.mark.parametrize("command", ["resume", "assign"])
def test_what_a_folder_names_is_run_with_trust(command, desk, monkeypatch):
    name_in(desk / "run", "attack=sign_flip", "attack._target_=evil.Attack")
    said = one_line(done_by(command, desk, monkeypatch))
    assert "would import and run evil.Attack" in said
    assert "--trust" in said
    assert not (desk / "was_run").exists()
    assert done_by(command, desk, monkeypatch, "--trust").returncode == 0
    assert (desk / "was_run").exists() == (command == "resume")


@pytest.mark.parametrize(
    "file", ["metrics.json", "history.csv", "clusters.csv", "models.safetensors"]
)
def test_huge_results_are_one_line(file, desk, monkeypatch):
    with (desk / "run" / file).open("r+b") as there:
        there.truncate(2**43)
    assert "bytes, more than" in one_line(done_by("report", desk, monkeypatch))


def test_a_table_of_more_rows_than_there_is_room_for_is_one_line(desk, monkeypatch):
    monkeypatch.setattr("tagma.report.folder_files.room", lambda: 2000)
    assert "more rows than there is room for" in one_line(done_by("report", desk, monkeypatch))


def test_metrics_that_there_is_no_room_for_are_one_line(desk, monkeypatch):
    size = (desk / "run/metrics.json").stat().st_size
    monkeypatch.setattr("tagma.foreign_file.room", lambda: 24 * (size - 1))
    said = one_line(done_by("report", desk, monkeypatch))
    assert f"metrics.json has {size} bytes, more than {size - 1}" in said


def test_a_tracker_may_be_named_by_who_resumes(desk, monkeypatch):
    name_in(desk / "run", "tracking=mlflow", "tracking.uri=http://127.0.0.1:9/")
    assert "tracking.uri" in one_line(done_by("resume", desk, monkeypatch))
    assert done_by("resume", desk, monkeypatch, "tracking=none").returncode == 0
    assert json.loads((desk / "run/metrics.json").read_text())["engine"] == "inprocess"


@pytest.mark.multiprocess
def test_nothing_that_lies_in_the_working_folder_is_taken_for_a_module_or_its_settings(desk):
    evil = "open('was_run', 'w')\n"
    for name in ("numpy", "hydra", "yaml", "tagma", "matplotlib", "torch", "sitecustomize", "json"):
        (desk / f"{name}.py").write_text(evil)
    (desk / "conf").mkdir()
    (desk / "conf/config.yaml").write_text("_target_: os.system\n")
    (desk / "matplotlibrc").write_text("text.usetex: True\nbackend: module://evil\n")
    command = "import sys; sys.argv[0] = 'tagma'; from tagma.launch.cli import main; main()"
    words = ["report", "run", "--pdf"]
    done = subprocess.run(
        [sys.executable, "-P", "-c", command, *words], cwd=desk, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert (desk / "run/figures/clients.pdf").stat().st_size > 1000
    assert not (desk / "was_run").exists()
