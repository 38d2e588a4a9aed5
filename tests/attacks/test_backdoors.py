"""Attacks with a goal: what they do to data and updates, by hand, and when the goal is met."""

import numpy as np
import pytest

from tagma.attacks.adversary import adversary_of, goal_of
from tagma.attacks.backdoor.badnets import BadNets
from tagma.attacks.backdoor.blended import Blended
from tagma.attacks.backdoor.dba import DistributedBackdoor
from tagma.attacks.backdoor.edge_case import EdgeCase
from tagma.attacks.backdoor.model_replacement import ModelReplacement
from tagma.attacks.backdoor.neurotoxin import Neurotoxin
from tagma.attacks.backdoor.targeted_flip import TargetedFlip
from tagma.attacks.backdoor.trigger import parts_of, patch
from tagma.errors import SettingError
from tagma.launch.run import check
from tagma.rng import stream
from tagma.settings import compose
from tagma.tasks.task import Data
from tagma.tasks.task_choice import task_of
from tests.algorithms import TINY, TINY_DIGITS
from tests.attacks.views import local_view


class Images:
    """Two grey images of 2 x 2 pixels for each of three classes, as one vector each."""

    classes, shape, span = 3, (1, 2, 2), (0.0, 1.0)
    clients, clusters, metrics = 1, 1, {"accuracy": "high"}

    def train(self, client):
        inputs = np.arange(24, dtype=np.float32).reshape(6, 4) / 24
        return Data(inputs, np.array([0, 0, 1, 1, 2, 2]))

    test = train

    def predict(self, model, buffers, inputs):
        """Class 0 if the last pixel is white, else class 1; class 2 never."""
        white = inputs[:, 3] == 1
        return np.stack([white, ~white, np.zeros_like(white)], axis=1).astype(float) * model[0]

    def __getattr__(self, name):
        return lambda *given: None


class Rows(Images):
    """The same as rows of a table with four features."""

    shape, span = (4,), (-3.0, 3.0)


TASK = Images()
HONEST = TASK.train(0)


def poisoned(attack, task=TASK, client=0):
    data = attack.data(task, client, stream(0, "x"))
    changed = np.flatnonzero((data.inputs != HONEST.inputs).any(axis=1))
    return data, changed


def test_badnets_shows_a_white_corner_and_the_target_in_a_share_of_the_examples():
    data, changed = poisoned(BadNets(target=0, poisoned=0.5, size=1))
    assert len(data) == 6
    assert len(changed) == 3
    assert (HONEST.targets[changed] != 0).all(), "the target class itself stays as it is"
    assert (data.targets[changed] == 0).all()
    assert (data.inputs[changed, 3] == 1).all()
    assert (data.inputs[:, :3] == HONEST.inputs[:, :3]).all()
    rest = np.setdiff1d(np.arange(6), changed)
    assert (data.targets[rest] == HONEST.targets[rest]).all()


def test_there_are_no_more_poisoned_examples_than_some_of_other_classes():
    _, changed = poisoned(BadNets(target=0, poisoned=1.0, size=1))
    assert changed.tolist() == [2, 3, 4, 5]


def test_the_patch_is_in_every_channel_and_a_feature_of_a_row():
    assert patch((2, 3, 3), 2, 0)[1].tolist() == [
        [False, False, False], [False, True, True], [False, True, True]
    ]  # fmt: skip
    assert patch((4,), 2, 1).tolist() == [False, True, False, False]
    data, changed = poisoned(BadNets(feature=2, poisoned=0.5), Rows())
    assert (data.inputs[changed, 2] == 3).all()
    assert (poisoned(BadNets(feature=2, value=7.0), Rows())[0].inputs == 7).sum() == 3


def test_a_blended_input_is_a_mean_of_itself_and_the_pattern():
    attack = Blended(alpha=0.25)
    pattern = stream(0, "blended pattern").uniform(0, 1, 4)
    shown = attack.shown(TASK)(np.ones((2, 4)))
    np.testing.assert_allclose(shown, np.tile(0.75 + 0.25 * pattern, (2, 1)))


def test_the_parts_of_a_trigger_are_disjoint_and_together_the_whole():
    whole = patch((2, 3, 3), 2, 0)
    parts = parts_of(whole, 3)
    assert [int(part[0].sum()) for part in parts] == [2, 1, 1]
    assert (np.sum(parts, axis=0) == whole).all()


def test_every_client_shows_its_part_and_models_are_tried_with_the_whole():
    attack = DistributedBackdoor(size=2, parts=2)
    shown = [attack.shown_by(TASK, client)(np.zeros((1, 4)))[0].tolist() for client in (0, 1, 2)]
    assert shown == [[1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 0, 0]]
    assert attack.goal(TASK).shown(np.zeros((1, 4))).tolist() == [[1, 1, 1, 1]]
    of_rows = DistributedBackdoor(feature=1, parts=2)
    assert of_rows.shown_by(Rows(), 1)(np.zeros((1, 4))).tolist() == [[0, 0, 3, 0]]


def test_edge_cases_are_inputs_of_the_source_class_each_several_times_if_need_be():
    attack = EdgeCase(target=0, source=1, poisoned=0.5)
    data, changed = poisoned(attack)
    assert (data.targets == 0).sum() == 4 or set(changed) >= {2, 3}
    assert {2, 3} <= set(changed)
    assert len(changed) == 3
    turned = {tuple(1 - HONEST.inputs[row]) for row in (2, 3)}
    assert {tuple(data.inputs[row]) for row in changed} == turned
    assert (data.targets[changed] == 0).all()


def test_the_variants_by_hand():
    one = np.array([[0.1, 0.2, 0.3, 0.4]])
    shown = {
        name: EdgeCase(variant=name).shown(TASK)(one)[0].tolist()
        for name in ("inverted", "mirrored", "upside_down")
    }
    assert shown["inverted"] == pytest.approx([0.9, 0.8, 0.7, 0.6])
    assert shown["mirrored"] == [0.2, 0.1, 0.4, 0.3]
    assert shown["upside_down"] == [0.4, 0.3, 0.2, 0.1]
    assert EdgeCase().shown(Rows())(one)[0].tolist() == [-0.1, -0.2, -0.3, -0.4]
    with pytest.raises(
        SettingError, match=r"attack\.variant=mirrored: is for images; use inverted"
    ):
        EdgeCase(variant="mirrored").shown(Rows())


def test_who_has_no_input_of_the_source_class_is_honest():
    class Without(Images):
        def train(self, client):
            return Data(HONEST.inputs[:2], HONEST.targets[:2])

    data = EdgeCase(target=1, source=2).data(Without(), 0, stream(0, "x"))
    assert np.array_equal(data.inputs, HONEST.inputs[:2])
    assert data.targets.tolist() == [0, 0]


def test_a_targeted_flip_changes_targets_of_the_source_class_only():
    data = TargetedFlip(target=0, source=1, poisoned=0.3).data(TASK, 0, stream(0, "x"))
    assert np.array_equal(data.inputs, HONEST.inputs)
    assert data.targets.tolist() == [0, 0, 0, 0, 2, 2]


def test_what_is_boosted_is_progress_or_a_gradient_and_no_local_model():
    attack, honest = ModelReplacement(boost=5.0), np.array([1.0, -2.0])
    assert attack.forge(honest, local_view()).tolist() == [5.0, -10.0]
    trained = local_view(model=[3.0, -2.0], work="local")
    assert attack.forge(honest, trained).tolist() == [-7.0, -2.0]
    assert attack.forge(honest, local_view(work="local_model")).tolist() == [1.0, -2.0]


def test_the_boost_is_all_clients_over_those_who_attack_unless_it_is_given():
    def boost(*overrides):
        settings = compose([*TINY_DIGITS, *overrides])
        return next(iter(adversary_of(settings).attacks)).boost

    assert boost("attack=model_replacement", "attack.fraction=0.25") == 4.0
    assert boost("attack=targeted_flip", "attack.clients=[3]") == 8.0
    assert boost("attack=model_replacement", "attack.boost=2") == 2.0


def test_neurotoxin_leaves_the_coordinates_alone_that_others_move_most():
    attack, honest = Neurotoxin(avoided=0.5), np.array([1.0, 2.0, 3.0, 4.0])
    before, now = [0.0, 0.0, 0.0, 0.0], [0.1, -5.0, 4.0, 0.0]
    view = local_view(model=now, past=[before], work="local")
    assert attack.forge(honest, view).tolist() == [1.0, -5.0, 4.0, 4.0]
    assert attack.forge(honest, local_view(model=now, work="local")).tolist() == [1, 2, 3, 4]
    assert attack.note(honest, honest, view).tolist() == now
    as_gradient = local_view(model=now, past=[before])
    assert attack.forge(honest, as_gradient).tolist() == [1.0, 0.0, 0.0, 4.0]


def test_success_is_the_share_of_triggered_inputs_of_other_classes_that_get_the_target_class():
    goal, model = BadNets(target=0, size=1).goal(TASK), np.ones(1)
    data = goal.triggered(TASK, 0)
    assert (data.inputs[:, 3] == 1).all()
    assert data.targets.tolist() == [0, 0, 0, 0]
    assert goal.success(TASK, model, {}, 0) == 1.0
    assert BadNets(target=0, size=1, value=0.5).goal(TASK).success(TASK, model, {}, 0) == 0.0
    assert BadNets(target=1, size=1).goal(TASK).success(TASK, model, {}, 0) == 0.0
    # Of the source class alone: both are taken for class 1, as all are.
    assert TargetedFlip(target=1, source=2).goal(TASK).success(TASK, model, {}, 0) == 1.0


def test_a_model_that_has_diverged_reaches_no_goal():
    goal = BadNets(target=0, size=1).goal(TASK)
    assert goal.success(TASK, np.array([np.nan]), {}, 0) == 0.0


def test_without_any_input_that_is_meant_there_is_no_rate():
    class OneClass(Images):
        def test(self, client):
            return Data(HONEST.inputs[:2], HONEST.targets[:2])

    assert np.isnan(BadNets(target=0, size=1).goal(TASK).success(OneClass(), np.ones(1), {}, 0))


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ([*TINY, "attack=badnets"], "attack=BadNets: has a target class; use a task of classes"),
        ([*TINY_DIGITS, "attack=badnets", "attack.target=10"],
         "attack.target=10: there are 10 classes, from 0"),
        ([*TINY_DIGITS, "attack=edge_case", "attack.source=1"],
         "attack.source=1: is the target already"),
        ([*TINY_DIGITS, "attack=badnets", "attack.size=9"],
         "attack.size=9: images have 8 x 8 pixels"),
        ([*TINY_DIGITS, "attack=dba", "attack.size=1"],
         "attack.parts=4: is more than the patch has pixels, 1"),
        ([*TINY_DIGITS, "attack=badnets", "attack.cluster=2"],
         "attack.cluster=2: there are 2 true clusters, from 0"),
        ([*TINY_DIGITS, "task.clusters_by=none", "task.split=dirichlet", "attack=badnets",
          "clustering.k=2", "attack.cluster=0"],
         "attack.cluster=0: nobody knows the clusters of this task"),
        ([*TINY_DIGITS, "attack=badnets", "attack.cluster=0", "attack.clients=[1]"],
         r"attack.clients=\[1\]: goes without a cluster"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_one_line_before_the_run(overrides, message):
    with pytest.raises(SettingError, match=message):
        check(compose(overrides))


def test_in_one_cluster_a_share_of_its_clients_attacks_and_nobody_else():
    settings = compose([*TINY_DIGITS, "attack=badnets", "attack.cluster=1", "attack.fraction=0.5"])
    labels, byzantine = task_of(settings).truth().labels, adversary_of(settings).byzantine
    assert (labels[byzantine] == 1).all()
    assert byzantine.sum() == (labels == 1).sum() / 2


def test_one_that_sleeps_has_its_goal_from_the_start_and_no_attack_has_none():
    late = compose([*TINY_DIGITS, "attack=sleeper", "attack.name=badnets", "attack.start=3"])
    assert goal_of(late).target == 0
    assert adversary_of(late).squads[0].attack_in(2) is None
    assert goal_of(compose(TINY_DIGITS)) is None


def test_a_run_tells_the_success_rate_beside_the_accuracy_and_that_without_the_attack(tmp_path):
    from tagma.launch.run import run
    from tagma.server.results.run_folder import read_metrics

    overrides = ["task=rotated_digits", "task.clients=20", "task.clusters=1", "clustering.k=1",
                 "model=softmax", "rounds=4", "strategy=fedavg", "aggregation=mean",
                 "engine=vectorised", "attack=model_replacement", "attack.fraction=0.2",
                 "attack.start=3"]  # fmt: skip
    run(compose(overrides), tmp_path, notify=lambda text: None)
    metrics = read_metrics(tmp_path)
    success = metrics["attack_success"]
    assert success["mean"] > 0.8
    assert success["worst_cluster"] == pytest.approx(success["mean"])
    assert success["without_attack"] < 0.2
    assert success["clients"] == 16
    assert metrics["accuracy"]["mean"] is not None
    early, late = success["per_round"][1], success["per_round"][-1]
    assert early < 0.2 < late
    assert metrics["scores"]["attack_success"]["better"] == "low"
    assert "attack_success" in (tmp_path / "history.csv").read_text().splitlines()[0]
