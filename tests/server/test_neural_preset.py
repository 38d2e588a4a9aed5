"""preset=tagma is another one where clients train their models."""

import pytest

from tagma.launch.engines.this_process import run_here
from tagma.server.results.run_folder import read_metrics
from tagma.settings import compose, with_fitting_preset

TRAINED = ["task=rotated_digits"], ["task=images", "task.data=digits"]
SOLVED = (
    [], ["task=mixture_logistic"], ["task=mean_estimation"], ["solver=sgd"], ["optimiser=local"],
    ["task=rotated_digits", "optimiser=gradient"], ["task=rotated_digits", "usual.trained=null"],
)  # fmt: skip


@pytest.mark.parametrize("task", TRAINED)
def test_trained_models_are_clustered_by_projected_updates(task):
    settings = compose(["preset=tagma", *task])
    assert settings.choice("clustering")["reduce"] == "projection"
    assert settings.choice("strategy")["of_changes"]
    assert settings.groups == compose(["preset=neural", *task]).groups


@pytest.mark.parametrize("task", SOLVED)
def test_all_other_tasks_have_what_the_preset_says(task):
    assert with_fitting_preset(["preset=tagma", *task]) == ["preset=tagma", *task]
    settings = compose(["preset=tagma", *task])
    assert settings.choice("clustering")["reduce"] is None
    assert not settings.choice("strategy")["of_changes"]
    assert settings.choice("strategy")["factor"] == 1.3
    assert str(settings.choice("aggregation")["_target_"]).endswith(".mean")


def test_what_the_user_gives_stands():
    given = ["preset=tagma", "task=rotated_digits", "aggregation.beta=0.1", "clustering.k=2"]
    settings = compose(given)
    assert settings.choice("aggregation")["beta"] == 0.1
    assert settings.choice("clustering")["k"] == 2
    other = compose(["preset=tagma", "task=rotated_digits", "aggregation=median"])
    assert str(other.choice("aggregation")["_target_"]).endswith(".median")


def test_hydra_is_given_the_same_preset_also_for_many_seeds():
    given = ["-m", "seed=range(3)", "preset=tagma", "task=rotated_digits", "aggregation.beta=0.1"]
    assert with_fitting_preset(given) == [text for text in given if "preset" not in text] + [
        "preset=neural"
    ]


def test_four_rotations_are_found_and_sleepers_do_no_harm(tmp_path):
    own = ["task=rotated_digits", "rounds=3", "task.clients=32", "engine=vectorised"]
    attack = ["attack=sleeper", "attack.name=sign_flip", "attack.start=3", "attack.fraction=0.2"]
    settings = compose(["preset=tagma", *own, *attack, "evaluate_every=0", "oracle=false"])
    run_here(settings, tmp_path, lambda event: None)
    metrics = read_metrics(tmp_path)
    assert metrics["ari"] == 1
    assert len(metrics["clusters"]) == 4
    assert metrics["accuracy"]["mean"] > 0.75


def test_clients_with_few_classes_each_get_one_model_on_every_engine(tmp_path):
    skewed = ["task.clusters_by=none", "task.clusters=1", "task.split=dirichlet", "task.alpha=0.1"]
    own = ["preset=tagma", "task=rotated_digits", "task.clients=12", "rounds=3", *skewed]
    found = []
    for engine in ("vectorised", "inprocess"):
        settings = compose([*own, "attack=none", "evaluate_every=0", f"engine={engine}"])
        run_here(settings, tmp_path / engine, lambda event: None)
        found.append(read_metrics(tmp_path / engine))
    assert [metrics["clustering"]["chosen"] for metrics in found] == ["one model"] * 2
    assert found[0]["clustering"]["likeness"] == pytest.approx(found[1]["clustering"]["likeness"])
    assert found[0]["accuracy"]["mean"] == pytest.approx(found[1]["accuracy"]["mean"], abs=0.01)


def test_where_clusters_may_help_there_is_one_model_beside_them_on_every_engine(tmp_path):
    skewed = ["task.split=dirichlet", "task.alpha=3", "task.clients=32", "solver.epochs=20"]
    own = ["preset=tagma", "task=rotated_digits", *skewed, "rounds=6", "attack=none"]
    found = []
    for engine in ("vectorised", "inprocess"):
        settings = compose([*own, "evaluate_every=0", "oracle=false", f"engine={engine}"])
        run_here(settings, tmp_path / engine, lambda event: None)
        found.append(read_metrics(tmp_path / engine))
    assert [metrics["clustering"]["chosen"] for metrics in found] == ["both"] * 2
    assert found[0]["accuracy"]["mean"] == pytest.approx(found[1]["accuracy"]["mean"], abs=0.01)
    assert found[0]["ari"] == found[1]["ari"] == 1
    assert not any(metrics["replies"]["kept"] for metrics in found)
    one = compose([*own, "evaluate_every=0", "oracle=false", "personalise.choose=false"])
    run_here(one, tmp_path / "one", lambda event: None)
    alone = read_metrics(tmp_path / "one")
    assert alone["clustering"]["chosen"] == "one model"
    assert found[0]["accuracy"]["mean"] > alone["accuracy"]["mean"] + 0.03


def test_clusters_that_one_pass_did_not_show_are_found_later_and_again_after_a_resume(tmp_path):
    own = ["task=rotated_digits", "solver.epochs=1", "rounds=8", "strategy.recluster=4", "seed=300"]
    settings = compose(["preset=tagma", *own, "attack=none", "evaluate_every=0", "oracle=false"])
    run_here(settings, tmp_path, lambda event: None)
    metrics = read_metrics(tmp_path)
    assert metrics["ari"] == 1
    assert len(metrics["clusters"]) == 4


SAID = [
    "clustering=density", "aggregation=mean", "strategy.quarantine=true",
    "strategy.reply_check=true", "strategy.spectral_filter=true", "strategy.confined=true",
    "strategy.weights=examples", "usual.step=auto", "usual.ridge=auto",
]  # fmt: skip
"""What docs/beyond.md says that the preset is."""


@pytest.mark.parametrize("task", [["attack=infiltrate"], ["optimiser=local", "attack=sign_flip"]])
def test_linear_tasks_have_the_preset_as_it_was_to_the_last_bit(task, run_small):
    preset, said = run_small("preset=tagma", *task), run_small(*SAID, *task)
    assert preset["estimation_error_per_round"] == said["estimation_error_per_round"]
    assert preset["clustering"] == said["clustering"]
    assert preset["clustering"]["chosen"] is None
