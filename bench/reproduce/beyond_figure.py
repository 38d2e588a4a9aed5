"""The figure of `tagma reproduce beyond`: what stage II sees, errors, and attacks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tagma.bench.experiments.array_federation import array_federation
from tagma.bench.reproduce.print_figures import COLOURS, MARKERS, figure, look
from tagma.strategies.clustering import density
from tagma.strategies.clustering.density.membership import span

_WORDS = {
    "tagma": "nothing known",
    "paper": "the paper, labels given",
    "oracle": "no Byzantine clients",
}
_MOST = 1e3


def draw(
    path: Path,
    alphas: Sequence[float],
    errors: Mapping[str, Sequence[float]],
    names: Sequence[str],
    attacks: Mapping[str, Sequence[float]],
) -> None:
    """Three panels: one federation in its signal plane, errors over alpha, errors over attacks."""
    with figure(path, columns=3, width=4.2) as (plane, curves, dots):
        _draw_plane(plane)
        for index, (name, label) in enumerate(_WORDS.items()):
            curves.plot(alphas, errors[name], label=label, **look(index))
        curves.set_yscale("log")
        curves.set_xlabel("share of Byzantine clients")
        curves.set_ylabel("estimation error")
        curves.legend()
        for index, (preset, ratios) in enumerate(attacks.items()):
            style = look(index) | {"linestyle": "none", "markersize": 4}
            heights = np.minimum(ratios, _MOST)
            dots.plot(heights, np.arange(len(names)), label=f"preset={preset}", **style)
        dots.axvline(1, color="black", linewidth=0.8)
        dots.set_xscale("log")
        dots.set_yticks(np.arange(len(names)), names, fontsize=6)
        dots.set_xlabel(f"error / error without the Byzantine clients ({_MOST:g}: or more)")
        dots.legend()


def _draw_plane(axes: Any) -> None:
    """Every client of the default federation, 30 % Byzantine, in the first two directions."""
    local_models = array_federation(["seed=0"]).local_models
    found = density(local_models)
    middle = found.centres.mean(axis=0)
    places = (local_models - middle) @ span(found.centres - middle)[:2].T
    for k in range(found.k):
        inside = (found.labels == k) & ~found.trimmed
        look_ = {"color": COLOURS[k % len(COLOURS)], "marker": MARKERS[k % len(MARKERS)]}
        axes.scatter(*places[inside].T, s=14, label=f"cluster {k}", **look_)
    axes.scatter(*places[found.trimmed].T, s=14, c="grey", marker="x", label="in no ball")
    axes.set_xlabel("first signal direction")
    axes.set_ylabel("second")
    axes.legend(fontsize=7)
