"""One model for everybody, by hand."""

from functools import partial

import numpy as np
import pytest

from tagma.errors import SettingError
from tagma.exchange import Replies
from tagma.strategies.aggregation import centered_clipping, mean, median
from tagma.strategies.algorithms.fedavg import FedAvg
from tagma.strategies.algorithms.fedprox import FedProx
from tagma.strategies.algorithms.server_step import AverageModels, GradientStep

CLIENTS = np.array([3, 5, 9])
STEP = GradientStep(step=0.5)
AVERAGE = AverageModels(step=1.0, local_steps=1)


def replies(vectors, examples=(1, 1, 2)):
    return Replies(CLIENTS, np.array(vectors, dtype=float), np.array(examples))


def one_round(algorithm, vectors, examples=(1, 1, 2)):
    state = algorithm.start(np.array([1.0, 1.0]))
    request = algorithm.ask(state, 1, CLIENTS)
    return algorithm.learn(state, request, replies(vectors, examples))


VECTORS = [[0.0, 4.0], [4.0, 0.0], [8.0, 8.0]]


def test_everybody_is_asked_for_an_update_of_the_same_model():
    algorithm = FedAvg(aggregate=mean, optimiser=STEP)
    request = algorithm.ask(algorithm.start(np.array([1.0, 1.0])), 1, CLIENTS)
    assert request.work == "gradient"
    assert request.received(CLIENTS).tolist() == [[1.0, 1.0]] * 3


def test_gradients_move_the_model_by_a_step():
    after = one_round(FedAvg(aggregate=mean, optimiser=STEP, weights="equal"), VECTORS)
    assert after.model.tolist() == [-1.0, -1.0]


def test_models_replace_it_by_their_average():
    after = one_round(FedAvg(aggregate=mean, optimiser=AVERAGE, weights="equal"), VECTORS)
    assert after.model.tolist() == [4.0, 4.0]


def test_weights_are_numbers_of_examples_unless_nobody_says_any():
    algorithm = FedAvg(aggregate=mean, optimiser=AVERAGE)
    assert one_round(algorithm, VECTORS).model.tolist() == [5.0, 5.0]
    assert one_round(algorithm, VECTORS, examples=(0, 0, 0)).model.tolist() == [4.0, 4.0]


def test_any_rule_will_do():
    after = one_round(FedAvg(aggregate=median, optimiser=AVERAGE, weights="equal"), VECTORS)
    assert after.model.tolist() == [4.0, 4.0]


remembering = partial(centered_clipping, start="previous", radius=1.0, steps=2)


def test_what_a_rule_remembers_is_part_of_the_state():
    algorithm = FedAvg(aggregate=remembering, optimiser=AVERAGE, weights="equal")
    first = one_round(algorithm, VECTORS)
    assert first.memory is not None
    request = algorithm.ask(first, 2, CLIENTS)
    second = algorithm.learn(first, request, replies(np.array(VECTORS) + 10))
    forgetful = algorithm.start(first.model)
    fresh = algorithm.learn(forgetful, request, replies(np.array(VECTORS) + 10))
    assert not np.allclose(second.model, fresh.model)


def test_fedprox_sends_its_weight_along():
    algorithm = FedProx(aggregate=mean, optimiser=AVERAGE, mu=0.3)
    request = algorithm.ask(algorithm.start(np.zeros(2)), 1, CLIENTS)
    assert request.settings == {"proximal": 0.3}


def test_fedprox_needs_local_training():
    with pytest.raises(SettingError, match="optimiser=local"):
        FedProx(aggregate=mean, optimiser=STEP)
