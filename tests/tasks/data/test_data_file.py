"""Data files that never end, stand for more than there is room for, or would start a program."""

import gzip
import os
import signal

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import parquet

from tagma.errors import TagmaError
from tagma.tasks.data import data_file
from tagma.tasks.data.image_files import read_images
from tagma.tasks.data.new_examples import read_examples
from tagma.tasks.data.table_source import table_of
from tagma.tasks.feature_data import load_features

READERS = {
    "a.npz": [read_images, table_of, load_features, lambda path: read_examples(path, None)],
    "a.csv": [table_of],
    "a.csv.gz": [table_of],
    "a.parquet": [table_of],
    "a.txt": [table_of, load_features],
}


@pytest.fixture
def little_room(monkeypatch):
    """Half a megabyte."""
    monkeypatch.setattr("tagma.tasks.data.data_file.room", lambda: 2**19)


@pytest.fixture
def no_waiting():
    """Whoever waits for a pipe is interrupted."""
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it waits"))
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("device", ["pipe", "/dev/zero", "folder"])
def test_what_is_no_file_is_one_line_at_once(name, device, tmp_path, no_waiting):
    path = tmp_path / name
    if device == "pipe":
        os.mkfifo(path)
    elif device == "folder":
        path.mkdir()
    else:
        path.symlink_to(device)
    for read in READERS[name]:
        with pytest.raises(TagmaError) as caught:
            read(str(path))
        assert "\n" not in str(caught.value)


def of_one_text(path):
    column = pa.array(["x" * 500] * 50_000).dictionary_encode()
    parquet.write_table(pa.table({"text": column}), path)


def of_many_rows(path):
    parquet.write_table(pa.table({"a": np.zeros(200_000, np.int8)}), path)


SMALL_BUT = {
    "many.csv.gz": lambda path: path.write_bytes(gzip.compress(b"a,b\n" + b"0,1\n" * 200_000)),
    "many.txt.gz": lambda path: path.write_bytes(gzip.compress(b"1 1:1 2:1\n" * 60_000)),
    "wide.txt": lambda path: path.write_text("1 900000:1\n0 1:1\n" * 5),
    "text.parquet": of_one_text,
    "rows.parquet": of_many_rows,
    "packed.npz": lambda path: np.savez_compressed(
        path, inputs=np.zeros((40_000, 2)), targets=np.zeros(40_000)
    ),
}


@pytest.mark.parametrize("name", SMALL_BUT)
def test_small_files_that_stand_for_much_are_one_line(name, tmp_path, little_room):
    path = tmp_path / name
    SMALL_BUT[name](path)
    assert path.stat().st_size < 2**17
    with pytest.raises(TagmaError, match=r"would take \d+ bytes, and there is room for 524288"):
        table_of(str(path))


def test_an_idx_file_that_announces_more_than_there_is_room_for_is_one_line(tmp_path, little_room):
    header = b"\0\0\x08\x03" + (1000).to_bytes(4) * 3
    (tmp_path / "train-images.gz").write_bytes(gzip.compress(header + bytes(100)))
    (tmp_path / "train-labels").write_bytes(b"\0\0\x08\x01\0\0\0\x01\0")
    with pytest.raises(TagmaError, match="it would take 1000000000 bytes"):
        read_images(str(tmp_path))


def test_pictures_that_there_is_no_room_for_are_one_line(tmp_path, little_room):
    for name in "abc":
        (tmp_path / name).mkdir()
        Image.new("L", (400, 400)).save(tmp_path / name / "1.png")
    with pytest.raises(TagmaError, match="it would take 640000 bytes"):
        read_images(str(tmp_path))


def test_a_picture_for_which_a_program_would_be_started_is_none(tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr("subprocess.Popen", lambda *words, **_: started.append(words))
    monkeypatch.setattr("subprocess.check_call", lambda *words, **_: started.append(words))
    for name in "ab":
        (tmp_path / name).mkdir()
        Image.new("L", (4, 4)).save(tmp_path / name / "1.eps")
    with pytest.raises(TagmaError, match="is not an image that can be used"):
        read_images(str(tmp_path))
    assert not started


def test_what_is_packed_is_read_as_it_was(tmp_path):
    content = bytes(range(256)) * 10_000
    (tmp_path / "a.gz").write_bytes(gzip.compress(content))
    with data_file.opened(tmp_path / "a.gz") as file:
        assert file.read() == content
