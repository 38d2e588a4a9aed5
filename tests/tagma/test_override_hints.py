import pytest
from hydra import compose, initialize_config_dir
from hydra.errors import HydraException

from tagma.choices import CONF
from tagma.errors import TagmaError
from tagma.override_hints import hint, refuse_parts


def hint_of(*overrides):
    with initialize_config_dir(str(CONF), version_base="1.3"):
        with pytest.raises(HydraException) as refused:
            compose("config", list(overrides))
        return hint(overrides, refused.value)


@pytest.mark.parametrize(
    ("override", "line"),
    [
        ("attack=signflip", "attack=signflip: there is no such choice; did you mean sign_flip?"),
        ("attack=Sign-Flip", "attack=Sign-Flip: there is no such choice; did you mean sign_flip?"),
        ("preset=zzz", "preset=zzz: there is no such choice; known: neural, paper, tagma"),
        (
            "aggregation=krum,median",
            "aggregation=krum,median: several values are several runs and need -m",
        ),
        (
            "attack.clients=3,7",
            "attack.clients=3,7: several values are several runs and need -m; "
            "a list needs brackets: attack.clients=[3,7]",
        ),
        ("rounds", "rounds: is not of the form key=value"),
        (
            "attack.later={name:alie",
            "attack.later={name:alie: the value cannot be read; if it is text, quote it: "
            "'attack.later=\"...\"'",
        ),
    ],
)
def test_a_hint_says_what_was_meant(override, line):
    assert hint_of("seed=1", override) == line


def test_what_the_overrides_alone_do_not_tell_is_left_to_others():
    assert hint_of("clustering.raduis=2") is None


def test_several_values_are_no_mistake_where_the_error_is_another():
    assert hint(["seed=1,2", "clustering.raduis=2"], HydraException("'clustering.raduis'")) is None


def test_own_choices_are_suggested(tmp_path):
    (tmp_path / "attack").mkdir()
    (tmp_path / "attack/crowd.yaml").write_text("fraction: 0.1\n")
    place = f"hydra.searchpath=[file://{tmp_path}]"
    assert hint_of(place, "attack=crowds").endswith("did you mean crowd?")


@pytest.mark.filterwarnings("ignore:provider=hydra.searchpath")
def test_a_place_that_is_not_there_is_named():
    place = "hydra.searchpath=[file:///nowhere]"
    assert hint_of(place, "attack=crowd") == f"{place}: file:///nowhere is not a folder"


@pytest.mark.parametrize(
    "text",
    [
        "strategy=_screened",
        "+strategy=_screened",
        "strategy=[oracle,_screened]",
        "strategy='_screened'",
    ],
)
def test_a_part_of_choices_cannot_be_chosen(text):
    line = (
        "strategy=_screened: there is no such choice; "
        "known: cfl, fedavg, fedprox, flower, ifca, local, oracle, own, three_stage, "
        "threshold"
    )
    with pytest.raises(TagmaError, match=f"^{line}$"):
        refuse_parts(["rounds=3", text])


def test_other_values_may_begin_with_an_underscore():
    refuse_parts(
        ["output=_mine", "strategy=three_stage", "task._target_=_mine.Own", "attack=my_own"]
    )
