"""What a grid must show, and the grid of all attacks."""

from math import inf, isnan

import pytest

from tagma.bench.bench_command import main
from tagma.bench.grid.gate import check_findings, findings
from tagma.bench.grid.plan import read_plan
from tagma.choices import choices
from tagma.errors import TagmaError
from tagma.settings import compose
from tests.algorithms import WITH_A_GOAL

TWICE = {"where": {"defence": "plain"}, "unless": {"attack": "none"}, "than": {"attack": "none"}}


def gate_of(grid_file, *entries):
    return read_plan(grid_file(gate=list(entries)), []).gate


def sample(attack, defence, *errors):
    return {"attack": attack, "defence": defence}, list(errors)


def test_an_attack_hurts_if_it_doubles_the_median(grid_file):
    gate = gate_of(grid_file, TWICE | {"at_least": 2})
    none = sample("none", "plain", 1.0, 1.0, 1.0)
    beside = sample("sign_flip", "paper", 0.0, 0.0, 0.0)
    (found,) = findings(gate, [none, sample("sign_flip", "plain", 1.0, 2.0, 9.0), beside])
    assert (found.figure, found.held) == (2.0, True)
    assert found.combination == "attack=sign_flip, defence=plain"
    assert found.asked == "at least 2 times attack=none"
    check_findings([found])
    (missed,) = findings(gate, [none, sample("sign_flip", "plain", 1.0, 1.9, 9.0), beside])
    with pytest.raises(TagmaError, match=r"^1 of 1 do not pass the gate: attack=sign_flip, .* 1.9"):
        check_findings([missed])


def test_a_diverged_run_is_more_than_any_other_and_two_cannot_be_compared(grid_file):
    least = gate_of(grid_file, TWICE | {"at_least": 2})
    flipped = sample("sign_flip", "plain", inf)
    assert findings(least, [sample("none", "plain", 1.0), flipped])[0].held
    (both,) = findings(least, [sample("none", "plain", inf), flipped])
    assert isnan(both.figure)
    assert not both.held


def test_without_than_the_figure_itself_is_limited_and_what_is_not_known_fails(grid_file):
    gate = gate_of(grid_file, {"at_most": 0.5})
    found = findings(
        gate, [sample("none", "plain", 0.5), sample("a", "b", 0.6), sample("c", "d", None)]
    )
    assert [one.held for one in found] == [True, False, False]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("twice", "bench.gate.0=twice: must be like"),
        ({"where": {"defence": "plain"}}, "needs at_least or at_most"),
        (
            {"were": {}, "at_most": 1},
            "bench.gate.0.were={}: there is no such setting; did you mean",
        ),
        ({"where": {"defense": "plain"}, "at_most": 1}, "bench.gate.0.where: defense is not an ax"),
        ({"than": {"attack": "alie"}, "at_most": 1}, "bench.gate.0.than.attack=alie: is not in"),
    ],
)
def test_a_mistake_in_a_gate_is_one_line_before_anything_runs(grid_file, entry, message):
    with pytest.raises(TagmaError) as caught:
        gate_of(grid_file, entry)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.multiprocess
def test_a_grid_that_does_not_pass_its_gate_fails_after_it_has_written_everything(
    grid_file, tmp_path, capsys
):
    path = grid_file(gate=[TWICE | {"at_least": 1e30}])
    options = [path, f"bench.folder={tmp_path / 'out'}", "bench.workers=1", "seeds=1"]
    with pytest.raises(TagmaError, match="1 of 1 do not pass the gate"):
        main(options)
    assert (tmp_path / "out" / "report.html").exists()
    assert "What this grid must show" in capsys.readouterr().out
    main([*options, "bench.gate=[]"])


def test_the_grid_of_goals_has_every_attack_with_one():
    plan = read_plan("backdoors", [])
    (attacks,) = ([v.name for v in axis.values] for axis in plan.axes if axis.key == "attack")
    assert set(WITH_A_GOAL) == set(attacks) & set(choices("attack"))
    first, second = plan.gate
    assert (first.at_least, plan.metric) == (0.8, "attack_success")
    assert first.meant({"attack": "badnets", "defence": "FedAvg"})
    assert not first.meant({"attack": "badnets in one cluster", "defence": "FedAvg"})
    assert second.at_most == 0.1


def test_the_grid_of_harm_has_every_attack_and_those_that_can_be_also_optimised():
    plan = read_plan("harm", [])
    (attacks,) = ([v.name for v in axis.values] for axis in plan.axes if axis.key == "attack")
    # For after another, for points, for clients that choose their model, for classes.
    others = {"as_claimed", "shifted_mean", "wrong_choice", *WITH_A_GOAL}
    assert set(choices("attack")) - set(attacks) == others
    scaled = {
        n for n in choices("attack") if "optimise" in compose([f"attack={n}"]).choice("attack")
    }
    assert {f"{name} optimised" for name in scaled} == set(attacks) - set(choices("attack"))
    (requirement,) = plan.gate
    assert set(requirement.unless["attack"]) < set(attacks)
    assert requirement.meant({"attack": "ipm", "defence": "undefended"})
    assert not requirement.meant({"attack": "alie", "defence": "undefended"})
    assert not requirement.meant({"attack": "ipm", "defence": "paper"})
