"""Every attack against every algorithm: it does what it says, or says that it has no meaning."""

import numpy as np
import pytest

from tagma.attacks.adversary import adversary_of
from tagma.choices import choices
from tagma.errors import SettingError
from tagma.launch.run import check
from tagma.server.results.run_folder import read_metrics
from tagma.settings import compose
from tests.algorithms import ALGORITHMS, TINY, TINY_DIGITS, WITH_A_GOAL
from tests.attacks.recording import updates_of
from tests.tasks.test_mean_estimation import overrides

SETTINGS = {
    "stale": ("attack.delay=1",),
    "sleeper": ("attack.start=2",),
    "shifted_mean": ("attack.start=1",),
}
"""So that they act within three rounds."""
ON_LOCAL_MODELS = {
    "as_claimed", "bridge", "copycat", "fake_cluster", "flood", "halfway", "imposters",
    "infiltrate", "median_then_tilt", "shrink", "split", "starve", "tilt",
}  # fmt: skip
NO_PLACES = ("fedavg", "fedprox", "ifca", "cfl", "threshold")
"""They ask for updates from the first round on."""
NO_MEANING = {
    (attack, algorithm): r"forges local models.*use strategy=three_stage"
    for attack in ON_LOCAL_MODELS
    for algorithm in NO_PLACES
} | {
    ("wrong_choice", algorithm): r"lies about the model that a client chose.*use strategy=ifca"
    for algorithm in ALGORITHMS
    if algorithm != "ifca"
}
"""Where nobody asks for local models, or clients choose nothing; what is said then."""
NO_EFFECT = {(attack, algorithm) for attack in ("none", "as_claimed") for algorithm in ALGORITHMS}
"""As claimed is honest where the claim was."""


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """The updates of federations without an attack, each computed once."""
    known = {}

    def updates(federation):
        key = tuple(federation)
        if key not in known:
            folder = tmp_path_factory.mktemp("honest")
            with pytest.MonkeyPatch.context() as patch:
                known[key], _ = updates_of(patch, folder, federation)
        return known[key]

    return updates


def by_client(given, mask):
    """The updates of some clients in a round."""
    clients, updates = given
    return {
        client: update.tolist()
        for client, update in zip(clients.tolist(), updates, strict=True)
        if mask[client]
    }


def federation_of(algorithm, attack, features):
    """A federation in which nobody attacks before the tenth round."""
    task = TINY
    if attack == "shifted_mean":  # this task has Byzantine clients' data only where there are some
        task = [*overrides(features), "attack=shifted_mean", "attack.start=10"]
    if attack in WITH_A_GOAL:
        task = TINY_DIGITS
    own = [
        text for text in ALGORITHMS[algorithm] if task is not TINY_DIGITS or "optimiser" not in text
    ]
    return [*task, *own, "oracle=false", "checkpoint_every=0"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("attack", choices("attack"))
def test_an_attack_acts_on_any_algorithm_or_says_that_it_cannot(
    attack, algorithm, honest, monkeypatch, tmp_path, features
):
    federation = federation_of(algorithm, attack, features)
    attacked = [*federation, f"attack={attack}", *SETTINGS.get(attack, ())]
    if (attack, algorithm) in NO_MEANING:
        with pytest.raises(SettingError, match=NO_MEANING[attack, algorithm]):
            check(compose(attacked))
        return
    check(compose(attacked))
    given, byzantine = updates_of(monkeypatch, tmp_path, attacked)
    expected = honest(federation)
    assert len(given) == len(expected) == 3
    effective = False
    for sent, without in zip(given, expected, strict=True):
        # Before the first forged reply everything is as without an attack.
        assert by_client(sent, ~byzantine) == by_client(without, ~byzantine)
        effective = by_client(sent, byzantine) != by_client(without, byzantine)
        if effective:
            break
    assert effective == ((attack, algorithm) not in NO_EFFECT)
    metrics = read_metrics(tmp_path)
    # Where nobody needs a place, who fails in the first round is asked again.
    times = 3 if algorithm in NO_PLACES else 1
    dropped = times * int(byzantine.sum()) if attack == "garbage" else 0
    assert sum(metrics["replies"]["rejected"].values()) == dropped
    assert all(np.isfinite(updates).all() for _, updates in given)


def test_there_are_43_attacks():
    assert len(choices("attack")) == 43
    assert set(choices("attack")) > ON_LOCAL_MODELS
    assert adversary_of(compose([*TINY, "attack=mixed"])).byzantine.sum() == 3
