"""The picture's limits: the honest structure fills them, however far away a Byzantine machine puts itself.

The machines come in groups: the true clusters where known, else the found ones. A group's box reaches
`REACH` typical distances (the median) from its coordinate-wise median, so a minority of outliers cannot
stretch it. A found cluster may itself be the work of Byzantine machines: one much further out than the others
is left outside the frame. A true one never is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.report.data import Machine, Point

REACH = 4.0
FAR = 4.0
LIMIT = 1e100


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
        dx, dy = place[0] / self.half - self.x / self.half, place[1] / self.half - self.y / self.half
        reach = max(abs(dx), abs(dy))
        return self.x + dx / reach * self.half, self.y + dy / reach * self.half


def choose_frame(machines: Sequence[Machine]) -> Frame | None:
    """The square to draw, or `None` if no machine has a place."""
    placed = [m for m in machines if m.place is not None]
    truth = [m for m in placed if m.true is not None and not m.byzantine]
    labelled = truth or [m for m in placed if m.assigned is not None] or placed
    groups: dict[int | None, list[Point]] = {}
    for machine in labelled:
        label = machine.true if truth else machine.assigned
        groups.setdefault(label, []).append(machine.place or (0.0, 0.0))
    if not groups:
        return None
    boxes = [_box(np.clip(np.array(points), -LIMIT, LIMIT)) for points in groups.values()]
    if not truth:
        boxes = _near(boxes)
    low, high = np.min([b[0] for b in boxes], axis=0), np.max([b[1] for b in boxes], axis=0)
    middle = (low + high) / 2
    half = 0.5 * float(np.max(high - low)) or 1.0
    return Frame(float(middle[0]), float(middle[1]), 1.12 * max(half, 1e-3 * float(np.abs(middle).max())))


def _box(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The corners of the box around a group's points that are within its reach."""
    distance = np.linalg.norm(points - np.median(points, axis=0), axis=1)
    within = points[distance <= REACH * np.median(distance)]
    near = within if len(within) else points
    return near.min(axis=0), near.max(axis=0)


def _near(boxes: list[tuple[np.ndarray, np.ndarray]]) -> list[tuple[np.ndarray, np.ndarray]]:
    """The boxes but those over `FAR` times as far from the middle as the median one."""
    middles = np.array([(low + high) / 2 for low, high in boxes])
    distance = np.linalg.norm(middles - np.median(middles, axis=0), axis=1)
    size = np.median([np.linalg.norm(high - low) for low, high in boxes])
    bound = FAR * max(np.median(distance), size)
    return [box for box, far in zip(boxes, distance, strict=True) if far <= bound]
