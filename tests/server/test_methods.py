"""Every clustering and aggregation that can be chosen works in a federation as it stands."""

import pytest

from tagma.choices import CONF

NAMES = {
    group: sorted(file.stem for file in (CONF / group).glob("[!_]*.yaml"))
    for group in ("clustering", "aggregation")
}
ROBUST = [
    "edge_cutting", "iterative_filtering", "kgeomedians", "kmedians", "ktrimmed_means",
    "trimmed_kmeans",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES["clustering"])
@pytest.mark.parametrize("init", ["restarts", "partial"])
def test_every_clustering_finds_two_separated_groups(name, init, run_small):
    start = [] if name == "density" else [f"clustering.init={init}"]  # it begins without labels
    metrics = run_small(f"clustering={name}", *start, "attack=none")
    assert metrics["clustering"]["name"] == name
    assert metrics["misclustering"] == 0
    assert metrics["estimation_error"] < 0.1


@pytest.mark.parametrize("name", ROBUST)
def test_every_robust_clustering_finds_them_among_poisoned_clients(name, run_small):
    metrics = run_small(f"clustering={name}", "clustering.init=partial")
    assert metrics["misclustering"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(NAMES["aggregation"]) - {"fltrust"}))  # needs data
def test_every_aggregation_comes_near_the_truth(name, run_small):
    metrics = run_small(f"aggregation={name}", "attack=none", "optimiser.step=0.5")
    assert metrics["estimation_error"] < 0.3


def test_the_number_of_clusters_need_not_be_known(run_small):
    metrics = run_small("clustering=density", "attack.fraction=0.2")
    assert len(metrics["clusters"]) == 2
    assert metrics["misclustering"] == 0
    assert all(cluster["suspect"] is None for cluster in metrics["clusters"])


@pytest.mark.parametrize("attack", ["poisoned_regression", "sign_flip", "infiltrate"])
def test_the_whole_preset_is_as_good_as_a_federation_without_byzantine_clients(attack, run_small):
    common = (f"attack={attack}", "attack.fraction=0.25", "task.clients=40")
    ours = run_small("preset=tagma", *common)
    without = run_small(
        "strategy=oracle", "strategy.exclude_byzantine=true", "aggregation=mean", *common
    )
    assert ours["estimation_error"] <= 1.1 * without["estimation_error"]
    bounds = [c["error_bound"] for c in ours["clusters"] if c["error_bound"] is not None]
    assert ours["estimation_error"] < max(bounds) < 1


def test_the_paper_in_one_word_is_the_default(run_small):
    assert run_small("preset=paper")["clusters"] == run_small()["clusters"]


def test_a_check_that_does_not_apply_is_off_and_says_so(run_small):
    metrics = run_small("preset=tagma", "solver=online", "attack=none")
    assert any("reply check is off: solver=online" in text for text in metrics["warnings"])
    assert metrics["screening"]["excluded"] == []
