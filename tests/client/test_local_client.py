import numpy as np
import pytest
from flwr.app import Context, RecordDict
from scipy.optimize import approx_fprime

from tagma.attacks.local.poisoned_regression import PoisonedRegression
from tagma.client.client_cache import client_of
from tagma.client.local_client import make_client
from tagma.settings import compose, join_overrides
from tagma.tasks.task import Data
from tests.conftest import SMALL


def test_local_steps_are_gradient_steps():
    settings = compose([*SMALL, "optimiser=local", "optimiser.step=0.1", "optimiser.local_steps=2"])
    client = make_client(settings, 3)
    model = np.zeros(5)
    by_hand = model - 0.1 * client.gradient(model)
    by_hand = by_hand - 0.1 * client.gradient(by_hand)
    assert np.array_equal(client.local(model), by_hand)


def test_the_gradient_vanishes_at_the_local_model():
    client = make_client(compose(SMALL), 3)
    assert np.abs(client.gradient(client.local_model())).max() < 1e-12


def test_a_byzantine_client_under_the_papers_attack_has_other_data_but_the_same_program():
    settings = compose(SMALL)
    honest, byzantine_client = (
        make_client(settings, 3, attack) for attack in (None, PoisonedRegression())
    )
    assert np.array_equal(honest.data.inputs, byzantine_client.data.inputs)
    assert not np.allclose(honest.local_model(), byzantine_client.local_model(), atol=0.5)
    assert np.abs(byzantine_client.gradient(byzantine_client.local_model())).max() < 1e-12


def test_a_process_keeps_clients_apart_by_run_and_number():
    def client(number, overrides):
        config = {"overrides": join_overrides(overrides)}
        return client_of(Context(1, 1, {"partition-id": number}, RecordDict(), config), 1)

    first = client(0, SMALL)
    assert client(0, SMALL) is first
    assert client(1, SMALL).number == 1
    assert not np.array_equal(client(0, [*SMALL, "seed=5"]).data.inputs, first.data.inputs)


def client_with(*overrides):
    return make_client(compose([*SMALL, *overrides]), 3)


def test_a_gradient_agrees_with_finite_differences_of_the_loss():
    client = client_with()
    model = np.array([0.5, -1.0, 2.0, 0.0, 1.0])

    def loss(w):
        return float(((client.data.inputs @ w - client.data.targets) ** 2).mean() / 2)

    assert np.allclose(client.gradient(model), approx_fprime(model, loss, 1e-6), atol=1e-4)


def test_five_local_steps_agree_with_the_closed_form():
    """w_5 = w_hat + (I - eta H)^5 (w - w_hat), with the Hessian H and the minimiser w_hat."""
    client = client_with("optimiser=local", "optimiser.step=0.3", "optimiser.local_steps=5")
    inputs, targets = client.data.inputs, client.data.targets
    hessian = inputs.T @ inputs / len(targets)
    best = np.linalg.solve(hessian, inputs.T @ targets / len(targets))
    start = np.array([3.0, -1.0, 0.0, 2.0, 5.0])
    power = np.linalg.matrix_power(np.eye(5) - 0.3 * hessian, 5)
    assert np.allclose(client.local(start), best + power @ (start - best))


@pytest.mark.parametrize("step", [0.05, 0.3])
def test_local_steps_and_gradients_follow_a_rotation_and_the_order_of_examples(step):
    client = client_with("optimiser=local", f"optimiser.step={step}")
    start = np.array([3.0, -1.0, 0.0, 2.0, 5.0])
    gradient, local = client.gradient(start), client.local(start)
    source = np.random.default_rng(4)
    order = source.permutation(len(client.data.targets))
    rotation = np.linalg.qr(source.normal(size=(5, 5)))[0]
    client.data = Data(client.data.inputs[order] @ rotation, client.data.targets[order])
    assert np.allclose(client.gradient(start @ rotation), gradient @ rotation)
    assert np.allclose(client.local(start @ rotation), local @ rotation)
