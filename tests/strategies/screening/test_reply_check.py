import numpy as np
import pytest

from tagma.strategies.screening.reply_check import strikes


def federation(clients=60, dim=30, samples=60, seed=0):
    """Least squares: the models that clients got, their own minimisers, and honest gradients."""
    source = np.random.default_rng(seed)
    models = source.normal(size=(clients, dim))
    local_models = models + source.normal(size=(clients, dim))
    inputs = source.normal(size=(clients, samples, dim))
    hessians = inputs.transpose(0, 2, 1) @ inputs / samples
    return models, local_models, np.einsum("mij,mj->mi", hessians, models - local_models)


def test_honest_replies_pass():
    assert not strikes(*federation()).any()


@pytest.mark.parametrize(
    "lie",
    [
        lambda honest: -honest,
        lambda honest: 20 * honest,
        lambda honest: honest / 20,
        lambda honest: 0 * honest,
        lambda honest: honest[::-1],
        lambda honest: np.tile(honest.mean(axis=0) - honest.std(axis=0), (len(honest), 1)),
    ],
    ids=["flipped", "long", "short", "zero", "another's", "a little is enough"],
)
def test_replies_that_disagree_with_the_claimed_model_strike_out(lie):
    models, local_models, replies = federation()
    replies[:20] = lie(replies[:20])
    struck = strikes(models, local_models, replies)
    assert struck[:20].mean() > 0.9
    assert not struck[20:].any()


def test_byzantine_clients_who_are_the_majority_where_they_are_strike_out_all_the_same():
    models, local_models, replies = federation()
    cluster = np.arange(60) < 15
    byzantine = np.arange(60) < 12
    replies[byzantine] = replies[cluster & ~byzantine].mean(axis=0) * -1
    struck = strikes(models, local_models, replies)
    assert struck[byzantine].mean() > 0.9
    assert not struck[~byzantine].any()


def test_where_all_agree_rounding_does_not_decide():
    models, local_models, _ = federation()
    replies = (models - local_models) * (
        1 + 1e-12 * np.random.default_rng(1).normal(size=local_models.shape)
    )
    assert not strikes(models, local_models, replies).any()


def test_a_client_at_its_own_minimiser_has_nothing_to_disagree_about():
    models, local_models, replies = federation()
    models[0], replies[0] = local_models[0], 0
    assert not strikes(models, local_models, replies)[0]
    replies[0] = 1.0
    assert strikes(models, local_models, replies)[0]


def test_rounding_at_ones_own_minimiser_is_no_disagreement():
    """Data that a model fits exactly: what is left of claims and gradients is chance."""
    source = np.random.default_rng(0)
    models = 1 + np.zeros((20, 3))
    around, replies = (1e-16 * source.normal(size=(20, 3)) for _ in range(2))
    assert not strikes(models, models + 4 * around, replies).any()
    replies[:5] = 1e-3 * source.normal(size=(5, 3))
    assert strikes(models, models + 4 * around, replies)[:5].any()
    astronomic = models + 1e100
    assert strikes(models, np.where(np.arange(20)[:, None] < 5, astronomic, models), -replies)[
        :5
    ].all()


def test_astronomic_replies_strike_out_without_an_overflow():
    models, local_models, replies = federation()
    replies[0] = 1e149
    with np.errstate(all="raise"):
        struck = strikes(models, local_models, replies)
    assert struck[0]
    assert not struck[1:].any()


@pytest.mark.parametrize("dim", [2, 3, 5])
def test_honest_clients_are_not_excluded_for_being_in_few_dimensions(dim):
    struck = []
    for seed in range(20):
        source = np.random.default_rng([dim, seed])
        inputs = source.normal(size=(100, 20, dim))
        hessians = inputs.transpose(0, 2, 1) @ inputs / 20
        gradients = np.einsum("mni,mn->mi", inputs, source.normal(size=(100, 20))) / 20
        away = np.linalg.solve(hessians, gradients[..., None])[..., 0]
        struck.append(strikes(away, np.zeros_like(away), gradients).mean())
    assert np.mean(struck) <= 0.01


def test_a_right_angle_strikes_however_much_the_others_vary():
    source = np.random.default_rng(0)
    angles = source.uniform(0, 1.5, size=40)
    models = np.tile([1.0, 0.0], (40, 1))
    replies = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert not strikes(models, 0 * models, replies).any()
    replies[0] = [-0.01, 1.0]
    assert np.flatnonzero(strikes(models, 0 * models, replies)).tolist() == [0]
