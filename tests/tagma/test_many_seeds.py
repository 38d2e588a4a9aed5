"""Settings for many seeds, and settings that another process composed."""

from copy import deepcopy

import pytest

from tagma import settings as module
from tagma.settings import adopt, compose, compose_seeds
from tests.conftest import SMALL


def test_one_composition_gives_what_composing_each_seed_does():
    for seed, found in zip((3, 8), compose_seeds(SMALL, (3, 8)), strict=True):
        alone = compose([*SMALL, f"seed={seed}"])
        assert vars(found) == vars(alone)


def test_a_setting_that_refers_to_the_seed_follows_it():
    first, second = compose_seeds([*SMALL, "rounds=${seed}"], (3, 8))
    assert (first.rounds, second.rounds) == (3, 8)


def test_adopted_settings_are_used_as_they_are(monkeypatch):
    (made,) = compose_seeds([*SMALL, "rounds=2"], (5,))
    received = deepcopy(made)  # as if it came from another process
    adopt(received)
    monkeypatch.setattr(module, "hydra_compose", lambda *_: pytest.fail("composed again"))
    assert compose(received.overrides) is received
    assert vars(received) == vars(made) | {"groups": dict(made.groups)}
