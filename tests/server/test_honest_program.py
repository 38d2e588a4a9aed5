"""What Byzantine clients would honestly answer, on the server's side."""

import numpy as np
import pytest

from tagma.exchange import FIT, GRADIENT, TRAIN, Request
from tagma.server.honest_program import honest_program_of
from tagma.server.wiring import algorithm_of
from tagma.settings import compose
from tagma.strategies.flower import AlgorithmStrategy
from tagma.tasks.task_choice import task_of
from tests.conftest import SMALL

SETTINGS = compose([*SMALL, "optimiser=local", "optimiser.step=0.5", "optimiser.local_steps=1"])
CLIENTS = np.array([2, 5])
MODELS = np.arange(10.0).reshape(2, 5)


@pytest.fixture
def answers():
    strategy = AlgorithmStrategy(algorithm_of(SETTINGS), task_of(SETTINGS).initial())
    program = honest_program_of(strategy, SETTINGS)
    return lambda work: program(
        3, Request(work, np.arange(20), np.zeros((1, 5)), np.zeros(20, int)), CLIENTS, MODELS
    )


def test_they_are_those_of_the_clients_own_data(answers):
    data = [task_of(SETTINGS).train(client) for client in CLIENTS.tolist()]
    hessians = np.array([one.inputs.T @ one.inputs / len(one) for one in data])
    own = np.array([np.linalg.lstsq(one.inputs, one.targets)[0] for one in data])
    assert np.allclose(answers(FIT), own)
    gradients = np.einsum("ijk,ik->ij", hessians, MODELS - own)
    assert np.allclose(answers(GRADIENT), gradients)


def test_local_steps_begin_at_the_models_that_are_asked_for(answers):
    assert np.allclose(answers(TRAIN), MODELS - 0.5 * answers(GRADIENT))
