import numpy as np
import pytest
from scipy.optimize import check_grad

from tagma.attacks.adversary import adversary_of
from tagma.client.app import app as client_app
from tagma.errors import SettingError
from tagma.launch.engines.inprocess_grid import InProcessGrid
from tagma.launch.run import check
from tagma.server.federation import run_federation
from tagma.server.results.run_folder import read_metrics
from tagma.settings import compose, join_overrides
from tagma.tasks.mean_estimation import MeanEstimation
from tagma.tasks.roles import byzantine_clients
from tagma.tasks.task_choice import task_of


def overrides(features, *more):
    return [
        "task=mean_estimation", f"task.data={features}", "task.gamma=2", "task.clusters=3",
        "task.min_cluster=20", "task.samples=4", "rounds=2", *more,
    ]  # fmt: skip


def make(features, **changes):
    given = {
        "data": str(features), "scaling": "none", "gamma": 2.0, "clusters": 3, "min_cluster": 20,
        "samples": 4, "clients": None, "adversarial": 0.3, "seed": 1,
    }  # fmt: skip
    return MeanEstimation(**(given | changes))


def rows(data):
    return {tuple(row) for row in data.inputs.tolist()}


def test_the_truth_is_the_mean_of_all_points_of_each_cluster(features):
    matrix = np.load(features)["X"]
    truth = make(features).truth()
    clusters = [matrix[:42], matrix[42:75], matrix[75:96]]
    assert np.allclose(truth.centres, [points.mean(axis=0) for points in clusters])


def test_every_whole_split_is_an_honest_client_and_every_point_on_one_at_most(features):
    task = make(features)
    labels = task.truth().labels
    # 42, 33 and 21 points make 10, 8 and 5 splits of 4.
    assert np.bincount(labels[labels >= 0]).tolist() == [10, 8, 5]
    clusters = [rows_of(features, 0, 42), rows_of(features, 42, 75), rows_of(features, 75, 96)]
    seen = set()
    for client in np.flatnonzero(labels >= 0):
        points = rows(task.train(client))
        assert len(points) == 4
        assert points <= clusters[labels[client]]
        assert not points & seen
        seen |= points


def rows_of(features, start, stop):
    return {tuple(row) for row in np.load(features)["X"][start:stop].tolist()}


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.3, 0.45])
def test_the_federation_has_all_splits_and_the_byzantine_clients_that_the_fraction_asks_for(
    features, fraction
):
    task = make(features, adversarial=fraction)
    byzantine = byzantine_clients(task.clients, fraction, seed=1)
    assert np.array_equal(task.truth().labels < 0, byzantine)
    assert np.count_nonzero(~byzantine) == 23
    # One client fewer, and not all splits would be used.
    assert np.count_nonzero(~byzantine_clients(task.clients - 1, fraction, seed=1)) < 23


def test_byzantine_clients_hold_points_of_no_cluster(features):
    task = make(features)
    unused = rows_of(features, 96, 108)
    byzantine = np.flatnonzero(task.truth().labels < 0)
    drawn = [rows(task.train(client)) for client in byzantine]
    assert all(len(points) == 4 and points <= unused for points in drawn)
    assert len({frozenset(points) for points in drawn}) > 1
    assert not task.warnings()


def test_too_few_unused_points_are_drawn_again_with_a_warning(features):
    task = make(features, samples=14, min_cluster=20)
    byzantine_client = int(np.flatnonzero(task.truth().labels < 0)[0])
    data = task.train(byzantine_client)
    assert data.inputs.shape == (14, 2)
    assert rows(data) <= rows_of(features, 96, 108)
    assert "only 12 points are unused" in task.warnings()[0]
    assert "the smallest cluster has 1 honest clients" in task.warnings()[1]


def test_byzantine_clients_without_unused_points_are_refused_and_honest_ones_are_not(features):
    # At gamma = 1000 everything is one cluster of 108 points.
    whole = {"gamma": 1000.0, "clusters": 1}
    with pytest.raises(SettingError, match=r"task.adversarial=0.3: no point is unused"):
        make(features, **whole)
    assert make(features, **whole, adversarial=0.0).clients == 27


def test_fewer_clients_share_the_clusters_out(features):
    task = make(features, clients=16)
    labels = task.truth().labels
    assert len(labels) == 16
    assert np.bincount(labels[labels >= 0]).tolist() == [5, 4, 2]


def test_clients_beyond_the_data_or_below_the_clusters_are_refused(features):
    with pytest.raises(SettingError, match=r"task.clients=40: the data give 23 splits"):
        make(features, clients=40)
    with pytest.raises(SettingError, match=r"task.clients=3: leaves 2 honest clients"):
        make(features, clients=3)


def test_held_out_points_are_others_of_the_same_cluster(features):
    task = make(features)
    labels = task.truth().labels
    for client in range(task.clients):
        own, other = rows(task.train(client)), rows(task.test(client))
        if labels[client] >= 0:
            bounds = [(0, 42), (42, 75), (75, 96)][labels[client]]
            assert len(other) == 4
            assert not own & other
            assert other <= rows_of(features, *bounds)
        else:
            assert other <= rows_of(features, 96, 108)


def test_a_cluster_that_is_one_split_is_held_out_against_itself(features):
    task = make(features, gamma=1000.0, clusters=1, min_cluster=108, samples=108, adversarial=0.0)
    assert rows(task.test(0)) == rows(task.train(0))


def test_the_seed_decides_the_splits_and_not_the_truth(features):
    one, other = make(features, seed=1), make(features, seed=2)
    assert np.array_equal(one.truth().centres, other.truth().centres)
    assert rows(one.train(0)) == rows(make(features, seed=1).train(0))
    splits = [
        {frozenset(rows(task.train(m))) for m in np.flatnonzero(task.truth().labels >= 0)}
        for task in (one, other)
    ]
    assert not splits[0] & splits[1]


def test_loss_and_gradient_by_hand(features):
    task = make(features)
    data = task.train(0)
    model = np.array([1.5, -2.0])
    expected = np.mean([((model - row) ** 2).sum() / 2 for row in data.inputs])
    assert task.loss(model, data) == pytest.approx(expected)
    assert check_grad(lambda w: task.loss(w, data), lambda w: task.gradient(w, data), model) < 1e-5


def test_a_search_finds_the_gamma_that_gives_the_clusters(features):
    searched, given = make(features, gamma=None), make(features)
    assert np.array_equal(searched.truth().centres, given.truth().centres)


def test_clusters_that_the_graph_does_not_have_are_refused_with_its_sizes(features):
    with pytest.raises(SettingError, match=r"no gamma gives so many components .*; at most 3"):
        make(features, gamma=None, clusters=9)
    with pytest.raises(SettingError, match=r"there are 3 components .* 42, 33, 21, 1, "):
        make(features, clusters=2)
    with pytest.raises(SettingError, match=r"task.min_cluster=3: must not be below task.samples=4"):
        make(features, min_cluster=3)


def test_the_task_brings_its_solver_and_attack_and_the_user_may_choose_others():
    ours = compose(["task=mean_estimation"])
    assert ours.choice("solver")["_target_"].endswith("average")
    assert ours.choice("attack")["_target_"].endswith("ShiftedMean")
    assert ours.choice("task")["adversarial"] == 0.3
    theirs = compose(["solver=lbfgs", "task=mean_estimation", "attack=sign_flip"])
    assert theirs.choice("solver")["_target_"].endswith("lbfgs")
    assert theirs.choice("attack")["_target_"].endswith("SignFlip")
    assert compose(["task=mean_estimation", "attack=none"]).choice("task")["adversarial"] == 0
    assert compose([]).choice("solver")["_target_"].endswith("closed_form")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("attack=poisoned_regression", "attack=poisoned_regression: needs task=mixture_regression"),
        ("attack.fraction=1.5", "attack.fraction=1.5: should be less than 1"),
        ("task.gamma=0", "task.gamma=0: should be greater than 0"),
        ("task.scaling=log", "task.scaling=log"),
    ],
)
def test_settings_that_do_not_fit_are_refused_before_a_run(features, given, message):
    with pytest.raises(SettingError, match=f"^{message}"):
        check(compose(overrides(features, given)))


def test_the_digits_of_the_default_make_eight_clusters():
    task = task_of(compose(["task=mean_estimation"]))
    assert task.truth().centres.shape == (8, 64)
    assert not task.warnings()


def run(folder, *given):
    settings = compose(given)
    clients = task_of(settings).clients
    grid = InProcessGrid(client_app, clients, join_overrides(settings.overrides))
    run_federation(grid, settings, folder, [])
    return read_metrics(folder), settings


def test_a_federation_runs_on_points_and_lists_byzantine_clients_without_a_true_cluster(
    features, tmp_path
):
    metrics, settings = run(tmp_path, *overrides(features))
    byzantine = adversary_of(settings).byzantine
    assert metrics["replies"]["rejected"] == {}
    assert sum(cluster["byzantine"] for cluster in metrics["clusters"]) == byzantine.sum() > 0
    listed = [line.split(",") for line in (tmp_path / "clusters.csv").read_text().splitlines()[1:]]
    assert [line[2] == "" for line in listed] == byzantine.tolist()


def test_robust_clustering_and_optimisation_find_the_means_of_the_digits(tmp_path):
    given = ["task=mean_estimation", "rounds=1", "evaluate=false", "clustering.init=partial"]
    robust, _ = run(tmp_path, *given)
    assert robust["misclustering"] == 0
    plain, _ = run(tmp_path, *given, "clustering=kmeans", "aggregation=mean")
    assert plain["estimation_error"] > 4 * robust["estimation_error"]
