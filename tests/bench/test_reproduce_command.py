"""Mistakes at the command line, and what a page of results says."""

import csv

import pytest

from tagma.bench.cell_store import read_result
from tagma.bench.reproduce import reproduce_command as command
from tagma.bench.speed import feature_clusters_speed as features
from tagma.errors import TagmaError


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seed", "-5"], "--seed: -5: must be a whole number from 0 on"),
        (["--trials", "x"], "--trials: x: must be a whole number from 1 on"),
        (["--workers", "0"], "--workers: 0: must be a whole number from 1 on"),
        (["--trial", "3"], "--trial: there is no such option; did you mean --trials?"),
        (["seed=3"], "use --seed"),
    ],
)
def test_a_mistake_is_one_line(arguments, message):
    with pytest.raises(TagmaError) as caught:
        command.main(["misclustering", *arguments])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(TagmaError, match=r"--out .*: cannot be written to \(Not a directory\)"):
        command.main(["two_clusters", "--trials", "1", "--out", str(tmp_path / "file")])


def test_features_refuse_what_is_no_number():
    with pytest.raises(TagmaError, match="--points: x: must be a whole number"):
        features.main(["--points", "x"])


def test_a_damaged_result_counts_as_none(tmp_path):
    (tmp_path / "key.json").write_text('{"half": ')
    assert read_result(tmp_path, "key") is None


def test_every_experiment_has_its_own_help(capsys):
    for name in command._NAMES:
        with pytest.raises(SystemExit) as end:
            command.main([name, "--help"])
        assert end.value.code == 0
        said = capsys.readouterr().out
        assert "--trials" in said
        assert name in said


@pytest.mark.multiprocess
def test_the_page_names_command_and_version_and_the_csv_has_a_row_per_trial_and_method(tmp_path):
    command.main(
        ["misclustering", "--trials", "2", "--seed", "5", "--workers", "1", "--out", str(tmp_path),
         "task.clients=20", "task.clusters=2", "task.dim=8", "task.samples=40"]
    )  # fmt: skip
    page = (tmp_path / "misclustering.md").read_text()
    assert "`tagma reproduce misclustering --trials 2 --seed 5 task.clients=20" in page
    assert "with Tagma " in page
    with (tmp_path / "misclustering.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["trial"], row["seed"]) for row in rows] == [("0", "5")] * 3 + [("1", "6")] * 3
    assert {"A_0", "G_20", "G^U_20", "Lambda_20", "r_1", "rho", "floor"} <= rows[0].keys()
    assert float(rows[0]["r_1"]) > 0
