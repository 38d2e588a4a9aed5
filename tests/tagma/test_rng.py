import numpy as np

from tagma.rng import stream


def test_the_same_seed_purpose_and_client_give_the_same_numbers():
    assert np.array_equal(stream(1, "data", 7).random(5), stream(1, "data", 7).random(5))


def test_other_seeds_purposes_and_clients_give_other_numbers():
    first = stream(1, "data", 7).random(5)
    for other in (stream(2, "data", 7), stream(1, "noise", 7), stream(1, "data", 8)):
        assert not np.array_equal(first, other.random(5))
