"""The heatmap: the mean score of every defence under every attack, the darker the worse.

Colours go by the logarithm of the error and grow darker in even steps, so they survive colour
blindness and grey print; the number is in the tile as well. Two powers of ten above the smallest
error they end, or one hopeless defence would leave all others pale; half a power at least they
span, or small differences would look large. What diverged is black. For what should be high the
colours go by the number itself, from the highest down by a tenth of it at least.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tagma.report.bootstrap import Interval
from tagma.report.number_format import number, power
from tagma.report.short_labels import LETTER, shorten

WIDE, HIGH = 70, 30
TOP, BOTTOM, LONGEST = 26, 8, 24
SLANT = 30
DECADES = 2.0
COLOURS = (
    "#fdf5ea", "#fbe0c4", "#f7c39c", "#efa07b", "#e17b68",
    "#c85963", "#a53f64", "#7c2d5f", "#521f4d",
)  # fmt: skip


@dataclass(frozen=True)
class TileValue:
    """What one defence does under one attack, over seeds; `words` says what stands behind it."""

    mean: Interval
    words: str
    worst: bool = False


@dataclass(frozen=True)
class Tile:
    """A value in its place, with its colour and the text's; `worst` of its column is outlined."""

    x: int
    y: int
    style: str
    colour: str
    ink: str
    text: str
    words: str
    worst: bool


@dataclass(frozen=True)
class Name:
    """The name of a row or a column, cut if it is long."""

    name: str
    label: str
    x: float
    y: float


@dataclass(frozen=True)
class Heatmap:
    """A heatmap ready to draw."""

    id: str
    title: str
    heading: str
    description: str
    width: int
    height: int
    left: int
    columns: tuple[Name, ...]
    rows: tuple[Name, ...]
    tiles: tuple[Tile, ...]

    kind, wide, high, slant = "heatmap", WIDE, HIGH, SLANT


def draw_heatmap(
    name: str,
    heading: str,
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Mapping[tuple[str, str], TileValue],
    better: str = "low",
) -> Heatmap:
    """One panel; `values` are by row and column, `better` is low or high."""
    labels = [shorten(row, LONGEST) for row in rows]
    heads = [shorten(column, LONGEST) for column in columns]
    left = 14 + round(LETTER * max(map(len, labels)))
    # Column names lean under the columns, so that they may be longer than a tile is wide.
    lean = math.radians(SLANT)
    reach = LETTER * max(map(len, heads))
    foot = round(reach * math.sin(lean)) + 26
    left = max(left, round(reach * math.cos(lean)) - WIDE // 2 + 14)
    bottom = TOP + HIGH * len(rows)
    shade = _shades([value.mean.value for value in values.values()], better)
    tiles = [
        _tile(left + WIDE * j, TOP + HIGH * i, values.get((row, column)), shade)
        for i, row in enumerate(rows)
        for j, column in enumerate(columns)
    ]
    return Heatmap(
        id=name,
        title=title,
        heading=heading,
        description=_describe(values),
        width=left + WIDE * len(columns) + 16,
        height=bottom + foot + BOTTOM,
        left=left,
        columns=tuple(
            Name(column, label, left + WIDE * (j + 0.5) + 6, bottom + 18)
            for j, (column, label) in enumerate(zip(columns, heads, strict=True))
        ),
        rows=tuple(
            Name(row, label, left, TOP + HIGH * (i + 0.5))
            for i, (row, label) in enumerate(zip(rows, labels, strict=True))
        ),
        tiles=tuple(tiles),
    )


def _shades(means: Sequence[float], better: str) -> Callable[[float], float]:
    """How bad a mean is, from 0 on; 1 and more is the darkest."""
    if better == "high":
        finite = [mean for mean in means if math.isfinite(mean)]
        best = max(finite, default=1.0)
        span = max(best - min(finite, default=0.0), abs(best) / 10, 1e-300)
        return lambda mean: (best - mean) / span
    positive = [math.log10(mean) for mean in means if 0 < mean < math.inf]
    least = min(positive, default=0.0)
    span = min(max(max(positive, default=0.0) - least, DECADES / 4), DECADES)
    return lambda mean: (math.log10(mean) - least) / span if mean > 0 else 0.0


def _tile(x: int, y: int, value: TileValue | None, bad: Callable[[float], float]) -> Tile:
    if value is None:
        return Tile(x, y, "none", "", "dim", "–", "no result", False)
    mean = value.mean.value
    if not math.isfinite(mean):
        return Tile(x, y, "diverged", "", "light", "∞", value.words, value.worst)
    shade = min(len(COLOURS) - 1, int(bad(mean) * len(COLOURS)))
    colour = COLOURS[shade]
    return Tile(x, y, "", colour, ink_on(colour), short(mean), value.words, value.worst)


def short(value: float) -> str:
    """Three digits that fit a tile."""
    if value < 1e4 and (value >= 1e-3 or not value):
        return number(value)
    mantissa, exponent = f"{value:.0e}".split("e")
    return power(mantissa, int(exponent))


def ink_on(colour: str) -> str:
    """The text colour, black or white, that contrasts more (by WCAG's relative luminance)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "dark" if (luminance + 0.05) ** 2 >= 0.05 * 1.05 else "light"


def _describe(values: Mapping[tuple[str, str], TileValue]) -> str:
    worst = [
        f"{column}: at worst {number(value.mean.value)} under {row}"
        for (row, column), value in values.items()
        if value.worst
    ]
    return f"{'; '.join(worst)}." if worst else "No value is known."
