"""Arrays and JSON come out of a state file as they went in; a changed byte is noticed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load, save

from tagma.server.state_file import sealed, unsealed

ARRAYS = {
    "models": np.arange(6.0).reshape(2, 3),
    "labels": np.array([1, 0]),
    "trimmed": np.array([True, False, True]),
    "none": np.empty((0, 4), dtype=np.float32),
    "number": np.array(2.5),
    '"crc32":"ffffffff"': np.ones(1),
}
ABOUT = {"words": ["a", 'b"crc32":"12345678"'], "number": 0.1, "nothing": None}
CONTENT = b"".join(sealed(ARRAYS, ABOUT))


def test_arrays_and_json_come_out_as_they_went_in():
    arrays, about = unsealed(CONTENT)
    assert about == ABOUT
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert np.array_equal(arrays[name], array)
        assert arrays[name].shape == array.shape


def test_it_is_a_file_that_others_can_read():
    assert np.array_equal(load(CONTENT)["models"], ARRAYS["models"])


def test_a_transposed_array_is_stored_as_it_looks():
    arrays, _ = unsealed(b"".join(sealed({"a": ARRAYS["models"].T}, None)))
    assert np.array_equal(arrays["a"], ARRAYS["models"].T)


@given(st.integers(0, len(CONTENT) - 1), st.integers(1, 255))
def test_any_changed_byte_is_noticed(place, change):
    damaged = bytearray(CONTENT)
    damaged[place] ^= change
    with pytest.raises(ValueError, match="checksum"):
        unsealed(bytes(damaged))


@given(st.integers(0, len(CONTENT) - 1))
def test_a_torn_file_is_noticed(length):
    with pytest.raises(ValueError, match="checksum"):
        unsealed(CONTENT[:length])


@pytest.mark.parametrize(
    "content", [b"", b"\x80\x04pickle", b"\x00" * 64, CONTENT + b"x", save(ARRAYS)]
)
def test_what_is_no_state_file_is_noticed(content):
    with pytest.raises(ValueError, match="checksum"):
        unsealed(content)
