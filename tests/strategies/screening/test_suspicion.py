"""Signs of too many Byzantine clients, from replies alone."""

import numpy as np
import pytest

from tagma.strategies.clustering import Clustering
from tagma.strategies.screening.suspicion import suspicions

K, SIZE, DIM = 3, 20, 50


def cluster_centres():
    return 10.0 * np.eye(K, DIM)


def honest_replies(seed=0, noise=0.3):
    return noise * np.random.default_rng(seed).standard_normal((K * SIZE, DIM))


def clustering_of(labels, centres):
    return Clustering(
        labels=labels,
        centres=centres,
        trimmed=np.zeros(len(labels), dtype=bool),
        radius=np.full(len(centres), np.inf),
        history=labels[None],
        iterations=0,
        stopped="given",
    )


def reasons(replies, *, tolerance=0.4, models=None, noise=0.3):
    """Replies of three clusters of twenty, whose local models are as they should be."""
    labels = np.repeat(np.arange(K), SIZE)
    centres = cluster_centres()
    local_models = centres[labels] + honest_replies(seed=1, noise=noise)
    clustering = clustering_of(labels, centres)
    models = centres if models is None else models
    return suspicions(clustering, local_models, models, labels, replies, tolerance=tolerance)


@pytest.mark.parametrize("tolerance", [0.0, 0.4])
def test_honest_clusters_are_not_suspect(tolerance):
    assert reasons(honest_replies(), tolerance=tolerance) == [None] * K


def test_honest_noise_may_differ_between_clusters_and_directions():
    replies = honest_replies()
    replies[:SIZE] *= 1.5
    replies[SIZE : 2 * SIZE, :10] *= 2
    assert reasons(replies, tolerance=0.0) == [None] * K


def test_as_many_byzantine_clients_as_the_aggregation_bears_are_no_reason():
    replies = honest_replies()
    replies[:8] += 5
    assert reasons(replies) == [None] * K


def test_one_byzantine_client_more_than_the_aggregation_bears_makes_a_cluster_suspect():
    replies = honest_replies()
    replies[:9] += 5
    assert reasons(replies) == ["9 of 20 replies disagree beyond noise", None, None]


def test_a_majority_of_colluders_is_found_by_their_likeness():
    """Thirteen of twenty: by numbers, the honest ones look like tolerable Byzantine clients."""
    replies = honest_replies()
    replies[:13] = 5.0
    assert reasons(replies) == ["13 of 20 replies are alike beyond chance", None, None]


def test_colluders_that_rule_most_clusters_do_not_change_what_noise_is():
    replies = honest_replies()
    replies[:13] = 5.0
    replies[SIZE : SIZE + 13] = -5.0
    assert [reason is None for reason in reasons(replies)] == [False, False, True]


def test_a_model_that_was_led_away_makes_its_cluster_suspect():
    models = cluster_centres()
    models[2] += 1.0
    found = reasons(honest_replies(), models=models)
    assert found[:2] == [None, None]
    assert found[2] == "its model was led away from its clients' local models"


def test_models_that_all_moved_alike_were_not_led_away():
    assert reasons(honest_replies(), models=cluster_centres() + 1.0) == [None] * K


def test_replies_that_diverged_are_suspect():
    replies = honest_replies()
    replies[:SIZE] *= 1e149
    assert reasons(replies) == ["its replies diverged", None, None]


def test_a_single_reply_says_nothing():
    replies = honest_replies()
    labels = np.repeat(np.arange(K), [1, 1, 58])
    clustering = clustering_of(labels, np.zeros((K, DIM)))
    found = suspicions(clustering, replies, np.zeros((K, DIM)), labels, replies, tolerance=0.0)
    assert found == [None] * K


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_honest_replies_of_few_entries_are_not_suspect(dim):
    for seed in range(20):
        replies = np.random.default_rng(seed).standard_normal((K * SIZE, dim))
        labels = np.repeat(np.arange(K), SIZE)
        clustering = clustering_of(labels, np.zeros((K, dim)))
        found = suspicions(clustering, replies, np.zeros((K, dim)), labels, replies, tolerance=0.0)
        assert found == [None] * K
