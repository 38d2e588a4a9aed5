"""One run folder, one writer, whatever order processes open, lock and remove the file in."""

import fcntl
import os
from contextlib import ExitStack

import pytest

from tagma.errors import TagmaError
from tagma.server import folder_lock
from tagma.server.folder_lock import claimed, only_writer

LOCKS = {claimed: ".claimed", only_writer: ".writing"}
HELD = "another run is still writing there"


@pytest.mark.parametrize("lock", LOCKS)
def test_a_folder_is_held_by_one_at_a_time_and_free_afterwards(lock, tmp_path):
    for _ in range(2):
        with lock(tmp_path), pytest.raises(TagmaError, match=HELD), lock(tmp_path):
            pass
    assert not list(tmp_path.iterdir())


def test_what_a_server_holds_cannot_be_claimed(tmp_path):
    with only_writer(tmp_path), pytest.raises(TagmaError, match=HELD), claimed(tmp_path):
        pass
    with claimed(tmp_path), only_writer(tmp_path):
        pass


@pytest.mark.parametrize("lock", LOCKS)
def test_who_opened_the_file_before_it_was_removed_holds_the_folder_all_the_same(
    lock, tmp_path, monkeypatch
):
    first = ExitStack()
    first.enter_context(lock(tmp_path))

    def flock(file, how):
        first.close()  # between our opening of the file and our locking of it
        return fcntl.flock(file, how)

    monkeypatch.setattr(folder_lock, "fcntl", type("", (), {**vars(fcntl), "flock": flock}))
    with lock(tmp_path):
        monkeypatch.undo()
        with pytest.raises(TagmaError, match=HELD), lock(tmp_path):
            pass


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_that_is_a_link_is_not_followed_and_a_pipe_is_not_waited_for(lock, tmp_path):
    path = tmp_path / LOCKS[lock]
    path.symlink_to(tmp_path / "made")
    with pytest.raises(TagmaError, match="cannot be locked"), lock(tmp_path):
        pass
    assert not (tmp_path / "made").exists()
    path.unlink()
    os.mkfifo(path)
    with lock(tmp_path):
        pass


def test_who_claims_a_folder_removes_what_was_half_written_and_nothing_else(tmp_path):
    hexes = "0123456789abcdef" * 2
    (tmp_path / "figures").mkdir()
    left = [f".metrics.json.{hexes}", f".report.html.{hexes}", f"figures/.error.svg.{hexes}"]
    kept = ["metrics.json", ".mine", f"{hexes}", ".config.0123"]
    elsewhere = tmp_path / "elsewhere" / f".notes.{hexes}"
    elsewhere.parent.mkdir()
    (tmp_path / "tables").symlink_to(elsewhere.parent)
    for name in (*left, *kept, elsewhere):
        (tmp_path / name).touch()
    with claimed(tmp_path):
        pass
    assert not any((tmp_path / name).exists() for name in left)
    assert all((tmp_path / name).exists() for name in (*kept, elsewhere))
