import numpy as np
import pytest

from attacks.attack import FederationView, LocalView
from attacks.ipm import InnerProductManipulation
from attacks.none import NoAttack
from attacks.poisoned_regression import PoisonedRegression
from attacks.sign_flip import SignFlip
from tagma.errors import SettingError
from tagma.streams import stream
from tasks.mixture_regression import MixtureRegression

TASK = MixtureRegression(machines=4, clusters=2, dim=3, samples=50, noise=0.0, seed=1)


def local_view(model=None):
    return LocalView(machine=2, stage="gradient", model=model, random=stream(0, "test"))


def federation_view(honest_models=None, own_models=None):
    return FederationView(
        stage="gradient",
        honest=np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 10.0]]),
        own=np.array([[7.0, 7.0], [8.0, 8.0]]),
        honest_models=honest_models,
        own_models=own_models,
        machines=np.array([3, 4]),
        random=stream(0, "test"),
    )


def test_no_attack_changes_nothing():
    assert NoAttack().forge(np.array([1.0, -2.0]), local_view()).tolist() == [1.0, -2.0]
    honest = TASK.data(1)
    assert np.array_equal(NoAttack().data(TASK, 1, stream(0, "x")).targets, honest.targets)


def test_sign_flip_by_hand():
    assert SignFlip(scale=2.0).forge(np.array([1.0, -2.0]), local_view()).tolist() == [-2.0, 4.0]


def test_poisoned_data_follow_coefficients_of_zero_or_the_scale():
    data = PoisonedRegression(scale=3.0).data(TASK, 1, stream(0, "x"))
    coefficients = np.linalg.lstsq(data.inputs, data.targets, rcond=None)[0]
    expected = 3.0 * stream(0, "x").integers(0, 2, size=3)
    assert np.allclose(coefficients, expected)
    assert np.array_equal(data.inputs, TASK.data(1).inputs)


def test_poisoned_regression_needs_a_regression():
    with pytest.raises(SettingError, match="needs task=mixture_regression"):
        PoisonedRegression().data(object(), 1, stream(0, "x"))


def test_ipm_opposes_the_mean_of_all_in_the_first_round():
    forged = InnerProductManipulation(scale=3.0).forge(federation_view())
    assert np.allclose(forged, [[-4.0, -10.0], [-4.0, -10.0]])


def test_ipm_opposes_the_liars_own_cluster_later():
    models = np.array([[0.0, 1.0], [0.0, 1.0], [5.0, 5.0]])
    view = federation_view(honest_models=models, own_models=models[[0, 2]])
    forged = InnerProductManipulation(scale=1.0).forge(view)
    assert np.allclose(forged, [[-2.0, 0.0], [0.0, -10.0]])


def test_ipm_in_a_cluster_without_honest_machines_opposes_itself():
    models = np.zeros((3, 2))
    view = federation_view(honest_models=models, own_models=np.ones((2, 2)))
    forged = InnerProductManipulation(scale=1.0).forge(view)
    assert np.allclose(forged, [[-7.0, -7.0], [-8.0, -8.0]])
