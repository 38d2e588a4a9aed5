"""Tables of rivals: what they say, what we measure, and whether ours is as good."""

import csv
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from tagma.bench import federation_cell
from tagma.bench.experiments.federated_clustering import (
    centres_among,
    federated_clustering_trial,
)
from tagma.bench.federation_cell import FederationCell
from tagma.bench.reproduce import reproduce_command as command
from tagma.bench.reproduce import rival_brifca as brifca
from tagma.bench.reproduce import rival_ifca as ifca
from tagma.bench.reproduce import rival_werner as werner
from tagma.bench.reproduce.resumable_runs import kept, progress_by_rounds
from tagma.bench.reproduce.rival_table import ORACLE, OURS, Condition, Rivals
from tagma.bench.runner import Counts
from tagma.errors import TagmaError


class Watching(SimpleNamespace):
    """A tracker that hears of rounds."""

    def __init__(self, hears):
        super().__init__(round=hears, end=lambda metrics: None)


TABLE = Rivals(
    name="x", about="", common=(), score="accuracy", allowed=0.005, allowed_to_oracle=0.015,
    conditions={"calm": Condition((), dict.fromkeys((OURS, ORACLE, "IFCA"), ()), unit=2.0,
                                  says={"IFCA": "0.95"})},
    notes="",
)  # fmt: skip
ERRORS = Rivals(
    **vars(TABLE) | {"score": "served_error", "allowed": 1.0, "allowed_to_oracle": 1.1,
                     "floor": 1e-4}
)  # fmt: skip


def rows(**scores):
    """A row per algorithm and trial."""
    return [
        {"method": f"calm: {name}", "condition": "calm", "algorithm": name, "score": score}
        for name, found in scores.items()
        for score in found
    ]


def verdicts(table, **scores):
    claims = table.experiment().claims(rows(**scores))
    return {claim.says.split(": ")[1]: claim.holds for claim in claims}


def test_by_accuracy_the_worst_trial_decides():
    ours = {OURS: [0.900, 0.950]}
    near = verdicts(TABLE, **ours, **{ORACLE: [0.914, 0.950], "IFCA": [0.904, 0.954]})
    assert near == {OURS: "-", ORACLE: "yes", "IFCA": "yes"}
    far = verdicts(TABLE, **ours, **{ORACLE: [0.900, 0.966], "IFCA": [0.80, 0.956]})
    assert far == {OURS: "-", ORACLE: "no", "IFCA": "no"}


def test_by_error_the_mean_decides_and_tiny_errors_are_alike():
    assert verdicts(ERRORS, **{OURS: [2.0, 1.0], ORACLE: [1.4, 1.4], "IFCA": [1.0, 2.0]}) == {
        OURS: "-", ORACLE: "yes", "IFCA": "yes",
    }  # fmt: skip
    assert verdicts(ERRORS, **{OURS: [1e-5], ORACLE: [1e-12], "IFCA": [1e-9]})["IFCA"] == "yes"
    assert verdicts(ERRORS, **{OURS: [2.0], ORACLE: [1.8], "IFCA": [None]}) == {
        OURS: "-", ORACLE: "no", "IFCA": "yes",
    }  # fmt: skip


def test_what_they_say_stands_beside_what_we_measure():
    claims = TABLE.experiment().claims(rows(**{OURS: [0.9], ORACLE: [0.9], "IFCA": [0.91]}))
    assert [claim.says for claim in claims] == [
        f"calm: {OURS}", f"calm: {ORACLE}", "calm: IFCA: 0.95",
    ]  # fmt: skip
    assert claims[2].measured == "0.9100; ours -0.0100, at worst -0.0100"


def test_a_score_is_in_the_units_of_the_rival():
    metrics = {
        "scores": {"accuracy": {"value": 0.4}, "accuracy_worst_decile": {"value": 0.3}},
        "misclustering": 0.0, "ari": 1.0,
    }  # fmt: skip
    (row,) = TABLE.experiment().measure("calm: IFCA", metrics)
    assert row["score"] == 0.8
    assert row["accuracy_worst_decile"] == 0.3
    (row,) = TABLE.experiment().measure("calm: theirs", {"score": 0.5})
    assert row["score"] == 1.0


def test_ours_is_told_nothing_and_everybody_faces_every_condition():
    for table in (ifca.TABLE, brifca.TABLE, werner.TABLE):
        for faced in table.conditions.values():
            assert faced.algorithms[OURS] == ("preset=tagma",)
            rivals = {ORACLE, "IFCA", "IFCA, trimmed mean", "CFL", "FedAvg", "threshold"}
            assert faced.algorithms.keys() >= rivals
            assert faced.says.keys() <= {*faced.algorithms, *faced.arrays}


def test_without_the_data_one_line_says_where_they_come_from():
    for more in ([], ["--full"]):
        with pytest.raises(TagmaError, match=r"task.data=FOLDER: .*torchvision") as caught:
            command.main(["ifca", *more])
        assert "\n" not in str(caught.value)


def test_only_where_there_is_another_size_it_can_be_asked_for():
    with pytest.raises(TagmaError, match="--full: brifca has one size only"):
        command.main(["brifca", "--full"])
    full = ifca.EXPERIMENT.full
    assert full is not None
    assert [
        (cell.method, cell.settings.choice("task")["clients"])
        for cell in full.cells(1, 0, ["task.data=digits", "task.samples=1"])
    ] == [(f"no attack: {OURS}", 1200), ("no attack: IFCA", 1200)]


def test_a_run_of_hours_goes_on_from_where_it_broke_off(tmp_path, monkeypatch):
    settings = ("task=rotated_digits", "task.clients=8", "model.hidden=[4]", "strategy=ifca",
                "attack=none", "aggregation=mean", "rounds=8", "oracle=false")  # fmt: skip
    (whole,) = FederationCell.trials("x", settings, 0, 1)
    (cell,) = kept([whole], tmp_path)
    assert cell.key == whole.key
    shown = []
    bar = SimpleNamespace(show=lambda *counts: shown.append(counts[:2]))
    progress = progress_by_rounds(bar, [cell])

    class Killed(Exception):
        pass

    def stop(event):
        if event.round == 7:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(federation_cell, "tracked", lambda *_, **__: nullcontext(Watching(stop)))
        with pytest.raises(Killed):
            cell.run()
    progress(Counts(1, 0, 0, 1, 0))
    seen = []
    watching = Watching(lambda event: seen.append(event.round))
    monkeypatch.setattr(federation_cell, "tracked", lambda *_, **__: nullcontext(watching))
    result = cell.run()
    assert seen == [6, 7, 8, 9]
    assert cell.whole(result)
    assert not cell.run_folder.exists()
    progress(Counts(1, 0, 1, 0, 0))
    assert shown == [(7, 9), (9, 9)]
    monkeypatch.undo()
    assert result["metrics"]["accuracy"] == whole.run()["metrics"]["accuracy"]


def test_a_centre_is_moved_by_the_nearest_only():
    points = np.array([[[0.0], [1.0], [10.0]]] * 3)
    centres = centres_among(points, 2 / 3)
    # from 0 and from 1 the two on the left count: v <- 1/3 (0 + 1) + v/3; from 10 the others
    assert centres[:2, 0] == pytest.approx([0.5, 0.5], abs=1e-4)
    assert centres[2, 0] == pytest.approx(5.5, abs=1e-3)


@pytest.mark.parametrize("near_truth", [True, False])
def test_federated_clustering_finds_models_that_explain_all_data(near_truth):
    overrides = (
        "task=mixture_regression", "task.clients=6", "task.clusters=2", "task.dim=3",
        "task.samples=20", "task.noise=0", "attack=none", "rounds=400",
    )  # fmt: skip
    found = federated_clustering_trial(
        overrides=overrides, quantile=0.5, step=0.5, near_truth=near_truth, seed=1
    )
    assert found["score"] < 1e-6


@pytest.mark.multiprocess
@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        ("ifca", ["task.data=digits", "task.clients=8", "task.samples=20", "model.hidden=[4]"]),
        ("werner", []),
        pytest.param("brifca", ["task.clients=20", "task.samples=10"], marks=pytest.mark.full),
    ],
)
def test_a_table_is_written_and_finished_runs_are_kept(name, overrides, tmp_path, capsys):
    arguments = [name, "--trials", "1", "--workers", "1", "--out", str(tmp_path), "rounds=1"]
    command.main([*arguments, *overrides])
    kept = {file: file.stat().st_mtime_ns for file in (tmp_path / "cells").glob("*.json")}
    page = (tmp_path / f"{name}.md").read_text()
    assert "| they say | we measure | holds? |" in page
    with (tmp_path / f"{name}.csv").open() as file:
        assert {row["algorithm"] for row in csv.DictReader(file)} >= {OURS, ORACLE, "CFL"}
    command.main([*arguments, *overrides])
    assert kept == {file: file.stat().st_mtime_ns for file in (tmp_path / "cells").glob("*.json")}
