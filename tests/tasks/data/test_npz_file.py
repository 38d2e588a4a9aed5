import zipfile

import numpy as np
import pytest

from tagma.errors import SettingError
from tagma.tasks.data.image_files import read_images
from tagma.tasks.data.npz_file import open_npz
from tagma.tasks.data.table_source import read_table


def written(path, compression=zipfile.ZIP_STORED, header=None):
    arrays = path.with_name("plain.npz")
    np.savez(arrays, inputs=np.ones((40, 3, 3)), targets=np.arange(40) % 2)
    with zipfile.ZipFile(arrays) as plain, zipfile.ZipFile(path, "w", compression) as file:
        for name in plain.namelist():
            content = plain.read(name)
            if header is not None:
                content = content.replace(*header)
            file.writestr(name, content)
    return path


def encrypted(path):
    content = bytearray(written(path).read_bytes())
    for start, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        place = content.find(start)
        while place >= 0:
            content[place + flags] |= 1
            place = content.find(start, place + 4)
    path.write_bytes(content)


def corrupt(path):
    content = bytearray(written(path, zipfile.ZIP_LZMA).read_bytes())
    content[60:80] = b"\xff" * 20
    path.write_bytes(content)


def unclosed(path):
    written(path, header=(b"), }", b" , }"))


def of_another_version(path):
    content = written(path).read_bytes()
    path.write_bytes(content.replace(b"PK\1\2\x14\3\x14", b"PK\1\2\x14\3\xff"))


@pytest.mark.parametrize("spoil", [encrypted, corrupt, unclosed, of_another_version])
@pytest.mark.parametrize("read", [read_images, read_table])
def test_a_damaged_file_is_one_clear_line(tmp_path, read, spoil):
    spoil(tmp_path / "x.npz")
    with pytest.raises(SettingError, match=r"^task\.data=.*x\.npz: cannot be read as") as caught:
        read(str(tmp_path / "x.npz"))
    assert "\n" not in str(caught.value)


def test_the_same_file_is_read_when_it_is_whole(tmp_path):
    path = written(tmp_path / "x.npz", zipfile.ZIP_LZMA)
    assert len(read_images(str(path))) == 40


def test_what_is_no_npz_file_is_not_called_a_pickle(tmp_path):
    path = tmp_path / "text.npz"
    path.write_text("hello")
    with pytest.raises(ValueError, match="it is no npz file"):
        open_npz(path)
