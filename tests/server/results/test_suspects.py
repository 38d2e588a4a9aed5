"""A run says which clusters are not to be trusted."""

MORE = ("task.clients=40", "task.dim=20", "task.samples=100", "rounds=10", "evaluate=false")
INFILTRATE = ("attack=infiltrate", "attack.fraction=0.2")
"""8 Byzantine clients beside the 16 honest clients of their cluster."""


def test_a_third_of_a_cluster_breaks_the_mean_and_the_run_says_so(run_small):
    metrics = run_small(*MORE, *INFILTRATE, "aggregation=mean")
    assert metrics["estimation_error"] > 10
    suspects = [cluster for cluster in metrics["clusters"] if cluster["suspect"]]
    assert [cluster["byzantine"] for cluster in suspects] == [8]
    assert any("is suspect" in warning for warning in metrics["warnings"])


def test_the_trimmed_mean_bears_them_and_nothing_is_suspect(run_small):
    metrics = run_small(*MORE, *INFILTRATE)
    assert metrics["estimation_error"] < 0.15
    assert [cluster["suspect"] for cluster in metrics["clusters"]] == [None, None]


def test_more_than_half_of_a_cluster_breaks_everything_and_the_run_says_so(run_small):
    metrics = run_small(*MORE, "attack=infiltrate", "attack.fraction=0.4")
    assert metrics["estimation_error"] > 10
    suspects = [cluster for cluster in metrics["clusters"] if cluster["suspect"]]
    assert [cluster["byzantine"] for cluster in suspects] == [16]


def test_without_byzantine_clients_nothing_is_suspect(run_small):
    for aggregation in ("mean", "trimmed_mean", "median"):
        metrics = run_small(*MORE, "attack=none", f"aggregation={aggregation}")
        assert [cluster["suspect"] for cluster in metrics["clusters"]] == [None, None]


def test_without_a_round_of_stage_three_there_is_nothing_to_suspect(run_small):
    metrics = run_small("rounds=0")
    assert [cluster["suspect"] for cluster in metrics["clusters"]] == [None, None]
