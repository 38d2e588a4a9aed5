"""Run folders from strangers: no command runs what they name or fills the memory."""

import json
import shutil
from contextlib import suppress

import numpy as np
import pytest
import yaml

from tagma.errors import TagmaError
from tagma.server.checkpoint import CHECKPOINTS
from tagma.server.run_identity import identity_of
from tagma.server.state_file import sealed, unsealed
from tagma.settings import compose
from tagma.tasks.task_choice import task_of
from tests.command import tagma
from tests.server.test_checkpoint import run as run_until

SMALL = ["task.clients=6", "task.clusters=2", "task.dim=3", "rounds=2", "oracle=false"]
EVIL = """
from pathlib import Path
from tagma.attacks.local.sign_flip import SignFlip as Attack

Path("was_run").touch()
"""
ON_SETTINGS = {"assign": ["assign", "run", "mine.npz"], "resume": ["resume", "run"]}
COMMANDS = {**ON_SETTINGS, "report": ["report", "run"]}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A finished run and one that broke off, in one folder, and a client's examples."""
    desk = tmp_path_factory.mktemp("desk")
    with pytest.raises(KeyboardInterrupt):
        run_until(desk / "run", digits=SMALL, dies_in=3)
    kept = {name: (desk / "run" / name).read_bytes() for name in CHECKPOINTS[:1]}
    journal = (desk / "run/checkpoint.rounds.jsonl").read_bytes()
    done = tagma("run", *SMALL, "hydra.run.dir=run", cwd=desk)
    assert done.returncode == 0, done.stderr
    for name, content in (*kept.items(), ("checkpoint.rounds.jsonl", journal)):
        (desk / "run" / name).write_bytes(content)
    data = task_of(compose(SMALL)).train(0)
    np.savez(desk / "mine.npz", inputs=data.inputs, targets=data.targets)
    return desk


@pytest.fixture
def desk(made, tmp_path):
    shutil.copytree(made, tmp_path / "desk")
    (tmp_path / "desk/evil.py").write_text(EVIL)
    return tmp_path / "desk"


def name_in(folder, *overrides):
    """Let every file of settings in a run folder name these."""
    place = folder / ".hydra/hydra.yaml"
    content = yaml.safe_load(place.read_text())
    content["hydra"]["overrides"]["task"] += overrides
    place.write_text(yaml.safe_dump(content))
    (folder / ".hydra/overrides.yaml").write_text(yaml.safe_dump([*SMALL, *overrides]))
    state = folder / CHECKPOINTS[0]
    arrays, about = unsealed(state.read_bytes())
    about["overrides"] += overrides
    with suppress(TagmaError):  # it may not be composed
        about["run"] = identity_of(compose(about["overrides"]))
    state.write_bytes(b"".join(sealed(arrays, about)))


def one_line(done):
    assert done.returncode == 2
    assert done.stderr.startswith("tagma: error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


HOSTILE = ["attack=sign_flip", "attack._target_=evil.Attack"]


@pytest.mark.parametrize("command", ON_SETTINGS)
def test_what_a_folder_names_is_run_with_trust_only(command, desk):
    name_in(desk / "run", *HOSTILE)
    said = one_line(tagma(*ON_SETTINGS[command], cwd=desk))
    assert "would import and run evil.Attack" in said
    assert "--trust" in said
    assert not (desk / "was_run").exists()
    if command == "resume":
        assert tagma(*ON_SETTINGS[command], "--trust", cwd=desk).returncode == 0
        assert (desk / "was_run").exists()


def test_a_report_runs_nothing(desk):
    name_in(desk / "run", *HOSTILE)
    assert tagma("report", "run", cwd=desk).returncode == 0
    assert not (desk / "was_run").exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_the_environment_is_not_read(command, desk):
    name_in(desk / "run", "task.noise=${oc.env:SECRET}")
    done = tagma(*COMMANDS[command], cwd=desk, SECRET="0.12345")
    if command != "report":
        assert "task.noise=${oc.env:SECRET}: takes a value from elsewhere" in one_line(done)
    assert "0.12345" not in (desk / "run/report.html").read_text()


def bomb(folder):
    lines = ["a0: &a0 [x]"] + [f"a{i}: &a{i} [{f'*a{i - 1},' * 9}]" for i in range(1, 30)]
    for name in ("hydra", "overrides"):
        (folder / f".hydra/{name}.yaml").write_text("\n".join(lines))
    state = folder / CHECKPOINTS[0]
    state.write_bytes(b"".join(sealed({}, json.loads("[" * 900 + "]" * 900))))


def huge(folder):
    for name in (".hydra/hydra.yaml", ".hydra/overrides.yaml", CHECKPOINTS[0]):
        with (folder / name).open("r+b") as file:
            file.truncate(2**43)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("spoil", [bomb, huge])
def test_files_that_grow_when_they_are_read_are_one_line(command, spoil, desk):
    spoil(desk / "run")
    one_line(tagma(*COMMANDS[command], cwd=desk))


@pytest.mark.parametrize(
    "file", ["metrics.json", "history.csv", "clusters.csv", "models.safetensors"]
)
def test_huge_results_are_one_line(file, desk):
    with (desk / "run" / file).open("r+b") as there:
        there.truncate(2**43)
    assert "bytes, more than" in one_line(tagma("report", "run", cwd=desk))


def test_a_report_shows_no_file_from_elsewhere(desk):
    (desk / "key").write_text("secret")
    (desk / "run/.hydra/config.yaml").unlink()
    (desk / "run/.hydra/config.yaml").symlink_to(desk / "key")
    assert "is no file of this folder" in one_line(tagma("report", "run", cwd=desk))
