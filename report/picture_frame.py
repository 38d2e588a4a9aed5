"""The picture's limits: honest structure fills them, however far off a Byzantine client may be.

The clients come in groups: the true clusters where known, else the found ones. A group's box
reaches `REACH` typical distances (the median) from its coordinate-wise median, so a minority of
outliers cannot stretch it. A found cluster may itself be the work of Byzantine clients: one much
further out than the others is left outside the frame. A true one never is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tagma.report.run_data import ClientRow, Point

REACH = 4.0
FAR = 4.0
MARGIN = 1.12
LIMIT, BEYOND = 1e100, 1e150

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Frame:
    """A square in the plane of the picture."""

    x: float
    y: float
    half: float

    def contains(self, place: Point) -> bool:
        """Whether a place is within the square."""
        return max(abs(place[0] - self.x), abs(place[1] - self.y)) <= self.half

    def edge(self, place: Point) -> Point:
        """Where the ray from the middle to `place` crosses the square."""
        dx, dy = (max(-BEYOND, min(BEYOND, value)) for value in place)
        dx, dy = dx - self.x, dy - self.y
        reach = self.half / max(abs(dx), abs(dy))
        return self.x + dx * reach, self.y + dy * reach


def choose_frame(clients: Sequence[ClientRow]) -> Frame | None:
    """The square to draw, or `None` if no client has a place."""
    truth = _groups((m.true, m.place) for m in clients if m.true is not None and not m.byzantine)
    found = _groups((m.assigned, m.place) for m in clients if m.assigned is not None)
    groups = truth or found or _groups((None, m.place) for m in clients)
    if not groups:
        return None
    boxes = [_box(np.clip(np.array(group), -LIMIT, LIMIT)) for group in groups]
    if not truth:
        boxes = _near(boxes)
    low, high = np.min([b[0] for b in boxes], axis=0), np.max([b[1] for b in boxes], axis=0)
    middle = (low + high) / 2
    half = float(np.max(high - low)) / 2 or 1.0
    least = 1e-3 * float(np.max(np.abs(middle)))
    return Frame(float(middle[0]), float(middle[1]), MARGIN * max(half, least))


def _groups(labelled: Iterable[tuple[int | None, Point | None]]) -> list[list[Point]]:
    groups: dict[int | None, list[Point]] = {}
    for label, place in labelled:
        if place is not None:
            groups.setdefault(label, []).append(place)
    return list(groups.values())


def _box(points: Array) -> tuple[Array, Array]:
    """The corners of the box around a group's points that are within its reach."""
    distance = np.linalg.norm(points - np.median(points, axis=0), axis=1)
    near = points[distance <= REACH * np.median(distance)]
    return near.min(axis=0), near.max(axis=0)


def _near(boxes: list[tuple[Array, Array]]) -> list[tuple[Array, Array]]:
    """The boxes but those over `FAR` times as far from the middle as the median one."""
    middles = np.array([(low + high) / 2 for low, high in boxes])
    distance = np.linalg.norm(middles - np.median(middles, axis=0), axis=1)
    size = np.median([np.linalg.norm(high - low) for low, high in boxes])
    bound = FAR * max(np.median(distance), size)
    return [box for box, far in zip(boxes, distance, strict=True) if far <= bound]
