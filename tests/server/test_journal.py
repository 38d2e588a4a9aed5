"""What was appended before a mark is read back as it was, or it is said that it cannot be."""

import pytest

from tagma.server import journal as module
from tagma.server.journal import Journal, Mark

ENTRIES = [{"round": 1, "loss": 0.1}, {"round": 2, "loss": None}, {"round": 3, "name": "ä\n"}]
START = Mark()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rounds.jsonl"


def read_lines(path, mark):
    return list(module.read_lines(path, mark))


def written(path, entries, mark=START):
    """Append entries; the marks after each."""
    journal = Journal(path, mark)
    marks = []
    for entry in entries:
        journal.append(entry)
        marks.append(journal.mark)
    journal.close()
    return marks


def test_every_mark_gives_the_entries_before_it(path):
    marks = written(path, ENTRIES)
    assert path.read_bytes().count(b"\n") == 3
    assert read_lines(path, START) == []
    for number, mark in enumerate(marks, 1):
        assert read_lines(path, mark) == ENTRIES[:number]


def test_what_is_flushed_is_there_though_the_journal_is_never_closed(path):
    journal = Journal(path, START)
    journal.append(ENTRIES[0])
    journal.flush(to_disk=False)
    assert read_lines(path, journal.mark) == ENTRIES[:1]
    journal.close()


@pytest.mark.parametrize("torn", [0, 1, 10])
def test_writing_goes_on_from_a_mark_and_cuts_off_what_came_after_it(path, torn):
    first, *_ = written(path, ENTRIES)
    path.write_bytes(path.read_bytes()[: len(path.read_bytes()) - torn])
    *_, last = written(path, [{"round": 2, "loss": 5}], first)
    assert read_lines(path, last) == [ENTRIES[0], {"round": 2, "loss": 5}]
    assert path.stat().st_size == last.length


def test_a_journal_of_another_run_is_not_continued_by_mistake(path):
    mark = written(path, [{"round": 1, "loss": 0.2}])[-1]
    written(path, [{"round": 1, "loss": 0.3}])
    assert path.stat().st_size == mark.length
    with pytest.raises(ValueError, match=r"rounds\.jsonl is not what was written"):
        read_lines(path, mark)


@pytest.mark.parametrize("where", [0, 20, -1])
def test_one_changed_byte_before_the_mark_is_noticed(path, where):
    mark = written(path, ENTRIES)[-1]
    content = bytearray(path.read_bytes())
    content[where] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not what was written"):
        read_lines(path, mark)


@pytest.mark.parametrize("length", [-1, 5, 10**18])
def test_a_mark_that_is_nowhere_in_the_file_is_noticed(path, length):
    checksum = written(path, ENTRIES)[-1].checksum
    with pytest.raises(ValueError, match="not what was written"):
        read_lines(path, Mark(length, checksum))


def test_a_journal_that_fills_the_memory_is_not_read(path):
    mark = written(path, ENTRIES)[-1]
    with path.open("r+b") as file:
        file.truncate(2**43)
    with pytest.raises(ValueError, match="bytes, more than"):
        read_lines(path, Mark(2**43, mark.checksum))


def test_a_line_that_would_fill_the_memory_is_not_parsed(path, monkeypatch):
    monkeypatch.setattr(module, "_LONGEST", 20)
    mark = written(path, [{"a": 1}, {"a": "x" * 20}])[-1]
    with pytest.raises(ValueError, match="a line of 29 bytes"):
        read_lines(path, mark)
