"""Every command of the documentation: a shell can read it, as can we; the quick `tagma ...` run."""

import json
import os
import re
import shlex
import subprocess
import sys
from contextlib import chdir
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from tagma.bench.grid.expand import expand
from tagma.bench.grid.plan import read_plan
from tagma.bench.reproduce import beyond
from tagma.bench.reproduce.reproduce_command import _NAMES
from tagma.choices import choices
from tagma.launch import cli
from tagma.launch.command_line import CommandLine
from tagma.settings import compose
from tagma.tasks.task_choice import task_of
from tests.command import tagma
from tests.conftest import SMALL
from tests.server.test_checkpoint import run as run_small

ROOT = Path(__file__).parents[2]
COMMAND = r"(?:[A-Z_]+=\S+ )*(?:\.venv/bin/)?tagma [a-z].*"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.S | re.M)
STANDS_FOR = {
    "FOLDER": "finished", "outputs/DATE/TIME": "finished", "outputs/bench/quick": "finished",
    "outputs/bench/my_grid": "finished", "outputs/2026-11-16/12-00-00": "finished",
    "hydra.searchpath=[file://FOLDER]": "hydra.searchpath=[file://$PWD/myconf]",
    "NAME": "quick", "bench=NAME": "bench=quick", "task.min_cluster=MIN": "task.min_cluster=50",
}  # fmt: skip
LEFT_OUT = ("OVERRIDES", "TASK", "[overrides]", "...")
LONG = r"(reproduce|bench (?!quick|bench=quick|my_grid|online_bias|--help))\b.*"
ELSEWHERE = r"(register|proxy|node|watch)\b.*|.*(engine\.address|task\.data)=.*"
"""Needs a SuperLink, or data that we do not have, or somebody who looks."""
OTHER = r"(?:[A-Z_]+=(?:\S+|\".*?\") )*(?:\.venv/bin/)?(make|pytest|python|flwr|flower-[a-z]+) .*"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]


def documented(pattern: str = COMMAND) -> list[str]:
    return sorted(
        {code for page in PAGES for code in codes_of(page) if re.fullmatch(pattern, code)}
    )


def codes_of(page: Path) -> list[str]:
    """The lines of its fences that may be a shell's, and what stands in backticks."""
    text = page.read_text().replace("\\\n", " ")
    blocks = [block for kind, block in FENCE.findall(text) if kind in ("", "sh", "bash")]
    inline = [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", FENCE.sub("", text))]
    return [*(line for block in blocks for line in block.splitlines()), *inline]


def words_of(command: str) -> list[str]:
    """The arguments of `tagma` in a command: what stands for something else is replaced."""
    reader = shlex.shlex(command, posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    words = list(reader)
    end = next((i for i, word in enumerate(words) if set(word) <= set("|&;<>")), len(words))
    start = next(i for i, word in enumerate(words) if word.endswith("tagma"))
    return [STANDS_FOR.get(one, one) for one in words[start + 1 : end] if one not in LEFT_OUT]


class Parsed(Exception):
    """Ends a command when its arguments have been read."""


def parsed(words, monkeypatch):
    """What a command reads from its arguments; nothing else is done."""
    read = CommandLine.read

    def stop(self, arguments):
        raise Parsed(read(self, arguments))

    main = import_module(cli._COMMANDS[words[0]]).main
    monkeypatch.setattr(CommandLine, "read", stop)
    with pytest.raises(Parsed) as end:
        main(words[1:])
    monkeypatch.undo()
    return end.value.args[0]


@pytest.mark.parametrize("command", documented())
def test_a_documented_command_is_one(command, monkeypatch, tmp_path):
    shell = ["bash", "-n", "-c", command]
    assert subprocess.run(shell, capture_output=True, text=True, check=False).stderr == ""
    words = words_of(command)
    name = words[0]
    if len(words) == 1 or "--help" in words:  # it may be only its name
        assert tagma(name, "--help", cwd=tmp_path).returncode == 0
        return
    if "-sc" in words:
        return
    given = parsed(words, monkeypatch)
    settings = [text for text in getattr(given, "overrides", ()) if "=" in text]
    settings = [text.replace("task.data=FOLDER", "task.data=digits") for text in settings]
    if any(text.startswith("hydra.searchpath") for text in words):  # tested below
        return
    if name == "reproduce":
        assert given.name in _NAMES
        if given.name == "beyond":  # its only setting is which parts
            assert beyond.EXPERIMENT.cells(1, 0, settings)
            return
        tasks = {"ranking": "mean_estimation", "ifca": "rotated_mnist"}
        compose([f"task={tasks.get(given.name, 'mixture_regression')}", *settings])
    elif is_grid(words):
        plan = read_plan(words[1].removeprefix("bench="), [t for t in settings if t != words[1]])
        last = tuple(replace(axis, values=axis.values[-1:]) for axis in plan.axes)
        assert expand(replace(plan, axes=last, skip=()))
    elif words[:2] == ["bench", "workers"]:
        assert read_plan("standard", settings)
    elif name == "compose":
        assert tagma(*words, cwd=tmp_path).returncode == 0
    else:
        compose([first_of(text) for text in settings if "hydra." not in text])


def first_of(text: str) -> str:
    """Of the values for several runs, the first."""
    override = OverridesParser.create().parse_override(text)
    if override.is_sweep_override():
        return f"{override.key_or_group}={next(override.sweep_string_iterator())}"
    return text


def is_grid(words: list[str]) -> bool:
    return words[0] == "bench" and words[1].removeprefix("bench=") in choices("bench")


@pytest.mark.full
@pytest.mark.parametrize("command", [one for one in documented() if is_grid(words_of(one))])
def test_all_cells_of_a_documented_grid_have_settings_that_are_right(command, tmp_path):
    words = [text.replace("task.data=FOLDER", "task.data=digits") for text in words_of(command)]
    done = tagma(*words, "--dry-run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def quick() -> list[str]:
    """Commands that need nothing but a computer and a minute, each once."""
    by_words = {" ".join(words_of(command)): command for command in documented()}
    return [
        command
        for words, command in by_words.items()
        if not re.fullmatch(rf"{LONG}|{ELSEWHERE}", words)
        and (" " in words or words in ("run", "compare", "list"))
    ]


@pytest.fixture
def desk(tmp_path):
    """A folder with what the pages speak of: plugins, choices, a grid, data, runs."""
    pages = {name: (ROOT / f"docs/{name}.md").read_text() for name in ("attacks", "extending")}
    crowd = re.findall(r"```python\n(.*?)```", pages["attacks"].partition("ten lines")[2], re.S)[0]
    plugins = re.findall(r"```python\n(.*?)```", pages["extending"], re.S)
    (tmp_path / "mine.py").write_text("\n\n".join([*plugins, crowd]))
    for place, text in re.findall(r"`(myconf/\S+)`,\n+```yaml\n(.*?)```", pages["extending"], re.S):
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).write_text(text)
    grids = (ROOT / "docs/benchmarking.md").read_text().partition("## A grid of your own")[2]
    (tmp_path / "my_grid.yaml").write_text(re.findall(r"```yaml\n(.*?)```", grids, re.S)[0])
    return tmp_path


@pytest.fixture
def finished(desk):
    """A run that is finished, one that broke off, and data of one more client."""
    assert tagma("run", *SMALL, "hydra.run.dir=finished", cwd=desk).returncode == 0
    with pytest.raises(KeyboardInterrupt), chdir(desk):
        run_small(desk / "broken_off", dies_in=3)
    data = task_of(compose(SMALL)).train(0)
    np.savez(desk / "mine.npz", inputs=data.inputs, targets=data.targets)
    return desk


@pytest.mark.full
@pytest.mark.parametrize("command", quick())
def test_a_documented_command_that_is_quick_runs(command, finished):
    words = [text.replace("$PWD", str(finished)) for text in words_of(command)]
    if words[0] == "resume":
        words[1] = "broken_off"
    done = tagma(*words, cwd=finished)
    assert done.returncode == 0, done.stderr


def run_as_documented(desk, choice):
    """The metrics of what docs/extending.md runs to choose something of one's own by name."""
    page = (ROOT / "docs/extending.md").read_text()
    (command,) = re.findall(rf"`tagma (run [^`]*{choice})`", page)
    words = shlex.split(command.replace("$PWD", str(desk)))
    done = tagma(*words, *SMALL, "oracle=false", "hydra.run.dir=out", cwd=desk)
    assert done.returncode == 0, done.stderr
    return json.loads((desk / "out/metrics.json").read_text())


def test_own_choices_work_as_documented(desk):
    metrics = run_as_documented(desk, "attack=crowd")
    assert sum(cluster["byzantine"] for cluster in metrics["clusters"]) == 6


def test_an_own_clustering_works_as_documented(desk):
    metrics = run_as_documented(desk, "clustering=agglomerate")
    assert metrics["misclustering"] == 0
    assert metrics["settings"]["clustering"] == "agglomerate"


@pytest.mark.parametrize("command", documented(OTHER))
def test_another_documented_command_names_what_there_is(command):
    shell = ["bash", "-n", "-c", command]
    assert subprocess.run(shell, capture_output=True, text=True, check=False).stderr == ""
    program = re.fullmatch(OTHER, command)[1]
    after = command.partition(f"{program} ")[2]
    words = shlex.split(after.partition(" ; ")[0], comments=True)
    if program == "make":
        targets = set(re.findall(r"^([\w. -]+):", (ROOT / "Makefile").read_text(), re.M))
        named = {word for word in words if "=" not in word}
        assert named <= {one for each in targets for one in each.split()}
    elif program == "pytest":
        files = [word.partition("::")[0] for word in words if word.startswith("tests/")]
        assert all((ROOT / file).exists() for file in files)
    elif program == "python":
        script = next(word for word in words if not word.startswith("-"))
        made = any(f"# {script}" in page.read_text() for page in PAGES)
        places = (ROOT, ROOT / "examples", ROOT / "examples/digits")
        assert made or any((place / script).is_file() for place in places)


@pytest.mark.multiprocess
@pytest.mark.parametrize("program", ["flower-superlink", "flower-superexec", "flwr run"])
def test_programs_of_flower_have_the_options_that_we_document(program):
    commands = [one for one in documented(OTHER) if program in one]
    options = {word for one in commands for word in re.findall(r"--[a-z][a-z-]+", one)}
    name, *words = program.split()
    place = Path(sys.executable).parent / name
    told = subprocess.run(
        [place, *words, "--help"], capture_output=True, text=True, check=True,
        env=os.environ | {"COLUMNS": "200"},
    ).stdout  # fmt: skip
    assert options
    assert {one for one in options if one not in told} == set()
