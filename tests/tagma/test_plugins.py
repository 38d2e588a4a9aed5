from typing import Annotated

import pytest
from annotated_types import Gt

from tagma.errors import SettingError
from tagma.plugins import build


def multiply(value: float, *, factor: Annotated[float, Gt(0)], seed: int = 0) -> float:
    return factor * value + seed


class Shifted:
    def __init__(self, *, by: int) -> None:
        self.by = by


HERE = __name__


def test_a_function_is_bound_to_its_settings():
    plugin = build("group", {"_target_": f"{HERE}.multiply", "factor": 3})
    assert plugin(2.0) == 6.0


def test_a_class_becomes_an_instance():
    assert build("group", {"_target_": f"{HERE}.Shifted", "by": 2}).by == 2


def test_the_program_gives_only_what_the_plugin_asks_for():
    plugin = build("group", {"_target_": f"{HERE}.multiply", "factor": 1}, seed=5, truth="secret")
    assert plugin(0.0) == 5


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"_target_": f"{HERE}.multiply", "factor": -1}, "group.factor=-1: should be greater"),
        ({"_target_": f"{HERE}.multiply", "factor": "big"}, "group.factor=big: should be a valid"),
        ({"_target_": f"{HERE}.multiply"}, "group.factor=: is required"),
        ({"_target_": f"{HERE}.multiply", "facktor": 1}, "group.facktor=1: .*did you mean factor"),
        ({"_target_": "nowhere.Thing"}, "group._target_=nowhere.Thing: cannot be imported"),
        ({"_target_": f"{HERE}.Missing"}, "group._target_=.*Missing: cannot be imported"),
        ({"_target_": f"{HERE}.HERE"}, "is not a class or function"),
        ({"_target_": ""}, "cannot be imported"),
    ],
)
def test_mistakes_name_the_group_and_the_setting(config, message):
    with pytest.raises(SettingError, match=message):
        build("group", config)


def test_the_user_cannot_set_what_the_program_gives():
    with pytest.raises(SettingError, match=r"group\.seed=3"):
        build("group", {"_target_": f"{HERE}.multiply", "factor": 1, "seed": 3}, seed=5)
