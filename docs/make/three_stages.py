"""Draw docs/img/stages.svg: the three stages on two-dimensional data.

    python docs/make/three_stages.py

60 clients in three groups, 12 of them Byzantine; every client has 12 points around its group's
centre, and its local model is their mean. Eight of the Byzantine clients change their data; four
behave well in round 1 and send wrong updates later. Clustering and aggregation are Tagma's own.
"""

from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from scipy.spatial.distance import cdist

from tagma.strategies.aggregation import Aggregate, mean, trimmed_mean
from tagma.strategies.clustering.trimmed_kmeans import trimmed_kmeans

TARGET = Path(__file__).parents[1] / "img" / "stages.svg"
CENTRES = np.array([[0.0, 0.0], [6.0, 1.0], [2.5, 5.0]])
COLOURS = np.array(["#3b6fb6", "#d9822b", "#4c9a6a"])
RED, GREY = "#c0392b", "#777777"
ROUNDS, STEP = 12, 0.3
Rule = Callable[[np.ndarray], Aggregate]


def federation(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points of every client, its group, and whether it is Byzantine."""
    draw = np.random.default_rng(seed)
    groups = np.arange(60) % 3
    byzantine = np.isin(np.arange(60), [0, 3, 6, 9, *range(52, 60)])
    points = CENTRES[groups, None] + 1.6 * draw.normal(size=(60, 12, 2))
    points[52:] += draw.uniform(-9, 9, size=(8, 1, 2))
    return points, groups, byzantine


def path(models: np.ndarray, byzantine: np.ndarray, start: np.ndarray, rule: Rule) -> np.ndarray:
    """A cluster's model, round by round, if its Byzantine members push it aside."""
    steps = [start]
    for _ in range(ROUNDS):
        gradients = steps[-1] - models
        gradients[byzantine] = [7.0, -7.0]
        steps.append(steps[-1] - STEP * rule(gradients).estimate)
    return np.array(steps)


def main() -> None:
    """Draw the strip."""
    mpl.rcParams |= {"svg.hashsalt": "stages", "font.size": 9, "svg.fonttype": "path"}
    points, groups, byzantine = federation(4)
    models = points.mean(axis=1)
    labels = np.random.default_rng(0).integers(0, 3, size=(40, len(models)))
    found = trimmed_kmeans(models, labels, k=3, iterations=30, fraction=0.3, radius=2.0)
    colours = COLOURS[cdist(found.centres, CENTRES).argmin(axis=1)]
    figure, (data, one, two, three) = plt.subplots(1, 4, figsize=(12, 3.3), facecolor="white")
    for client in np.flatnonzero(~byzantine):
        data.plot(*points[client].T, ".", ms=2, color=COLOURS[groups[client]])
    for axes in (one, two):
        honest = models[~byzantine]
        shown = [GREY] * len(honest) if axes is one else colours[found.labels[~byzantine]]
        axes.scatter(*honest.T, s=14, c=shown)
        axes.scatter(*models[byzantine].T, s=18, c=RED, marker="x", linewidths=1)
    for k, centre in enumerate(found.centres):
        two.add_patch(plt.Circle(centre, found.radius[k], fill=False, color=colours[k]))
        two.plot(*centre, "+", color=colours[k], ms=9, mew=2)
    k = int(found.labels[0])
    inside = found.labels == k
    for rule, colour, name in (
        (lambda rows: mean(rows), RED, "mean"),
        (lambda rows: trimmed_mean(rows, beta=0.4), colours[k], "trimmed mean"),
    ):
        walked = path(models[inside], byzantine[inside], found.centres[k], rule)
        three.plot(*walked.T, ".-", ms=4, lw=1, color=colour, label=name)
    three.scatter(*models[inside & ~byzantine].T, s=14, color="#cccccc", label="honest clients")
    three.plot(*CENTRES[groups[0]], "*", color="black", ms=10, label="truth")
    three.legend(frameon=False, loc="lower left", fontsize=8)
    three.set(xlim=CENTRES[0, 0] + [-5.5, 3.0], ylim=CENTRES[0, 1] + [-3.0, 5.5])
    titles = ("data of the clients", "I: local models", "II: clusters", "III: one model, 12 rounds")
    for axes, title in zip((data, one, two, three), titles, strict=True):
        axes.set(title=title, xticks=[], yticks=[])
        for edge in axes.spines.values():
            edge.set_color("#cccccc")
    for axes in (data, one, two):
        axes.set(xlim=(-6, 11), ylim=(-7, 11))
    figure.tight_layout()
    figure.savefig(TARGET, metadata={"Date": None})


if __name__ == "__main__":
    main()
