"""Labelled images: a folder of IDX files, one with a folder of images per class, or an npz file.

- IDX: `train-images*` and `train-labels*`, and `t10k-*` for tests, as MNIST has them.
- A folder per class: PNG, JPEG, TIFF and other pictures, all of one size. If there is nothing but
  `train` and `test` at the top, these hold the classes. The first image says whether they have
  colours.
- npz: `inputs` and `targets`, or names that others use (`x_train`, `train_images`, `X`, ...), with
  those of a test set beside them. Shape (N, height, width), or with channels first or last. Nothing
  is unpickled.

Bytes stay bytes. A source is read once in a process.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from tagma.arrays import Labels
from tagma.errors import SettingError
from tagma.kept import kept
from tagma.tasks.data.data_file import check_size
from tagma.tasks.data.examples import LARGEST, Examples, classes_of
from tagma.tasks.data.idx_files import is_idx_folder, read_idx_folder
from tagma.tasks.data.npz_file import DAMAGED, open_npz

KEY = "task.data"
DIGITS = "digits"
"""scikit-learn's: 1797 images of 8 x 8 pixels."""
_PARTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "train": (
        ("inputs", "x_train", "train_images", "images", "X_train", "X", "x"),
        ("targets", "y_train", "train_labels", "labels", "Y_train", "y", "Y"),
    ),
    "test": (
        ("test_inputs", "x_test", "test_images", "X_test"),
        ("test_targets", "y_test", "test_labels", "Y_test"),
    ),
}
"""What arrays of an npz file are called: images, labels."""
_MOST_PIXELS = 2**24
"""Of one image in a folder."""
_FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "GIF", "WEBP", "PPM", "JPEG2000", "TGA", "PCX", "ICO")
"""That Pillow reads by itself: for others, such as EPS, it starts programs."""
_CHANNELS = (1, 3, 4)
Pairs = dict[str, tuple[NDArray[Any], Any]]
"""Images and labels by part, `train` and maybe `test`."""


@kept(maxsize=8)
def read_images(data: str, classes: tuple[str, ...] | None = None) -> Examples:
    """The images that `task.data` names; of these classes, where they are known."""
    if data == DIGITS:
        images, targets = _digits()
        return Examples(images, targets, tuple("0123456789"), scale=16.0)
    return labelled(data, _pairs(data), classes)


def images_of(data: str) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """All images of a source, shape (N, channels, height, width), and their labels, if any."""
    if data == DIGITS:
        return _digits()
    pairs = _pairs(data, unlabelled=True)
    labels = [part for _, part in pairs.values() if part is not None]
    images = np.concatenate([channels_first(part) for part, _ in pairs.values()])
    return images, np.concatenate(labels).reshape(-1) if len(labels) == len(pairs) else None


def _digits() -> tuple[NDArray[Any], NDArray[Any]]:
    found = load_digits()
    return found.images.astype(np.uint8)[:, None], found.target.astype(np.int64)


def _pairs(data: str, *, unlabelled: bool = False) -> Pairs:
    """What is there; labels are None where there may be none and there are none."""
    path = Path(data).expanduser()
    try:
        if path.is_dir():
            if is_idx_folder(path):
                return read_idx_folder(path)
            return _loose(path) if unlabelled and not _has_folders(path) else _folders(path)
        if path.suffix == ".npz" and path.exists():
            return _npz(path, unlabelled)
        if path.exists():
            raise ValueError("must be a folder or an npz file")
        raise ValueError("there is no such folder or file; or use digits")
    except MemoryError as error:
        raise SettingError(KEY, data, f"does not fit into memory ({error})") from None
    except DAMAGED as error:
        reason = " ".join(str(error).split())
        raise SettingError(KEY, data, f"cannot be read as images: {reason}") from None


def labelled(data: str, pairs: Pairs, known: tuple[str, ...] | None) -> Examples:
    """Training and test images, one after the other."""
    images = _joined(data, [channels_first(part) for part, _ in pairs.values()])
    labels = np.concatenate([np.asarray(part).reshape(-1) for _, part in pairs.values()])
    if len(images) != len(labels) or not len(images):
        raise SettingError(KEY, data, f"has {len(images)} images and {len(labels)} labels")
    if images.dtype.kind == "f" and not -LARGEST <= images.min() <= images.max() <= LARGEST:
        raise SettingError(KEY, data, "holds numbers that are not finite, or too large")
    targets, classes = classes_of(labels, KEY, data, known)
    held_out: Labels | None = None
    if "test" in pairs:
        held_out = np.arange(len(pairs["train"][1]), len(labels))
    scale = 255.0 if images.dtype == np.uint8 else 1.0
    return Examples(images, targets, classes, scale=scale, held_out=held_out)


def _joined(data: str, parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Training and test images as one array."""
    if len({(part.shape[1:], part.dtype) for part in parts}) > 1:
        kinds = " and ".join(f"{part.dtype} of shape {part.shape[1:]}" for part in parts)
        raise SettingError(KEY, data, f"training and test images are {kinds}, not alike")
    if not all(parts[0].shape[1:]):
        raise SettingError(KEY, data, f"images of shape {parts[0].shape[1:]} have no pixels")
    return np.concatenate(parts)


def channels_first(images: NDArray[Any]) -> NDArray[Any]:
    """Shape (N, channels, height, width)."""
    if images.dtype.kind == "f":
        with np.errstate(over="ignore"):  # the infinite ones are refused
            images = images.astype(np.float32, copy=False)
    elif images.dtype != np.uint8:
        if (
            images.dtype.kind not in "iub"
            or images.min(initial=0) < 0
            or images.max(initial=0) > 255
        ):
            said = "images must hold bytes (whole numbers from 0 to 255) or fractions"
            raise SettingError(KEY, str(images.dtype), said)
        images = images.astype(np.uint8)
    if images.ndim == 3:
        return images[:, None]
    if images.ndim != 4:
        said = f"images of shape {images.shape[1:]}"
        raise SettingError(KEY, said, "must be height x width, with or without channels")
    if images.shape[3] in _CHANNELS:  # as pictures are stored; torch has them first
        return np.ascontiguousarray(np.moveaxis(images, 3, 1))
    return images


def _npz(path: Path, unlabelled: bool = False) -> Pairs:
    found: Pairs = {}
    with open_npz(path) as file:
        for part, names in _PARTS.items():
            chosen = [next((n for n in same if n in file.files), None) for same in names]
            if all(chosen):
                found[part] = file[str(chosen[0])], file[str(chosen[1])]
            elif chosen[0] and unlabelled:
                found[part] = file[chosen[0]], None
            elif part == "train":
                known = ", ".join(file.files[:8]) or "nothing"
                raise ValueError(f"needs inputs and targets, has {known}")
    return found


def _folders(folder: Path) -> Pairs:
    top = sorted(each.name for each in folder.iterdir() if _is_class(each))
    if top == ["test", "train"]:
        return {part: _classes(folder / part) for part in ("train", "test")}
    return {"train": _classes(folder)}


def _has_folders(folder: Path) -> bool:
    return any(_is_class(each) for each in folder.iterdir())


def _is_class(path: Path) -> bool:
    return path.is_dir() and not path.name.startswith(".")


def _loose(folder: Path) -> Pairs:
    """The images in a folder, by their names, of which nobody knows the classes."""
    files = sorted(each for each in folder.iterdir() if each.is_file() and each.name[0] != ".")
    images: list[NDArray[Any]] = []
    for file in files:
        images.append(_image(file, images[0] if images else None))
        check_size(2 * len(images) * images[0].nbytes)
    if not images:
        raise ValueError("holds no images")
    return {"train": (np.array(images), None)}


def _classes(folder: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    """The images of all classes; the first of them says size and colours."""
    images: list[NDArray[Any]] = []
    labels = []
    for name, file in _files(folder):
        image = _image(file, images[0] if images else None)
        images.append(image)
        labels.append(name)
        check_size(2 * len(images) * image.nbytes)
    if not images:
        raise ValueError(f"{folder.name} holds no folder of images for each class")
    return np.array(images), np.array(labels)


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for each in sorted(folder.iterdir()):
        if _is_class(each):
            for file in sorted(each.iterdir()):
                if file.is_file() and not file.name.startswith("."):
                    yield each.name, file


def _image(file: Path, like: NDArray[Any] | None) -> NDArray[Any]:
    try:
        found = _pixels(file, None if like is None else like.ndim == 3)
    except MemoryError:
        raise
    except Exception as error:  # whatever the decoder of a format thinks of a damaged file
        said = f"is not an image that can be used ({error})"
        raise ValueError(f"{file.parent.name}/{file.name} {said}") from None
    if like is not None and found.shape != like.shape:
        sizes = [f"{shape[1]} x {shape[0]}" for shape in (found.shape, like.shape)]
        raise ValueError(
            f"{file.parent.name}/{file.name} has {sizes[0]} pixels, the first {sizes[1]}"
        )
    return found


def _pixels(file: Path, colours: bool | None) -> NDArray[Any]:
    """Bytes; with colours, or without, or as the image says."""
    from PIL import Image

    with Image.open(file, formats=_FORMATS) as opened:
        image: Image.Image = opened
        if image.width * image.height > _MOST_PIXELS:
            raise ValueError(f"it has {image.width} x {image.height} pixels")
        if image.mode in ("I", "F"):
            raise ValueError(f"its pixels are of mode {image.mode}, and must have 8 or 16 bits")
        if deep := image.mode.startswith("I;16"):  # which Pillow would cut off at 255
            image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
        if colours is None:
            colours = not deep and image.mode not in ("1", "L")
        return np.asarray(image.convert("RGB" if colours else "L"))
