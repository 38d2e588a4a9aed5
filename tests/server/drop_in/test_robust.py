"""`Robust` beside Flower's own strategies, in an ordinary app."""

import numpy as np
import pytest
from flwr.app import ConfigRecord, MetricRecord
from flwr.serverapp.strategy import FedAvg, FedTrimmedAvg, Krum

from tagma import Robust
from tests.server.drop_in.ordinary_app import TRUE, flip, grid_of, initial, weight_of


@pytest.mark.parametrize(
    ("flowers", "ours"),
    [
        (FedAvg(), Robust("mean")),
        (FedTrimmedAvg(beta=0.2), Robust("trimmed_mean", beta=0.2)),
        (Krum(num_malicious_nodes=2), Robust("krum", fraction=0.2)),
    ],
    ids=["mean", "trimmed_mean", "krum"],
)
@pytest.mark.parametrize("byzantine", [0, 2])
def test_equals_flowers_own_where_the_rules_are_equal(flowers, ours, byzantine):
    change = flip(byzantine)
    theirs = flowers.start(grid_of(change=change), initial(), num_rounds=3)
    found = ours.start(grid_of(change=change), initial(), num_rounds=3)
    assert weight_of(found.arrays) == pytest.approx(weight_of(theirs.arrays), rel=1e-6, abs=1e-6)
    assert found.evaluate_metrics_clientapp.keys() == theirs.evaluate_metrics_clientapp.keys()


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
