import numpy as np
import pytest
from flwr.app import Context, RecordDict
from scipy.optimize import approx_fprime

from tagma.attacks.local.poisoned_regression import PoisonedRegression
from tagma.client.client_cache import machine_of
from tagma.client.local_client import make_machine
from tagma.settings import compose, join_overrides
from tagma.tasks.task import Data
from tests.conftest import SMALL


def test_local_steps_are_gradient_steps():
    settings = compose([*SMALL, "optimiser=local", "optimiser.step=0.1", "optimiser.local_steps=2"])
    machine = make_machine(settings, 3)
    model = np.zeros(5)
    by_hand = model - 0.1 * machine.gradient(model)
    by_hand = by_hand - 0.1 * machine.gradient(by_hand)
    assert np.array_equal(machine.local(model), by_hand)


def test_the_gradient_vanishes_at_the_local_model():
    machine = make_machine(compose(SMALL), 3)
    assert np.abs(machine.gradient(machine.erm())).max() < 1e-12


def test_a_liar_under_the_papers_attack_has_other_data_but_the_same_program():
    settings = compose(SMALL)
    honest, liar = (make_machine(settings, 3, attack) for attack in (None, PoisonedRegression()))
    assert np.array_equal(honest.data.inputs, liar.data.inputs)
    assert not np.allclose(honest.erm(), liar.erm(), atol=0.5)
    assert np.abs(liar.gradient(liar.erm())).max() < 1e-12


def test_a_process_keeps_machines_apart_by_run_and_number():
    def machine(number, overrides):
        config = {"overrides": join_overrides(overrides)}
        return machine_of(Context(1, 1, {"partition-id": number}, RecordDict(), config), 1)

    first = machine(0, SMALL)
    assert machine(0, SMALL) is first
    assert machine(1, SMALL).number == 1
    assert not np.array_equal(machine(0, [*SMALL, "seed=5"]).data.inputs, first.data.inputs)


def machine_with(*overrides):
    return make_machine(compose([*SMALL, *overrides]), 3)


def test_a_gradient_agrees_with_finite_differences_of_the_loss():
    machine = machine_with()
    model = np.array([0.5, -1.0, 2.0, 0.0, 1.0])

    def loss(w):
        return float(((machine.data.inputs @ w - machine.data.targets) ** 2).mean() / 2)

    assert np.allclose(machine.gradient(model), approx_fprime(model, loss, 1e-6), atol=1e-4)


def test_five_local_steps_agree_with_the_closed_form():
    """w_5 = w_hat + (I - eta H)^5 (w - w_hat), with the Hessian H and the minimiser w_hat."""
    machine = machine_with("optimiser=local", "optimiser.step=0.3", "optimiser.local_steps=5")
    inputs, targets = machine.data.inputs, machine.data.targets
    hessian = inputs.T @ inputs / len(targets)
    best = np.linalg.solve(hessian, inputs.T @ targets / len(targets))
    start = np.array([3.0, -1.0, 0.0, 2.0, 5.0])
    power = np.linalg.matrix_power(np.eye(5) - 0.3 * hessian, 5)
    assert np.allclose(machine.local(start), best + power @ (start - best))


@pytest.mark.parametrize("step", [0.05, 0.3])
def test_local_steps_and_gradients_follow_a_rotation_and_the_order_of_examples(step):
    machine = machine_with("optimiser=local", f"optimiser.step={step}")
    start = np.array([3.0, -1.0, 0.0, 2.0, 5.0])
    gradient, local = machine.gradient(start), machine.local(start)
    source = np.random.default_rng(4)
    order = source.permutation(len(machine.data.targets))
    rotation = np.linalg.qr(source.normal(size=(5, 5)))[0]
    machine.data = Data(machine.data.inputs[order] @ rotation, machine.data.targets[order])
    assert np.allclose(machine.gradient(start @ rotation), gradient @ rotation)
    assert np.allclose(machine.local(start @ rotation), local @ rotation)
