"""`Robust` beside Flower's own strategies, in an ordinary app."""

import random

import numpy as np
import pytest
from flwr.app import ConfigRecord, MetricRecord
from flwr.serverapp.strategy import FedAvg, FedMedian, FedTrimmedAvg, Krum, MultiKrum

from tagma import Clustered, Robust
from tagma.launch.engines.inprocess_grid import InProcessGrid
from tests.server.drop_in.ordinary_app import (
    TRUE,
    flip,
    grid_of,
    initial,
    ordinary_app,
    weight_of,
)


class Shuffled(InProcessGrid):
    """Replies come in any order, as they do from real nodes."""

    def send_and_receive(self, messages, *, timeout=None):
        replies = super().send_and_receive(messages, timeout=timeout)
        return random.Random(3).sample(replies, len(replies))


PAIRS = {
    "mean": (FedAvg, lambda: Robust("mean")),
    "trimmed_mean": (lambda: FedTrimmedAvg(beta=0.2), lambda: Robust("trimmed_mean", beta=0.2)),
    "median": (FedMedian, lambda: Robust("median")),
    "krum": (lambda: Krum(num_malicious_nodes=2), lambda: Robust("krum", fraction=0.2)),
    "multi_krum": (
        lambda: MultiKrum(num_malicious_nodes=2, num_nodes_to_select=8),
        lambda: Robust("multi_krum", fraction=0.2, weights="examples"),
    ),
}
"""Flower's own strategies, and ours by the same rules."""


@pytest.mark.parametrize("grid", [InProcessGrid, Shuffled])
@pytest.mark.parametrize("byzantine", [0, 2])
@pytest.mark.parametrize("name", PAIRS)
def test_equals_flowers_own_where_the_rules_are_equal(name, byzantine, grid):
    """The weights of the mean, three rounds, a buffer, and replies in any order."""
    theirs, ours = (
        make().start(grid(ordinary_app(change=flip(byzantine)), 10), initial(), num_rounds=3)
        for make in PAIRS[name]
    )
    assert list(ours.arrays) == list(theirs.arrays)
    for key, array in theirs.arrays.items():
        expected = array.numpy()
        found = ours.arrays[key].numpy()
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert ours.evaluate_metrics_clientapp.keys() == theirs.evaluate_metrics_clientapp.keys()


def test_the_order_of_replies_changes_nothing():
    for make in (lambda: Robust("mean"), Robust, Clustered):
        in_order, shuffled = (
            make().start(grid(ordinary_app(), 16), initial(), num_rounds=3)
            for grid in (InProcessGrid, Shuffled)
        )
        assert in_order == shuffled


def test_holds_where_the_mean_is_led_away():
    grid = grid_of(change=flip(2))
    robust = Robust(beta=0.2).start(grid, initial(), num_rounds=3)
    led_away = FedAvg().start(grid_of(change=flip(2)), initial(), num_rounds=3)
    assert np.linalg.norm(weight_of(robust.arrays) - TRUE[0]) < 0.2
    assert np.linalg.norm(weight_of(led_away.arrays) - TRUE[0]) > 5
    assert robust.models[0] == robust.arrays
    assert set(robust.clusters.values()) == {0}
    assert len(robust.clusters) == 10


def test_pre_aggregators_and_weights():
    nnm = Robust("krum", fraction=0.2, pre=["nnm"]).start(grid_of(), initial(), num_rounds=1)
    krum = Robust("krum", fraction=0.2).start(grid_of(), initial(), num_rounds=1)
    assert not np.array_equal(weight_of(nnm.arrays), weight_of(krum.arrays))
    weighted = Robust("mean").start(grid_of(), initial(), num_rounds=1)
    equal = Robust("mean", weights="equal").start(grid_of(), initial(), num_rounds=1)
    assert not np.array_equal(weight_of(weighted.arrays), weight_of(equal.arrays))


def test_metrics_are_medians_that_one_client_cannot_move():
    def boast(client, number, model, metrics):
        return model, metrics | ({"loss": 1e9} if client == 0 else {})

    found = Robust().start(grid_of(change=boast), initial(), num_rounds=2)
    assert found.train_metrics_clientapp[2]["loss"] < 1
    assert "num-examples" not in found.train_metrics_clientapp[2]
    assert found.evaluate_metrics_clientapp[2]["eval_loss"] < 1


def test_metrics_of_another_kind_do_not_reach_the_users_function():
    def odd(client, number, model, metrics):
        return model, metrics | ({"loss": [1.0, 2.0]} if client == 0 else {})

    def count(contents, key):
        return MetricRecord({"count": len(contents)})

    strategy = Robust(train_metrics_aggr_fn=count)
    found = strategy.start(grid_of(change=odd), initial(), num_rounds=1)
    assert found.train_metrics_clientapp[1]["count"] == 9


def test_a_users_function_that_fails_costs_the_metrics_only(caplog):
    def fail(contents, key):
        raise ZeroDivisionError("oh")

    found = Robust(evaluate_metrics_aggr_fn=fail).start(grid_of(), initial(), num_rounds=1)
    assert dict(found.evaluate_metrics_clientapp[1]) == {}
    assert "cannot be summed up: oh" in caplog.text


def test_samples_as_fedavg_does():
    trained: list[int] = []

    def note(client, number, model, metrics):
        trained.append(number)
        return model, metrics

    strategy = Robust("mean", fraction_train=0.5, min_train_nodes=2, fraction_evaluate=0.0)
    found = strategy.start(grid_of(change=note), initial(), num_rounds=3)
    assert [trained.count(number) for number in (1, 2, 3)] == [5, 5, 5]
    assert found.evaluate_metrics_clientapp == {}


def test_configurations_reach_the_clients_and_functions_the_rounds():
    seen = []
    Robust().start(
        grid_of(),
        initial(),
        num_rounds=2,
        train_config=ConfigRecord({"lr": 0.1}),
        evaluate_fn=lambda number, arrays: seen.append(number),
    )
    assert seen == [0, 1, 2]


def test_half_precision_comes_back_as_half_precision():
    found = Robust("median").start(grid_of(), initial("float16"), num_rounds=1)
    assert found.arrays["weight"].dtype == "float16"
    assert np.linalg.norm(weight_of(found.arrays) - TRUE[0]) < 0.5


def test_buffers_are_joined_by_their_median():
    found = Robust().start(grid_of(), initial(), num_rounds=3)
    assert found.arrays["seen"].numpy().tolist() == [3]
    assert found.arrays["seen"].dtype == "int64"
