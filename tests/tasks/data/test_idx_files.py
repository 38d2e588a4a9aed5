import gzip
import struct

import numpy as np
import pytest

from tagma.errors import SettingError
from tagma.tasks.data.idx_files import read_idx, read_idx_folder
from tagma.tasks.data.image_files import read_images


def idx(array, kind=8):
    shape = struct.pack(f">{array.ndim}I", *array.shape)
    big = array.astype(array.dtype.newbyteorder(">"))
    return bytes([0, 0, kind, array.ndim]) + shape + big.tobytes()


IMAGES = np.arange(24, dtype=np.uint8).reshape(4, 2, 3)
LABELS = np.array([7, 3, 3, 7], np.uint8)


def write(folder, name, content):
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)


def test_images_and_labels_are_read_whole_or_compressed(tmp_path):
    write(tmp_path, "train-images-idx3-ubyte", idx(IMAGES))
    write(tmp_path, "train-labels-idx1-ubyte.gz", idx(LABELS))
    found = read_idx_folder(tmp_path)
    assert list(found) == ["train"]
    assert np.array_equal(found["train"][0], IMAGES)
    assert found["train"][1].tolist() == [7, 3, 3, 7]


def test_numbers_of_more_bytes_come_in_the_order_of_this_machine(tmp_path):
    write(tmp_path, "x", idx(np.array([[1, -70000]], np.int32), 12))
    found = read_idx(tmp_path / "x")
    assert found.tolist() == [[1, -70000]]
    assert found.dtype.isnative


def test_a_folder_is_a_task_with_its_own_test_set(tmp_path):
    for part, count in (("train", 4), ("t10k", 2)):
        write(tmp_path, f"{part}-images-idx3-ubyte", idx(IMAGES[:count]))
        write(tmp_path, f"{part}-labels-idx1-ubyte", idx(LABELS[:count]))
    examples = read_images(str(tmp_path))
    assert examples.classes == ("3", "7")
    assert examples.targets.tolist() == [1, 0, 0, 1, 1, 0]
    assert examples.held_out.tolist() == [4, 5]
    assert examples.shape == (1, 2, 3)
    inputs, _ = examples.take(np.array([3]))
    assert np.allclose(inputs[0, 0], IMAGES[3] / 255)


@pytest.mark.parametrize(
    "content",
    [b"", b"\0\0", b"\x89PNG....", b"\0\0\x08\x09", b"\0\0\x08\x00",
     idx(IMAGES)[:-1], idx(IMAGES) + b"x", bytes([0, 0, 8, 2]) + b"\xff" * 8,
     bytes([0, 0, 8, 3]) + b"\0\0"],
)  # fmt: skip
def test_anything_else_is_an_error_of_one_line_and_takes_no_memory(tmp_path, content):
    write(tmp_path, "train-images", content)
    write(tmp_path, "train-labels", idx(LABELS))
    with pytest.raises(SettingError, match=r"^task\.data=.*cannot be read as images: ") as caught:
        read_images(str(tmp_path))
    assert "\n" not in str(caught.value)


def test_as_many_labels_as_images(tmp_path):
    write(tmp_path, "train-images", idx(IMAGES))
    write(tmp_path, "train-labels", idx(LABELS[:3]))
    with pytest.raises(SettingError, match="4 images and"):
        read_images(str(tmp_path))
