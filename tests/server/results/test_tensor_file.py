"""Files of arrays: what safetensors reads and writes, in no more memory than the arrays take."""

import tracemalloc

import numpy as np
import pytest
from safetensors.numpy import load_file, save

from tagma.server.results.tensor_file import write_tensors


def test_real_numbers_are_written_as_the_package_writes_them(tmp_path):
    source = np.random.default_rng(0)
    tensors = {
        "models": source.normal(size=(3, 7)),
        "0/weight": source.normal(size=(5, 2)).astype(np.float32),
        '0/a "name" of Ü': source.normal(size=4),
        "empty": np.zeros((0, 3), np.float32),
        "half": np.ones(3, np.float16),
    }
    write_tensors(tmp_path / "x", tensors, {"format": "np"})
    assert (tmp_path / "x").read_bytes() == save(tensors, {"format": "np"})


@pytest.mark.parametrize(
    "dtype", ["f2", "f4", "f8", ">f8", "i1", "i2", "i4", "i8", "u1", "u4", "?"]
)
def test_what_is_written_is_read(dtype, tmp_path):
    table = np.arange(12).reshape(3, 4).astype(dtype)
    tensors = {"one": np.array(1, dtype), "table": table, "turned": table.T, "part": table[:, 1:3]}
    write_tensors(tmp_path / "x", {"long": np.ones(1), **tensors}, {"format": "np"})
    found = load_file(tmp_path / "x")
    assert found.keys() == {"long", *tensors}
    for name, array in tensors.items():
        np.testing.assert_array_equal(found[name], array)


def test_large_arrays_are_not_held_twice(tmp_path):
    models = np.zeros((2, 500_000), np.float32)
    tensors = {"models": models, **{f"{k}/all": row for k, row in enumerate(models)}}
    tracemalloc.start()
    write_tensors(tmp_path / "x", tensors, {"format": "np"})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.1 * models.nbytes
