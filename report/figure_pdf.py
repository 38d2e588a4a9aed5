"""A figure as a PDF for a paper: lines and letters on white, with the letters' font in it.

It draws the SVG that our templates make, and knows no more of SVG than they use. The font is the
one that matplotlib brings, embedded as TrueType (type 42), which journals ask for.
"""

import math
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tagma.report.svg_style import Simple, StyleSheet

_SVG = "{http://www.w3.org/2000/svg}"
_POINTS = 0.75
"""Points in a pixel."""
_FONT, _LETTERS = 13.0, 0.92
"""Pixels of the figures' text, and how large the font here has to be to be as wide as theirs."""
_NOTHING = ("title", "desc", "style", "defs")
_TOKEN = re.compile(r"[A-Za-z]|-?(?:\d+\.?\d*|\.\d+)")
_NUMBERS = {"M": 2, "L": 2, "H": 1, "V": 1, "A": 7, "Z": 0}
_MOVE = re.compile(r"(translate|scale|rotate)\(([^)]*)\)")


def write_pdf(svg: str, css: str, path: Path) -> None:
    """Write one of our figures, in the style of `css`, as a PDF file."""
    from matplotlib import rc_context, rcParams, rcParamsDefault  # here, because it takes long

    with rc_context(), warnings.catch_warnings():
        # Not what a matplotlibrc says, which may lie in the folder that somebody sent.
        rcParams.update({**rcParamsDefault, "pdf.fonttype": 42, "font.family": "DejaVu Sans"})
        warnings.simplefilter("ignore")  # a letter that the font does not have is an empty box
        drawn(svg, css).savefig(path, format="pdf", metadata={"CreationDate": None})


def drawn(svg: str, css: str) -> Any:
    """The figure as matplotlib's, a point for three quarters of a pixel."""
    from matplotlib.figure import Figure

    root = ElementTree.fromstring(svg)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    figure = Figure(figsize=(width * _POINTS / 72, height * _POINTS / 72))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    drawing = _Drawing(axes, StyleSheet(css), _shapes(root))
    for child in root:
        drawing.add(child, _Place((_simple(root),), {}))
    return figure


def _shapes(root: ElementTree.Element) -> dict[str, ElementTree.Element]:
    return {one.attrib["id"]: one for one in root.iter(f"{_SVG}path") if "id" in one.attrib}


def _simple(element: ElementTree.Element) -> Simple:
    return element.tag.removeprefix(_SVG), frozenset(element.get("class", "").split())


@dataclass(frozen=True)
class _Place:
    """Where an element stands: what it is in, the style there, and how to get to pixels."""

    path: tuple[Simple, ...]
    style: Mapping[str, str]
    x: float = 0.0
    y: float = 0.0
    scale: float = 1.0
    turn: float = 0.0
    clip: Any = None

    def moved(self, moves: str, x: float = 0.0, y: float = 0.0) -> "_Place":
        """The place after the moves of a `transform`, then at x and y there."""
        place = self
        for name, text in _MOVE.findall(moves):
            values = [float(one) for one in text.replace(",", " ").split()]
            if name == "translate":
                place = place._to(*place.at(*values))
            elif name == "scale":
                place = replace(place, scale=place.scale * values[0])
            else:
                place = replace(place, turn=place.turn + values[0])
        return place._to(*place.at(x, y))

    def at(self, x: float, y: float) -> tuple[float, float]:
        """A point in pixels of the figure."""
        angle = math.radians(self.turn)
        cos, sin = self.scale * math.cos(angle), self.scale * math.sin(angle)
        return self.x + cos * x - sin * y, self.y + sin * x + cos * y

    def below(self, element: Simple, sheet: StyleSheet, own: Mapping[str, str]) -> "_Place":
        """The same place for a child, with its style; attributes count less than rules."""
        path = (*self.path, element)
        return replace(self, path=path, style=sheet.of(path, {**self.style, **own}))

    def _to(self, x: float, y: float) -> "_Place":
        return replace(self, x=x, y=y)


@dataclass
class _Drawing:
    axes: Any
    sheet: StyleSheet
    shapes: dict[str, ElementTree.Element]
    order: int = 0

    def add(self, element: ElementTree.Element, above: _Place) -> None:
        """Draw an element and what is in it."""
        simple = _simple(element)
        if simple[0] in _NOTHING:
            return
        own = {name: element.attrib[name] for name in ("fill",) if name in element.attrib}
        place = above.below(simple, self.sheet, own)
        if place.style.get("opacity") == "0":
            return
        place = place.moved(element.get("transform", ""))
        kind = simple[0]
        if kind == "svg":
            self._panel(element, place)
        elif kind == "g":
            self._children(element, place)
        elif kind == "text":
            self._text(element, place)
        elif kind == "use":
            self._outline(self.shapes[element.attrib["href"][1:]].attrib["d"], place)
        elif kind == "path":
            self._outline(element.attrib["d"], place)
        elif kind == "circle":
            x, y, r = (_number(element, name) for name in ("cx", "cy", "r"))
            half = f"A{r} {r} 0 1 1 {x}"
            self._outline(f"M{x} {y - r}{half} {y + r}{half} {y - r}Z", place)
        elif kind == "rect":
            x, y, w, h = (_number(element, name) for name in ("x", "y", "width", "height"))
            self._outline(f"M{x} {y}H{x + w}V{y + h}H{x}Z", place)
        else:
            raise ValueError(f"{kind}: figures have no such element")

    def _children(self, element: ElementTree.Element, place: _Place) -> None:
        for child in element:
            self.add(child, place)

    def _panel(self, element: ElementTree.Element, place: _Place) -> None:
        """An SVG in the SVG shows what is within its view box alone."""
        from matplotlib.patches import Rectangle

        left, top, width, height = map(float, element.attrib["viewBox"].split())
        x, y = place.at(_number(element, "x"), _number(element, "y"))
        frame = Rectangle((x, y), width, height, transform=self.axes.transData)
        inner = place.moved("", _number(element, "x") - left, _number(element, "y") - top)
        self._children(element, replace(inner, clip=frame))

    def _outline(self, data: str, place: _Place) -> None:
        from matplotlib.patches import PathPatch

        if not data:  # a curve without a finite value
            return
        style, scale = place.style, place.scale
        fill, stroke = _colour(style, "fill", "#000"), _colour(style, "stroke", "none")
        opacity = float(style.get("opacity", 1))
        faint = opacity * float(style.get("fill-opacity", 1))
        wide = float(style.get("stroke-width", 1)) * scale * _POINTS if stroke != "none" else 0.0
        dashes = [float(one) * scale * _POINTS for one in style.get("stroke-dasharray", "").split()]
        join = style.get("stroke-linejoin", "miter")
        self._put(
            PathPatch(
                _path(data, place),
                facecolor=_faint(fill, faint), edgecolor=_faint(stroke, opacity),
                linewidth=wide, linestyle=(0, [one / wide for one in dashes]) if dashes else "-",
                joinstyle=join, capstyle="butt",
            ),
            place,
        )  # fmt: skip

    def _text(self, element: ElementTree.Element, place: _Place) -> None:
        """A text, and lines of it that stand below, each as large as the figures' texts are."""
        x, y = _number(element, "x"), _number(element, "y") + _ems(element)
        words = [element.text or "", *(child.tail or "" for child in element)]
        self._words("".join(words), x, y, place)
        for line in element.iter(f"{_SVG}tspan"):
            y += _ems(line)
            self._words(line.text or "", x, y, place.below(_simple(line), self.sheet, {}))

    def _words(self, words: str, x: float, y: float, place: _Place) -> None:
        style = place.style
        halo = {"facecolor": style.get("stroke"), "edgecolor": "none", "alpha": 0.75, "pad": 0.6}
        made = self.axes.text(
            *place.at(x, y), words.strip(), parse_math=False, rotation=-place.turn,
            rotation_mode="anchor", va="baseline",
            ha={"end": "right", "middle": "center"}.get(style.get("text-anchor", ""), "left"),
            color=_colour(style, "fill", "#000"), size=_FONT * _LETTERS * _POINTS,
            weight="bold" if style.get("font-weight") == "600" else "normal",
            bbox=halo if style.get("paint-order") == "stroke" else None,
        )  # fmt: skip
        self._in_order(made)

    def _put(self, artist: Any, place: _Place) -> None:
        self.axes.add_patch(artist)
        artist.set_clip_path(place.clip) if place.clip else artist.set_clip_on(False)
        self._in_order(artist)

    def _in_order(self, artist: Any) -> None:
        self.order += 1
        artist.set_zorder(self.order)


def _colour(style: Mapping[str, str], name: str, default: str) -> str:
    value = style.get(name, default)
    return style.get("color", "#000") if value == "currentColor" else value


def _faint(colour: str, opacity: float) -> Any:
    from matplotlib.colors import to_rgba

    return "none" if colour == "none" else to_rgba(colour, opacity)


def _number(element: ElementTree.Element, name: str) -> float:
    return float(element.get(name, 0))


def _ems(element: ElementTree.Element) -> float:
    """How much lower it stands than its place, in pixels."""
    return float(element.get("dy", "0").removesuffix("em")) * _FONT


def _path(data: str, place: _Place) -> Any:
    """The path of SVG's path data: lines, and halves of circles that turn to the right."""
    from matplotlib.path import Path as Outline

    points: list[tuple[float, float]] = []
    codes: list[Any] = []
    x = y = 0.0
    start = (0.0, 0.0)
    for command, values in _commands(data):
        upper, relative = command.upper(), command.islower()
        before = x, y
        if upper == "Z":
            x, y = start
        elif upper == "H":
            x = values[0] + x * relative
        elif upper == "V":
            y = values[0] + y * relative
        else:
            x, y = values[-2] + x * relative, values[-1] + y * relative
        if upper == "A":
            arc = _half_circle(before, (x, y))
            points += [(float(a), float(b)) for a, b in arc.vertices[1:]]
            codes += arc.codes[1:].tolist()
        else:
            points.append((x, y))
            codes.append({"M": Outline.MOVETO, "Z": Outline.CLOSEPOLY}.get(upper, Outline.LINETO))
        if upper == "M":
            start = x, y
    return Outline([place.at(*point) for point in points], codes)


def _commands(data: str) -> Iterator[tuple[str, list[float]]]:
    """Every command with its numbers; one that is repeated is not said again."""
    tokens, command = _TOKEN.findall(data)[::-1], ""
    while tokens:
        if tokens[-1].isalpha():
            command = tokens.pop()
        yield command, [float(tokens.pop()) for _ in range(_NUMBERS[command.upper()])]
        command = {"M": "L", "m": "l"}.get(command, command)


def _half_circle(start: tuple[float, float], end: tuple[float, float]) -> Any:
    from matplotlib.path import Path as Outline

    middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    first = math.degrees(math.atan2(start[1] - middle[1], start[0] - middle[0]))
    arc: Any = Outline.arc(first, first + 180)
    return Outline(arc.vertices * math.dist(start, middle) + middle, arc.codes)
