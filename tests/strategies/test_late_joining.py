import numpy as np
import pytest

from tagma.exchange import NO_MODEL
from tagma.strategies.aggregation import mean
from tagma.strategies.algorithms.clustered_clients import Clustered
from tagma.strategies.algorithms.server_step import GradientStep
from tagma.strategies.algorithms.three_stage import ThreeStage
from tagma.strategies.clustering import Clustering
from tagma.strategies.quorum import enough_replies
from tests.strategies import driving


def admit(before, client, local_model, round_number, quarantine=False):
    algorithm = ThreeStage(
        cluster=lambda clients, local_models: before.clustering,
        aggregate=mean,
        optimiser=GradientStep(step=1.0),
        quarantine=quarantine,
    )
    return driving.admit(algorithm, before, client, local_model, round_number)


def state(radius=1.0):
    """Clients 2, 5 in a cluster at 0, clients 7, 9 in one at 10."""
    labels = np.array([0, 0, 1, 1])
    clustering = Clustering(
        labels,
        np.array([[0.0], [10.0]]),
        np.zeros(4, bool),
        np.full(2, radius),
        labels[None],
        0,
        "",
    )
    return Clustered.after(
        np.array([2, 5, 7, 9]), np.array([[0.0], [0.1], [9.9], [10.0]]), clustering
    )


@pytest.mark.parametrize(
    ("local_model", "label"),
    [(0.9, 0), (10.5, 1), (5.1, NO_MODEL), (-1.8, NO_MODEL), (1e150, NO_MODEL)],
)
def test_a_newcomer_joins_the_nearest_centre_if_it_is_in_its_ball(local_model, label):
    after = admit(state(), 6, np.array([local_model]), round_number=3)
    assert after.clients.tolist() == [2, 5, 6, 7, 9]
    assert after.labels.tolist() == [0, 0, label, 1, 1]
    assert after.local_models[2] == local_model
    assert after.joined.tolist() == [1, 1, 3, 1, 1]
    assert after.cluster_of(6) == (None if label == NO_MODEL else label)
    assert after.trimmed.tolist() == [False, False, label == NO_MODEL, False, False]
    assert after.standing.quarantined.tolist() == after.trimmed.tolist()


def test_a_newcomer_outside_is_in_the_same_quarantine_as_those_of_round_1():
    after = admit(state(), 6, np.array([13.0]), round_number=3, quarantine=True)
    assert after.cluster_of(6) == 1  # it gets the nearest model
    assert after.trimmed.tolist() == [False, False, True, False, False]
    assert after.standing.counts.tolist() == [True, True, False, True, True]
    inside = admit(state(), 6, np.array([10.5]), round_number=3, quarantine=True)
    assert inside.standing.counts.all()


def test_a_ball_of_two_is_larger_for_a_third():
    assert admit(state(), 6, np.array([1.7]), round_number=3).cluster_of(6) == 0


def test_a_clustering_without_balls_takes_everybody():
    assert admit(state(np.inf), 1, np.array([1e6]), round_number=2).cluster_of(1) == 1


def test_nothing_changes_for_those_who_are_there():
    before = state()
    after = admit(before, 6, np.array([5.0]), round_number=3)
    assert [after.cluster_of(m) for m in (2, 5, 7, 9)] == [0, 0, 1, 1]
    assert after.clustering is before.clustering
    assert before.clients.tolist() == [2, 5, 7, 9]


MEMBERS = np.array([0, 0, 1, 1])


def test_a_cluster_below_its_minimum_does_not_count():
    counts, kept = enough_replies(np.array([0, 0, 1]), MEMBERS, min_replies=2)
    assert counts.tolist() == [True, True, False]
    assert kept == [1]


def test_no_replies_at_all_leave_every_cluster_waiting():
    counts, kept = enough_replies(np.array([], dtype=int), MEMBERS, min_replies=1)
    assert counts.tolist() == []
    assert kept == [0, 1]


def test_a_cluster_without_clients_misses_nobody():
    assert enough_replies(np.array([1, 1]), np.array([1, 1, -1]), min_replies=2)[1] == []
