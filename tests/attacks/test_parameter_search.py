"""The search for parameters, and attacks that search in the middle of a run."""

import numpy as np
import pytest

from tagma.attacks.adaptive.imposters import Imposters
from tagma.attacks.adaptive.tilt import Tilt
from tagma.attacks.adversary import adversary_of
from tagma.attacks.on_clustering.split import Split
from tagma.attacks.parameter_search import Between, OneOf, Search, most_harmful
from tagma.attacks.searching_attack import SearchingAttack
from tagma.choices import choices
from tagma.settings import compose
from tests.attacks.test_adaptive_attacks import GROUPS, HONEST, SMALL, in_a_later_round
from tests.attacks.views import federation_view

SPACE = {"x": Between(-1.0, 3.0), "n": Between(1, 4, whole=True), "way": OneOf(("left", "right"))}
GIVEN = {"x": 0.0, "n": None, "way": "left"}


def search(tries=20, space=SPACE, given=GIVEN, seed=0):
    return Search(space, given, tries, np.random.default_rng(seed))


def test_places_and_values():
    assert Between(-1.0, 3.0).at(0.25) == 0.0
    assert [Between(1, 4, whole=True).at(x) for x in (0.0, 0.24, 0.26, 1.0)] == [1, 1, 2, 4]
    assert [OneOf(("a", "b")).at(x) for x in (0.0, 0.5, 1.0)] == ["a", "b", "b"]
    assert Between(-1.0, 3.0).place(1.0) == 0.5
    assert Between(-1.0, 3.0).place(None) == 0.5
    assert OneOf(("a", "b")).place("b") == 0.75


def test_it_tries_what_was_given_first_and_no_more_than_it_may_all_within_the_space():
    asked = search()
    best = most_harmful(asked, lambda point: -abs(point["x"] - 2.0))
    assert asked.points[0] == GIVEN
    assert len(asked.points) == 20
    for point in asked.points[1:]:
        assert -1 <= point["x"] <= 3
        assert point["n"] in (1, 2, 3, 4)
        assert point["way"] in ("left", "right")
    assert best["x"] == pytest.approx(2.0, abs=0.2)


def test_the_second_half_is_around_the_best_so_far_closer_and_closer():
    asked = search(40, {"x": Between(0.0, 1.0)}, {"x": 0.1})
    most_harmful(asked, lambda point: -abs(point["x"] - 0.7))
    away = [abs(point["x"] - 0.7) for point in asked.points]
    assert max(away[1:20]) > 0.3
    assert max(away[-10:]) < 0.15
    assert min(away) < 0.02


def test_among_equals_the_first_wins_and_what_diverges_does_most():
    assert most_harmful(search(), lambda point: 1.0) == GIVEN
    asked = search()
    points = asked.ask(3)
    asked.tell([1.0, float("nan"), 5.0])
    assert asked.points[asked.best] == points[1]


def test_it_may_be_asked_for_many_at_once_and_begun_again():
    whole, parts = search(10), search(10)
    points = whole.ask(4)
    whole.tell([0.0] * 4)
    assert [parts.ask(2), parts.ask(2)] == [points[:2], points[2:]]
    assert len(whole.ask(100)) == 1  # the first half ends here
    whole.tell([0.0])
    assert len(whole.ask(100)) == 5
    assert whole.ask() == []


def test_nothing_to_search_is_one_try():
    assert len(search(space={}, given={}).ask(5)) == 1


@pytest.mark.parametrize("work", ["round 1", "later"])
def test_an_attack_that_optimises_sends_the_worst_of_twenty_tries(work):
    tried = []

    def rehearse(forged):
        tried.append(forged)
        return float(np.linalg.norm(forged))

    if work == "round 1":
        attack = Imposters(clusters=1, distance=1.0, scatter=0.1, optimise=True)
        view = federation_view(HONEST, np.zeros((3, 2)), honest_groups=GROUPS, rehearse=rehearse)
        usual = Imposters(clusters=1, distance=1.0, scatter=0.1).forge(
            federation_view(HONEST, np.zeros((3, 2)), honest_groups=GROUPS)
        )
    else:
        attack, view = Tilt(optimise=True), in_a_later_round(rehearse=rehearse)
        usual = Tilt().forge(in_a_later_round())
    sent = attack.forge(view)
    assert len(tried) == 20
    assert np.array_equal(tried[0], usual)
    assert np.linalg.norm(sent) == max(np.linalg.norm(one) for one in tried)
    assert np.linalg.norm(sent) > np.linalg.norm(usual)


def test_it_does_not_where_its_parameters_do_not_matter():
    def refuse(forged):
        raise AssertionError("nothing is to be tried")

    later = in_a_later_round(rehearse=refuse)
    assert np.array_equal(Split(optimise=True).forge(later), later.own)
    Tilt(optimise=True, patience=1).forge(later)
    first = federation_view(HONEST, [SMALL], honest_groups=GROUPS, rehearse=refuse)
    assert Tilt(optimise=True).forge(first).tolist() == [SMALL.tolist()]


def test_every_parameter_that_is_searched_is_a_setting_of_its_attack():
    searching = 0
    for name in choices("attack"):
        for phase in adversary_of(compose([f"attack={name}"])).squads[0].phases:
            if isinstance(phase.attack, SearchingAttack):
                searching += 1
                for parameter in {**phase.attack.space, **phase.attack.over_rounds}:
                    assert hasattr(phase.attack, parameter)
    assert searching == 13  # of them flood has two
