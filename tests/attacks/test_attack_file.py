"""A node that a file turns Byzantine and back, in the middle of a run."""

import numpy as np
import pytest

from tagma.attacks.attack_file import squad_named, word_in
from tagma.attacks.local.sign_flip import SignFlip
from tagma.client.app import app as client_app
from tagma.errors import SettingError
from tagma.settings import compose
from tagma.wire import round_of
from tests.conftest import SMALL

SCREENED = ["attack=none", "strategy.quarantine=true", "strategy.reply_check=true", "rounds=12"]


def turned(path, rounds, node=5):
    """The ClientApp on nodes of which one has the file, which says in these rounds what to do."""

    def client(message, context):
        if context.node_config["partition-id"] == node:
            context.node_config["attack-file"] = str(path)
            if (word := rounds.get(round_of(message))) is not None:
                path.write_text(word)
        return client_app(message, context)

    return client


def test_a_node_that_is_turned_in_mid_run_does_what_the_attack_does_from_then_on(
    run_small, tmp_path
):
    path = tmp_path / "attack"
    by_file = run_small(*SCREENED, client=turned(path, {4: "sign_flip\n", 7: "none\n"}))
    by_settings = run_small(
        *SCREENED[1:], "attack=sign_flip", "attack.clients=[5]", "attack.start=4", "attack.stop=6"
    )
    name = "estimation_error_per_round"
    assert by_file[name] == by_settings[name]
    honest = run_small(*SCREENED)
    assert by_file[name][:3] == honest[name][:3]
    assert by_file[name][3:] != honest[name][3:]


def test_it_is_excluded_and_comes_back_when_it_is_honest_again(run_small, tmp_path):
    from tagma.report.live_run import LiveRun
    from tagma.server.results import run_events

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_events, "_LEAST", 0.0)
        patch.setattr(run_events, "_SHARE", 0)
        run_small(*SCREENED, client=turned(tmp_path / "attack", {4: "sign_flip", 7: "none"}))
    live = LiveRun(tmp_path)
    live.read()
    said = [(one.round, one.words) for one in live.log if "client 5" in one.words]
    assert [number for number, _ in said] == [4, 5, 8]
    assert "strike 1" in said[0][1]
    assert "excluded" in said[1][1]
    assert "takes part again" in said[2][1]


def test_a_file_without_a_word_leaves_it_to_the_settings(tmp_path):
    assert word_in(tmp_path / "none") == ""
    (tmp_path / "empty").write_text("\n")
    assert word_in(tmp_path / "empty") == ""


def test_the_words_are_attacks_of_a_node_or_none():
    settings = compose(SMALL)
    squad = squad_named("sign_flip", settings)
    assert isinstance(squad.local_in(1), SignFlip)
    assert squad_named("none", settings) is None
    assert not np.any(squad.clients)


@pytest.mark.parametrize("word", ["alie", "nonsense", "../x"])
def test_other_words_are_errors_of_one_line(word):
    with pytest.raises(SettingError, match=r"attack-file"):
        squad_named(word, compose(SMALL))


@pytest.mark.parametrize("kind", ["link", "large", "folder"])
def test_a_file_that_is_none_is_an_error(tmp_path, kind):
    path = tmp_path / "attack"
    if kind == "link":
        (tmp_path / "other").write_text("sign_flip")
        path.symlink_to(tmp_path / "other")
    elif kind == "large":
        path.write_text("x" * 1000)
    else:
        path.mkdir()
    with pytest.raises(SettingError, match="cannot be read"):
        word_in(path)
