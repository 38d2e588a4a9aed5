"""The worst parameters of an attack against `preset=tagma`, and what they do on fresh seeds."""

import csv
from functools import lru_cache
from typing import Any

import numpy as np

from tagma.bench.attack_hunt import Hunt, with_seed
from tagma.bench.cell_store import FILES
from tagma.bench.federation_cell import FederationCell
from tagma.server.results.run_folder import CLUSTERS
from tagma.settings import Settings

_RUN = ("task=mixture_regression", "engine=vectorised", "rounds=20")
_TOGETHER = 10
_SEEDS = 3
"""Of a finalist of the search."""
_SERVED = 2.0
"""Times the error without Byzantine clients that nobody should get without a warning."""

_MOST = 1e9
"""More is not counted."""


def search_trial(*, attack: str, alpha: float, tries: int, fresh: int, seed: int) -> dict[str, Any]:
    """At most so many tries; then so many fresh seeds, of which the paper's pair has the same.

    With each, whether it has a warning, and whether every true cluster keeps an honest majority.
    """
    hunt = Hunt.of(
        attack, str(alpha), (*_RUN, "preset=tagma"),
        tries=tries, seeds=range(seed, seed + _SEEDS),
    )  # fmt: skip
    while (asked := hunt.ask(_TOGETHER))[0]:
        points, seeds = asked
        hunt.tell([[_ratio(hunt, hunt.settings(point, own)) for own in seeds] for point in points])
    worst = hunt.search.points[hunt.worst]
    paper = Hunt.of(attack, str(alpha), (*_RUN, "preset=paper"), tries=1, seeds=hunt.seeds)
    rows = []
    for own in range(seed + _SEEDS, seed + _SEEDS + fresh):
        metrics, majority = _run(hunt.settings(worst, own))
        ours = _over_oracle(hunt, metrics, own)
        said = bool(metrics["warnings"])
        rows.append((ours, _ratio(paper, paper.settings(worst, own)), said, majority))
    ours, theirs, warned, kept = np.array(rows, dtype=float).T
    return {
        "tries": len(hunt.ratios),
        "settings": " ".join(hunt.overrides(worst)[2:]),
        "as given": hunt.ratios[0][0],
        "ours": float(ours.mean()),
        "worst": float(ours.max()),
        "paper": float(theirs.mean()),
        "warned": float(warned.mean()),
        "unwarned": float(((ours > _SERVED) & (warned == 0)).mean()),
        "honest majority": float(kept.mean()),
    }


def _ratio(hunt: Hunt, settings: Settings) -> float:
    return _over_oracle(hunt, _run(settings)[0], settings.seed)


def _over_oracle(hunt: Hunt, metrics: dict[str, Any], seed: int) -> float:
    served = metrics["served_error"]
    return _MOST if served is None else min(served / _without(hunt.alpha, seed), _MOST)


@lru_cache(maxsize=1000)
def _without(alpha: str, seed: int) -> float:
    """The served error without the Byzantine clients, who are the same under every attack."""
    hunt = Hunt.of("sign_flip", alpha, _RUN, tries=1, seeds=range(1))
    return float(_run(with_seed(hunt.oracle, seed))[0]["served_error"])


def _run(settings: Settings) -> tuple[dict[str, Any], bool]:
    """The metrics of a run, and whether every true cluster keeps an honest majority."""
    result = FederationCell("search", 0, settings, picture=True).run()
    return result["metrics"], _majority(result[FILES][CLUSTERS].decode())


def _majority(table: str) -> bool:
    """Whether most are honest wherever most honest clients of a true cluster are."""
    rows = list(csv.DictReader(table.splitlines()))
    assigned, true, byzantine, quarantined = (
        np.array([int(row[name]) for row in rows])
        for name in ("assigned", "true", "byzantine", "quarantined")
    )
    taking_part = quarantined == 0
    for k in np.unique(true):
        own = assigned[(true == k) & (byzantine == 0)]
        there = taking_part & (assigned == np.bincount(own).argmax()) if len(own) else taking_part
        if 2 * byzantine[there].sum() >= max(there.sum(), 1):
            return False
    return True
