from tagma.bench.harm import HARMLESS, _attack, _cells, _hurts, _names
from tagma.launch.run import check
from tagma.settings import choices, compose

ERRORS = {
    "undefended none": [1.0, 1.0, 1.0],
    "defended none": [2.0, 2.0, 2.0],
    "undefended ipm": [1.0, 2.0, 9.0],
    "defended ipm": [3.0, 3.0, 3.0],
    "undefended alie": [1.0, 1.9, 9.0],
    "defended alie": [2.0, 2.0, 2.0],
}


def test_an_attack_hurts_if_it_doubles_the_median_error_of_the_undefended_system():
    assert _hurts("ipm", ERRORS)
    assert not _hurts("alie", ERRORS)


def test_a_row_by_hand():
    assert _cells("ipm", ERRORS) == [
        "ipm", "2.000 (1.000 to 9.000)", "2.000", "3.000 (3.000 to 3.000)", "1.500", "yes",
    ]  # fmt: skip


def test_an_attack_that_does_not_hurt_says_why():
    assert _cells("alie", ERRORS)[-1] == HARMLESS["alie"]
    assert set(HARMLESS) < set(choices("attack"))


def test_every_attack_is_there_and_those_with_a_scale_also_optimised():
    assert set(choices("attack")) - set(_names()) == {"shifted_mean"}
    assert {"alie optimised", "ipm optimised", "min_max optimised"} < set(_names())
    for name in _names():
        check(compose(["task.clients=10", "task.dim=3", *_attack(name)]))
