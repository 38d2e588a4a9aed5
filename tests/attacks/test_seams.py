"""Attacks reach the federation through a client mod or around the Grid, and nowhere else."""

import numpy as np
import pytest

from tagma.attacks.adversary import adversary_of
from tagma.attacks.base import FederationView, LocalAttack, OmniscientAttack
from tagma.attacks.client_mod import local_attack
from tagma.attacks.local.sign_flip import SignFlip
from tagma.client.app import app as client_app
from tagma.errors import SettingError
from tagma.launch.engines.inprocess_grid import InProcessGrid
from tagma.server.wiring import warnings_of
from tagma.settings import compose
from tests.attacks.recording import updates_under
from tests.conftest import SMALL

SEEN = []


class SendFives(LocalAttack):
    """Sends 5 everywhere and remembers what it saw."""

    def forge(self, honest, view):
        SEEN.append(view)
        return np.full_like(honest, 5.0)


class SendList(LocalAttack):
    """Sends whole numbers that are no array."""

    def forge(self, honest, view):
        return [3] * len(honest)


class SendSevens(OmniscientAttack):
    """Sends 7 everywhere and remembers what it saw."""

    def forge(self, view: FederationView):
        SEEN.append(view)
        return np.full_like(view.own, 7.0)


LOCAL = ["attack=none", "+attack.fraction=0.25", f"attack._target_={__name__}.SendFives"]
OMNISCIENT = ["attack=none", "+attack.fraction=0.25", f"attack._target_={__name__}.SendSevens"]


LIST = ["attack=none", "+attack.fraction=0.25", f"attack._target_={__name__}.SendList"]


@pytest.mark.parametrize(("attack", "value"), [(LOCAL, 5.0), (LIST, 3.0), (OMNISCIENT, 7.0)])
def test_byzantine_clients_send_what_the_attack_says_and_the_honest_what_they_computed(
    monkeypatch, tmp_path, attack, value
):
    attacked, byzantine = updates_under(monkeypatch, tmp_path, attack)
    honest, _ = updates_under(monkeypatch, tmp_path, ["attack=none"])
    assert byzantine.sum() == 5
    for clients, updates in attacked:
        assert clients.tolist() == list(range(20))
        assert (updates[byzantine] == value).all()
        assert not (updates[~byzantine] == value).any()
    first_attacked, first_honest = attacked[0][1], honest[0][1]
    assert np.array_equal(first_attacked[~byzantine], first_honest[~byzantine])


def test_a_local_attack_sees_its_own_client_only(monkeypatch, tmp_path):
    SEEN.clear()
    _, byzantine = updates_under(monkeypatch, tmp_path, LOCAL)
    assert {view.client for view in SEEN} == set(np.flatnonzero(byzantine).tolist())
    first = [view for view in SEEN if view.work == "local_model"]
    later = [view for view in SEEN if view.work == "gradient"]
    assert len(first) == 5
    assert len(later) == 10
    assert all(view.model.tolist() == [0.0] * 5 for view in first)  # the initial model
    assert all(view.model.shape == (5,) and view.model.any() for view in later)


def test_an_omniscient_attack_sees_every_honest_update(monkeypatch, tmp_path):
    SEEN.clear()
    given, byzantine = updates_under(monkeypatch, tmp_path, OMNISCIENT)
    assert len(SEEN) == 3
    for view, (_, updates) in zip(SEEN, given, strict=True):
        assert np.array_equal(view.honest, updates[~byzantine])
        assert view.own.shape == (5, 5)
        assert view.clients.tolist() == np.flatnonzero(byzantine).tolist()
    assert SEEN[0].honest_models.shape == (15, 5)
    assert not SEEN[0].honest_models.any()  # all began with the initial model
    assert SEEN[1].honest_models.shape == (15, 5)
    assert SEEN[1].honest_models.any(axis=1).all()


def context_of(client, **node_config):
    context = InProcessGrid(client_app, 20, "")._contexts[2 + client]
    context.node_config.update(node_config)
    return context


def test_an_honest_node_can_be_started_as_a_byzantine_client_and_the_other_way_round():
    settings = compose([*SMALL, "attack=sign_flip", "attack.clients=[4]"])
    assert isinstance(local_attack(settings, context_of(4), 1), SignFlip)
    assert local_attack(settings, context_of(5), 1) is None
    assert local_attack(settings, context_of(4, byzantine=False), 1) is None
    assert isinstance(local_attack(settings, context_of(5, byzantine=True), 1), SignFlip)


def test_a_node_cannot_be_started_as_a_byzantine_client_who_sees_everything():
    settings = compose([*SMALL, "attack=ipm"])
    with pytest.raises(SettingError, match="sees its own updates only"):
        local_attack(settings, context_of(5, byzantine=True), 1)


@pytest.mark.parametrize("fraction", ["0.999", "1.0", "-0.1", "many"])
def test_a_share_that_leaves_nobody_honest_or_is_none_is_refused(fraction):
    with pytest.raises(SettingError, match=f"attack.fraction={fraction}"):
        adversary_of(compose([f"attack.fraction={fraction}"]))


def test_from_one_half_on_a_warning_says_that_nothing_is_promised():
    settings = compose([*SMALL, "attack.fraction=0.5"])
    assert adversary_of(settings).byzantine.mean() == 0.5
    assert any("from one half on" in text for text in warnings_of(settings))
    assert not any("one half" in text for text in warnings_of(compose([*SMALL])))
