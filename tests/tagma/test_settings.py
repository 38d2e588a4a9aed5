import pytest

from tagma.errors import TagmaError
from tagma.settings import compose, join_overrides, split_overrides


def test_overrides_reach_their_groups():
    settings = compose(["attack=sign_flip", "attack.scale=4", "rounds=7"])
    assert settings.rounds == 7
    assert settings.choice("attack")["scale"] == 4


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["clustering=nonsense"], "clustering=nonsense: there is no such choice; known: .*kmeans"),
        (["clustering.raduis=2"], "clustering.raduis=2: .*did you mean clustering.radius"),
        (["attack=none", "attack.scale=2"], "attack.scale=2: there is no such setting"),
        (["rounds=-1"], "^rounds=-1: should be greater than or equal to 0"),
        (["pause=1e20"], "^pause=1e.20: should be less than or equal to 86400"),
        (["rounds=many"], "^rounds=many: should be a valid integer"),
        (["+speed=3"], "^speed=3: there is no such setting"),
        (["rounds"], "rounds: is not of the form key=value"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_setting(overrides, message):
    with pytest.raises(TagmaError, match=message) as caught:
        compose(overrides)
    assert "\n" not in str(caught.value)


def test_overrides_survive_the_way_through_one_string():
    overrides = ["a=[1, 2]", 'b="x y"', "c='it is'", r"d=back\slash", "e="]
    assert split_overrides(join_overrides(overrides)) == overrides


def test_unbalanced_quotes_are_a_clear_error():
    with pytest.raises(TagmaError, match="cannot be split"):
        split_overrides("a='b")


def test_who_names_a_target_may_set_what_it_has_without_a_sign():
    own = ("strategy=own", "strategy._target_=mine.Algorithm")
    for sign in ("", "+", "++"):
        assert compose([*own, f"{sign}strategy.momentum=0.5"]).choice("strategy")["momentum"] == 0.5
    with pytest.raises(TagmaError, match=r"strategy\.momentum=0\.5: there is no such setting"):
        compose(["strategy=own", "strategy.momentum=0.5"])
    with pytest.raises(TagmaError, match=r"attack\.momentum=0\.5: there is no such setting"):
        compose([*own, "attack.momentum=0.5"])
