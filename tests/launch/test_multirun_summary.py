"""Several runs: a row for each combination, means over seeds, and no run lost by another."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest

from tagma.launch.multirun_summary import EndedRun, show_summary, summarise
from tagma.report.bootstrap import interval, resampled_means
from tests.command import tagma
from tests.conftest import SMALL

BARE = [*SMALL, "rounds=1", "oracle=false", "evaluate=false"]


def ended(folder, *overrides, error=0.1, misclustering=0.0, **scores):
    found = {"estimation_error": error, **scores}
    metrics = {
        "misclustering": misclustering,
        "scores": {name: {"value": value, "of": None} for name, value in found.items()}
        | {"loss_worst": {"value": 9.0, "of": "loss"}},
    }
    return EndedRun(overrides, Path("/all") / folder, metrics)


def test_seeds_are_summed_up_and_other_keys_make_rows():
    runs = [
        ended("0", "seed=0", "attack=none", "rounds=2", error=1.0),
        ended("1", "seed=1", "attack=none", "rounds=2", error=3.0),
        ended("2", "seed=0", "attack=alie", "rounds=2", error=5.0),
    ]
    first, second = summarise(runs)
    assert (first.varied, second.varied) == ({"attack": "none"}, {"attack": "alie"})
    assert (len(first.runs), len(second.runs)) == (2, 1)
    assert first.numbers["estimation_error"] == interval(resampled_means(np.array([1.0, 3.0])))
    assert second.numbers["estimation_error"].value == 5.0
    assert not second.numbers["estimation_error"].known
    assert list(first.numbers) == ["misclustering", "estimation_error"]


def test_a_failed_run_is_counted_and_a_diverged_one_is_infinite():
    runs = [
        ended("0", "seed=0", error=1.0),
        ended("1", "seed=1", error=None, accuracy=None),
        EndedRun(("seed=2",), Path("/all/2"), None, ValueError("no")),
    ]
    (row,) = summarise(runs)
    assert (row.varied, row.failed) == ({}, 1)
    assert row.numbers["estimation_error"].value == math.inf
    assert row.numbers["misclustering"].value == 0
    assert math.isnan(row.numbers["accuracy"].value)


def test_the_files_have_every_score_and_every_failure(tmp_path, capsys):
    runs = [
        EndedRun(("seed=0", "a=[x]"), tmp_path / "0", ended("", accuracy=0.5).metrics),
        EndedRun(("seed=1", "a=[x]"), tmp_path / "1", ended("", error=None).metrics),
        EndedRun(("seed=0", "a=y"), tmp_path / "2", None, ValueError("two\nlines")),
    ]
    show_summary(runs, tmp_path)
    first, second = csv.DictReader((tmp_path / "summary.csv").open())
    names = ("a", "runs", "failed", "folders", "estimation_error", "accuracy", "accuracy_low")
    assert [first[name] for name in names] == ["[x]", "2", "0", "0 1", "inf", "0.5", ""]
    assert (second["failed"], second["estimation_error"]) == ("1", "")
    plain = json.loads((tmp_path / "summary.json").read_text())
    assert plain["rows"][0]["seeds"] == ["0", "1"]
    assert plain["rows"][0]["numbers"]["estimation_error"]["mean"] == "Infinity"
    assert plain["failures"] == [{"folder": "2", "reason": "two lines"}]
    printed = capsys.readouterr().out
    assert "[x]" in printed
    assert "diverged" in printed


def test_the_table_at_the_end_has_what_the_folders_have(tmp_path):
    done = tagma("run", *BARE, "-m", "seed=range(2)", "aggregation=mean,median", cwd=tmp_path)
    assert done.returncode == 0
    (file,) = tmp_path.glob("outputs/*/*/summary.csv")
    rows = list(csv.DictReader(file.open()))
    assert [row["aggregation"] for row in rows] == ["mean", "median"]
    for row in rows:
        folders = [file.parent / name for name in row["folders"].split()]
        found = [json.loads((one / "metrics.json").read_text()) for one in folders]
        assert [one["settings"]["aggregation"] for one in found] == [row["aggregation"]] * 2
        assert sorted(one["seed"] for one in found) == [0, 1]
        mean = np.mean([one["estimation_error"] for one in found])
        assert float(row["estimation_error"]) == pytest.approx(mean)
        assert float(row["estimation_error_low"]) <= mean <= float(row["estimation_error_high"])
    assert f"summary: {file}" in done.stdout


def test_one_failed_run_does_not_lose_the_others(tmp_path):
    words = ["aggregation.beta=0.7,0.4", "hydra.sweep.dir=all"]
    done = tagma("run", *BARE, "-m", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "tagma: error: 1 of 2 runs failed; the others are whole"
    assert done.stderr.count("aggregation.beta=0.7: should be less than 0.5") == 1
    bad, good = csv.DictReader((tmp_path / "all" / "summary.csv").open())
    assert (bad["aggregation.beta"], bad["failed"], bad["estimation_error"]) == ("0.7", "1", "")
    assert (good["failed"], good["folders"]) == ("0", "1")
    assert (tmp_path / "all" / "1" / "report.html").is_file()


def test_a_single_run_has_no_summary(tmp_path):
    done = tagma("run", *BARE, "hydra.run.dir=one", cwd=tmp_path)
    assert done.returncode == 0
    assert not (tmp_path / "one" / "summary.csv").exists()
    assert "summary" not in done.stdout
