import csv
import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from tagma.choices import choices
from tagma.errors import SettingError
from tagma.server.results.events import RoundFinished, parse_event, print_event
from tagma.strategies.clustering import kmeans
from tests.algorithms import WITH_A_GOAL


def test_the_run_folder_has_what_the_contract_says(run_small, tmp_path):
    metrics = run_small()
    assert {p.name for p in tmp_path.iterdir()} == {
        "metrics.json", "history.csv", "clusters.csv", "models.safetensors", "events.jsonl",
    }  # fmt: skip
    assert metrics.keys() >= {
        "misclustering", "misclustering_per_iteration", "estimation_error",
        "estimation_error_per_round", "oracle_error", "clusters", "replies", "seconds", "messages",
        "seed", "engine", "version",
    }  # fmt: skip
    assert metrics["misclustering"] == metrics["misclustering_per_iteration"][-1] == 0
    assert len(metrics["estimation_error_per_round"]) == 4
    assert metrics["estimation_error"] == metrics["estimation_error_per_round"][-1] < 0.5
    assert metrics["messages"] == 100  # four rounds and the evaluation
    assert metrics["replies"]["used"] == 80


def test_tables_agree_with_the_metrics(run_small, tmp_path):
    metrics = run_small()
    rows = list(csv.DictReader((tmp_path / "clusters.csv").open()))
    assert [int(row["client"]) for row in rows] == list(range(20))
    for number, cluster in enumerate(metrics["clusters"]):
        inside = [row for row in rows if int(row["assigned"]) == number]
        assert len(inside) == cluster["size"]
        assert sum(int(row["byzantine"]) for row in inside) == cluster["byzantine"]
        assert sum(int(row["trimmed"]) for row in inside) == cluster["trimmed"]
    history = list(csv.DictReader((tmp_path / "history.csv").open()))
    errors = [float(row["estimation_error"]) for row in history]
    assert errors == metrics["estimation_error_per_round"]
    assert [row["work"] for row in history] == ["local_model", "gradient", "gradient", "gradient"]
    tensors = load_file(tmp_path / "models.safetensors")
    assert tensors["models"].shape == tensors["centres"].shape == (2, 5)


def test_the_same_seed_gives_the_same_metrics_to_the_last_bit(run_small):
    first, second = run_small("attack=ipm"), run_small("attack=ipm")
    first.pop("seconds"), second.pop("seconds")
    assert json.dumps(first) == json.dumps(second)


def test_another_seed_gives_another_result(run_small):
    assert run_small()["estimation_error"] != run_small("seed=1")["estimation_error"]


HONEST_ERRORS: dict[str, float] = {}
"""The error without an attack, by optimiser; found when it is first needed."""


@pytest.mark.slow
@pytest.mark.parametrize("optimiser", ["gradient", "local"])
@pytest.mark.parametrize(
    "attack",  # as_claimed alone claims what is so; a goal is about classes
    sorted(
        {*choices("attack")} - {"none", "shifted_mean", "wrong_choice", "as_claimed", *WITH_A_GOAL}
    ),
)
def test_every_attack_changes_what_every_optimiser_finds(attack, optimiser, run_small):
    own = [f"optimiser={optimiser}", "optimiser.step=0.3", "evaluate=false"]
    if optimiser not in HONEST_ERRORS:
        HONEST_ERRORS[optimiser] = run_small("attack=none", *own)["estimation_error"]
    late = ["attack.start=3"] if attack == "sleeper" else []
    error = run_small(f"attack={attack}", *late, *own)["estimation_error"]
    assert np.isfinite(error)
    assert error != HONEST_ERRORS[optimiser]


@pytest.mark.parametrize("clustering", ["trimmed_kmeans", "kgeomedians", "kmeans"])
@pytest.mark.parametrize("init", ["restarts", "random", "partial"])
def test_every_clustering_and_start_runs(clustering, init, run_small):
    metrics = run_small(f"clustering={clustering}", f"clustering.init={init}")
    assert metrics["clustering"]["name"] == clustering


def test_no_rounds_stop_after_the_clustering(run_small):
    metrics = run_small("rounds=0")
    assert len(metrics["estimation_error_per_round"]) == 1


def test_one_client_is_a_federation_too(run_small):
    metrics = run_small("task.clients=1", "task.clusters=1", "attack=none")
    assert metrics["clusters"][0]["size"] == 1


def test_the_loss_of_honest_clusters_is_that_of_the_noise(run_small):
    metrics = run_small("attack=none", "rounds=10")
    assert metrics["client_loss"] == pytest.approx([0.5**2 / 2] * 2, rel=0.3)


def test_the_oracle_needs_no_luck(run_small):
    metrics = run_small("strategy=oracle", "clustering.init=random")
    assert metrics["misclustering"] == 0
    assert metrics["clustering"]["stopped"] == "given"


def test_partial_labels_for_another_number_of_clusters_are_refused(run_small):
    with pytest.raises(SettingError, match=r"clustering\.init=partial"):
        run_small("clustering.init=partial", "clustering.k=3")


def test_events_survive_the_way_through_a_log(capsys):
    event = RoundFinished(
        2, 21, "gradient", {"accuracy": 0.125, "loss": None}, 99, 1, 0, 0, 80, 40, 0.5
    )
    print_event(event)
    assert parse_event(capsys.readouterr().out.strip()) == event
    assert parse_event("nothing of interest") is None
    assert parse_event("tagma-event {broken") is None


def test_the_papers_measures_of_stage_two_are_reported_per_iteration(run_small):
    metrics = run_small("clustering.init=partial")
    steps = metrics["clustering"]["iterations"] + 1
    for name in (
        "misclustering_per_iteration",
        "clusterwise_misclustering_per_iteration",
        "trimmed_clusterwise_misclustering_per_iteration",
        "centre_error_per_iteration",
    ):
        assert len(metrics[name]) == steps
        assert metrics[name][0] > metrics[name][-1]
    assert metrics["centre_error_per_iteration"][-1] < 0.5


def test_the_papers_byzantine_clients_are_all_outside_the_balls(run_small):
    metrics = run_small()
    assert sum(cluster["byzantine"] for cluster in metrics["clusters"]) == 6
    assert sum(cluster["trimmed"] for cluster in metrics["clusters"]) == 6


def test_extra_clusters_are_fitted_and_listed(run_small):
    assert len(run_small("clustering.extra_clusters=2")["clusters"]) == 4


SHAPES = []


def remembered_kmeans(vectors, initial, *, k: int, iterations: int, fraction: float):
    SHAPES.append(initial.shape)
    return kmeans(vectors, initial, k=k, iterations=iterations, fraction=fraction)


@pytest.mark.parametrize(("init", "labelings"), [("restarts", 7), ("random", 1), ("partial", 1)])
def test_every_start_brings_its_number_of_labelings(init, labelings, run_small):
    SHAPES.clear()
    target = f"clustering._target_={__name__}.remembered_kmeans"
    run_small("clustering=kmeans", target, f"clustering.init={init}", "clustering.restarts=7")
    (shape,) = SHAPES
    assert shape == (labelings, 20)


def test_an_empty_ball_brings_a_warning(run_small):
    metrics = run_small("clustering.sigma=1e-9")
    assert "has no client within its ball" in metrics["warnings"][0]


def test_diverged_models_have_no_error_but_a_warning(run_small):
    metrics = run_small("optimiser.step=1e60")
    assert metrics["estimation_error"] is None
    assert any("diverged" in warning for warning in metrics["warnings"])
