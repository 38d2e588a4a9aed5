import numpy as np
from flwr.app import Context, RecordDict

from attacks.poisoned_regression import PoisonedRegression
from client.cache import machine_of
from client.machine import make_machine
from tagma.settings import compose, join_overrides
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
