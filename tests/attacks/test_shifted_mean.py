import numpy as np
import pytest

from tagma.attacks.local.shifted_mean import ShiftedMean
from tagma.client.local_client import make_client
from tagma.errors import SettingError
from tagma.exchange import FIT, GRADIENT
from tagma.rng import stream
from tagma.settings import compose
from tagma.tasks.mixture_regression import MixtureRegression
from tagma.tasks.task_choice import task_of
from tests.tasks.test_mean_estimation import make, overrides


def test_all_points_are_shifted_by_one_vector_of_half_the_scale(features):
    task = make(features)
    own, shifted = task.train(3), ShiftedMean(scale=4.0).data(task, 3, stream(0, "x"))
    shift = shifted.inputs - own.inputs
    expected = 4.0 * (stream(0, "x").integers(0, 2, size=2) - 0.5)
    assert np.allclose(shift, expected)
    assert np.abs(expected).tolist() == [2.0, 2.0]


def test_clients_draw_their_own_shifts_once(features):
    settings = compose(overrides(features))
    task = task_of(settings)
    byzantine = np.flatnonzero(task.truth().labels < 0)
    clients = [make_client(settings, int(n), ShiftedMean()) for n in byzantine]
    shifts = [m.data.inputs[0] - task.train(m.number).inputs[0] for m in clients]
    assert len(np.unique(np.round(shifts, 6), axis=0)) > 1
    again = make_client(settings, int(byzantine[0]), ShiftedMean())
    assert np.array_equal(again.data.inputs, clients[0].data.inputs)


def test_gradients_and_local_model_agree(features):
    settings = compose(overrides(features))
    byzantine_client = int(np.flatnonzero(task_of(settings).truth().labels < 0)[0])
    client = make_client(settings, byzantine_client, ShiftedMean())
    model = np.array([3.0, -1.0])
    gradient = client.answer(GRADIENT, (model, {}), 2, {}).vector
    local_model = client.answer(FIT, (np.zeros(2), {}), 1, {}).vector
    assert np.allclose(gradient, model - local_model)


def test_a_regression_is_refused():
    task = MixtureRegression(clients=4, clusters=2, dim=3, samples=5, noise=0.0, seed=1)
    with pytest.raises(SettingError, match="attack=shifted_mean: needs task=mean_estimation"):
        ShiftedMean().data(task, 0, stream(0, "x"))
