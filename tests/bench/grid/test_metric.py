"""Any score of the cells' task can be what a grid ranks by, and what its gate looks at."""

import csv
import json

import pytest

from tagma.bench.bench_command import main
from tagma.bench.grid.expand import expand
from tagma.bench.grid.metric import with_metric
from tagma.bench.grid.plan import read_plan
from tagma.errors import TagmaError
from tests.algorithms import TINY_DIGITS
from tests.bench.grid.conftest import TINY

SIGNS = "task._target_=tests.report.signs_task.Signs"
OWN = "task._target_=tests.report.own_data.OwnData"


def chosen(path, *arguments):
    plan = read_plan(path, ["seeds=1", "attack=none", *arguments])
    places = expand(plan)
    return with_metric(plan, places), places


ERRORS = {"estimation_error": "low", "served_error": "low"}
ACCURACIES = {"accuracy": "high", "loss": "low"} | dict.fromkeys(
    ("accuracy_worst_decile", "accuracy_best_decile", "accuracy_worst_cluster"), "high"
)


@pytest.mark.parametrize(
    ("arguments", "metric", "scores", "evaluate"),
    [
        ([], "estimation_error", ERRORS, False),
        (["evaluate=true"], "estimation_error", ERRORS | {"loss": "low"}, True),
        (["bench.metric=loss"], "loss", ERRORS | {"loss": "low"}, True),
        (["bench.metric=misclustering"], "misclustering", ERRORS, False),
        (["bench.metric=served_error"], "served_error", ERRORS, False),
        (["bench.metric=ari"], "ari", ERRORS, False),
        ([SIGNS, "bench.metric=accuracy_worst_decile"], "accuracy_worst_decile", ACCURACIES, True),
        ([SIGNS], "accuracy", ACCURACIES, True),
        ([SIGNS, "bench.metric=misclustering"], "misclustering", {}, False),
        ([OWN], "loss", {"loss": "low"}, True),
    ],
)
def test_the_metric_is_the_first_score_and_clients_measure_only_what_it_needs(
    grid_file, arguments, metric, scores, evaluate
):
    plan, places = chosen(grid_file(), "defence=paper", *arguments)
    assert (plan.metric, plan.scores) == (metric, scores)
    assert {place.cell.settings.evaluate for place in places} == {evaluate}


@pytest.mark.parametrize(
    ("changes", "arguments", "message"),
    [
        ({}, ["bench.metric=accuracy"], "bench.metric=accuracy: must be one of estimation_error"),
        ({}, [OWN, "bench.metric=misclustering"], "misclustering: must be one of loss"),
        ({}, ["bench.metric=loss", "evaluate=false"], "bench.metric=loss: must be one of"),
        (
            {"gate": [{"metric": "precision", "at_most": 1}]},
            [SIGNS],
            "bench.gate.0.metric=precision: must be one of accuracy, loss, accuracy_worst_decile,",
        ),
        (
            {"axes": TINY["axes"] | {"accuracy": {"a": ["min_replies=1"]}}},
            [SIGNS],
            "bench.axes.accuracy: a score has this name",
        ),
    ],
)
def test_what_no_cell_has_is_one_line_before_anything_runs(
    grid_file, tmp_path, changes, arguments, message
):
    with pytest.raises(TagmaError) as caught:
        main([grid_file(**changes), f"bench.folder={tmp_path}/out", "attack=none", *arguments])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_tasks_with_different_scores_are_compared_by_what_both_have(grid_file):
    both = {"regression": ["task=mixture_regression"], "signs": [SIGNS]}
    path = grid_file(axes={"attack": ["none"], "problem": both})
    assert chosen(path)[0].metric == "misclustering"
    assert chosen(path, "bench.metric=loss")[0].metric == "loss"
    with pytest.raises(TagmaError, match=r"bench.metric=accuracy: must be one of loss, mis"):
        chosen(path, "bench.metric=accuracy")


@pytest.mark.multiprocess
def test_a_grid_of_accuracies_has_them_in_its_tables_gate_and_report(grid_file, tmp_path, capsys):
    gate = [
        {"where": {"attack": "none"}, "at_least": 0.7},
        {"metric": "loss", "at_most": 2},
        {"metric": "misclustering", "at_most": 0.5},
    ]
    reference = ["strategy=oracle", "strategy.exclude_byzantine=true", "aggregation=mean"]
    folder = tmp_path / "out"
    options = [SIGNS, "seeds=1", "bench.workers=1", "oracle=true", f"bench.folder={folder}"]
    main([grid_file(gate=gate, reference=reference), *options])
    with (folder / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        kept = json.loads((folder / "cells" / f"{row['cell']}.json").read_text())["metrics"]
        assert float(row["accuracy"]) == kept["scores"]["accuracy"]["value"] > 0.5
        assert float(row["loss"]) == kept["scores"]["loss"]["value"]
        worst = kept["scores"]["accuracy_worst_decile"]["value"]
        assert float(row["accuracy_worst_decile"]) == worst < float(row["accuracy"])
        assert float(row["ari"]) == kept["ari"] <= 1
        oracle = kept["oracle_scores"]["accuracy"]["value"]
        assert float(row["oracle_accuracy"]) == oracle > 0.7
        assert float(row["without_byzantine"]) > 0.7
    assert not {"estimation_error", "oracle_error", "error_without_byzantine"} & set(rows[0])
    index = json.loads((folder / "bench.json").read_text())
    ways = ACCURACIES | {"misclustering": "low", "ari": "high"}
    assert (index["metric"], index["better"]) == ("accuracy", ways)
    words = capsys.readouterr().out
    assert "is highest in this 1 seed" in words
    assert "at worst its accuracy is" in words
    assert "loss at most 2" in words
    assert "diverged" not in words
    with pytest.raises(TagmaError, match="2 of 2 do not pass the gate"):
        main([grid_file(gate=[{"where": {"attack": "none"}, "at_least": 0.9999}]), *options])


def test_a_grid_may_rank_by_a_success_rate_that_only_attacks_with_a_goal_have(grid_file, tmp_path):
    attacks = ["none", "badnets", "model_replacement"]
    axes = {"attack": attacks, "defence": {"mean": ["aggregation=mean"]}}
    path = grid_file(axes=axes, common=["strategy=fedavg", *TINY_DIGITS, "attack.fraction=0.25"])
    options = [path, "seeds=1", f"bench.folder={tmp_path / 'out'}", "bench.workers=1"]
    main([*options, "bench.metric=attack_success_worst_cluster"])
    with (tmp_path / "out/table.csv").open() as file:
        rows = {row["attack"]: row for row in csv.DictReader(file)}
    assert [bool(rows[name]["attack_success"]) for name in attacks] == [False, True, True]
    assert all(rows[name]["accuracy"] for name in attacks), "which stands beside it"
