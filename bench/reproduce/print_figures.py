"""Figures that can be read in print and by colour-blind people: colour, marker and dash differ."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot

from tagma.bench.reproduce.paper_claims import quarters

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


def draw_quartiles(
    axes: Any, samples: Mapping[float, Sequence[float]], label: str, index: int
) -> None:
    """Median and quartiles of each sample at its place; what diverged is named above the axis."""
    heights = {place: quarters(sample) for place, sample in samples.items()}
    drawn = {place: high for place, high in heights.items() if np.isfinite(high[1])}
    middle = np.array([high[1] for high in drawn.values()])
    low, top = (np.array([high[i] for high in drawn.values()]) for i in (0, 2))
    top = np.where(np.isfinite(top), top, middle)
    axes.errorbar(
        list(drawn), middle, yerr=[middle - low, top - middle], label=label, capsize=3,
        **look(index) | {"linestyle": "none"},
    )  # fmt: skip
    for place in heights.keys() - drawn.keys():
        axes.annotate(
            "diverged", (place, 0.97), xycoords=("data", "axes fraction"), rotation=90,
            ha="center", va="top", fontsize=7, color=look(index)["color"],
        )  # fmt: skip


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
