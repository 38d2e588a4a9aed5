"""What the three-stage algorithm knows of its clients, from stage II on."""

from dataclasses import dataclass, replace

import numpy as np

from tagma.arrays import Array, Labels, Mask
from tagma.exchange import NO_MODEL, Replies, rows_of
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
    """What they were clustered by, shape (m, d): the local models that they joined with.

    Where clients are clustered again, what they make of the `origin`.
    """
    labels: Labels
    """Their clusters, or `NO_MODEL`, shape (m,)."""
    trimmed: Mask
    """Those whose local model lies outside their cluster's ball, shape (m,)."""
    joined: Labels
    """The round in which each joined, shape (m,); 1 for all that were clustered."""
    clustering: Clustering
    """Stage II as it was; its rows belong to the clients with a 1 in `joined`."""
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
    since: int = 0
    """Rounds since clients were clustered."""
    origin: Array | None = None
    """What local models were trained from, shape (d,); None: from the initial model."""
    joined_with: Array | None = None
    """The local models of round 1, or of who came later, where clients were clustered again."""
    common: Array | None = None
    """One model beside those of the clusters, where clients use which is better, shape (d,)."""
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
        if any(one is not None and one.shape != (d,) for one in (self.common, self.origin)):
            raise ValueError("its common model does not fit the others")
        if self.joined_with is not None and self.joined_with.shape != (m, d):
            raise ValueError("its first local models do not fit its clients")
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

    @property
    def first_models(self) -> Array:
        """The local models that clients joined with, by which they are recognised."""
        return self.local_models if self.joined_with is None else self.joined_with

    def first_balls(self) -> tuple[Array, Array]:
        """Where newcomers belong: the centres of these models by cluster, and their radii."""
        if self.joined_with is None:
            return self.clustering.centres, self.clustering.radius
        centres, radii = self.clustering.centres.copy(), np.full(len(self.models), np.inf)
        for k in range(len(self.models)):
            own = self.joined_with[(self.labels == k) & ~self.trimmed]
            if len(own):
                centres[k] = own.mean(axis=0)
                radii[k] = np.linalg.norm(own - centres[k], axis=1).max()
        return centres, radii

    def clustered_anew(self, origin: Array, replies: Replies, found: Clustering) -> "Clustered":
        """The same by a new clustering of what these clients, all known, made of the origin.

        Every new cluster goes on with the model that most of its members have. Who belongs to none
        of the new clusters is in quarantine from now on, and who was in quarantine stays there,
        until two clusterings in a row have found a place for it. Who did not reply goes with most
        of those who were in its cluster. Where clusters were found not to help, or perhaps not,
        that is open again. A clustering that leaves out most says nothing.
        """
        if contradicts(found.trimmed):
            return replace(self, since=0)
        rows = np.searchsorted(self.clients, replies.clients)
        there = np.zeros(len(self.clients), dtype=bool)
        there[rows] = True
        labels, trimmed = np.empty_like(self.labels), self.trimmed.copy()
        labels[rows], trimmed[rows] = found.labels, found.trimmed
        counts = there & ~trimmed & self.standing.counts & (self.labels != NO_MODEL)
        together = np.zeros((len(self.models), found.k), dtype=np.int64)
        np.add.at(together, (self.labels[counts], labels[counts]), 1)
        labels[~there] = together.argmax(axis=1)[self.labels[~there]]
        labels[~there & (self.labels == NO_MODEL)] = NO_MODEL
        before = together.argmax(axis=0)
        local_models = self.local_models.copy()
        local_models[rows] = replies.vectors
        memories = tuple(self.memories[k] for k in before) if self.memories else ()
        return replace(
            self,
            local_models=local_models, origin=origin, joined_with=self.first_models,
            labels=labels, trimmed=trimmed, clustering=found,
            joined=np.where(there, 1, np.maximum(self.joined, 2)),
            models=self.models[before], memories=memories, confinement=None,
            standing=self.standing.after_clustering(trimmed, there),
            judged=self.judged and not (self.single or self.common is not None),
            single=False, common=None, since=0, second=None,
        )  # fmt: skip

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

    @property
    def offered(self) -> Array:
        """All models that clients may use; the common one is the last."""
        return self.models if self.common is None else np.vstack([self.models, self.common])

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
