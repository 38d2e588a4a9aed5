"""What a run of `Robust` or `Clustered` returns: Flower's result, and what was found beside it."""

from dataclasses import dataclass, field

from flwr.app import ArrayRecord
from flwr.serverapp.strategy import Result


@dataclass
class ClusteredResult(Result):
    """Flower's result, whose `arrays` are those of the largest cluster, with all clusters."""

    models: list[ArrayRecord] = field(default_factory=list)
    """One for every cluster."""
    clusters: dict[int, int] = field(default_factory=dict)
    """The cluster, a place in `models`, of every node that has one."""
    suspects: set[int] = field(default_factory=set)
    """Nodes whose replies do not count: in quarantine, or excluded."""
