import numpy as np
import pytest

from tagma.attacks.local.garbage import Garbage
from tagma.attacks.local.gaussian_noise import GaussianNoise
from tagma.attacks.local.inflate import Inflate
from tagma.attacks.local.label_flip import LabelFlip
from tagma.attacks.local.lazy import Lazy
from tagma.attacks.local.none import NoAttack
from tagma.attacks.local.poisoned_regression import PoisonedRegression
from tagma.attacks.local.random_model import RandomModel
from tagma.attacks.local.sign_flip import SignFlip
from tagma.attacks.local.stale import Stale
from tagma.attacks.local.wrong_choice import WrongChoice
from tagma.errors import SettingError
from tagma.rng import stream
from tagma.tasks.mixture_logistic import MixtureLogistic
from tagma.tasks.mixture_regression import MixtureRegression
from tests.attacks.recording import updates_under
from tests.attacks.views import local_view

TASK = MixtureRegression(clients=4, clusters=2, dim=3, samples=50, noise=0.0, seed=1)
HONEST = np.array([1.0, -2.0])


def test_no_attack_changes_nothing():
    assert NoAttack().forge(HONEST, local_view()).tolist() == [1.0, -2.0]
    honest = TASK.train(1)
    assert np.array_equal(NoAttack().data(TASK, 1, stream(0, "x")).targets, honest.targets)


def test_sign_flip_by_hand():
    assert SignFlip(scale=2.0).forge(HONEST, local_view()).tolist() == [-2.0, 4.0]


def test_inflate_by_hand():
    assert Inflate(scale=10.0).forge(HONEST, local_view()).tolist() == [10.0, -20.0]


def test_of_a_trained_model_the_progress_is_flipped_or_inflated():
    for work in ("local", "local_model"):
        view = local_view(model=[3.0, -2.0], work=work)
        assert SignFlip(scale=1.0).forge(HONEST, view).tolist() == [5.0, -2.0]
        assert Inflate(scale=2.0).forge(HONEST, view).tolist() == [-1.0, -2.0]


def test_gaussian_noise_is_added_to_the_honest_update():
    noise = stream(0, "test").standard_normal(2)
    assert np.array_equal(
        GaussianNoise(deviation=3.0).forge(HONEST, local_view()), HONEST + 3 * noise
    )


def test_a_random_model_does_not_depend_on_the_honest_update():
    noise = stream(0, "test").standard_normal(2)
    assert np.array_equal(RandomModel(deviation=3.0).forge(HONEST, local_view()), 3 * noise)


def test_a_lazy_client_sends_what_it_received():
    assert Lazy().forge(HONEST, local_view(model=[5.0, 6.0])).tolist() == [5.0, 6.0]


def test_a_lazy_client_has_the_initial_model_for_its_local_one():
    view = local_view(model=[5.0, 6.0], work="local_model")
    assert Lazy().forge(HONEST, view).tolist() == [5.0, 6.0]


def test_the_initial_model_of_a_regression_is_zero_and_so_is_what_lazy_clients_send(
    monkeypatch, tmp_path
):
    given, byzantine = updates_under(monkeypatch, tmp_path, ["attack=lazy"])
    assert not given[0][1][byzantine].any()
    assert given[0][1][~byzantine].all()


def test_a_stale_client_replays_its_oldest_update_of_the_last_rounds():
    attack = Stale(delay=2)
    assert attack.remembers == 2
    assert attack.forge(HONEST, local_view(past=[[7.0, 7.0], [8.0, 8.0]])).tolist() == [7.0, 7.0]


def test_a_stale_client_without_a_past_is_honest():
    assert Stale(delay=2).forge(HONEST, local_view()).tolist() == [1.0, -2.0]


THREE = ([0.0, 0.0], [1.0, 0.0], [5.0, 0.0])


@pytest.mark.parametrize(
    ("which", "own", "claimed"),
    [("next", 0, 1), ("next", 2, 0), ("farthest", 0, 2), ("farthest", 2, 0), ("farthest", 1, 2)],
)
def test_a_wrong_choice_by_hand(which, own, claimed):
    told = WrongChoice(which=which).report({"choice": own, "client": 4}, local_view(models=THREE))
    assert told == {"choice": claimed, "client": 4}


def test_who_was_not_asked_to_choose_claims_nothing():
    assert WrongChoice().report({"client": 4}, local_view()) == {"client": 4}


def test_the_update_of_the_claimed_model_may_be_turned_around():
    assert WrongChoice().forge(HONEST, local_view()).tolist() == [1.0, -2.0]
    assert WrongChoice(scale=-2.0).forge(HONEST, local_view()).tolist() == [-2.0, 4.0]
    trained = local_view(model=[3.0, -2.0], work="local")
    assert WrongChoice(scale=-1.0).forge(HONEST, trained).tolist() == [5.0, -2.0]


@pytest.mark.parametrize(
    ("kind", "sent"),
    [
        ("not_a_number", [np.nan, np.nan]),
        ("infinite", [np.inf, np.inf]),
        ("huge", [1e300, 1e300]),
        ("wrong_shape", [0.0, 0.0, 0.0]),
    ],
)
def test_garbage_by_hand(kind, sent):
    np.testing.assert_array_equal(Garbage(kind=kind).forge(HONEST, local_view()), sent)


def test_empty_garbage_is_no_update_at_all():
    assert Garbage(kind="empty").forge(HONEST, local_view()) is None


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("not_a_number", "not finite"),
        ("infinite", "not finite"),
        ("huge", "not finite"),
        ("wrong_shape", "wrong shape"),
        ("empty", "unexpected records"),
    ],
)
def test_garbage_is_dropped_and_counted_and_the_run_goes_on(run_small, kind, reason):
    metrics = run_small("attack=garbage", "attack.fraction=0.25", f"attack.kind={kind}")
    assert metrics["replies"]["rejected"] == {reason: 5}
    assert metrics["misclustering"] == 0


def test_label_flip_of_a_regression_leads_to_the_opposite_coefficients():
    data = LabelFlip().data(TASK, 1, stream(0, "x"))
    coefficients = np.linalg.lstsq(data.inputs, data.targets, rcond=None)[0]
    truth = TASK.truth()
    assert np.allclose(coefficients, -truth.centres[truth.labels[1]])


def test_label_flip_of_a_classification_gives_the_other_class():
    task = MixtureLogistic(clients=4, clusters=2, dim=3, samples=20, scale=1.0, seed=1)
    flipped = LabelFlip().data(task, 1, stream(0, "x")).targets
    assert np.array_equal(flipped, 1 - task.train(1).targets)
    assert set(flipped) == {0.0, 1.0}


def test_label_flip_needs_targets():
    with pytest.raises(SettingError, match="needs a task whose examples have targets"):
        LabelFlip().data(object(), 1, stream(0, "x"))


def test_poisoned_data_follow_coefficients_of_zero_or_the_scale():
    data = PoisonedRegression(scale=3.0).data(TASK, 1, stream(0, "x"))
    coefficients = np.linalg.lstsq(data.inputs, data.targets, rcond=None)[0]
    expected = 3.0 * stream(0, "x").integers(0, 2, size=3)
    assert np.allclose(coefficients, expected)
    assert np.array_equal(data.inputs, TASK.train(1).inputs)


def test_poisoned_regression_needs_a_regression():
    with pytest.raises(SettingError, match="needs task=mixture_regression"):
        PoisonedRegression().data(object(), 1, stream(0, "x"))
