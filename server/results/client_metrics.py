"""Scores of what clients measure with the models that they are served.

Where it is known who is honest, a metric is summed up over the honest clients: the mean, the mean
of their worst and of their best tenth, and that of the worst true cluster. Where nobody knows,
clients may report anything: then it is the median, which fewer than half of them cannot move beyond
what the others report, and there is no worst tenth, which would be the liars' to set.

A value that is outside the metric's range is dropped and counted. O(m log m) for each score.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any

import numpy as np

from tagma.arrays import Array, Labels
from tagma.attacks.goal import SUCCESS
from tagma.exchange import PERSONALISED
from tagma.server.results.scores import Score, Seen
from tagma.tasks.task import Better, Task

LOSS = "loss"
Range = tuple[float, float]
RANGES: Mapping[str, Range] = {
    **dict.fromkeys(
        (SUCCESS, "accuracy", "auc", "roc_auc", "f1", "precision", "recall"), (0.0, 1.0)
    ),
    "r2": (-inf, 1.0),
}
"""Of metrics that are called so everywhere; a task may have `ranges` of its own."""
PARTS = {
    "worst_decile": "worst tenth of clients",
    "best_decile": "best tenth of clients",
    "worst_cluster": "worst true cluster",
}
"""What there is beside the mean over the honest clients, and in words."""


class ClientMetric:
    """A metric over the honest clients: the mean, of `loss` the median.

    The median, too, where nobody knows who is honest.
    """

    of: str | None = None

    def __init__(self, metric: str, better: Better, limits: Range = (-inf, inf)) -> None:
        self.name = self.metric = metric
        self.title = metric.replace("_", " ")
        self.better: Better = better
        self.range = limits
        self.is_loss = metric.removeprefix(PERSONALISED) == LOSS

    def __call__(self, seen: Seen) -> float | None:
        """None if nobody has measured it in this round."""
        _, values = seen.measured(self.metric)
        if not len(values):
            return None
        robust = seen.byzantine is None or self.is_loss
        return float(np.median(values) if robust else values.mean())


class ClientPart(ClientMetric):
    """The mean of a metric over the clients, of the honest ones, that one of `PARTS` names."""

    def __init__(self, whole: ClientMetric, part: str) -> None:
        super().__init__(whole.metric, whole.better, whole.range)
        self.name = f"{whole.name}_{part}"
        self.title = f"{whole.title}, {PARTS[part]}"
        self.of = whole.name
        self.part = part

    def __call__(self, seen: Seen) -> float | None:
        """None if nobody has measured it in this round, or nobody knows who is honest."""
        clients, values = seen.measured(self.metric)
        if not len(values) or seen.truth is None or seen.byzantine is None:
            return None
        if self.part == "worst_cluster":
            return _worst_cluster(clients, values, seen.truth.labels, self.better)
        lowest = (self.part == "worst_decile") == (self.better == "high")
        ordered = np.sort(values) if lowest else np.sort(values)[::-1]
        return float(ordered[: -(-len(values) // 10)].mean())


def _worst_cluster(clients: Labels, values: Array, true: Labels, better: Better) -> float | None:
    known = true[clients] >= 0
    labels, values = true[clients][known], values[known]
    means = [float(values[labels == k].mean()) for k in np.unique(labels)]
    if not means:
        return None
    return min(means) if better == "high" else max(means)


def client_scores(task: Task, *, personalised: bool = False, goal: bool = False) -> Iterator[Score]:
    """A score for every metric of a task; then their parts, where it is known who is honest.

    `personalised`: the same again for the models after a few steps of the client's own. `goal`: the
    attack has one, and clients measure how often it is met.
    """
    limits: Mapping[str, Range] = {**RANGES, **getattr(task, "ranges", {})}
    metrics: dict[str, Better] = {**task.metrics, **({SUCCESS: "low"} if goal else {})}
    wholes = [
        ClientMetric(before + metric, better, limits.get(metric, (-inf, inf)))
        for before in ("", PERSONALISED)[: 1 + personalised]
        for metric, better in metrics.items()
    ]
    yield from wholes
    if task.truth() is not None:
        yield from (ClientPart(one, part) for one in wholes if not one.is_loss for part in PARTS)


def within_range(
    told: Mapping[int, Mapping[str, float]], scores: Sequence[Score]
) -> tuple[dict[int, dict[str, float]], Counter[str]]:
    """What clients measured, without values that cannot be, and how many of each metric these are.

    One that is missing in an answer counts, too: it was no number.
    """
    limits = {one.metric: one.range for one in scores if isinstance(one, ClientMetric)}
    found: dict[int, dict[str, float]] = {}
    dropped: Counter[str] = Counter()
    for client, values in told.items():
        found[client] = {
            name: value
            for name, value in values.items()
            if limits.get(name, (value, value))[0] <= value <= limits.get(name, (value, value))[1]
        }
        dropped.update(limits.keys() - found[client].keys())
    return found, dropped


def summary_of_metrics(
    seen: Seen, scores: Sequence[Score], curves: Mapping[str, list[float | None]]
) -> dict[str, dict[str, Any]]:
    """For every metric but the loss, what metrics.json says of it, by the name of its score.

    Mean and parts at the end and per round; the median and middle half of the clients that count,
    all there is where nobody knows who is honest; and how many these are.
    """
    found: dict[str, dict[str, Any]] = {}
    for one in scores:
        if not isinstance(one, ClientMetric) or one.is_loss:
            continue
        if isinstance(one, ClientPart):
            assert one.of is not None
            found[one.of] |= {
                one.part: curves[one.name][-1], f"{one.part}_per_round": curves[one.name]
            }  # fmt: skip
            continue
        _, values = seen.measured(one.metric)
        known = seen.byzantine is not None
        found[one.name] = {
            "mean": curves[one.name][-1] if known else None,
            **dict.fromkeys(PARTS),
            "median": float(np.median(values)) if len(values) else None,
            "middle_half": _middle_half(values),
            "clients": len(values),
            "per_round": curves[one.name],
        }
        if one.metric == SUCCESS:
            found[one.name]["without_attack"] = None  # which a run of the oracle tells
    return found


def _middle_half(values: Array) -> list[float] | None:
    """Quartiles that are values of clients, not between two: these may be near the largest."""
    if not len(values):
        return None
    ends: list[float] = np.quantile(values, [0.25, 0.75], method="inverted_cdf").tolist()
    return ends
