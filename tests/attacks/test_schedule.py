"""Who attacks when, from the settings to what the algorithm receives."""

import numpy as np
import pytest

from tagma.attacks.adversary import adversary_of
from tagma.attacks.local.sign_flip import SignFlip
from tagma.attacks.omniscient.alie import ALittleIsEnough
from tagma.attacks.omniscient.ipm import InnerProductManipulation
from tagma.attacks.on_clustering.infiltrate import Infiltrate
from tagma.errors import SettingError
from tagma.server.wiring import warnings_of
from tagma.settings import compose
from tagma.tasks.roles import role_order
from tests.attacks.recording import updates_of, updates_under
from tests.conftest import SMALL


def adversary(*overrides):
    return adversary_of(compose([*SMALL, *overrides]))


def test_clients_can_be_named_by_number():
    named = adversary("attack=sign_flip", "attack.clients=[3,7]")
    assert np.flatnonzero(named.byzantine).tolist() == [3, 7]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("attack.clients=[20]", "attack.clients=20: there are 20 clients, from 0"),
        ("attack.clients=[-1]", "attack.clients.0=-1"),
        ("attack.clients=3", "attack.clients=3"),
        (f"attack.clients={list(range(20))}".replace(" ", ""), "leaves no honest client"),
        ("attack.start=0", "attack.start=0"),
        ("attack.stop=x", "attack.stop=x"),
        ("attack.start=5 attack.stop=3", "attack.stop=3: is before the first round, start=5"),
        ("+attack.later=5", "attack.later=5: must name an attack"),
        ("+attack.later={name:alie,fraction:0.1}", "attack.later.fraction=0.1: belongs to"),
    ],
)
def test_who_and_when_are_checked(override, message):
    with pytest.raises(SettingError, match=message.replace("[", r"\[")):
        adversary("attack=sign_flip", *override.split())


def test_squads_share_out_the_clients_that_one_attack_would_have():
    mixed = adversary(
        "attack=mixed",
        "attack.attacks=[{name:sign_flip,fraction:0.1},{name:alie,fraction:0.2,z:2}]",
    )
    alone = adversary("attack=sign_flip", "attack.fraction=0.3")
    first, second = mixed.squads
    assert (first.clients.sum(), second.clients.sum()) == (2, 4)
    assert not (first.clients & second.clients).any()
    assert np.array_equal(mixed.byzantine, alone.byzantine)
    assert isinstance(first.attack_in(1), SignFlip)
    assert isinstance(second.attack_in(1), ALittleIsEnough)
    assert second.attack_in(1).scale == 2


@pytest.mark.parametrize(
    ("attacks", "message"),
    [
        (
            "[{name:sign_flop,fraction:0.1}]",
            "attack.attacks.0.name=sign_flop: there is no such choice",
        ),
        ("[{name:sign_flip,fraction:0.6},{name:alie,fraction:0.4}]", "leaves no honest client"),
        (
            "[{name:sign_flip,fraction:0.1,scales:3}]",
            "attack.attacks.0.scales=3: there is no such setting",
        ),
        ("[{name:sign_flip,clients:[1]},{name:alie,clients:[1]}]", "clients=1: is named twice"),
        (
            "[{name:sign_flip},{name:alie,fraction:0.1}]",
            "attack.attacks.0=.*needs fraction",
        ),
        ("[{fraction:0.1}]", "attack.attacks.0=.*names no attack: set name or _target_"),
        ("5", "attack.attacks=5: must be a list"),
        ("[{name:mixed,fraction:0.1}]", "is several attacks"),
        ("[]", "attack.attacks=.*: must be a list of attacks"),
        ("[sign_flip]", "attack.attacks.0=sign_flip: must be"),
    ],
)
def test_a_list_of_attacks_is_checked(attacks, message):
    with pytest.raises(SettingError, match=message):
        adversary("attack=mixed", f"attack.attacks={attacks}")


def test_a_sleeper_is_honest_until_its_round_and_then_another_attack():
    (squad,) = adversary("attack=sleeper", "attack.name=ipm", "attack.start=3").squads
    assert squad.attack_in(2) is None
    assert isinstance(squad.attack_in(3), InnerProductManipulation)
    assert isinstance(squad.attack_in(99), InnerProductManipulation)


def test_an_attack_stops_after_its_last_round():
    (squad,) = adversary("attack=sign_flip", "attack.start=2", "attack.stop=3").squads
    assert [squad.attack_in(number) is not None for number in range(1, 5)] == [
        False, True, True, False,
    ]  # fmt: skip


def test_a_two_phase_attack_turns_to_another_after_the_first_round():
    (squad,) = adversary("attack=infiltrate").squads
    assert isinstance(squad.attack_in(1), Infiltrate)
    assert isinstance(squad.attack_in(2), InnerProductManipulation)
    assert squad.attack_in(2).scale == 5


def test_what_comes_later_can_be_named_alone_or_with_settings():
    (squad,) = adversary("attack=infiltrate", "attack.later=sign_flip").squads
    assert isinstance(squad.attack_in(2), SignFlip)
    later = "attack.later={name:alie,z:2,start:3}"
    (squad,) = adversary("attack=infiltrate", later).squads
    assert squad.attack_in(2) is None
    assert squad.attack_in(3).scale == 2


def test_start_and_stop_hold_for_what_comes_later_too():
    (squad,) = adversary("attack=infiltrate", "attack.stop=2").squads
    assert isinstance(squad.attack_in(1), Infiltrate)
    assert isinstance(squad.attack_in(2), InnerProductManipulation)
    assert squad.attack_in(3) is None
    (squad,) = adversary("attack=sign_flip", "+attack.later=ipm", "attack.start=3").squads
    assert squad.attack_in(1) is None
    assert squad.attack_in(2) is None
    assert isinstance(squad.attack_in(3), InnerProductManipulation)


def test_an_attack_on_local_models_cannot_start_after_they_were_sent():
    with pytest.raises(SettingError, match=r"attack\.start=3: it forges local models"):
        adversary("attack=infiltrate", "attack.start=3")
    with pytest.raises(SettingError, match=r"attack\.later\.start=2: it forges local models"):
        adversary("attack=sign_flip", "+attack.later=infiltrate")


def test_shares_go_to_clients_that_are_not_named():
    order = role_order(20, seed=0)
    named = int(order[0])
    mixed = adversary(
        "attack=mixed",
        f"attack.attacks=[{{name:ipm,fraction:0.1}},{{name:alie,clients:[{named}]}}]",
    )
    assert set(np.flatnonzero(mixed.squads[0].clients)) == set(order[1:3].tolist())


def test_an_attack_that_never_happens_brings_a_warning():
    late = compose([*SMALL, "attack=sleeper", "attack.start=9"])
    assert any("attack.start=9 is after the last round, 4" in text for text in warnings_of(late))
    nobody = compose([*SMALL, "attack=sign_flip", "attack.fraction=0"])
    assert any("nobody attacks" in text for text in warnings_of(nobody))
    assert not any("attack" in text for text in warnings_of(compose([*SMALL, "attack=none"])))


def test_a_sleeper_that_replays_remembers_what_it_sent_while_honest(monkeypatch, tmp_path):
    given, byzantine = updates_under(
        monkeypatch,
        tmp_path,
        ["attack=sleeper", "attack.name=stale", "+attack.delay=1", "attack.start=3",
         "attack.fraction=0.25"],
    )  # fmt: skip
    assert np.array_equal(given[2][1][byzantine], given[1][1][byzantine])


def test_the_algorithm_receives_a_local_attack_in_its_rounds_only(monkeypatch, tmp_path):
    """A flipped update in round 2 alone; data that are poisoned from round 3 on."""
    honest, _ = updates_under(monkeypatch, tmp_path, ["attack=none"])
    flipped, byzantine = updates_under(
        monkeypatch,
        tmp_path,
        ["attack=sign_flip", "attack.fraction=0.25", "attack.start=2", "attack.stop=2"],
    )
    assert np.array_equal(flipped[0][1], honest[0][1])
    assert np.array_equal(flipped[1][1][byzantine], -honest[1][1][byzantine])
    assert np.array_equal(flipped[1][1][~byzantine], honest[1][1][~byzantine])
    poisoned, _ = updates_under(monkeypatch, tmp_path, ["attack.fraction=0.25", "attack.start=3"])
    assert np.array_equal(poisoned[1][1], honest[1][1])
    assert not np.allclose(poisoned[2][1][byzantine], honest[2][1][byzantine])
    assert np.array_equal(poisoned[2][1][~byzantine], honest[2][1][~byzantine])


def test_omniscient_and_local_phases_take_turns(monkeypatch, tmp_path):
    given, byzantine = updates_under(
        monkeypatch,
        tmp_path,
        ["attack=infiltrate", "attack.fraction=0.25", "attack.later=sign_flip", "attack.rho=0"],
    )
    infiltrators = given[0][1][byzantine]
    assert np.allclose(infiltrators, infiltrators[0])
    honest, _ = updates_under(
        monkeypatch,
        tmp_path,
        ["attack=infiltrate", "attack.fraction=0.25", "attack.later=null", "attack.rho=0"],
    )
    assert np.array_equal(given[1][1][byzantine], -honest[1][1][byzantine])


def test_a_stale_update_comes_from_the_round_it_says(monkeypatch, tmp_path):
    """The nodes keep their updates from round to round; the first one of a stage has no past."""
    given, byzantine = updates_under(
        monkeypatch, tmp_path, ["attack=stale", "attack.fraction=0.25", "attack.delay=1"]
    )
    honest, _ = updates_under(monkeypatch, tmp_path, ["attack=none"])
    assert np.array_equal(given[0][1], honest[0][1])
    assert np.array_equal(given[1][1], honest[1][1])
    assert np.array_equal(given[2][1][byzantine], honest[1][1][byzantine])


def test_colluding_squads_do_not_take_each_other_for_honest(monkeypatch, tmp_path):
    given, byzantine = updates_under(
        monkeypatch,
        tmp_path,
        [
            "attack=mixed",
            "attack.attacks=[{name:ipm,clients:[0],scale:1e6},{name:ipm,clients:[1],scale:1}]",
        ],
    )
    assert np.flatnonzero(byzantine).tolist() == [0, 1]
    assert np.abs(given[0][1][1]).max() < 100


def test_byzantine_clients_are_fixed_first_and_then_sampled(monkeypatch, tmp_path):
    federation = [*SMALL, "rounds=6", "oracle=false", "attack=random_model",
                  "attack.fraction=0.25", "attack.deviation=1000"]  # fmt: skip
    part = [*federation, "strategy=fedavg", "sampling.fraction=0.5"]
    given, byzantine = updates_of(monkeypatch, tmp_path, part)
    assert np.array_equal(byzantine, adversary_of(compose(federation)).byzantine)
    numbers = [int(byzantine[clients].sum()) for clients, _ in given]
    assert all(len(clients) == 10 for clients, _ in given)
    assert len(set(numbers)) > 1, "how many of a sample attack is left to chance"
    for clients, updates in given:
        far = np.linalg.norm(updates, axis=1) > 100
        assert np.array_equal(far, byzantine[clients]), "those who were fixed, and nobody else"
