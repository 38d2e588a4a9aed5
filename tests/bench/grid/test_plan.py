"""From a file and a command line to a grid."""

from dataclasses import replace

import pytest

from tagma.bench.bench_command import main
from tagma.bench.grid.expand import expand
from tagma.bench.grid.plan import read_plan
from tagma.bench.grid.table_files import RESERVED
from tagma.bench.grid.table_rows import table_columns
from tagma.choices import choices
from tagma.errors import TagmaError
from tests.algorithms import WITH_A_GOAL


def names(plan, key):
    return [value.name for axis in plan.axes if axis.key == key for value in axis.values]


def test_a_setting_that_is_an_axis_gets_other_values_and_any_other_is_common(grid_file):
    plan = read_plan(grid_file(), ["attack=[alie,ipm]", "rounds=7", "task.dim=4", "seeds=3"])
    assert names(plan, "attack") == ["alie", "ipm"]
    assert names(plan, "defence") == ["plain", "paper"]
    assert plan.seeds == (0, 1, 2)
    assert {"rounds=7", "task.dim=4"} < set(plan.common)
    assert not {"rounds=3", "task.dim=5"} & set(plan.common)


def test_one_value_makes_a_short_axis(grid_file):
    assert names(read_plan(grid_file(), ["attack=ipm"]), "attack") == ["ipm"]


def test_several_values_make_a_new_axis_and_a_list_does_not(grid_file):
    plan = read_plan(grid_file(), ["attack.fraction=0.1,0.2", "task.sizes=[0.5,0.5]"])
    assert names(plan, "attack.fraction") == [0.1, 0.2]
    assert [axis.role for axis in plan.axes] == ["attack", "defence", "fraction"]
    assert "attack.fraction=0.2" not in plan.common
    assert "task.sizes=[0.5,0.5]" in plan.common


def test_named_sets_are_chosen_by_name_and_can_be_new(grid_file):
    mine = "defence=[paper,{mine:['aggregation=krum','clustering=kmeans']}]"
    plan = read_plan(grid_file(), [mine])
    assert names(plan, "defence") == ["paper", "mine"]
    assert plan.axes[1].values[0].overrides == ("preset=paper",)
    assert plan.axes[1].values[1].overrides == ("aggregation=krum", "clustering=kmeans")


@pytest.mark.parametrize(
    ("given", "seeds"),
    [("3", (0, 1, 2)), ("[7,5]", (7, 5)), ("range(2,4)", (2, 3)), ("4,9", (4, 9))],
)
def test_seeds_are_how_many_or_which(grid_file, given, seeds):
    assert read_plan(grid_file(), [f"seeds={given}"]).seeds == seeds


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("seed=3", "use seeds=3"),
        ("seeds=0", "seeds=0: must be"),
        ("seeds=[1,1]", "different numbers"),
        ("bench.worker=2", "bench.worker=2: there is no such setting; did you mean workers?"),
        ("bench.workers=0", "bench.workers=0"),
        ("bench.runner=slurm", "bench.runner=slurm"),
        ("defence=[papper]", "no such entry on this axis; known: plain, paper"),
        ("aggregation=krum", "axis defence set this themselves"),
        ("attack=[alie,alie]", "attack: alie is there twice"),
        ("attack=[]", "must be a list of values"),
        ("--workers=2", "there is no such option"),
        ("rounds", "is not of the form key=value"),
        ("bench.skip=[{defense:paper}]", "defense is not an axis of this grid"),
        ("attack=[ali]", "attack=ali: there is no such choice; did you mean alie"),
        ("attack.fractoin=0.1", "attack.fractoin=0.1: there is no such setting; did you mean"),
        ("engine=ray", "bench.runner=ray"),
    ],
)
def test_a_mistake_is_one_line_before_anything_runs(grid_file, tmp_path, argument, message):
    with pytest.raises(TagmaError) as caught:
        main([grid_file(), f"bench.folder={tmp_path}/out", argument])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_grid_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(TagmaError, match=r"bench=quik: there is no such grid; known: attacks"):
        main(["bench=quik"])
    with pytest.raises(TagmaError, match=r"quik: there is no such benchmark; known: attacks"):
        main(["quik"])
    with pytest.raises(TagmaError, match="name one grid with bench=NAME"):
        main(["seeds=3"])


def test_a_setting_reaches_the_choices_that_have_it(grid_file):
    places = expand(read_plan(grid_file(), []))
    assert len(places) == 2 * 2 * 2
    fractions = {
        place.values["attack"]: place.cell.settings.choice("attack").get("fraction")
        for place in places
    }
    assert fractions == {"none": None, "sign_flip": 0.2}


def test_combinations_are_skipped_by_values_lists_and_comparisons(grid_file):
    def left(*rules, **axes):
        path = grid_file(axes=axes, skip=list(rules), seeds=1)
        return [tuple(place.values.values()) for place in expand(read_plan(path, []))]

    axes = {"task.samples": [20, 60], "task.dim": [5, 30]}
    assert left({"task.samples": "<= task.dim"}, **axes) == [(20, 5), (60, 5), (60, 30)]
    assert left({"task.samples": 20, "task.dim": [5, 7]}, **axes) == [(20, 30), (60, 5), (60, 30)]
    assert left({"task.dim": "!= 5"}, **axes) == [(20, 5), (60, 5)]
    with pytest.raises(TagmaError, match="leaves nothing"):
        left({"task.dim": "> 0"}, **axes)
    with pytest.raises(TagmaError, match="are not numbers"):
        left({"task.dim": "> many"}, **axes)


def test_the_reference_takes_the_place_of_the_defence(grid_file):
    path = grid_file(reference=["strategy=oracle", "aggregation=mean"])
    places = expand(read_plan(path, []))
    assert all("oracle" in p.reference.settings.choice("strategy")["_target_"] for p in places)
    by_defence = {p.values["defence"]: p.reference.key for p in places if p.seed == 0}
    assert by_defence["plain"] == by_defence["paper"]


@pytest.mark.parametrize("name", choices("bench"))
def test_every_grid_that_ships_can_be_read(name):
    plan = read_plan(name, [])
    assert plan.title != name
    assert plan.size > 20


def test_the_grid_of_all_attacks_has_all_that_suit_its_task_and_algorithm():
    assert set(choices("attack")) - set(names(read_plan("attacks", []), "attack")) == {
        "as_claimed",  # for after another
        "shifted_mean",  # for points instead of regressions
        "wrong_choice",  # for clients that choose among models
        *WITH_A_GOAL,  # for tasks of classes
    }


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({}, "must have `axes`"),
        ({"seed": {"a": ["rounds=1"]}}, "bench.axes.seed: a grid has this name for something else"),
        ({"status": {"a": ["rounds=1"]}}, "bench.axes.status: a grid has this name"),
        ({"config": {"a": ["rounds=1"]}}, "bench.axes.config: a grid has this name"),
        (
            {"attack.fraction": [0.1], "defence": {"a": ["attack.fraction=0.2"]}},
            "attack.fraction: both the axis attack.fraction and the axis defence set this",
        ),
    ],
)
def test_axes_that_would_be_mistaken_are_one_line(grid_file, axes, message):
    with pytest.raises(TagmaError) as caught:
        read_plan(grid_file(axes=axes, common=[]), [])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_column_of_the_table_can_be_an_axis(grid_file):
    plan = replace(read_plan(grid_file(), []), axes=(), metric="estimation_error")
    of_metrics = {"estimation_error", "without_byzantine"}
    assert set(table_columns(plan)) | of_metrics == RESERVED


def test_defending_settings_are_defences_where_no_axis_is_one(grid_file):
    def roles(arguments=(), **changes):
        return {axis.key: axis.role for axis in read_plan(grid_file(**changes), arguments).axes}

    plain = {"attack": ["none"], "clustering": ["kmeans"], "task.dim": [5]}
    assert roles(axes=plain) == {"attack": "attack", "clustering": "defence", "task.dim": "other"}
    assert roles(["aggregation=mean,median"], axes=plain)["aggregation"] == "defence"
    assert roles(axes=plain, roles={"clustering": "other"})["clustering"] == "other"
    beside = {"defence": {"a": ["aggregation=krum"]}, "clustering": ["kmeans"]}
    assert roles(axes=beside)["clustering"] == "other"


def test_a_file_that_is_not_text_is_one_line(tmp_path):
    path = tmp_path / "odd.yaml"
    path.write_bytes(b"title: \xff\xfe")
    with pytest.raises(TagmaError, match=r"odd.yaml: is not UTF-8 text$"):
        read_plan(str(path), [])


def test_a_folder_that_cannot_be_written_to_is_named(grid_file, tmp_path, monkeypatch):
    def refuse(**where):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tagma.bench.cell_store.TemporaryFile", refuse)
    with pytest.raises(TagmaError) as caught:
        main([grid_file(), f"bench.folder={tmp_path}/out", "seeds=1"])
    folder = f"bench.folder={tmp_path}/out"
    assert str(caught.value) == f"{folder}: cannot be written to (Permission denied)"


def test_only_a_result_that_tables_can_be_made_of_is_whole(grid_file):
    cell = expand(read_plan(grid_file(), ["attack=none", "seeds=1"]))[0].cell
    result = cell.run()
    assert cell.whole(result)
    assert not cell.whole({})
    assert not cell.whole({"metrics": {}, "provenance": {}, "timing": {}})
    assert not cell.whole(result | {"metrics": None})
