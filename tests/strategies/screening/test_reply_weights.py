import numpy as np
import pytest

from tagma.strategies.clustering.clustering import OwnNoise
from tagma.strategies.screening.reply_weights import reply_weights, room_by

EVERYONE = np.ones(5, dtype=bool)


def noise(*scales):
    return OwnNoise(np.array(scales), 1.0, 4.0, 1.0, np.ones(3))


def test_clients_count_by_their_examples_but_as_at_most_two():
    examples = np.array([50, 100, 100, 150, 10**9])
    assert reply_weights(examples, None, EVERYONE).tolist() == [0.5, 1, 1, 1.5, 2]


def test_nobody_counts_for_more_than_its_noise_shows():
    examples = np.array([100, 100, 100, 100, 10**9])
    weights = reply_weights(examples, noise(1, 1, 1, 3, 3), EVERYONE)
    assert weights.tolist() == [1, 1, 1, 0.25, 0.25]


def test_those_who_do_not_count_set_no_measure():
    examples = np.array([100, 100, 10**9, 10**9, 10**9])
    counts = np.array([True, True, False, False, False])
    assert reply_weights(examples, None, counts)[:2].tolist() == [1, 1]


def test_who_says_nothing_counts_as_the_median():
    assert reply_weights(np.zeros(5, dtype=int), None, EVERYONE).tolist() == [1] * 5
    assert reply_weights(np.array([0, 10, 10, 10, 10]), None, EVERYONE).tolist() == [1] * 5


def test_room_is_bought_by_weight():
    assert room_by(np.array([2.0, 1.0, 0.25, 1e-9])) == pytest.approx([1, 1, 2, 4])
