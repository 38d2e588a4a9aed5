"""A neural task with planted clusters: handwritten digits that every cluster sees turned.

The 1797 images of scikit-learn's digits, 8 x 8 pixels with intensities from 0 to 1. Cluster k of K
sees them turned by k * 360 / K degrees: quarter turns exactly, others interpolated. Its classes
are the digits, so one model for all clusters has to learn K alphabets, and a client's own images
are too few to learn even one well.

Some images are held out, the same for everybody; turned as the client's cluster sees them, all of
them are its test set. Every client draws its training images from the others, without repetition;
two clients may hold the same image. The server may have some of them, too, as cluster 0 sees them.
The data set is read once in a process and shared.
"""

from functools import cache, cached_property
from typing import Annotated

import numpy as np
from annotated_types import Ge
from scipy.ndimage import rotate
from sklearn.datasets import load_digits

from tagma.arrays import Array, Labels
from tagma.errors import SettingError
from tagma.rng import stream
from tagma.tasks.mlp import MLP
from tagma.tasks.roles import cluster_labels
from tagma.tasks.task import Data, Truth

Count = Annotated[int, Ge(1)]

_SIDE, _CLASSES, _IMAGES = 8, 10, 1797


class RotatedDigits(MLP):
    """Digits turned by K angles, classified by a perceptron."""

    def __init__(
        self,
        *,
        clients: Count,
        clusters: Count,
        samples: Count | tuple[Count, Count],
        held_out: Count,
        hidden: list[Count],
        server_samples: Annotated[int, Ge(0)] = 0,
        seed: int,
    ) -> None:
        if clusters > clients:
            raise SettingError("task.clusters", clusters, f"must not exceed task.clients={clients}")
        least, most = (samples, samples) if isinstance(samples, int) else samples
        if not least <= most <= _IMAGES - held_out:
            raise SettingError(
                "task.samples", samples,
                f"must be a number, or the least and the most, up to {_IMAGES - held_out}: "
                f"task.held_out={held_out} of {_IMAGES} images are left out",
            )  # fmt: skip
        if server_samples > _IMAGES - held_out:
            raise SettingError(
                "task.server_samples", server_samples, f"must be up to {_IMAGES - held_out}"
            )
        self.clients = clients
        self.clusters = clusters
        self.widths = (_SIDE**2, *hidden, _CLASSES)
        self.seed = seed
        self._samples = least, most
        self._held_out = held_out
        self._server_samples = server_samples
        self._tests: dict[int, Data] = {}

    @cached_property
    def _order(self) -> Labels:
        """The images at random; the first of them are held out."""
        return stream(self.seed, "held-out images").permutation(_IMAGES)

    @cached_property
    def _truth(self) -> Truth:
        return Truth(labels=cluster_labels(self.clients, self.clusters, self.seed))

    def truth(self) -> Truth:
        """The cluster of every client; nobody knows the best model of a cluster."""
        return self._truth

    def train(self, client: int) -> Data:
        """The client's images as its cluster sees them."""
        random = stream(self.seed, "data", client)
        count = random.integers(self._samples[0], self._samples[1], endpoint=True)
        return self._seen(client, random.permutation(self._order[self._held_out :])[:count])

    def test(self, client: int) -> Data:
        """All held-out images as the client's cluster sees them: one object, read-only, for all."""
        cluster = int(self._truth.labels[client])
        if cluster not in self._tests:
            data = self._seen(client, self._order[: self._held_out])
            data.inputs.setflags(write=False)
            data.targets.setflags(write=False)
            self._tests[cluster] = data
        return self._tests[cluster]

    def server_data(self) -> Data | None:
        """Some of the clients' images, upright as cluster 0 sees them."""
        if not self._server_samples:
            return None
        images = stream(self.seed, "server data").permutation(self._order[self._held_out :])
        return _turned(0, images[: self._server_samples])

    def _seen(self, client: int, images: Labels) -> Data:
        return _turned(360 * int(self._truth.labels[client]) / self.clusters, images)

    def opposite(self, targets: Array) -> Array:
        """9 instead of 0, 8 instead of 1, and so on."""
        return _CLASSES - 1 - targets

    def warnings(self) -> list[str]:
        """None."""
        return []


def _turned(degrees: float, images: Labels) -> Data:
    pixels, digits = turned_digits(degrees)
    return Data(pixels[images], digits[images])


@cache
def turned_digits(degrees: float) -> tuple[Array, Labels]:
    """All images, turned counterclockwise, shape (1797, 64), and the digits; read-only."""
    found = load_digits()
    images = (found.images / 16).astype(np.float32)
    if degrees % 90 == 0:
        images = np.rot90(images, int(degrees // 90), axes=(1, 2))
    else:
        images = rotate(images, degrees, axes=(2, 1), reshape=False, order=1).clip(0, 1)
    pixels, digits = images.reshape(len(images), -1), found.target.astype(np.int64)
    pixels.setflags(write=False)
    digits.setflags(write=False)
    return pixels, digits
