"""An installed package of somebody else, with plugins as entry points."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

PARTS = '''
"""Plugins of somebody else; importing this is noticed."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt

from tagma.attacks.base import LocalAttack
from tagma.exchange import Request
from tagma.strategies.aggregation import Aggregate
from tagma.strategies.algorithms.algorithm import AlgorithmBase
from tagma.strategies.clustering.kmeans import kmeans
from tagma.tasks.mixture_regression import MixtureRegression


def midrange(updates, *, shrink: Annotated[float, Ge(0)] = 1.0):
    """Halfway between the extremes."""
    return Aggregate(shrink * (updates.min(axis=0) + updates.max(axis=0)) / 2)


class Crowd(LocalAttack):
    """The opposite, and more."""

    def __init__(self, *, factor: Annotated[float, Gt(0)] = 2.0) -> None:
        self.factor = factor

    def forge(self, honest, view):
        return -self.factor * honest


def groups(vectors, initial, *, k: int, iterations: int = 20):
    """K-means by another name."""
    return kmeans(vectors, initial, k=k, fraction=0.3, iterations=iterations)


@dataclass(frozen=True)
class Model:
    model: np.ndarray


class Plain(AlgorithmBase):
    """One model for all."""

    def __init__(self, *, aggregate, optimiser, shrink: float = 1.0):
        self.aggregate, self.optimiser, self.shrink = aggregate, optimiser, shrink

    def start(self, initial):
        return Model(initial)

    def ask(self, state, round_number, clients):
        everyone = np.zeros(len(clients), dtype=np.int64)
        return Request(self.optimiser.work, clients, state.model[None], everyone)

    def learn(self, state, request, replies):
        return Model(self.optimiser(state.model, self.aggregate(replies.vectors).estimate))

    def serve(self, state, clients):
        return state.model[None], np.zeros(len(clients), dtype=np.int64)


class Regressions(MixtureRegression):
    """Regressions of somebody else."""
'''
OFFERS = {
    "tagma.rules": {"their_rule": "their_parts:midrange"},
    "tagma.attacks": {"their_attack": "their_parts:Crowd"},
    "tagma.clusterings": {"their_clustering": "their_parts:groups"},
    "tagma.algorithms": {"their_algorithm": "their_parts:Plain"},
    "tagma.tasks": {"their_task": "their_parts:Regressions"},
}


@contextmanager
def installed(
    folder: Path,
    offers: Mapping[str, Mapping[str, str]] = OFFERS,
    name: str = "their-package",
    parts: str = PARTS,
) -> Iterator[Path]:
    """A folder on the import path in which a package is installed; as before afterwards."""
    about = folder / f"{name.replace('-', '_')}-1.2.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    lines = [
        line
        for group, points in offers.items()
        for line in (f"[{group}]", *(f"{key} = {value}" for key, value in points.items()))
    ]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n")
    (folder / "their_parts.py").write_text(parts)
    sys.path.append(str(folder))
    try:
        yield folder
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("their_parts", None)
