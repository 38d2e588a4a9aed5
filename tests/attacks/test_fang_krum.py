"""The attack on Krum by hand, and ROP."""

import numpy as np
import pytest

from tagma.attacks.omniscient.fang_krum import FangKrum, longest_step
from tagma.attacks.omniscient.rop import OrthogonalPerturbation
from tagma.strategies.aggregation import krum
from tests.attacks.views import federation_view


def test_the_step_begins_at_the_bound_and_is_halved_until_krum_takes_it():
    # Sums over 2 neighbours 5, 2, 2, 5; b = 2: bound sqrt(2 / (4 - 2 - 1)) + 4 = 5.41. Score of -x,
    # sent twice: (1 + x)^2, against 2 for the honest: x <= 0.41, which is 5.41 / 2^4 = 0.338.
    honest = np.array([[1.0], [2.0], [3.0], [4.0]])
    assert longest_step(honest, np.ones(1), 2) == pytest.approx((np.sqrt(2) + 4) / 16)
    assert longest_step(honest, np.ones(1), 1) < 1e-5, "one client cannot outweigh them"


@pytest.mark.parametrize("byzantine", [2, 3])
def test_krum_chooses_what_is_sent(byzantine):
    rng = np.random.default_rng(0)
    honest = 1 + rng.standard_normal((8, 30))
    view = federation_view(honest, np.zeros((byzantine, 30)))
    sent = FangKrum().forge(view)
    assert (sent == sent[0]).all()
    signs = np.sign(honest.mean(axis=0))
    assert (np.sign(sent[0]) == -signs).all()
    assert len(set(np.abs(sent[0]).round(12))) == 1
    everything = np.vstack([honest, sent])
    fraction = byzantine / len(everything)
    assert np.array_equal(krum(everything, fraction=fraction).estimate, sent[0])
    twice = np.vstack([honest, 2 * sent])
    assert not np.array_equal(krum(twice, fraction=fraction).estimate, 2 * sent[0])


def test_the_scale_multiplies_the_step_and_a_search_finds_the_most_harmful_one():
    honest = 1 + np.random.default_rng(0).standard_normal((8, 30))
    plain = FangKrum().forge(federation_view(honest, np.zeros((2, 30))))
    assert np.allclose(
        FangKrum(scale=3).forge(federation_view(honest, np.zeros((2, 30)))), 3 * plain
    )
    length = np.linalg.norm(plain[0])
    view = federation_view(
        honest, np.zeros((2, 30)),
        rehearse=lambda sent: -abs(np.linalg.norm(sent[0]) - 4 * length),
    )  # fmt: skip
    assert np.allclose(FangKrum(optimise=True).forge(view), 4 * plain)


def test_rop_is_orthogonal_to_the_honest_mean_and_as_long_as_an_honest_update():
    # Mean (2, 1), deviations (1, 0); without what is along the mean, -(1, 0) is (-1, 2) / 5.
    honest = np.array([[1.0, 1.0], [3.0, 1.0]])
    sent = OrthogonalPerturbation().forge(federation_view(honest, np.zeros((2, 2))))
    length = np.median([np.sqrt(2), np.sqrt(10)])
    np.testing.assert_allclose(sent, np.tile(length * np.array([-1, 2]) / np.sqrt(5), (2, 1)))
    assert sent[0] @ [2.0, 1.0] == pytest.approx(0, abs=1e-12)


def test_rop_lies_around_the_received_model_and_may_turn_back():
    models = {"honest_models": np.ones((2, 2)), "own_models": np.ones((1, 2)), "work": "local"}
    honest = 1 + np.array([[1.0, 1.0], [3.0, 1.0]])
    view = federation_view(honest, np.ones((1, 2)), **models)
    back = OrthogonalPerturbation(angle=180, scale=2).forge(view)
    length = np.median([np.sqrt(2), np.sqrt(10)])
    np.testing.assert_allclose(back, [1 - 2 * length * np.array([2, 1]) / np.sqrt(5)])


def test_where_honest_updates_do_not_differ_rop_has_no_side():
    sent = OrthogonalPerturbation().forge(federation_view(np.ones((3, 2)), np.zeros((1, 2))))
    assert np.allclose(sent, 0)
