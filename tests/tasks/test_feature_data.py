import bz2
import gzip

import numpy as np
import pytest

from tagma.errors import SettingError
from tagma.tasks.feature_data import load_features

RANKING = b"""\
2 qid:1 1:0.5 3:0.25 7:1 # a comment
0 qid:1 3:0.75
1 qid:2 1:0.125 7:0.5
"""
MATRIX = [[0.5, 0.25, 1.0], [0.0, 0.75, 0.0], [0.125, 0.0, 0.5]]


@pytest.fixture
def write(tmp_path):
    """Write a file and return its name; names are new, because files are read once."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content)
        return str(path)

    return write


@pytest.fixture
def save(tmp_path):
    def save(**arrays):
        np.savez(tmp_path / "features.npz", **arrays)
        return str(tmp_path / "features.npz")

    return save


def refused(name, scaling="none"):
    with pytest.raises(SettingError) as caught:
        load_features(name, scaling)
    text = str(caught.value)
    assert text.startswith(f"task.data={name}: ")
    assert "\n" not in text
    return text


def test_digits_are_intensities_from_zero_to_one():
    features = load_features("digits")
    assert features.shape == (1797, 64)
    assert (features.min(), features.max()) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("name", "pack"),
    [("rank.txt", bytes), ("rank.txt.gz", gzip.compress), ("rank.bz2", bz2.compress)],
)
def test_ranking_lines_without_labels_queries_and_features_that_never_occur(write, name, pack):
    features = load_features(write(name, pack(RANKING)))
    assert features.dtype == np.float32
    assert features.tolist() == MATRIX


def test_a_huge_feature_number_takes_one_column(write):
    features = load_features(write("wide.txt", b"1 5:2 2000000000:3\n1 5:4\n"))
    assert features.tolist() == [[2.0, 3.0], [4.0, 0.0]]


def test_npz_has_a_matrix_called_x_or_a_single_one(save):
    assert load_features(save(X=np.eye(2), other=np.eye(3))).tolist() == [[1, 0], [0, 1]]


def test_npz_with_labels_beside_its_only_matrix(save):
    features = load_features(save(points=np.eye(3, dtype=np.uint8), labels=np.arange(3)))
    assert features.dtype == np.float32
    assert features.tolist() == np.eye(3).tolist()


def test_whole_numbers_beyond_single_precision_are_kept(save):
    assert load_features(save(X=np.array([[2**24 + 1], [0]])))[0, 0] == 2**24 + 1


@pytest.mark.parametrize("arrays", [{"a": np.eye(2), "b": np.eye(2)}, {"a": np.arange(3)}, {}])
def test_npz_without_a_definite_matrix_is_refused(save, arrays):
    assert "needs a matrix X or a single one" in refused(save(**arrays))


def test_npz_is_never_unpickled(save):
    assert "allow_pickle" in refused(save(X=np.array([[{}, {}]], dtype=object)))


@pytest.mark.parametrize("matrix", [np.eye(2) * 1j, np.array([["a", "b"], ["c", "d"]])])
def test_npz_of_something_else_than_real_numbers_is_refused(save, matrix):
    assert "not real numbers" in refused(save(X=matrix))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("words.txt", b"these are words\n"),
        ("columns.txt", b"1.0,2.0,3.0\n"),
        ("unsorted.txt", b"1 3:1 2:1\n1 1:1\n"),
        ("plain.txt.gz", RANKING),
        ("cut.txt.gz", gzip.compress(RANKING * 50)[:60]),
        ("damaged.txt.gz", gzip.compress(RANKING * 50)[:20] + bytes(40)),
        ("zip.npz", b"PK not a zip"),
        ("cut.npz", b"PK\x03\x04"),
        ("binary.txt", bytes(range(256))),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_of_another_format_is_refused_in_one_line(write, name, content):
    assert "cannot be read as" in refused(write(name, content))


def test_a_file_that_is_missing_or_a_folder_is_refused(tmp_path):
    assert "there is no such file" in refused(str(tmp_path / "none.txt"))
    assert "there is no such file" in refused(str(tmp_path))


def test_a_table_is_refused_by_its_name(write):
    assert "must be an npz or an svmlight file" in refused(write("table.csv", b"1,2\n3,4\n"))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_an_entry_that_is_not_finite_is_refused_with_its_row(save, bad):
    matrix = np.zeros((5000, 2))
    matrix[4998, 1] = bad
    assert "not finite, in row 4999" in refused(save(X=matrix))


def test_too_few_points_or_features_are_refused(write, save):
    assert "1 points with 2 features; too few" in refused(save(X=np.ones((1, 2))))
    assert "2 points with 0 features; too few" in refused(write("labels.txt", b"1\n2\n"))


SCALED = np.array([[1.0, 5.0, 0.1], [3.0, 5.0, 0.1], [2.0, 5.0, 0.1], [2.0, 5.0, 0.1]])


def test_standard_scaling_by_hand(save):
    features = load_features(save(X=SCALED), "standard")
    assert np.allclose(features, [[-(2**0.5), 0, 0], [2**0.5, 0, 0], [0, 0, 0], [0, 0, 0]])


def test_unit_scaling_by_hand(save):
    features = load_features(save(X=SCALED.astype(np.float32)), "unit")
    assert features.dtype == np.float32
    assert features.tolist() == [[0, 0, 0], [1, 0, 0], [0.5, 0, 0], [0.5, 0, 0]]


def test_a_matrix_is_read_once_and_nobody_can_change_it(save):
    name = save(X=np.eye(3))
    features = load_features(name, "none")
    assert load_features(name, "none") is features
    with pytest.raises(ValueError, match="read-only"):
        features[0, 0] = 7.0
