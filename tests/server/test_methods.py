"""Every clustering and aggregation that can be chosen works in a federation as it stands."""

import pytest

from tagma.settings import CONF

NAMES = {
    group: sorted(file.stem for file in (CONF / group).glob("*.yaml"))
    for group in ("clustering", "aggregation")
}
ROBUST = [
    "edge_cutting", "iterative_filtering", "kgeomedians", "kmedians", "ktrimmed_means",
    "trimmed_kmeans",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES["clustering"])
@pytest.mark.parametrize("init", ["restarts", "partial"])
def test_every_clustering_finds_two_separated_groups(name, init, run_small):
    metrics = run_small(f"clustering={name}", f"clustering.init={init}", "attack=none")
    assert metrics["clustering"]["name"] == name
    assert metrics["misclustering"] == 0
    assert metrics["estimation_error"] < 0.1


@pytest.mark.parametrize("name", ROBUST)
def test_every_robust_clustering_finds_them_among_poisoned_machines(name, run_small):
    metrics = run_small(f"clustering={name}", "clustering.init=partial")
    assert metrics["misclustering"] == 0


@pytest.mark.parametrize("name", NAMES["aggregation"])
def test_every_aggregation_comes_near_the_truth(name, run_small):
    metrics = run_small(f"aggregation={name}", "attack=none", "optimiser.step=0.5")
    assert metrics["estimation_error"] < 0.3
