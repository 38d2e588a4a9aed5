"""The oracle is the same federation with the true clusters given, by whatever score it has."""

from typing import Any

import pytest

from tagma.launch import oracle_run
from tagma.launch.oracle_run import oracle_errors
from tagma.launch.run import run
from tagma.server.results.run_folder import read_metrics
from tagma.settings import Settings, compose
from tests.conftest import SMALL

SIGNS = "task._target_=tests.report.signs_task.Signs"
HONEST = "attack=none"


def test_where_models_are_known_the_yardstick_is_the_error(tmp_path):
    found = oracle_errors(compose([*SMALL, HONEST]))
    known = {"estimation_error", "served_error"}
    assert set(found["oracle_scores"]) == known, "and clients measured nothing"
    scored = found["oracle_scores"]["estimation_error"]
    assert scored == {"value": found["oracle_error"], "per_round": found["oracle_error_per_round"]}
    assert 0 < scored["value"] < 0.2
    assert len(scored["per_round"]) == 4


@pytest.mark.parametrize(
    ("every", "known"), [([], 4), (["evaluate_every=0"], 1), (["evaluate_every=2"], 2)]
)
def test_elsewhere_it_is_what_the_clients_of_the_oracle_measure(every, known):
    found = oracle_errors(compose([*SMALL, HONEST, SIGNS, *every]))
    assert (found["oracle_error"], found["oracle_error_per_round"]) == (None, None)
    parts = [f"accuracy_{part}" for part in ("worst_decile", "best_decile", "worst_cluster")]
    assert list(found["oracle_scores"]) == ["accuracy", "loss", *parts]
    accuracy = found["oracle_scores"]["accuracy"]
    assert 0.7 < accuracy["value"] <= 1
    assert sum(value is not None for value in accuracy["per_round"]) == known


@pytest.mark.parametrize(
    "overrides",
    [["oracle=false"], [SIGNS, "evaluate=false"], ["task._target_=tests.report.own_data.OwnData"]],
)
def test_without_truth_or_anything_to_compare_no_oracle_runs(overrides):
    assert oracle_errors(compose([*SMALL, *overrides])) == {}


@pytest.mark.parametrize("strategy", [["fedavg"], ["ifca", "strategy.k=2"], ["local"]])
def test_every_algorithm_is_measured_by_the_same_oracle_with_the_users_own_settings(
    strategy, monkeypatch, tmp_path
):
    seen: list[Settings] = []

    def remember(settings: Settings, *rest: Any, **more: Any) -> None:
        seen.append(settings)
        real(settings, *rest, **more)

    real = oracle_run.run_here
    monkeypatch.setattr(oracle_run, "run_here", remember)
    own = ["sampling.fraction=0.5", "task.noise=0.7", "optimiser=local", "seed=3", HONEST]
    settings = compose([*SMALL, *own, f"strategy={strategy[0]}", *strategy[1:]])
    found = oracle_errors(settings)
    (theirs,) = seen
    assert theirs.choice("strategy")["_target_"].endswith("Oracle")
    for group in ("task", "optimiser", "aggregation", "attack", "solver"):
        assert theirs.choice(group) == settings.choice(group)
    assert (theirs.sampling, theirs.seed) == (settings.sampling, 3)
    assert found["oracle_error"] < 1


def test_a_run_keeps_the_oracles_scores_and_null_without_one(tmp_path):
    for name, oracle in (("with", "true"), ("without", "false")):
        run(compose([*SMALL, HONEST, SIGNS, f"oracle={oracle}"]), tmp_path / name)
    assert read_metrics(tmp_path / "with")["oracle_scores"]["accuracy"]["value"] > 0.7
    assert read_metrics(tmp_path / "without")["oracle_scores"] is None
