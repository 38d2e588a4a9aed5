"""The clients in the plane, as the run grouped them and as they truly are.

They are drawn by their local models; for an algorithm that looks for no clusters in these, by what
they sent last. Where clients are not grouped, there is one panel, by their true clusters if known.

A ball's shadow on the plane is a disc of the same radius about the shadow of its centre: a client
outside the disc is outside the ball, one inside may be outside in a direction that is not shown.

Marks differ by colour and shape: 7 colours (Okabe and Ito's but black) times 7 shapes, paired so
that the first 49 clusters differ, and the first 7 differ in both.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tagma.report.axes import LinearAxis, Tick
from tagma.report.cluster_matching import match_clusters, misplaced
from tagma.report.number_format import count, times_power
from tagma.report.picture_frame import BEYOND, Frame, choose_frame
from tagma.report.run_data import ClientRow, Point, Run

SIZE = 480
LEFT, RIGHT, TOP, BOTTOM = 52, 472, 34, 454
INSET = 7.0
HUGE = 1e5
SHAPES = ("circle", "square", "triangle", "diamond", "nabla", "star", "hourglass")

Placed = tuple[ClientRow, Point]


@dataclass(frozen=True)
class Mark:
    """A shape at a place in pixels, turned by degrees; `tag` stands beside it."""

    x: float
    y: float
    shape: str
    style: str
    words: str
    client: str = ""
    turn: float = 0.0
    tag: str = ""


@dataclass(frozen=True)
class Ball:
    """What a cluster trims by, in pixels."""

    x: float
    y: float
    radius: float
    style: str


@dataclass(frozen=True)
class Panel:
    """One of the two panels; both have the same axes."""

    id: str
    title: str
    heading: str
    description: str
    marks: tuple[Mark, ...]
    balls: tuple[Ball, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    x_label: str
    y_label: str
    scale: float

    kind = "panel"
    width, height = SIZE, SIZE + 20
    left, right, top, bottom = LEFT, RIGHT, TOP, BOTTOM


@dataclass(frozen=True)
class Picture:
    """Both panels (`truth` is `None` where not known) and what lies outside them."""

    groups: tuple[int, ...]
    """The numbers of the clusters that have colours: the found ones, else the true ones."""

    found: Panel
    truth: Panel | None
    outside: str
    lost: dict[int, int]
    misplaced: int


def look(cluster: int) -> tuple[str, str]:
    """A cluster's shape and CSS classes: its colour, and its number to single it out by."""
    colour, turn = cluster % 7, cluster // 7
    return SHAPES[(cluster + turn) % 7], f"c{colour} k{cluster}"


def draw_picture(run: Run, name: str = "") -> Picture | None:
    """The picture, or `None` if no client has a place in the plane; `name` sets apart its ids."""
    frame = choose_frame(run.clients)
    if frame is None:
        return None
    plane = _Plane(frame, run, name)
    placed = [(client, client.place) for client in run.shown if client.place is not None]
    outside = _outside(frame, placed)
    if not run.grouped:
        true = {one.true for one in run.clients if one.true is not None and not one.byzantine}
        only = _truth(plane, placed, {label: label for label in true}) or _found(plane, placed, run)
        return Picture(tuple(sorted(true)), only, None, outside, {}, 0)
    matched = match_clusters(run.clients, len(run.clusters))
    return Picture(
        groups=tuple(range(len(run.clusters))),
        found=_found(plane, placed, run),
        truth=_truth(plane, placed, matched),
        outside=outside,
        lost={true: found for true, found in matched.items() if found >= len(run.clusters)},
        misplaced=sum(misplaced(client, matched) for client in run.clients),
    )


class _Plane:
    """Marks in pixels; one outside the frame becomes an arrow on its edge, pointing at it."""

    def __init__(self, frame: Frame, run: Run, name: str) -> None:
        clients = len(run.shown)
        self.frame = frame
        self.name = name
        self.grouped = run.grouped
        self.drawn = drawn_by(run)
        self.scale = 1.0 if clients <= 150 else 0.8 if clients <= 400 else 0.6
        self.x = LinearAxis(frame.x - frame.half, frame.x + frame.half, LEFT, RIGHT)
        self.y = LinearAxis(frame.y - frame.half, frame.y + frame.half, BOTTOM, TOP)

    def mark(self, place: Point, shape: str, style: str, words: str, client: str = "") -> Mark:
        if self.frame.contains(place):
            x, y = self.x.place(place[0]), self.y.place(place[1])
            return Mark(x, y, shape, style, words, client)
        edge = self.frame.edge(place)
        x = min(RIGHT - INSET, max(LEFT + INSET, self.x.place(edge[0])))
        y = min(BOTTOM - INSET, max(TOP + INSET, self.y.place(edge[1])))
        turn = math.degrees(math.atan2(y - (TOP + BOTTOM) / 2, x - (LEFT + RIGHT) / 2))
        return Mark(x, y, "arrow", f"{style} far", f"{words}, outside the frame", client, turn)

    def ball(self, centre: Point, radius: float | None, style: str) -> Ball | None:
        """The disc about a centre; `None` if there is none that reaches into the frame."""
        if radius is None or not math.isfinite(radius) or not all(map(math.isfinite, centre)):
            return None
        reach = self.frame.half + radius
        if max(abs(centre[0] - self.frame.x), abs(centre[1] - self.frame.y)) > min(reach, BEYOND):
            return None
        pixels = (RIGHT - LEFT) / (2 * self.frame.half)
        x = LEFT + pixels * (centre[0] - self.frame.x + self.frame.half)
        y = BOTTOM - pixels * (centre[1] - self.frame.y + self.frame.half)
        return Ball(x, y, pixels * radius, style) if pixels * radius < HUGE else None

    def panel(
        self, part: str, title: str, description: str, marks: list[Mark], balls: list[Ball]
    ) -> Panel:
        return Panel(
            id=f"{self.name}{part}",
            title=f"{title}: the clients’ {self.drawn}s in the plane",
            heading=title,
            description=description,
            marks=tuple(marks),
            balls=tuple(balls),
            x_ticks=self.x.ticks(5),
            y_ticks=self.y.ticks(5),
            x_label=f"first principal direction{times_power(self.x.exponent)}",
            y_label=f"second principal direction{times_power(self.y.exponent)}",
            scale=self.scale,
        )


def _found(plane: _Plane, clients: Sequence[Placed], run: Run) -> Panel:
    marks = []
    for client, place in clients:
        number = client.assigned if plane.grouped else 0
        shape, style = ("reject", "out") if number is None else look(number)
        style += " hollow" if client.trimmed else ""
        marks.append(plane.mark(place, shape, style, describe(client, run.group), client.name))
    radii = [cluster.radius for cluster in run.clusters]
    balls = [
        plane.ball(centre, radius, look(number)[1])
        for number, (centre, radius) in enumerate(zip(run.centres, radii, strict=False))
    ]
    for number, centre in enumerate(run.centres):
        if all(map(math.isfinite, centre)):
            style = f"{look(number)[1]} centre"
            mark = plane.mark(centre, "plus", style, f"centre of cluster {number}")
            marks.append(replace(mark, tag=str(number)))
    trimmed = sum(client.trimmed for client, _ in clients)
    shown = [ball for ball in balls if ball is not None]
    return plane.panel(
        "found",
        "As found" if plane.grouped else "The clients",
        f"{count(len(clients), 'client')} by the cluster the run put them in, "
        f"{trimmed} of them trimmed, and {count(len(run.centres), 'cluster centre')}"
        f"{' with their balls' if shown else ''}.",
        marks,
        shown,
    )


def _truth(plane: _Plane, clients: Sequence[Placed], matched: dict[int, int]) -> Panel | None:
    if not matched and not any(client.byzantine for client, _ in clients):
        return None
    marks, rings = [], []
    for client, place in clients:
        words = describe(client, "cluster" if plane.grouped else "model")
        if client.byzantine:
            at = "" if client.assigned is None or not plane.grouped else f" k{client.assigned}"
            marks.append(plane.mark(place, "cross", f"byzantine{at}", words, client.name))
            continue
        label = None if client.true is None else matched[client.true]
        shape, style = ("dot", "out") if label is None else look(label)
        marks.append(plane.mark(place, shape, style, words, client.name))
        if plane.grouped and misplaced(client, matched) and plane.frame.contains(place):
            rings.append(plane.mark(place, "ring", f"k{label} wrong", words))
    byzantine = sum(bool(client.byzantine) for client, _ in clients)
    return plane.panel(
        "truth",
        "The truth",
        f"The clients: {len(clients) - byzantine} honest by their true cluster, "
        f"{byzantine} Byzantine"
        + (f"; {len(rings)} honest in the wrong cluster are ringed." if plane.grouped else "."),
        marks + rings,
        [],
    )


def drawn_by(run: Run) -> str:
    """What a client's place is of."""
    return "last answer" if run.clustering is None else "local model"


def describe(client: ClientRow, group: str = "cluster") -> str:
    """A client's facts in one line."""
    home = f"no {group}" if client.assigned is None else f"{group} {client.assigned}"
    facts = [f"found in {home}" if group == "cluster" else f"has {home}"]
    for fact in ("trimmed", "quarantined", "excluded"):
        facts += [fact] if getattr(client, fact) else []
    if client.byzantine:
        facts.append("Byzantine")
    elif client.true is not None:
        facts.append(f"truly of cluster {client.true}")
    return f"client {client.name}: {', '.join(facts)}"


def _outside(frame: Frame, clients: Sequence[Placed]) -> str:
    far = [client for client, place in clients if not frame.contains(place)]
    if not far:
        return ""
    byzantine = sum(bool(m.byzantine) for m in far)
    whose = f" ({byzantine} Byzantine)" if byzantine else ""
    verb = "lies" if len(far) == 1 else "lie"
    return f"{count(len(far), 'client')}{whose} {verb} outside the frame, each shown by an arrow."
