"""Figure (c) of the paper: real data, clusters from a threshold graph on the features.

The paper's file, Yahoo's set2.test.txt, cannot be shipped. By default the same pipeline runs on
scikit-learn's digits; with the file, `task.data=PATH` and the paper's settings give its experiment.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.reproduce.claims import Claim, summarise
from bench.reproduce.experiment import Experiment, Row, runs, values
from bench.reproduce.figures import figure, look

_CLUSTERINGS = {"KM": "kmeans", "KGM": "kgeomedians", "TKM": "trimmed_kmeans"}
_OPTIMISERS = {
    "SM": ("aggregation=mean",),
    "TM": ("aggregation=trimmed_mean", "aggregation.beta=0.4"),
    "FA": ("aggregation=trimmed_mean", "aggregation.beta=0.4", "optimiser=local"),
}
_STARTS = {"random": "one random start", "restarts": "40 restarts"}


def _label(short: str, optimiser: str, start: str) -> str:
    return f"{short} + {optimiser}, {_STARTS[start]}"


def _measure(metrics: Mapping[str, Any]) -> Row:
    return {key: metrics[key] for key in ("estimation_error", "misclustering")}


def _mean(rows: Sequence[Row], label: str, column: str = "estimation_error") -> float:
    return float(np.mean(values(rows, label, column)))


def _claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for start, words in _STARTS.items():
        best, worst = (
            _mean(rows, _label(short, optimiser, start))
            for short, optimiser in (("TKM", "TM"), ("KM", "SM"))
        )
        others = min(_mean(rows, label) for label in _OVERRIDES if label.endswith(words))
        gap = _mean(rows, _label("KGM", "TM", start)) / best
        claims += [
            Claim(
                f"K-means + sample mean is about two times worse (0.256 / 0.125); {words}",
                f"{worst / best:.2f} times",
                worst / best >= 1.5,
            ),
            Claim(
                f"TKM + TM is the best of all; {words}",
                f"{best:.3f}, the best {others:.3f}",
                best <= 1.05 * others,
            ),
            Claim(
                f"TKM and KGM end with similar errors (TM); {words}",
                f"KGM {gap:.2f} times TKM",
                0.8 <= gap <= 1.25,
            ),
        ]
    for label in _OVERRIDES:
        error = summarise(values(rows, label, "estimation_error"))
        wrong = _mean(rows, label, "misclustering")
        claims.append(
            Claim(f"{label}: (bars in a figure)", f"{error}, misclustered {wrong:.3f}", None)
        )
    return claims


def _draw(rows: Sequence[Row], path: Path) -> None:
    with figure(path, columns=2) as panels:
        for axes, (start, words) in zip(panels, _STARTS.items(), strict=True):
            for index, optimiser in enumerate(_OPTIMISERS):
                labels = [_label(short, optimiser, start) for short in _CLUSTERINGS]
                bars = [summarise(values(rows, label, "estimation_error")) for label in labels]
                axes.errorbar(
                    [place + 0.15 * (index - 1) for place in range(len(labels))],
                    [bar.mean for bar in bars], yerr=[bar.deviation for bar in bars],
                    label=optimiser, capsize=3, **look(index) | {"linestyle": "none"},
                )  # fmt: skip
            axes.set_xticks(range(len(_CLUSTERINGS)), list(_CLUSTERINGS))
            axes.set_title(words, fontsize=9)
            axes.set_ylim(bottom=0)
        panels[0].set_ylabel("estimation error")
        panels[0].legend()


_COMMON = ("task=mean_estimation", "evaluate=false", "oracle=false", "rounds=10")
_OVERRIDES = {
    _label(short, optimiser, start): (f"clustering={name}", f"clustering.init={start}", *settings)
    for start in _STARTS
    for short, name in _CLUSTERINGS.items()
    for optimiser, settings in _OPTIMISERS.items()
}
"""Label of every method and its own settings."""

EXPERIMENT = Experiment(
    name="ranking",
    about="real data: clusters of feature vectors (Figure c)",
    cells=runs(_COMMON, _OVERRIDES),
    measure=_measure,
    claims=_claims,
    draw=_draw,
    notes="""\
KM, KGM, TKM: K-means, K-geomedians, trimmed K-means. SM, TM, FA: sample mean and trimmed mean of
gradients, trimmed mean of models after 5 local steps. The data are scikit-learn's digits unless
`task.data=` names others, so the paper's numbers are not expected; the paper starts from one random
labeling.""",
)
