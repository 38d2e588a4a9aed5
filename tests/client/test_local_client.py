import numpy as np
import pytest
from flwr.app import Context, RecordDict
from scipy.optimize import approx_fprime

from tagma.attacks.local.poisoned_regression import PoisonedRegression
from tagma.client.client_cache import client_of
from tagma.client.local_client import make_client
from tagma.errors import FederationError
from tagma.exchange import CHOICE, FIT, GRADIENT, TRAIN
from tagma.settings import compose, join_overrides
from tagma.tasks.task import Data
from tagma.tasks.task_choice import task_of
from tests.conftest import SMALL


def answer(client, work, *models, round_number=2, **settings):
    """What a client answers to models without buffers."""
    received = [(model, {}) for model in models]
    if len(received) == 1:
        return client.answer(work, received[0], round_number, settings)
    return client.choose(work, received, round_number, settings)


def gradient(client, model):
    return answer(client, GRADIENT, model).vector


def local(client, model):
    return answer(client, TRAIN, model).vector


def local_model(client, initial=(0.0,) * 5):
    return answer(client, FIT, np.array(initial), round_number=1).vector


def test_local_steps_are_gradient_steps():
    settings = compose([*SMALL, "optimiser=local", "optimiser.step=0.1", "optimiser.local_steps=2"])
    client = make_client(settings, 3)
    model = np.zeros(5)
    by_hand = model - 0.1 * gradient(client, model)
    by_hand = by_hand - 0.1 * gradient(client, by_hand)
    assert np.array_equal(local(client, model), by_hand)


def test_a_client_that_is_asked_to_trains_on_one_half_of_its_examples():
    settings = compose([*SMALL, "optimiser=local", "optimiser.step=0.1", "optimiser.local_steps=1"])
    client, model = make_client(settings, 3), np.zeros(5)
    task, data = task_of(settings), client.data
    for which in (1, 2):
        own = Data(data.inputs[which - 1 :: 2], data.targets[which - 1 :: 2])
        by_hand = model - 0.1 * task.gradient(model, own)
        assert np.array_equal(answer(client, TRAIN, model, half=float(which)).vector, by_hand)
    assert len(Data(data.inputs[:1], data.targets[:1]).half(2)) == 1


def test_the_gradient_vanishes_at_the_local_model():
    client = make_client(compose(SMALL), 3)
    assert np.abs(gradient(client, local_model(client))).max() < 1e-12


def test_the_local_model_of_a_convex_task_does_not_depend_on_where_it_begins():
    client = make_client(compose(SMALL), 3)
    assert np.array_equal(local_model(client), local_model(client, [3.0, -1.0, 0.0, 2.0, 5.0]))


def test_a_byzantine_client_under_the_papers_attack_has_other_data_but_the_same_program():
    settings = compose(SMALL)
    honest, byzantine_client = (
        make_client(settings, 3, attack) for attack in (None, PoisonedRegression())
    )
    assert np.array_equal(honest.data.inputs, byzantine_client.data.inputs)
    false = local_model(byzantine_client)
    assert not np.allclose(local_model(honest), false, atol=0.5)
    assert np.abs(gradient(byzantine_client, false)).max() < 1e-12


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

    assert np.allclose(gradient(client, model), approx_fprime(model, loss, 1e-6), atol=1e-4)


def test_five_local_steps_agree_with_the_closed_form():
    """w_5 = w_hat + (I - eta H)^5 (w - w_hat), with the Hessian H and the minimiser w_hat."""
    client = client_with("optimiser=local", "optimiser.step=0.3", "optimiser.local_steps=5")
    inputs, targets = client.data.inputs, client.data.targets
    hessian = inputs.T @ inputs / len(targets)
    best = np.linalg.solve(hessian, inputs.T @ targets / len(targets))
    start = np.array([3.0, -1.0, 0.0, 2.0, 5.0])
    power = np.linalg.matrix_power(np.eye(5) - 0.3 * hessian, 5)
    assert np.allclose(local(client, start), best + power @ (start - best))


@pytest.mark.parametrize("step", [0.05, 0.3])
def test_local_steps_and_gradients_follow_a_rotation_and_the_order_of_examples(step):
    client = client_with("optimiser=local", f"optimiser.step={step}")
    start = np.array([3.0, -1.0, 0.0, 2.0, 5.0])
    first_gradient, first_local = gradient(client, start), local(client, start)
    source = np.random.default_rng(4)
    order = source.permutation(len(client.data.targets))
    rotation = np.linalg.qr(source.normal(size=(5, 5)))[0]
    client.data = Data(client.data.inputs[order] @ rotation, client.data.targets[order])
    assert np.allclose(gradient(client, start @ rotation), first_gradient @ rotation)
    assert np.allclose(local(client, start @ rotation), first_local @ rotation)


def test_of_several_models_a_client_goes_on_with_the_one_that_fits_its_data_best():
    client = client_with()
    best = local_model(client)
    far, near = best + 5, best + 0.1
    for work in (GRADIENT, TRAIN):
        found = answer(client, work, far, near, best + 1)
        assert found.numbers == {CHOICE: 1}
        assert np.array_equal(found.vector, answer(client, work, near).vector)


def test_of_several_models_alike_it_is_the_first_and_of_one_nothing_is_reported():
    client, model = client_with(), np.ones(5)
    assert answer(client, GRADIENT, model, model, model).numbers == {CHOICE: 0}
    assert answer(client, GRADIENT, model).numbers == {}


def test_a_client_answers_the_same_question_alike():
    client = client_with("optimiser=local")
    again = client_with("optimiser=local")
    for work in (FIT, GRADIENT, TRAIN):
        first = answer(client, work, np.ones(5)).vector
        assert np.array_equal(answer(client, work, np.ones(5)).vector, first)
        assert np.array_equal(answer(again, work, np.ones(5)).vector, first)


@pytest.mark.parametrize("work", ["", "pickle", "x" * 10_000])
def test_work_that_nobody_knows_is_an_error_of_one_short_line(work):
    with pytest.raises(FederationError, match="unknown work") as error:
        answer(client_with(), work, np.ones(5))
    assert len(str(error.value)) <= 100


def test_a_model_is_evaluated_on_held_out_data():
    client = client_with()
    model = local_model(client), {}
    residuals = client.data.inputs @ model[0] - client.data.targets
    assert (residuals**2).mean() / 2 < client.evaluate(model, 1)["loss"]


def test_a_client_tries_a_model_again_after_steps_of_its_own():
    settings = compose([*SMALL, "optimiser.step=0.1", "personalise.steps=2"])
    client, model = make_client(settings, 3), np.zeros(5)
    found = client.evaluate((model, {}), 4)
    by_hand = model - 0.1 * gradient(client, model)
    by_hand = by_hand - 0.1 * gradient(client, by_hand)
    assert found["loss"] == client_with().evaluate((model, {}), 4)["loss"]
    assert found["personalised_loss"] == client_with().evaluate((by_hand, {}), 4)["loss"]


def test_a_model_whose_loss_is_no_number_is_not_chosen():
    client = client_with()
    models = [(np.full(len(local_model(client)), bad), {}) for bad in (np.nan, 1e200, 0.0)]
    with np.errstate(over="ignore", invalid="ignore"):
        assert client.choose("gradient", models, 2, {}).numbers == {"choice": 2}
