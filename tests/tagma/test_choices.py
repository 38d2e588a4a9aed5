import sys

import pytest

from tagma.choices import CONF, choices, file_of, groups
from tagma.errors import TagmaError


@pytest.fixture
def own(tmp_path):
    """A folder with a choice of its own, a part of others, and one by a name of ours."""
    (tmp_path / "mine/attack").mkdir(parents=True)
    for name in ("crowd", "_part", "sign_flip"):
        (tmp_path / f"mine/attack/{name}.yaml").write_text("fraction: 0.1\n")
    return tmp_path / "mine"


def test_groups_are_the_folders_that_have_choices():
    assert {"task", "attack", "preset", "engine"} <= set(groups())
    assert "hydra" not in groups()
    assert not any(name.startswith("_") for name in groups())


def test_parts_of_choices_are_no_choices():
    assert "sign_flip" in choices("attack")
    assert "_byzantine" not in choices("attack")
    assert choices("nonsense") == []


@pytest.mark.parametrize("text", ["file://{}", "{}"])
def test_own_choices_come_beside_ours(own, text):
    place = [f"hydra.searchpath=[{text.format(own)}]"]
    assert set(choices("attack", place)) - set(choices("attack")) == {"crowd"}
    assert file_of("attack", "crowd", place) == own / "attack/crowd.yaml"


def test_of_two_by_one_name_ours_is_taken_as_hydra_does(own):
    place = [f"hydra.searchpath=[file://{own}]"]
    assert file_of("attack", "sign_flip", place) == CONF / "attack/sign_flip.yaml"


def test_a_package_may_hold_choices(own, monkeypatch):
    monkeypatch.syspath_prepend(own.parent)
    assert "crowd" in choices("attack", ["hydra.searchpath=[pkg://mine]"])
    sys.modules.pop("mine", None)


@pytest.mark.parametrize("value", ["x", "[1]", "[file://a"])
def test_a_search_path_that_is_no_list_of_places_is_refused(value):
    with pytest.raises(TagmaError, match=r"must be a list, as in"):
        choices("attack", [f"hydra.searchpath={value}"])


@pytest.mark.parametrize("place", ["file:///no/such/folder", "pkg://no.such", "s3://x"])
def test_a_place_that_is_not_there_is_refused(place):
    with pytest.raises(TagmaError, match=f"{place} is not a folder"):
        choices("attack", [f"hydra.searchpath=[{place}]"])
