import numpy as np
import pytest
from PIL import Image

from tagma.errors import SettingError
from tagma.tasks.data.image_files import read_images

RANDOM = np.random.default_rng(0)


def pixels(*shape):
    return RANDOM.integers(0, 256, shape, dtype=np.uint8)


def test_digits_come_with_scikit_learn():
    examples = read_images("digits")
    assert examples.shape == (1, 8, 8)
    assert len(examples) == 1797
    assert examples.take(np.arange(5))[0].max() <= 1
    assert examples.held_out is None


@pytest.mark.parametrize(
    ("names", "shape", "seen"),
    [
        (("inputs", "targets"), (6, 4, 5), (1, 4, 5)),
        (("x_train", "y_train"), (6, 4, 5, 3), (3, 4, 5)),
        (("train_images", "train_labels"), (6, 3, 4, 5), (3, 4, 5)),
        (("X", "y"), (6, 4, 5, 1), (1, 4, 5)),
    ],
)
def test_npz_files_under_the_names_that_people_use(tmp_path, names, shape, seen):
    images = pixels(*shape)
    np.savez(tmp_path / "a.npz", **{names[0]: images, names[1]: np.arange(6) % 2})
    examples = read_images(str(tmp_path / "a.npz"))
    assert examples.shape == seen
    assert examples.inputs.dtype == np.uint8
    first, _ = examples.take(np.array([0]))
    assert first.sum() == pytest.approx(images[0].sum() / 255, rel=1e-5)


def test_a_test_set_in_an_npz_file_is_held_out(tmp_path):
    np.savez(
        tmp_path / "b.npz", x_train=pixels(4, 2, 2), y_train=[0, 1, 0, 1],
        x_test=pixels(2, 2, 2), y_test=[[1], [0]],
    )  # fmt: skip
    examples = read_images(str(tmp_path / "b.npz"))
    assert examples.held_out.tolist() == [4, 5]
    assert examples.targets.tolist() == [0, 1, 0, 1, 1, 0]


def test_numbers_stay_as_they_are(tmp_path):
    images = RANDOM.normal(size=(4, 2, 2))
    np.savez(tmp_path / "c.npz", inputs=images, targets=["b", "a", "a", "b"])
    examples = read_images(str(tmp_path / "c.npz"))
    assert examples.classes == ("a", "b")
    assert np.allclose(examples.take(np.arange(4))[0][:, 0], images, atol=1e-7)


def pictures(folder, classes=("cat", "dog"), size=(5, 4), mode="RGB", count=3):
    for name in classes:
        (folder / name).mkdir(parents=True)
        for number in range(count):
            image = Image.fromarray(pixels(size[1], size[0], 3)).convert(mode)
            image.save(folder / name / f"{number}.png")


@pytest.mark.parametrize(("mode", "channels"), [("RGB", 3), ("L", 1), ("P", 3)])
def test_a_folder_of_images_for_each_class(tmp_path, mode, channels):
    pictures(tmp_path / "all", mode=mode)
    (tmp_path / "all" / "notes.txt").write_text("not a class")
    (tmp_path / "all" / "cat" / ".hidden").write_text("not an image")
    examples = read_images(str(tmp_path / "all"))
    assert examples.shape == (channels, 4, 5)
    assert examples.classes == ("cat", "dog")
    assert examples.targets.tolist() == [0, 0, 0, 1, 1, 1]
    assert examples.held_out is None


def test_folders_train_and_test_are_what_they_say(tmp_path):
    pictures(tmp_path / "d" / "train")
    pictures(tmp_path / "d" / "test", count=1)
    assert read_images(str(tmp_path / "d")).held_out.tolist() == [6, 7]


def test_hidden_folders_are_no_classes(tmp_path):
    for part in ("train", "test"):
        pictures(tmp_path / "d" / part, count=1)
        (tmp_path / "d" / part / ".cache").mkdir()
    (tmp_path / "d" / ".cache").mkdir()
    examples = read_images(str(tmp_path / "d"))
    assert examples.held_out.tolist() == [2, 3]
    assert examples.classes == ("cat", "dog")


def test_images_of_16_bits_keep_their_shades(tmp_path):
    shades = np.array([[0, 256, 300], [0x7FFF, 0xFF00, 0xFFFF]], dtype=np.uint16)
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        Image.fromarray(shades).save(tmp_path / name / "0.png")
    examples = read_images(str(tmp_path))
    assert examples.inputs[1].tolist() == [[[0, 1, 1], [127, 255, 255]]]


def broken(folder, name, content):
    (folder / "cat" / name).write_bytes(content)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda f: broken(f, "9.png", b"nothing"), "cat/9.png is not an image"),
        (lambda f: Image.new("RGB", (9, 9)).save(f / "cat" / "9.png"), "has 9 x 9 pixels"),
        (lambda f: [p.unlink() for p in f.glob("*/*")], "no folder of images for each class"),
        (lambda f: [p.unlink() for p in f.glob("dog/*")], "there is only one class, cat"),
        (
            lambda f: broken(f, "9.png", (f / "cat" / "0.png").read_bytes()[:60]),
            "cat/9.png is not an image",
        ),
        (
            lambda f: Image.fromarray(np.ones((4, 5), np.float32)).save(f / "cat" / "9.tiff"),
            "cat/9.tiff .* mode F",
        ),
    ],
)
def test_what_is_wrong_in_a_folder_is_said_in_one_line(tmp_path, spoil, said):
    pictures(tmp_path)
    spoil(tmp_path)
    with pytest.raises(SettingError, match=said) as caught:
        read_images(str(tmp_path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"a": np.zeros(3)}, "needs inputs and targets, has a"),
        ({"inputs": np.zeros((3, 2, 2)), "targets": [0, 1]}, "3 images and 2 labels"),
        ({"inputs": np.zeros((2, 2)), "targets": [0, 1]}, "must be height x width"),
        ({"inputs": np.full((2, 2, 2), np.nan), "targets": [0, 1]}, "not finite"),
        ({"inputs": np.full((2, 2, 2), 300), "targets": [0, 1]}, "must hold bytes"),
        ({"inputs": np.full((2, 2, 2), 1e37), "targets": [0, 1]}, "too large"),
        ({"inputs": np.full((2, 2, 2), 1e300), "targets": [0, 1]}, "too large"),
        ({"inputs": np.zeros((2, 0, 2)), "targets": [0, 1]}, "have no pixels"),
        ({"inputs": np.zeros((2, 2, 2)), "targets": [0, np.nan]}, "class of row 2 is not finite"),
        ({"inputs": np.zeros((2, 2, 2)), "targets": [0, 1j]}, "numbers or text, not complex"),
        ({"inputs": np.zeros((2, 2, 2)), "targets": [b"a", b"b"]}, "numbers or text, not"),
        (
            {"x_train": np.zeros((2, 2, 2)), "y_train": [0, 1]}
            | {"x_test": np.zeros((2, 2, 3)), "y_test": [0, 1]},
            r"\(1, 2, 2\) and float32 of shape \(1, 2, 3\), not alike",
        ),
        (
            {"x_train": np.zeros((2, 2, 2), np.uint8), "y_train": [0, 1]}
            | {"x_test": np.zeros((2, 2, 2)), "y_test": [0, 1]},
            "images are uint8 of .* and float32 of .* not alike",
        ),
        ({"inputs": np.zeros((2, 2, 2)), "targets": np.array([0, {}], object)}, "cannot be read"),
    ],
)
def test_what_is_wrong_in_an_npz_file_is_said_in_one_line(tmp_path, arrays, said):
    np.savez(tmp_path / "w.npz", **arrays)
    with pytest.raises(SettingError, match=said) as caught:
        read_images(str(tmp_path / "w.npz"))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_none(tmp_path):
    for name in ("missing", "text.npz", "text.csv"):
        if name != "missing":
            (tmp_path / name).write_text("no images")
        with pytest.raises(SettingError, match="cannot be read as images"):
            read_images(str(tmp_path / name))
