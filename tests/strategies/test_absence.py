"""Clients that are away by a schedule."""

import pytest

from tagma.errors import SettingError
from tagma.launch.run import check
from tagma.settings import compose
from tagma.strategies.absence import Absence
from tests.algorithms import TINY
from tests.launch.engines.test_vectorised import FEDERATION, assert_engines_agree


def test_who_is_away_when():
    some = Absence(clients=(3, 4), rounds=(5, 6))
    assert [len(some.away(number, 8, 0)) for number in range(1, 8)] == [0, 0, 0, 0, 2, 2, 0]
    assert some.away(5, 8, 0) == {3, 4}
    always = Absence(clients=(1,))
    assert [len(always.away(number, 8, 0)) for number in (1, 2, 99)] == [0, 1, 1]
    share = Absence(fraction=0.25)
    drawn = [share.away(number, 8, 0) for number in range(2, 12)]
    assert {len(away) for away in drawn} == {2}
    assert len(set(drawn)) > 1
    assert share.away(1, 8, 0) == frozenset()


def test_they_count_as_not_having_replied(run_small):
    metrics = run_small("attack=none", "absence.clients=[3,4]", "absence.rounds=[2,3]")
    assert metrics["replies"]["rejected"] == {"no reply": 4}


@pytest.mark.parametrize("attack", ["sign_flip", "alie", "garbage"])
@pytest.mark.parametrize("strategy", ["three_stage", "fedavg", "threshold"])
def test_engines_agree(strategy, attack, tmp_path):
    away = ["absence.fraction=0.3", "absence.clients=[0,1]"]
    overrides = [*FEDERATION, "task.clusters=3", "clustering.k=3", f"strategy={strategy}"]
    assert_engines_agree(tmp_path, [*overrides, f"attack={attack}", *away])


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        ("absence.clients=[8]", r"absence.clients=\[8\]: must be below task.clients=8"),
        ("absence.rounds=[1,2]", r"absence.rounds.*greater than or equal to 2"),
        ("absence.rounds=[4,3]", r"absence.rounds=\[4, 3\]: must be \[first, last\]"),
        ("absence.fraction=1", r"absence.fraction=1.*less than 1"),
    ],
)
def test_a_wrong_schedule_is_one_line(setting, line):
    with pytest.raises(SettingError, match=line):
        check(compose([*TINY, setting]))
