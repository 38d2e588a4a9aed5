"""The vectorised engine gives the labels and numbers of the engine inprocess, to rounding."""

import csv
import json
from itertools import pairwise

import numpy as np
import pytest
from safetensors.numpy import load_file
from torch import nn

from tagma.attacks.base import LocalAttack
from tagma.choices import choices
from tagma.exchange import CHOICE, NO_MODEL, SMOOTHNESS
from tagma.launch.engines import inprocess, vectorised
from tagma.launch.engines.this_process import engine_here
from tagma.launch.oracle_run import oracle_errors
from tagma.launch.run import check
from tagma.server.results.run_folder import read_metrics
from tagma.settings import compose
from tagma.strategies.algorithms.ifca import IFCA
from tagma.tasks.mixture_regression import MixtureRegression
from tagma.tasks.task import Data
from tagma.tasks.torch_module import TorchModule
from tagma.wire import EXAMPLES
from tests.algorithms import TINY_DIGITS, WITH_A_GOAL
from tests.command import tagma

FEDERATION = ("task.clients=24", "task.dim=8", "task.samples=40", "rounds=4", "oracle=false")
THREE = (*FEDERATION, "task.clusters=3", "clustering.k=3")
DIGITS = ("task=rotated_digits", "task.clients=12", "rounds=3", "oracle=false")
TIMES = {"seconds", "engine"}


def result(engine, folder, overrides):
    """Metrics, labels and models of a run."""
    settings = compose(overrides)
    check(settings)
    engine.run(settings, folder, lambda event: None)
    metrics = json.loads((folder / "metrics.json").read_text())
    del metrics["bytes"]["received"]  # in messages
    with (folder / "clusters.csv").open() as file:
        labels = [(row["client"], row["assigned"]) for row in csv.DictReader(file)]
    models = load_file(folder / "models.safetensors")["models"]
    return {key: metrics[key] for key in metrics.keys() - TIMES}, labels, models


def assert_same(found, expected, tolerance, where="metrics"):
    """Equal but for rounding, all the way down."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), where
        for key in expected:
            assert_same(found[key], expected[key], tolerance, f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for place, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert_same(one, other, tolerance, f"{where}.{place}")
    elif isinstance(expected, float) and isinstance(found, float):
        assert found == pytest.approx(expected, rel=tolerance, abs=1e-12), where
    else:
        assert found == expected, where


def assert_engines_agree(tmp_path, overrides, tolerance=1e-9):
    metrics, labels, models = result(vectorised, tmp_path / "v", overrides)
    expected = result(inprocess, tmp_path / "i", overrides)
    assert labels == expected[1]
    assert models.dtype == expected[2].dtype
    np.testing.assert_allclose(models, expected[2], rtol=0, atol=tolerance * abs(models).max())
    assert_same(metrics, expected[0], 10 * tolerance)


ATTACKS = sorted({*choices("attack")} - {"shifted_mean", "wrong_choice", *WITH_A_GOAL})


@pytest.mark.parametrize("attack", ATTACKS)
def test_every_attack_is_the_same(attack, tmp_path):
    assert_engines_agree(tmp_path, [*THREE, f"attack={attack}"])


@pytest.mark.parametrize("attack", WITH_A_GOAL)
def test_every_attack_with_a_goal_and_its_success_are_the_same(attack, tmp_path):
    asleep = ["attack.start=2"] if attack in ("badnets", "neurotoxin") else []
    overrides = [*TINY_DIGITS, "oracle=false", f"attack={attack}", *asleep]
    assert_engines_agree(tmp_path, [*overrides, "strategy=fedavg"], tolerance=1e-4)
    assert read_metrics(tmp_path / "v")["attack_success"]["mean"] is not None


@pytest.mark.parametrize("attack", ["label_flip", "sign_flip", "alie", "mimic", "stale"])
@pytest.mark.parametrize("strategy", ["fedavg", "ifca", "cfl", "threshold", "local", "oracle"])
def test_every_algorithm_is_the_same(strategy, attack, tmp_path):
    overrides = [*FEDERATION, "task.clusters=3", f"strategy={strategy}", f"attack={attack}"]
    assert_engines_agree(tmp_path, overrides)


@pytest.mark.parametrize("rule", choices("aggregation"))
def test_every_rule_is_the_same(rule, tmp_path):
    if rule == "fltrust":  # needs data of the server's
        own = [*DIGITS, "task.server_samples=40", "strategy=fedavg", "aggregation=fltrust"]
        assert_engines_agree(tmp_path, own, tolerance=1e-4)
    else:
        assert_engines_agree(tmp_path, [*THREE, f"aggregation={rule}"])


@pytest.mark.parametrize("clustering", choices("clustering"))
def test_every_clustering_is_the_same(clustering, tmp_path):
    k = [] if clustering in ("density", "edge_cutting") else ["clustering.k=3"]
    overrides = [*FEDERATION, "task.clusters=3", f"clustering={clustering}", *k]
    assert_engines_agree(tmp_path, overrides)


@pytest.mark.parametrize("optimiser", ["gradient", "local"])
@pytest.mark.parametrize("task", [name for name in choices("task") if name.startswith("mixture_")])
def test_every_convex_task_is_the_same(task, optimiser, tmp_path):
    assert_engines_agree(tmp_path, [f"task={task}", *THREE, f"optimiser={optimiser}"])


def test_mean_estimation_is_the_same(tmp_path):
    assert_engines_agree(tmp_path, ["task=mean_estimation", "rounds=3", "oracle=false"])


@pytest.mark.parametrize("solver", [name for name in choices("solver") if name != "average"])
def test_every_solver_is_the_same(solver, tmp_path):
    assert_engines_agree(tmp_path, [*THREE, f"solver={solver}"])


@pytest.mark.parametrize("optimiser", ["gradient", "local"])
@pytest.mark.parametrize("strategy", ["three_stage", "fedavg", "ifca", "cfl", "threshold", "local"])
def test_measured_steps_are_the_same(strategy, optimiser, tmp_path):
    measured = ["optimiser.step=auto", "solver.ridge=auto", "task.samples=10", "task.clusters=3"]
    overrides = [*FEDERATION, *measured, f"strategy={strategy}", f"optimiser={optimiser}"]
    assert_engines_agree(tmp_path, overrides)


@pytest.mark.parametrize("attack", ["label_flip", "poisoned_regression", "alie"])
def test_the_preset_is_the_same_near_as_many_examples_as_coefficients(attack, tmp_path):
    overrides = [*FEDERATION, "task.clusters=2", "preset=tagma", "task.samples=9"]
    assert_engines_agree(tmp_path, [*overrides, f"attack={attack}", "attack.fraction=0.1"])


class Steep(LocalAttack):
    """Honest but for what it says of its data."""

    def __init__(self, *, claim: float):
        self.claim = claim

    def report(self, honest, view):
        return {**honest, SMOOTHNESS: self.claim} if SMOOTHNESS in honest else honest


@pytest.mark.parametrize("claim", [1e-100, 1e100])
def test_who_lies_about_its_data_moves_no_step(claim, tmp_path):
    overrides = [*THREE, "optimiser.step=auto"]
    lies = ["attack=sign_flip", "attack.fraction=0.2", f"attack._target_={__name__}.Steep"]
    lies += ["~attack.scale", f"+attack.claim={claim}"]
    honest = result(vectorised, tmp_path / "h", [*overrides, "attack=none"])[0]
    steps = honest["resolved"]["optimiser.step"]
    assert_engines_agree(tmp_path, [*overrides, *lies])
    found = result(vectorised, tmp_path / "f", [*overrides, *lies])[0]
    for moved, step in zip(found["resolved"]["optimiser.step"], steps, strict=True):
        assert step / 2 < moved < 2 * step


@pytest.mark.parametrize("claim", [-1.0, 1e151])
def test_who_reports_no_smoothness_is_dropped(claim, tmp_path):
    overrides = [*THREE, "optimiser.step=auto", "attack=sign_flip", "attack.fraction=0.2"]
    lies = [f"attack._target_={__name__}.Steep", "~attack.scale", f"+attack.claim={claim}"]
    found = result(vectorised, tmp_path, [*overrides, *lies])[0]
    assert found["replies"]["rejected"] == {f"no usable {SMOOTHNESS}": 5 * 4}


def test_as_many_examples_as_coefficients_are_clustered_and_learned_from(tmp_path):
    federation = ["task.clients=200", "task.clusters=5", "task.dim=100", "task.samples=100"]
    unit = ["task.norm=1", "task.noise=0.4472", "attack.fraction=0.05", "attack.scale=0.42"]
    overrides = ["preset=tagma", *federation, *unit, "rounds=40", "evaluate=false"]
    found = result(vectorised, tmp_path, overrides)[0]
    assert found["misclustering"] == 0
    best = oracle_errors(compose(overrides))["oracle_error"]
    assert found["estimation_error"] <= 1.05 * best
    assert found["resolved"]["solver.ridge"] == {"clients": 200, "of": 200}
    (step,) = {round(step, 1) for step in found["resolved"]["optimiser.step"]}
    assert step == pytest.approx(1 / 4, abs=0.06)  # (1 + sqrt(d / n))^2 = 4


@pytest.mark.parametrize("strategy", ["three_stage", "fedavg", "oracle", "local"])
def test_with_many_more_coefficients_than_examples_nothing_diverges(strategy, tmp_path):
    federation = ["task.clients=20", "task.clusters=2", "task.dim=500", "task.samples=50"]
    overrides = ["preset=tagma", f"strategy={strategy}", *federation, "attack=none", "rounds=30"]
    if strategy == "three_stage":
        overrides.remove("strategy=three_stage")
    curve = result(vectorised, tmp_path, [*overrides, "evaluate=false"])[0]
    served = curve["served_error_per_round"]
    assert all(later <= 1.001 * earlier for earlier, later in pairwise(served[1:]))


def test_fewer_examples_than_coefficients_are_the_same(tmp_path):
    assert_engines_agree(tmp_path, [*THREE, "task.samples=5", "solver.ridge=0.1"])


@pytest.mark.parametrize("strategy", ["three_stage", "fedavg"])
def test_the_same_clients_are_drawn(strategy, tmp_path):
    overrides = [*THREE[:-1], f"strategy={strategy}", "sampling.fraction=0.4", "evaluate_every=1"]
    assert_engines_agree(tmp_path, overrides)


@pytest.mark.parametrize("training", choices("training"))
@pytest.mark.parametrize("strategy", ["three_stage", "fedprox", "ifca"])
def test_perceptrons_are_the_same(strategy, training, tmp_path):
    overrides = [*DIGITS, f"strategy={strategy}", f"training={training}", "task.samples=[7,30]"]
    assert_engines_agree(tmp_path, overrides, tolerance=1e-4)


def assert_others_agree(tmp_path, overrides):
    """All but who is named beside a reply that could not be read, which on messages is nobody."""
    metrics, labels, models = result(vectorised, tmp_path / "v", overrides)
    expected = result(inprocess, tmp_path / "i", overrides)
    assert [row for row in labels if row[1]] == [row for row in expected[1] if row[1]]
    np.testing.assert_allclose(models, expected[2], rtol=1e-9)
    for key in ("used", "rejected"):
        assert metrics["replies"][key] == expected[0]["replies"][key]


@pytest.mark.parametrize("kind", ["not_a_number", "infinite", "huge", "wrong_shape", "empty"])
@pytest.mark.parametrize("strategy", ["three_stage", "fedavg"])
def test_garbage_is_dropped_and_counted_alike(strategy, kind, tmp_path):
    garbage = ["attack=garbage", f"attack.kind={kind}"]
    assert_others_agree(tmp_path, [*FEDERATION, f"strategy={strategy}", *garbage])
    assert read_metrics(tmp_path / "v")["replies"]["rejected"]


def test_cells_run_on_arrays_unless_an_engine_is_named():
    assert engine_here(compose(THREE)) == "vectorised"
    assert engine_here(compose([*THREE, "engine=inprocess"])) == "inprocess"


class Normalised(TorchModule):
    """A module with buffers, which is computed client by client."""

    def __init__(self, *, clients: int, clusters: int, seed: int) -> None:
        self.clients, self.clusters, self.seed = clients, clusters, seed

    def module(self):
        return nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 3))

    def train(self, client):
        random = np.random.default_rng([self.seed, client])
        return Data(random.normal(size=(12, 4)), random.integers(0, 3, 12))

    test = train

    def truth(self):
        return None

    def warnings(self):
        return []


NORMALISED = (
    "~task", f"+task._target_={__name__}.Normalised", "+task.clients=6", "+task.clusters=1",
    "solver=training", "optimiser=local", "training=minibatch", "aggregation=mean", "rounds=2",
)  # fmt: skip


def test_a_module_with_buffers_is_the_same(tmp_path):
    own = [*NORMALISED, "strategy=fedavg", "attack=none"]
    assert_engines_agree(tmp_path, own, tolerance=1e-6)


@pytest.mark.parametrize(
    "overrides",
    [
        [*DIGITS, "task.samples=[5,20]", "attack=label_flip"],
        [*DIGITS, "training=adam", "strategy=fedavg"],
        [*THREE, "attack=poisoned_regression", "evaluate_every=1"],
        [*NORMALISED, "strategy=fedavg", "attack=none"],
    ],
    ids=["batches", "adam", "quadratic", "buffers"],
)
def test_steps_of_a_clients_own_are_the_same(overrides, tmp_path):
    assert_engines_agree(tmp_path, [*overrides, "personalise.steps=3"], 1e-5)
    scores = read_metrics(tmp_path / "v")["scores"]
    assert scores["personalised_loss"]["value"] != scores["loss"]["value"]


class Misplaced(IFCA):
    """Says that everybody has the next model."""

    def serve(self, state, clients):
        models, which = super().serve(state, clients)
        return models, np.where(which == NO_MODEL, which, (which + 1) % len(models))


WRONG = ("strategy=ifca", f"strategy._target_={__name__}.Misplaced", "strategy.k=2")
CHOICES = (
    [*DIGITS, *WRONG, "task.clusters=2", "attack=label_flip", "personalise.steps=2"],
    [*FEDERATION, *WRONG, "task.clusters=2", "attack=poisoned_regression"],
    [*NORMALISED, *WRONG, "attack=none", "training.epochs=80"],
)


@pytest.mark.parametrize("overrides", CHOICES, ids=["batches", "quadratic", "buffers"])
def test_the_model_that_clients_use_is_the_same(overrides, tmp_path):
    assert_engines_agree(tmp_path, [*overrides, "personalise.choose=true"], 1e-5)
    used = []
    for engine in ("v", "i"):
        with (tmp_path / engine / "clusters.csv").open() as file:
            used.append([(row["assigned"], row["used"]) for row in csv.DictReader(file)])
    assert used[0] == used[1]
    left = any(assigned != own for assigned, own in used[0])
    assert left or overrides is CHOICES[-1]  # where rounding decides whether its two models differ


def test_a_run_is_interrupted_and_resumed_to_the_same_bytes(tmp_path, monkeypatch):
    overrides = [*THREE, "attack=alie", "engine=vectorised"]
    assert tagma("run", *overrides, "hydra.run.dir=whole", cwd=tmp_path).returncode == 0

    def dies(self, request, buffers):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tagma.client.stacked_clients.StackedClients.evaluate", dies)
        folder = tmp_path / "cut"
        tagma("run", *overrides, "evaluate_every=3", "hydra.run.dir=cut", cwd=tmp_path)
    assert not (folder / "metrics.json").exists()
    assert tagma("resume", "cut", cwd=tmp_path).returncode == 0
    name = "models.safetensors"
    assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.parametrize("which", ["next", "farthest"])
def test_a_wrong_choice_is_the_same(which, tmp_path):
    lies = ["strategy=ifca", "attack=wrong_choice", f"attack.which={which}", "attack.scale=-1"]
    assert_engines_agree(tmp_path, [*FEDERATION, "task.clusters=3", *lies])


def test_a_wrong_choice_with_buffers_is_the_same(tmp_path):
    own = [*NORMALISED, "strategy=ifca", "strategy.k=2", "attack=wrong_choice"]
    assert_engines_agree(tmp_path, own, tolerance=1e-6)


class Ridge(MixtureRegression):
    """Derived from least squares, with another loss."""

    def loss(self, model, data):
        return super().loss(model, data) + float(model @ model)

    def gradient(self, model, data):
        return super().gradient(model, data) + 2 * model

    def losses(self, models, stack):
        return super().losses(models, stack) + (models**2).sum(axis=1)

    def gradients(self, models, stack):
        return super().gradients(models, stack) + 2 * models


def test_another_loss_than_that_of_the_base_class_is_the_same(tmp_path):
    own = [f"task._target_={__name__}.Ridge", "solver=lbfgs", "optimiser.step=0.1"]
    assert_engines_agree(tmp_path, [*THREE, *own])


@pytest.mark.parametrize("step", ["1e31", "1e100"])
def test_who_diverges_is_the_same(step, tmp_path):
    own = ["optimiser=local", "optimiser.local_steps=5", f"optimiser.step={step}"]
    one = ["strategy=fedavg", "aggregation=mean", "rounds=1", "task.clusters=3"]
    assert_engines_agree(tmp_path, [*FEDERATION, *own, *one])


class Tells(LocalAttack):
    """Reports what no server accepts."""

    def __init__(self, *, what: str) -> None:
        self.what = what

    def report(self, honest, view):
        if self.what == "no choice":
            return {name: value for name, value in honest.items() if name != CHOICE}
        broken = {"half": (CHOICE, 0.5), "beyond": (CHOICE, 99), "many": (EXAMPLES, 2**60)}
        name, value = broken[self.what]
        return {**honest, name: value}


@pytest.mark.parametrize("what", ["no choice", "half", "beyond", "many"])
def test_numbers_that_no_server_accepts_are_dropped_alike(what, tmp_path):
    lies = [f"attack._target_={__name__}.Tells", f"+attack.what={what}", "attack.fraction=0.2"]
    overrides = [*FEDERATION, "task.clusters=3", "strategy=ifca", "attack=none", *lies]
    assert_engines_agree(tmp_path, overrides)
    assert read_metrics(tmp_path / "v")["replies"]["rejected"]


class Wordless(Exception):
    def __str__(self):
        raise ValueError("no words")


class Misbehaves(LocalAttack):
    """Fails, or spoils what it is shown."""

    remembers = 1

    def __init__(self, *, how: str) -> None:
        self.how = how

    def data(self, task, client, random):
        honest = task.train(client)
        if self.how == "wide data":
            return Data(np.hstack([honest.inputs, honest.inputs]), honest.targets)
        if self.how == "no data":
            return Data(honest.inputs[:0], honest.targets[:0])
        return honest

    def forge(self, honest, view):
        if view.round < 3:  # a run is refused that begins so
            return -honest
        match self.how:
            case "raises":
                raise RuntimeError("on purpose")
            case "raises without words":
                raise Wordless
            case "exits":
                raise SystemExit(1)
            case "column":
                return honest[:, None]
            case "text":
                return "nothing"
            case "spoils":
                for array in (view.model, *view.models, *view.past):
                    if array.flags.writeable:
                        array *= 1e6
        return -honest


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("strategy", ["three_stage", "fedavg", "ifca"])
@pytest.mark.parametrize(
    "how",
    ["raises", "raises without words", "exits", "column", "text", "wide data", "no data", "spoils"],
)
def test_a_client_that_fails_or_spoils_what_it_sees_harms_nobody_else(how, strategy, tmp_path):
    own = [f"attack._target_={__name__}.Misbehaves", f"+attack.how={how}", "attack.fraction=0.2"]
    overrides = [*FEDERATION, "task.clusters=2", f"strategy={strategy}", "attack=none", *own]
    assert_others_agree(tmp_path, overrides)
