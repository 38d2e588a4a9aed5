"""Figures that can be read in print and by colour-blind people: colour, marker and dash differ."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))

_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "svg.hashsalt": "tagma",
    "svg.fonttype": "none",
    "figure.constrained_layout.use": True,
}


def look(index: int) -> dict[str, Any]:
    """Colour, marker and dash of the index-th curve."""
    index %= len(COLOURS)
    return {"color": COLOURS[index], "marker": MARKERS[index], "linestyle": DASHES[index]}


@contextmanager
def figure(path: Path, columns: int = 1, width: float = 4.6) -> Iterator[Any]:
    """Axes to draw on; afterwards the figure is written as PATH.svg and PATH.png."""
    with pyplot.rc_context(_STYLE):
        drawing, axes = pyplot.subplots(1, columns, figsize=(width * columns, 3.4))
        yield axes
        for ending in ("svg", "png"):
            metadata = {"Date": None} if ending == "svg" else None
            drawing.savefig(path.with_suffix(f".{ending}"), dpi=160, metadata=metadata)
        pyplot.close(drawing)
