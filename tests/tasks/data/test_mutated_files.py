"""Files of data with some bytes changed: they are read, or refused in one line."""

import gzip
import io
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st
from PIL import Image
from pyarrow import csv, parquet

from tagma.tasks.data.image_files import _pairs as pairs
from tagma.tasks.data.image_files import labelled
from tagma.tasks.data.new_examples import read_examples
from tagma.tasks.data.table_source import table_of
from tagma.tasks.feature_data import _read as features_of
from tests.mutations import EXAMPLES, mutated, tried

RANDOM = np.random.default_rng(0)
TABLE = pa.table(
    {"age": [21, 35, None, 60], "dose": [0.5, 1.0, 2.5, 1e9], "hospital": ["a", "b", "", "é"],
     "ill": [True, False, True, None]}
)  # fmt: skip


def _bytes(write):
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def _npz(compression):
    arrays = {"inputs": RANDOM.normal(size=(5, 3)), "targets": np.array([0, 1, 0, 1, 1])}
    plain = _bytes(lambda file: np.savez(file, **arrays))
    found = io.BytesIO()
    source = zipfile.ZipFile(io.BytesIO(plain))
    with zipfile.ZipFile(found, "w", compression) as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
    return found.getvalue()


CSV = _bytes(lambda file: csv.write_csv(TABLE, file))
SVMLIGHT = b"1 qid:1 1:0.5 3:2 # a\n0 qid:1 2:1e3\n-1 qid:2 1:1 2:2 3:3\n"
TABLES = {
    "a.csv": CSV,
    "b.tsv": CSV.replace(b",", b"\t"),
    "c.csv.gz": gzip.compress(CSV),
    "d.parquet": _bytes(lambda file: parquet.write_table(TABLE, file)),
    "e.parquet": _bytes(lambda file: parquet.write_table(TABLE, file, compression="zstd")),
    "f.npz": _npz(zipfile.ZIP_STORED),
    "g.npz": _npz(zipfile.ZIP_DEFLATED),
    "h.txt": SVMLIGHT,
    "i.txt.gz": gzip.compress(SVMLIGHT),
}
IDX = {
    "train-images-idx3-ubyte": b"\0\0\x08\x03\0\0\0\x03\0\0\0\x02\0\0\0\x02" + bytes(range(12)),
    "train-labels-idx1-ubyte": b"\0\0\x08\x01\0\0\0\x03\0\1\0",
}
PICTURE = Image.fromarray(np.arange(48, dtype=np.uint8).reshape(4, 4, 3))
PICTURES = {
    kind: _bytes(lambda file, kind=kind: PICTURE.save(file, kind))
    for kind in ("PNG", "JPEG", "TIFF", "BMP", "GIF", "WEBP", "PPM")
}
DAMAGED = st.sampled_from([*PICTURES.values()]).flatmap(mutated)


@EXAMPLES
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("read", [table_of, lambda path: read_examples(path, None), features_of])
def test_any_table_is_read_or_refused_in_one_line(read, name, examples, tmp_path):
    def each(content):
        (tmp_path / name).write_bytes(content)
        read(str(tmp_path / name))

    tried(mutated(TABLES[name]), 10 * examples, each)


@EXAMPLES
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", IDX)
def test_any_idx_file_is_read_or_refused_in_one_line(name, packed, examples, tmp_path):
    for each, content in IDX.items():
        (tmp_path / each).write_bytes(content)
    path = tmp_path / name
    if packed:
        path.unlink()
        path = path.with_name(f"{name}.gz")

    def each(content):
        path.write_bytes(content)
        images(str(tmp_path))

    whole = gzip.compress(IDX[name]) if packed else IDX[name]
    tried(mutated(whole), 25 * examples, each)


@EXAMPLES
def test_any_npz_of_images_is_read_or_refused_in_one_line(examples, tmp_path):
    arrays = {"x_train": np.ones((4, 3, 3), np.uint8), "y_train": np.array([0, 1, 0, 1])}

    def each(content):
        (tmp_path / "a.npz").write_bytes(content)
        images(str(tmp_path / "a.npz"))

    tried(mutated(_bytes(lambda file: np.savez(file, **arrays))), 50 * examples, each)


@EXAMPLES
def test_any_picture_is_read_or_refused_in_one_line(examples, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        PICTURE.save(tmp_path / name / "1.png")

    def each(content):
        (tmp_path / "b/2.png").write_bytes(content)
        images(str(tmp_path))

    tried(DAMAGED, 50 * examples, each)


def images(path):
    """Read anew, as `task.data` is."""
    return labelled(path, pairs(path), None)
