"""Figure (c) of the paper: real data, clusters from a threshold graph on the features.

The paper's file, Yahoo's set2.test.txt, cannot be shipped. By default the same pipeline runs on
scikit-learn's digits; with the file, `task.data=PATH` and the paper's settings give its experiment.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tagma.bench.reproduce.estimation import CLUSTERINGS, WORDS
from tagma.bench.reproduce.experiment import Experiment, Row, runs, values
from tagma.bench.reproduce.paper_claims import Claim, bootstrap, over, summarise
from tagma.bench.reproduce.print_figures import draw_quartiles, figure
from tagma.settings import compose

_OPTIMISERS = {
    "SM": ("aggregation=mean",),
    "TM": ("aggregation=trimmed_mean", "aggregation.beta=0.4"),
    "FA": ("aggregation=trimmed_mean", "aggregation.beta=0.4", "optimiser=local"),
}
_LEGEND = {
    "SM": "sample mean (SM)",
    "TM": "trimmed mean (TM)",
    "FA": "federated averaging (FA)",
}
_STARTS = {"random": "one random start", "restarts": "restarts"}


def _label(short: str, optimiser: str, start: str) -> str:
    return f"{short} + {optimiser}, {_STARTS[start]}"


def _measure(label: str, metrics: Mapping[str, Any]) -> list[Row]:
    return [{"method": label} | {k: metrics[k] for k in ("estimation_error", "misclustering")}]


def _over_the_least(ours: np.ndarray, *rivals: np.ndarray) -> float:
    """In every draw of trials, over the best of that draw."""
    return float(ours.mean() / min(rival.mean() for rival in rivals))


def _claims(rows: Sequence[Row]) -> list[Claim]:
    errors = {label: values(rows, "estimation_error", method=label) for label in _OVERRIDES}
    claims = []
    for start, words in _STARTS.items():
        ours, plain, medians = (
            errors[_label(short, optimiser, start)]
            for short, optimiser in (("TKM", "TM"), ("KM", "SM"), ("KGM", "TM"))
        )
        rivals = [label for label in _OVERRIDES if label.endswith(words)]
        best = min(rivals, key=lambda label: float(np.mean(errors[label])))
        worse = bootstrap(over, plain, ours)
        behind = bootstrap(_over_the_least, ours, *(errors[label] for label in rivals))
        gap = bootstrap(over, medians, ours)
        claims += [
            Claim(
                "K-means + sample mean is about two times worse than TKM + TM (0.256 / 0.125; at "
                f"least 1.5); {words}",
                worse.written(" times"),
                worse.at_least(1.5),
            ),
            Claim(
                f"TKM + TM is the best of all; {words}",
                f"{behind.written(' times')} the least, {best}",
                behind.at_most(1.05),
            ),
            Claim(
                f"TKM and KGM end with similar errors (TM; 0.8 to 1.25); {words}",
                f"KGM {gap.written(' times')} TKM",
                gap.within(0.8, 1.25),
            ),
        ]
    for label in _OVERRIDES:
        wrong = summarise(values(rows, "misclustering", method=label))
        claims.append(
            Claim(
                f"{label}: (bars in a figure)",
                f"{summarise(errors[label])}, misclustered {wrong}",
                "-",
            )
        )
    return claims


def _draw(rows: Sequence[Row], path: Path) -> None:
    with figure(path, columns=2) as panels:
        for axes, (start, words) in zip(panels, _STARTS.items(), strict=True):
            for index, optimiser in enumerate(_OPTIMISERS):
                samples = {
                    place + 0.15 * (index - 1): values(
                        rows, "estimation_error", method=_label(short, optimiser, start)
                    )
                    for place, short in enumerate(CLUSTERINGS)
                }
                draw_quartiles(axes, samples, _LEGEND[optimiser], index)
            axes.set_xticks(range(len(CLUSTERINGS)), [WORDS[short] for short in CLUSTERINGS])
            axes.set_title(f"{words}: median over trials; bars: quartiles", fontsize=9)
            axes.set_ylim(bottom=0)
        panels[0].set_ylabel("estimation error")
        panels[1].legend(fontsize=8)


_COMMON = ("task=mean_estimation", "evaluate=false", "oracle=false", "rounds=10")
_OVERRIDES = {
    _label(short, optimiser, start): (f"clustering={name}", f"clustering.init={start}", *settings)
    for start in _STARTS
    for short, name in CLUSTERINGS.items()
    for optimiser, settings in _OPTIMISERS.items()
}
"""Label of every method and its own settings."""


def _notes(overrides: Sequence[str]) -> str:
    settings = compose((*_COMMON, *overrides))
    task, restarts = settings.choice("task"), settings.choice("clustering")["restarts"]
    ours = "" if task["data"] != "digits" else " (scikit-learn's)"
    return f"""\
KM, KGM, TKM: K-means, K-geomedians, trimmed K-means. SM, TM, FA: sample mean and trimmed mean of
gradients, trimmed mean of models after 5 local steps. The data are {task["data"]}{ours},
{task["clusters"]} clusters, {task["samples"]} points a client; the paper's numbers are those of a
file that cannot be shipped. It starts from one random labeling; "restarts" takes the best of
{restarts}. Numbers: mean ± standard deviation over trials [95 % interval of the mean]; ratios ±
their standard deviation [95 % interval], both over resampled trials; a claim is decided by the
whole interval."""


EXPERIMENT = Experiment(
    name="ranking",
    about="real data: clusters of feature vectors (Figure c)",
    cells=runs(_COMMON, _OVERRIDES),
    measure=_measure,
    claims=_claims,
    draw=_draw,
    notes=_notes,
)
