"""A run in a folder that another run has is refused before anything there is touched."""

from pathlib import Path

import pytest

import tagma as library
from tagma.errors import TagmaError
from tagma.server.folder_lock import claimed, only_writer
from tests.command import tagma
from tests.conftest import SMALL
from tests.server.test_checkpoint import run as run_until

BARE = [*SMALL, "rounds=2", "oracle=false", "evaluate=false"]
REFUSED = "another run is still writing there"


def contents(folder):
    """Every file with its bytes and the time it was written, but for the locks."""
    files = (path for path in folder.rglob("*") if path.name not in (".claimed", ".writing"))
    return {path: (path.stat().st_mtime_ns, path.is_file() and path.read_bytes()) for path in files}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of two runs, and one of a run that broke off."""
    desk = tmp_path_factory.mktemp("desk")
    done = tagma("run", *BARE, "-m", "seed=1,2", "hydra.sweep.dir=all", cwd=desk)
    assert done.returncode == 0, done.stderr
    with pytest.raises(KeyboardInterrupt):
        run_until(desk / "off", digits=BARE, dies_in=3)
    return desk


WORDS = {
    "run": ["run", *BARE, "seed=3", "hydra.run.dir=all/1"],
    "run elsewhere": ["run", *BARE, "seed=3", "output=all/1", "hydra.run.dir=other"],
    "one of several": ["run", *BARE, "-m", "seed=3,4", "hydra.sweep.dir=all"],
    "report": ["report", "all/1"],
}


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
@pytest.mark.parametrize("lock", [claimed, only_writer])
def test_a_command_is_refused_and_touches_nothing(words, lock, made):
    before = contents(made / "all/1")
    with lock(made / "all/1"):
        done = tagma(*words, cwd=made)
    assert done.returncode == 2
    assert REFUSED in done.stderr
    assert contents(made / "all/1") == before


def test_several_runs_in_a_folder_that_has_several_are_refused_at_once(made):
    before = contents(made / "all")
    with claimed(made / "all"):
        done = tagma("run", *BARE, "-m", "seed=3,4", "hydra.sweep.dir=all", cwd=made)
    assert done.returncode == 2
    assert done.stderr == f"tagma: error: all: {REFUSED}\n"
    assert contents(made / "all") == before


@pytest.mark.parametrize("lock", [claimed, only_writer])
def test_a_resume_is_refused_and_touches_nothing(lock, made, monkeypatch):
    before = contents(made / "off")
    with lock(made / "off"):
        done = tagma("resume", "off", cwd=made)
        assert done.stderr == f"tagma: error: off: {REFUSED}\n"
        monkeypatch.chdir(made)
        with pytest.raises(TagmaError, match=REFUSED):
            library.resume("off")
    assert contents(made / "off") == before


@pytest.mark.parametrize("lock", [claimed, only_writer])
def test_a_run_from_python_is_refused_and_touches_nothing(lock, made, monkeypatch):
    monkeypatch.chdir(made)
    before = contents(made / "all/0")
    with lock(made / "all/0"), pytest.raises(TagmaError, match=REFUSED):
        library.run(*BARE, folder="all/0", overwrite=True)
    assert contents(made / "all/0") == before


def test_the_folder_is_held_from_the_first_file_to_the_report(made, tmp_path, monkeypatch):
    seen = []

    def drawn(folder):
        with pytest.raises(TagmaError, match=REFUSED), claimed(folder):
            pass
        seen.append(folder)

    monkeypatch.setattr("tagma.launch.run.write_run_report", drawn)
    done = tagma("run", *BARE, "hydra.run.dir=one", cwd=tmp_path)
    assert seen == [Path(tmp_path / "one")], done.stderr


def test_a_sweep_leaves_its_settings_in_every_folder_and_no_lock(made):
    assert "- seed=2\n" in (made / "all/1/.hydra/overrides.yaml").read_text()
    for number in (0, 1):
        assert "runtime:" in (made / f"all/{number}/.hydra/hydra.yaml").read_text()
    assert not list(made.rglob(".claimed"))
    assert not list(made.rglob(".writing"))
