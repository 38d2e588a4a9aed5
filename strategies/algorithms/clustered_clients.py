"""What the three-stage algorithm knows of its clients, from stage II on."""

from dataclasses import dataclass, replace

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.exchange import NO_MODEL, rows_of
from tagma.strategies.aggregation import Memory
from tagma.strategies.clustering import Clustering
from tagma.strategies.screening.benefit import Differences
from tagma.strategies.screening.confinement import Confinement
from tagma.strategies.screening.second_choice import SecondChoice
from tagma.strategies.screening.standing import NO_SCREENING, Screening, Standing, contradicts

OUT_IN_STAGE_TWO = "more than half of the clients belong to no cluster"


@dataclass(frozen=True)
class Clustered:
    """What the server knows after stage II and after every round of stage III."""

    clients: Labels
    """The clients that take part, in ascending order, shape (m,); rows below belong to them."""
    local_models: Array
    """The local models that they joined with, shape (m, d)."""
    labels: Labels
    """Their clusters, or `NO_MODEL`, shape (m,)."""
    trimmed: Mask
    """Those whose local model lies outside their cluster's ball, shape (m,)."""
    joined: Labels
    """The round in which each joined, shape (m,)."""
    clustering: Clustering
    """Stage II as it was; its rows belong to the clients that joined in round 1."""
    models: Array
    """One model per cluster, shape (K, d)."""
    standing: Standing
    """What is held against the clients."""
    memories: tuple[Memory | None, ...] = ()
    """What the rule remembers of every cluster; empty before stage III."""
    weights: Array | None = None
    """How much each client's replies count, shape (m,); None: all alike."""
    confinement: Confinement | None = None
    """How far the models may go; None: anywhere."""
    contradiction: str | None = None
    """What cannot be while fewer than half of the clients are Byzantine, if it happened."""
    differences: Differences | None = None
    """How clients differed in their clusters on the first half of their data, if they are asked."""
    judged: bool = False
    """Whether it is known if clusters help."""
    likeness: float | None = None
    """How alike these differences were on both halves; None: not known."""
    single: bool = False
    """Whether all have one model, because clusters do not help."""
    second: SecondChoice | None = None
    """Who may be of which clusters; None: nobody ever was in doubt."""

    def __post_init__(self) -> None:
        """A state that was read from a file may be anything."""
        m, (k, d) = len(self.clients), self.models.shape
        standing = (self.standing.counts, self.standing.strikes, self.standing.evidence)
        one_each = (self.labels, self.trimmed, self.joined, *standing)
        if self.local_models.shape != (m, d) or any(array.shape != (m,) for array in one_each):
            raise ValueError("its arrays do not fit together")
        if self.clustering.centres.shape != (k, d) or len(self.memories) not in (0, k):
            raise ValueError("its clusters do not fit its models")
        if self.second is not None and self.second.excess.shape != (m, k):
            raise ValueError("its doubts are not about its clients and clusters")
        if self.differences is not None and self.differences.rows.shape[1] != d:
            raise ValueError("its differences do not fit its models")
        if int((self.joined == 1).sum()) != len(self.clustering.labels):
            raise ValueError("its clusters are not those of the clients that joined first")

    @classmethod
    def after(
        cls,
        clients: Labels,
        local_models: Array,
        clustering: Clustering,
        screening: Screening = NO_SCREENING,
    ) -> "Clustered":
        """The state after stage II; the models start at the cluster centres.

        If most clients would be in quarantine, nobody is, and the models start at the medians of
        their clusters.
        """
        standing, labels = screening.begin(clustering.trimmed), clustering.labels
        models, contradiction = clustering.centres, None
        if screening.quarantine and contradicts(clustering.trimmed):
            contradiction = OUT_IN_STAGE_TWO
            own = [local_models[labels == k] for k in range(clustering.k)]
            models = np.array([np.median(rows, axis=0) for rows in own])
        return cls(
            clients=clients,
            local_models=local_models,
            labels=labels,
            trimmed=clustering.trimmed,
            joined=np.ones(len(clients), dtype=np.int64),
            clustering=clustering,
            models=models.astype(local_models.dtype),
            standing=standing,
            contradiction=contradiction,
            second=screening.doubted(clustering.between),
        )

    def with_reason(self, why: str) -> "Clustered":
        """The same with more words on what became of the clusters."""
        said = f"{self.clustering.stopped}; {why}"
        return replace(self, clustering=replace(self.clustering, stopped=said))

    def with_one_model(self, model: Array) -> "Clustered":
        """The same with all clients in one cluster without a ball, and nobody in quarantine."""
        alone, first = np.zeros(len(self.clients), dtype=np.int64), self.joined == 1
        nobody = np.zeros(len(self.clients), dtype=bool)
        found = replace(
            self.clustering,
            labels=alone[first], trimmed=nobody[first], history=alone[first][None],
            centres=model[None].astype(np.float64), radius=np.array([np.inf]),
            suspect=(), stretched=(),
        )  # fmt: skip
        return replace(
            self,
            labels=alone, trimmed=nobody, clustering=found, models=model[None],
            standing=Standing.new(nobody), memories=(), weights=None, single=True,
            second=None,
        )  # fmt: skip

    def row_of(self, client: int) -> int | None:
        """The row of a client, or None if it is not known."""
        row = int(np.searchsorted(self.clients, client))
        return row if row < len(self.clients) and self.clients[row] == client else None

    def cluster_of(self, client: int) -> int | None:
        """The cluster of a client, or None if it has none."""
        row = self.row_of(client)
        return None if row is None or self.labels[row] == NO_MODEL else int(self.labels[row])

    def labels_of(self, clients: Labels) -> Labels:
        """The clusters of these clients, `NO_MODEL` for those that are not known."""
        return rows_of(clients, self.clients, self.labels)
