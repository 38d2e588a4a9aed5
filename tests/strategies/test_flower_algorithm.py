"""Strategies of Flower's own, fed with arrays."""

import numpy as np
import pytest
from flwr.serverapp.strategy import FedAdam, FedAvg, FedMedian, FedProx, Krum

from tagma.errors import SettingError
from tagma.exchange import PROXIMAL, Replies
from tagma.layout import Layout
from tagma.settings import compose
from tagma.strategies.algorithms.server_step import AverageModels, GradientStep
from tagma.strategies.flower_algorithm import FlowerAlgorithm, flower_strategy

LAYOUT = Layout.of({"weight": np.zeros((1, 2)), "bias": np.zeros(1)})
MODELS = {0: [1.0, 1.0, 1.0], 3: [1.0, 2.0, 1.0], 4: [2.0, 1.0, 1.0], 7: [90.0, 90.0, 90.0]}


def made(kind, optimiser=None, **settings):
    optimiser = optimiser or AverageModels(step=1.0, local_steps=1)
    return FlowerAlgorithm(flower_strategy(kind, settings), optimiser, LAYOUT)


def learn(algorithm, state, vectors=MODELS, examples=None):
    clients = np.array(sorted(vectors))
    request = algorithm.ask(state, 1, clients)
    found = np.array([vectors[client] for client in clients.tolist()])
    counts = np.ones_like(clients) if examples is None else np.array(examples)
    return algorithm.learn(state, request, Replies(clients, found, counts))


@pytest.mark.parametrize(
    ("kind", "settings", "model"),
    [
        (FedAvg, {}, [23.5, 23.5, 23.25]),
        (FedMedian, {}, [1.5, 1.5, 1]),
        (Krum, {"num_malicious_nodes": 1}, [1, 1, 1]),
    ],
)
def test_the_model_is_what_the_strategy_makes_of_the_replies(kind, settings, model):
    algorithm = made(kind, **settings)
    state = learn(algorithm, algorithm.start(np.zeros(3)))
    assert state.model.tolist() == model


def test_examples_are_weights_and_none_at_all_are_equal_ones():
    algorithm = made(FedAvg)
    state = algorithm.start(np.zeros(3))
    two = {0: [0.0, 0.0, 0.0], 1: [4.0, 4.0, 4.0]}
    assert learn(algorithm, state, two, [3, 1]).model.tolist() == [1, 1, 1]
    assert learn(algorithm, state, two, [0, 0]).model.tolist() == [2, 2, 2]


def test_gradients_reach_it_as_models_a_step_away():
    algorithm = made(FedAvg, GradientStep(step=0.5))
    state = learn(algorithm, algorithm.start(np.full(3, 10.0)), {0: [2.0, 2, 2], 1: [4.0, 4, 4]})
    assert state.model.tolist() == [8.5, 8.5, 8.5]


def test_what_is_tried_out_leaves_no_trace():
    alone, tried = made(FedAdam), made(FedAdam)
    expected = alone.start(np.zeros(3))
    state = tried.start(np.zeros(3))
    for _ in range(3):
        expected = learn(alone, expected)
        learn(tried, state, MODELS | {7: [-500.0, 0.0, 3.0]})
        state = learn(tried, state)
        assert state.model.tolist() == expected.model.tolist()


def test_fedprox_reaches_the_clients():
    algorithm = made(FedProx, proximal_mu=0.25)
    request = algorithm.ask(algorithm.start(np.zeros(3)), 1, np.arange(4))
    assert request.settings == {PROXIMAL: 0.25}


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"nonsense": 1}, r"strategy.nonsense=1: there is no such setting; known: num_malicious"),
        ({"num_malicious_nodes": "many"}, r"strategy.num_malicious_nodes=many: .*valid integer"),
        ({"fraction_train": 0.5}, r"strategy.fraction_train=0.5: is not used here: sampling.fra"),
        ({"weighted_by_key": "x"}, r"strategy.weighted_by_key=x: there is no such setting"),
    ],
)
def test_a_wrong_argument_is_one_line(settings, line):
    with pytest.raises(SettingError, match=line):
        flower_strategy(Krum, settings)


KRUM = (
    "strategy=flower", "strategy._target_=flwr.serverapp.strategy.Krum",
    "strategy.num_malicious_nodes=4", "optimiser.step=0.3",
)  # fmt: skip


def test_hostile_replies_do_not_stop_it(run_small):
    metrics = run_small(*KRUM, "attack=garbage", "attack.fraction=0.2", "task.clusters=1")
    assert metrics["replies"]["rejected"]
    assert metrics["settings"]["strategy"] == "Krum"
    assert metrics["served_error"] < 1


def test_it_is_not_resumed(run_small, tmp_path):
    run_small(*KRUM, "attack=none")
    with pytest.raises(Exception, match="cannot be resumed"):
        run_small(*KRUM, "attack=none", "resume=true")
    assert compose([*KRUM]).checkpoint_every == 1
    assert not list(tmp_path.glob("checkpoint*"))
