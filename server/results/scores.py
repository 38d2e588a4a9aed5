"""How good a federation is after a round, by small objects of one kind.

A score looks at what the clients are served, at what is known of the truth, and at what clients
measured with their models. It has a name, which table, progress, history, report, trackers and
leaderboard use, and says which way is good. Here are those that need the true models; those of what
clients measure are in `tagma.server.results.client_metrics`, and which a run has in
`tagma.server.results.score_choice`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.exchange import CHOICE, NO_MODEL
from tagma.server.results.cluster_scores import estimation_error
from tagma.tasks.task import Better, Truth

_DIVERGED = 1e100
"""Errors beyond this are no numbers that anybody should read."""
ERRORS = ("estimation_error", "served_error")
"""Scores that are None where the models have diverged; others, where nobody measured them."""


@dataclass(frozen=True)
class Seen:
    """What a score may look at."""

    clients: Labels
    """In ascending order, shape (m,)."""
    models: Array
    """Shape (K, d)."""
    which: Labels
    """The model of every client, shape (m,)."""
    truth: Truth | None
    byzantine: Mask | None
    """By client number; None where nobody knows."""
    evaluations: Mapping[int, Mapping[str, float]]
    """What clients measured, by client and metric."""

    def honest(self, clients: Labels) -> Mask:
        """Which of these are honest, as far as anybody knows."""
        if self.byzantine is None:
            return np.ones(len(clients), dtype=bool)
        known = clients < len(self.byzantine)
        honest = np.zeros(len(clients), dtype=bool)
        honest[known] = ~self.byzantine[clients[known]]
        return honest

    @property
    def used(self) -> Labels:
        """The same, where a client says that it uses another one."""
        found = self.which.copy()
        for place, client in enumerate(self.clients.tolist()):
            row = self.evaluations.get(client, {}).get(CHOICE, NO_MODEL)
            if row in range(len(self.models)):
                found[place] = int(row)
        return found

    def measured(self, metric: str) -> tuple[Labels, Array]:
        """The honest clients that measured this, in ascending order, and their values."""
        values = {c: found[metric] for c, found in self.evaluations.items() if metric in found}
        clients = np.array(sorted(values), dtype=np.int64)
        clients = clients[self.honest(clients)]
        return clients, np.array([values[client] for client in clients.tolist()])


class Score(Protocol):
    """One way to measure a federation."""

    name: str
    title: str
    """For people."""
    better: Better
    of: str | None
    """The score of which it shows a part, such as the clients for whom it is worst."""

    def __call__(self, seen: Seen) -> float | None:
        """The score; None where it is not known."""


class EstimationError:
    """max_k ||w_k - w*_k|| / sqrt(d), where the true models are known.

    Where every client has a model of its own, w_k is not matched with the luckiest of them: then it
    is the worst true cluster's mean over its honest clients.
    """

    name, title = "estimation_error", "estimation error"
    better: Better = "low"
    of: str | None = None

    def __call__(self, seen: Seen) -> float | None:
        """None if the models have diverged."""
        assert seen.truth is not None
        assert seen.truth.centres is not None
        if len(seen.models) > seen.truth.k and len(seen.models) == len(seen.clients):
            rows = np.flatnonzero(seen.honest(seen.clients) & (seen.which != NO_MODEL))
            true = seen.truth.labels[seen.clients[rows]]
            error = _worst_mean(seen.models, seen.which[rows], true, seen.truth.centres)
        else:
            error = estimation_error(seen.models, seen.truth.centres)
        return error if error <= _DIVERGED else None


class ServedError:
    """The worst true cluster's mean of ||w - w*|| / sqrt(d), w what an honest client receives.

    Where clients may choose, w is what it uses.

    Clusters are not matched: a client that is in the wrong one is served the wrong model. All
    honest clients of the task count. One that has no model, because no cluster holds it, it came
    too late or nothing usable came from it, has what it began with, the initial model.
    """

    name, title = "served_error", "served error"
    better: Better = "low"
    of: str | None = None

    def __init__(self, initial: Array) -> None:
        self._initial = initial

    def __call__(self, seen: Seen) -> float | None:
        """None if the models have diverged."""
        assert seen.truth is not None
        assert seen.truth.centres is not None
        true = seen.truth.labels
        known = seen.clients < len(true)
        row = np.full(len(true), NO_MODEL)
        row[seen.clients[known]] = seen.used[known]
        counted = seen.honest(np.arange(len(true))) & (true >= 0)
        models = np.vstack([seen.models, self._initial])
        row[row == NO_MODEL] = len(seen.models)
        error = _worst_mean(models, row[counted], true[counted], seen.truth.centres)
        return error if error <= _DIVERGED else None


def _worst_mean(models: Array, which: Labels, true: Labels, centres: Array) -> float:
    """The mean error of the true cluster where it is largest, over clients with these models.

    Clients of one cluster with one model have one error: O(d) for every such pair.
    """
    pairs, pair_of = np.unique(which * len(centres) + true, return_inverse=True)
    rows, clusters = np.divmod(pairs, len(centres))
    with np.errstate(over="ignore", invalid="ignore"):
        away = np.linalg.norm(models[rows] - centres[clusters], axis=1)[pair_of]
    means = [float(away[true == k].mean()) for k in np.unique(true)]
    return float(np.max(means, initial=0.0) / np.sqrt(centres.shape[1]))
