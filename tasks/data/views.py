"""How the clients of a planted cluster see examples that are the same for all.

- `rotation`: cluster k of K sees images turned counterclockwise by k * 360 / K degrees: quarter
  turns exactly, others interpolated.
- `labels`: cluster 0 sees the classes as they are, every other one in an order of its own, drawn
  from the seed.
- `inversion`: every second cluster sees images inverted, 1 - x; of two clusters.
- `column`, `none`: as they are. With `column` the clusters differ in which examples they have.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import rotate

from tagma.errors import SettingError
from tagma.rng import stream
from tagma.tasks.data.examples import Examples
from tagma.tasks.data.spread import Pair

ClustersBy = Literal["rotation", "labels", "inversion", "column", "none"]
View = Callable[[int, NDArray[Any], NDArray[Any]], Pair]
"""From a cluster, inputs and targets to what it sees."""
_KEY = "task.clusters_by"


def view_of(by: ClustersBy, examples: Examples, clusters: int, seed: int) -> View:
    """How every cluster sees these examples."""
    images = len(examples.shape) == 3
    if by in ("rotation", "inversion") and not images:
        raise SettingError(_KEY, by, "is for images; use labels, column or none")
    if by == "rotation":
        square = examples.shape[1] == examples.shape[2]
        if not square and clusters not in (1, 2):
            raise SettingError(_KEY, by, f"needs square images for {clusters} clusters")
        return lambda k, inputs, targets: (turned(inputs, 360 * k / clusters), targets)
    if by == "inversion":
        if clusters > 2:
            raise SettingError("task.clusters", clusters, "with inversion there are two at most")
        return lambda k, inputs, targets: (1 - inputs if k else inputs, targets)
    if by == "labels":
        orders = _orders(len(examples.classes), clusters, seed)
        return lambda k, inputs, targets: (inputs, orders[k][targets])
    return lambda k, inputs, targets: (inputs, targets)


def turned(images: NDArray[Any], degrees: float) -> NDArray[Any]:
    """Images (n, channels, height, width), turned counterclockwise."""
    if degrees % 90 == 0:
        return np.ascontiguousarray(np.rot90(images, int(degrees // 90), axes=(2, 3)))
    low, high = images.min(initial=0), images.max(initial=1)
    found: NDArray[Any] = rotate(images, degrees, axes=(3, 2), reshape=False, order=1)
    return found.clip(low, high)


def _orders(classes: int, clusters: int, seed: int) -> list[NDArray[Any]]:
    """A different order of the classes for each cluster."""
    if classes < 2:
        raise SettingError(_KEY, "labels", "is for classifications")
    random, orders = stream(seed, "order of the classes"), [np.arange(classes)]
    for _ in range(1000 * clusters):
        if len(orders) == clusters:
            break
        order = random.permutation(classes)
        if not any(np.array_equal(order, other) for other in orders):
            orders.append(order)
    if len(orders) < clusters:
        raise SettingError("task.clusters", clusters, f"{classes} classes have fewer orders")
    return orders
