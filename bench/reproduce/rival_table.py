"""A rival's own setting: what its authors say, and what we measure of everybody there.

A table has conditions, such as an attack, and algorithms; every algorithm runs in every condition
on the same data, trial by trial. `preset=tagma` is one of them and is told nothing; the others are
given what they ask for, such as K.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from tagma.bench.cells import ArrayCell, Cell
from tagma.bench.reproduce.experiment import Experiment, Row, runs, values
from tagma.bench.reproduce.paper_claims import Claim, Verdict, number, verdict
from tagma.bench.reproduce.print_figures import figure, look

OURS = "tagma, told nothing"
ORACLE = "oracle, nobody Byzantine"
ALONE = "local"
_WITHOUT_CLUSTERS = ("FedAvg", "FedAvg, trimmed mean", "threshold", ALONE)
Overrides = tuple[str, ...]


def algorithms(k: int, beta: float, quantile: float) -> dict[str, Overrides]:
    """Ours and the rivals, who are told K, how much to trim and how many clients are alike."""
    trimmed = ("aggregation=trimmed_mean", f"aggregation.beta={beta}")
    ifca = ("strategy=ifca", f"strategy.k={k}")
    return {
        OURS: ("preset=tagma",),
        ORACLE: ("strategy=oracle", "strategy.exclude_byzantine=true", "aggregation=mean"),
        "IFCA": (*ifca, "aggregation=mean"),
        "IFCA, trimmed mean": (*ifca, *trimmed),
        "CFL": ("strategy=cfl", "aggregation=mean"),
        "FedAvg": ("strategy=fedavg", "aggregation=mean"),
        "FedAvg, trimmed mean": ("strategy=fedavg", *trimmed),
        "threshold": ("strategy=threshold", f"strategy.quantile={quantile}"),
        ALONE: ("strategy=local",),
    }


@dataclass(frozen=True)
class Condition:
    """What all algorithms face, and how each of them is set there."""

    settings: Overrides
    algorithms: Mapping[str, Overrides]
    unit: float = 1.0
    """The score of a run times this is what the authors measure."""
    says: Mapping[str, str] = field(default_factory=dict)
    """What the authors say of an algorithm."""
    arrays: Mapping[str, tuple[str, Mapping[str, Any]]] = field(default_factory=dict)
    """Algorithms that run on arrays alone: a function by its dotted path, and its arguments.

    It is given `overrides` and `seed` as well, and returns a `score`.
    """


@dataclass(frozen=True)
class Rivals:
    """The table of one rival."""

    name: str
    about: str
    common: Overrides
    conditions: Mapping[str, Condition]
    score: str
    """`accuracy`, which is to be high, or `served_error`, which is to be low."""
    allowed: float
    """How much worse than a rival ours may be: a difference of accuracies, a ratio of errors."""
    allowed_to_oracle: float
    notes: str
    floor: float = 0.0
    """Errors below this count as this."""
    trials: int = 3

    def experiment(self) -> Experiment:
        """For `tagma reproduce`."""
        return Experiment(
            name=self.name,
            about=self.about,
            cells=self._cells,
            measure=self._measure,
            claims=self._claims,
            draw=self._draw,
            notes=lambda overrides: self.notes,
            heading="they say",
            trials=self.trials,
        )

    def _cells(self, trials: int, seed: int, overrides: Sequence[str]) -> list[Cell]:
        federations = {
            f"{condition}: {algorithm}": (*faced.settings, *own)
            for condition, faced in self.conditions.items()
            for algorithm, own in faced.algorithms.items()
        }
        cells: list[Cell] = list(runs(self.common, federations)(trials, seed, overrides))
        return cells + [
            ArrayCell(
                f"{condition}: {algorithm}", trial, function,
                (("overrides", (*self.common, *faced.settings, *overrides)), *arguments.items(),
                 ("seed", seed + trial)),
            )
            for trial in range(trials)
            for condition, faced in self.conditions.items()
            for algorithm, (function, arguments) in faced.arrays.items()
        ]  # fmt: skip

    def _measure(self, method: str, metrics: Mapping[str, Any]) -> list[Row]:
        condition, _, algorithm = method.partition(": ")
        score = metrics["scores"][self.score]["value"] if "scores" in metrics else metrics["score"]
        unit = self.conditions[condition].unit
        row: Row = {"method": method, "condition": condition, "algorithm": algorithm}
        row["score"] = None if score is None else score * unit
        if "scores" in metrics:
            row |= {name: metrics[name] for name in ("misclustering", "ari")}
            row |= {
                part: found["value"]
                for part, found in metrics["scores"].items()
                if part == f"{self.score}_worst_decile"
            }
        return [row]

    def _claims(self, rows: Sequence[Row]) -> list[Claim]:
        claims = []
        for condition, faced in self.conditions.items():
            for algorithm in [*faced.algorithms, *faced.arrays]:
                label = f"{condition}: {algorithm}"
                said = faced.says.get(algorithm)
                claims.append(
                    Claim(
                        f"{label}: {said}" if said else label,
                        self._measured(rows, label) + self._beside(rows, condition, algorithm),
                        self._holds(rows, condition, algorithm),
                    )
                )
        return claims

    def _measured(self, rows: Sequence[Row], label: str) -> str:
        found = np.array(values(rows, "score", method=label))
        words = self._shown(float(found.mean()))
        if len(found) > 1 and np.isfinite(found).all():
            words += f" ± {self._shown(float(found.std(ddof=1)))}"
        wrong = [row.get("misclustering") for row in rows if row["method"] == label]
        if any(wrong) and not label.endswith(_WITHOUT_CLUSTERS):
            words += f"; {100 * float(np.mean([share or 0 for share in wrong])):.1f} % misclustered"
        return words

    def _beside(self, rows: Sequence[Row], condition: str, algorithm: str) -> str:
        """How ours does beside an algorithm, over the trials and in the worst of them."""
        if algorithm == OURS:
            return ""
        if self._high:
            found = self._gains(rows, condition, algorithm)
            return f"; ours {found.mean():+.4f}, at worst {found.min():+.4f}"
        ours, theirs = (self._errors(rows, condition, name) for name in (OURS, algorithm))
        as_good = int((ours <= theirs * self._most(algorithm)).sum())
        return f"; ours is as good in {as_good} of {len(ours)}"

    def _holds(self, rows: Sequence[Row], condition: str, algorithm: str) -> Verdict:
        """Whether ours is as good: in every trial by accuracy, on average by error."""
        if algorithm == OURS:
            return "-"
        if self._high:
            allowed = self._most(algorithm)
            return verdict(bool(self._gains(rows, condition, algorithm).min() >= -allowed))
        ours, theirs = (self._errors(rows, condition, name).mean() for name in (OURS, algorithm))
        return verdict(bool(ours <= theirs * self._most(algorithm)))

    @property
    def _high(self) -> bool:
        return self.score == "accuracy"

    def _most(self, algorithm: str) -> float:
        return self.allowed_to_oracle if algorithm == ORACLE else self.allowed

    def _gains(self, rows: Sequence[Row], condition: str, algorithm: str) -> np.ndarray:
        ours, theirs = (
            np.array(values(rows, "score", condition=condition, algorithm=name))
            for name in (OURS, algorithm)
        )
        return ours - theirs

    def _errors(self, rows: Sequence[Row], condition: str, algorithm: str) -> np.ndarray:
        found = values(rows, "score", condition=condition, algorithm=algorithm)
        return np.maximum(found, self.floor)

    def _shown(self, value: float) -> str:
        return f"{value:.4f}" if self._high else number(value)

    def _draw(self, rows: Sequence[Row], path: Path) -> None:
        names = list(dict.fromkeys(row["algorithm"] for row in rows))
        with figure(path, width=7) as axes:
            for index, condition in enumerate(self.conditions):
                found = {
                    row["algorithm"]: values(rows, "score", method=row["method"])
                    for row in rows
                    if row["condition"] == condition
                }
                heights = [names.index(name) + 0.1 * index for name in found]
                means = [float(np.mean(sample)) for sample in found.values()]
                if not self._high:
                    means = [max(mean, self.floor) for mean in means]
                axes.plot(means, heights, label=condition, **look(index) | {"linestyle": "none"})
            axes.set_yticks(range(len(names)), [fill(name, 28) for name in names])
            axes.invert_yaxis()
            if not self._high:
                axes.set_xscale("log")
            axes.set_xlabel("accuracy" if self._high else "error")
            axes.legend(fontsize=7)
