"""The defence that an attack is tried on is the one that is running, and trying leaves no trace."""

from dataclasses import dataclass

import numpy as np
import pytest

from tagma.exchange import GRADIENT, Replies, Request
from tagma.server.rehearsal import rehearsal_of
from tagma.strategies.aggregation import mean
from tagma.strategies.algorithms.algorithm import AlgorithmBase
from tagma.strategies.algorithms.fedavg import FedAvg
from tagma.strategies.algorithms.server_step import GradientStep
from tagma.strategies.flower import AlgorithmStrategy
from tagma.tasks.task import Truth

CLIENTS = np.array([0, 1, 2, 99])
"""The last one is nobody that the settings know; client 1 is Byzantine."""
BYZANTINE = np.array([False, True, False])
REQUEST = Request(GRADIENT, CLIENTS, np.zeros((1, 1)), np.zeros(4, dtype=int))


def replies(*updates):
    return Replies(CLIENTS, np.array(updates)[:, None], np.ones(4, dtype=int))


@pytest.fixture
def strategy():
    algorithm = FedAvg(aggregate=mean, optimiser=GradientStep(step=1.0))
    return AlgorithmStrategy(algorithm, {"w": np.zeros(1)})


@dataclass(frozen=True)
class Models:
    models: np.ndarray


class Placed(AlgorithmBase):
    """Clients 0 and 2 are served what they sent, the others what client 0 did."""

    def start(self, initial):
        return Models(np.zeros((1, 1)))

    def ask(self, state, round_number, clients):
        return REQUEST

    def learn(self, state, request, replies):
        return Models(replies.vectors[[0, 2]])

    def serve(self, state, clients):
        return state.models, np.where(clients == 2, len(state.models) - 1, 0)


def test_harm_counts_what_honest_clients_are_served_not_the_best_model_there_is():
    strategy = AlgorithmStrategy(Placed(), {"w": np.zeros(1)})
    truth = Truth(np.array([1, 0, 0]), np.array([[4.0], [9.0]]))
    harm = rehearsal_of(strategy, truth, BYZANTINE)
    assert harm(REQUEST, replies(9.0, 0.0, 4.0, 0.0)) == pytest.approx(0.0)
    # Each is served the other cluster's model: with the models matched there would be no error.
    assert harm(REQUEST, replies(4.0, 0.0, 9.0, 0.0)) == pytest.approx(5.0)


def test_harm_is_the_distance_to_the_true_model_after_the_next_step(strategy):
    truth = Truth(np.zeros(3, dtype=int), np.array([[-1.0]]))
    harm = rehearsal_of(strategy, truth, BYZANTINE)
    # A step against the mean of the updates: to -1, and to -4.
    assert harm(REQUEST, replies(1.0, 1.0, 1.0, 1.0)) == pytest.approx(0.0)
    assert harm(REQUEST, replies(1.0, 13.0, 1.0, 1.0)) == pytest.approx(3.0)
    assert strategy.state.model.tolist() == [0.0]


@pytest.mark.parametrize("truth", [None, Truth(np.zeros(3, dtype=int))])
def test_without_a_known_model_it_is_that_to_where_the_others_alone_would_lead(strategy, truth):
    harm = rehearsal_of(strategy, truth, BYZANTINE)
    assert harm(REQUEST, replies(1.0, 1.0, 1.0, 1.0)) == pytest.approx(0.0)
    assert harm(REQUEST, replies(1.0, 13.0, 1.0, 1.0)) == pytest.approx(3.0)
