import numpy as np

from tagma.exchange import NO_MODEL
from tagma.strategies.sampling import sample

CLIENTS = np.arange(100)
WHICH = np.repeat([0, 1, NO_MODEL], [70, 25, 5])


def test_everybody_takes_part_unless_a_part_is_wanted():
    assert sample(CLIENTS, WHICH, 1.0, 0, 1).tolist() == CLIENTS.tolist()


def test_a_share_of_every_model_and_all_that_have_none():
    drawn = sample(CLIENTS, WHICH, 0.1, 0, 1)
    assert np.bincount(WHICH[drawn] + 1).tolist() == [5, 7, 3]
    assert (np.diff(drawn) > 0).all()


def test_rounds_and_seeds_draw_anew_and_the_same_again():
    first = sample(CLIENTS, WHICH, 0.1, 0, 1).tolist()
    assert sample(CLIENTS, WHICH, 0.1, 0, 1).tolist() == first
    assert sample(CLIENTS, WHICH, 0.1, 0, 2).tolist() != first
    assert sample(CLIENTS, WHICH, 0.1, 1, 1).tolist() != first


def test_in_time_everybody_is_drawn():
    seen = {c for number in range(100) for c in sample(CLIENTS, WHICH, 0.1, 0, number).tolist()}
    assert seen == set(range(100))


def test_a_sampled_federation_asks_a_share_of_its_clients(run_small):
    metrics = run_small(
        "strategy=fedavg", "aggregation=mean", "attack=none", "sampling.fraction=0.25", "rounds=3"
    )
    # 20 clients: who they are, 4 rounds of 5, and the evaluation by all.
    assert metrics["messages"] == 20 + 4 * 5 + 20
    assert metrics["replies"]["used"] == 20


def test_stage_one_and_two_need_everybody_whatever_is_sampled(run_small):
    metrics = run_small("attack=none", "sampling.fraction=0.5", "rounds=2")
    assert sum(cluster["size"] for cluster in metrics["clusters"]) == 20
    assert metrics["misclustering"] == 0
    assert metrics["replies"]["used"] == 20 + 2 * 10
