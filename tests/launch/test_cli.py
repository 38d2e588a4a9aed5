"""`tagma` as a user meets it: another process, its exit code and what it prints."""

import json
import os
import subprocess
import sys

import pytest

from tests.conftest import SMALL


def tagma(*arguments, cwd, **environment):
    command = "import sys; sys.argv[0] = 'tagma'; from tagma.launch.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", command, *arguments],
        cwd=cwd, capture_output=True, text=True, env=os.environ | environment, check=False,
    )  # fmt: skip


def test_a_run_leaves_its_folder_and_a_table(tmp_path):
    done = tagma("run", *SMALL, "hydra.run.dir=out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        ".hydra", "metrics.json", "history.csv", "clusters.csv", "models.safetensors",
        "report.html", "run.log", "figures",
    }  # fmt: skip
    assert "misclustered honest clients" in done.stdout
    metrics = json.loads((tmp_path / "out/metrics.json").read_text())
    assert metrics["oracle_error"] > 0
    assert len(metrics["oracle_error_per_round"]) == 4
    assert f"{metrics['estimation_error']:.4f}" in done.stdout


@pytest.mark.parametrize(
    ("overrides", "setting"),
    [
        (["task.clusters=7", "task.clients=5"], "task.clusters=7"),
        (["aggregation.beta=0.6"], "aggregation.beta=0.6"),
        (["attack.fraction=0.7"], "attack.fraction=0.7"),
        (["clustering=nonsense"], "clustering=nonsense"),
        (["clustering.raduis=2"], "clustering.raduis=2"),
        (["optimiser.step=-1"], "optimiser.step=-1"),
        (["engine=ray", "engine.cpus_per_client=1000"], "engine.cpus_per_client=1000"),
        (["-m", "rounds=-1,-2"], "rounds=-1"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_no_result(overrides, setting, tmp_path):
    done = tagma("run", *overrides, cwd=tmp_path)
    assert done.returncode != 0
    assert done.stderr.startswith("tagma: error: " + setting)
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.rglob("metrics.json")) or "-m" in overrides


@pytest.mark.parametrize(
    "overrides",
    [["-m", "clustering=nonsense,kmeans"], ["-m", "seed=1,2", "clustering.raduis=2"],
     ["hydra.run.dir=/dev/null/x"], ["~attack"], ["+foo.bar=1"], ["--config-name", "other"]],
)  # fmt: skip
def test_other_mistakes_are_one_line_as_well(overrides, tmp_path):
    done = tagma("run", *overrides, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("tagma: error: ")
    assert done.stderr.count("\n") == 1


def test_a_failed_run_does_not_leave_an_older_result_behind(tmp_path):
    tagma("run", *SMALL, "hydra.run.dir=out", cwd=tmp_path)
    assert (tmp_path / "out/metrics.json").exists()
    (tmp_path / "mine.py").write_text("def broken(updates):\n    raise ValueError('no')\n")
    own = ["aggregation=mean", "aggregation._target_=mine.broken"]
    assert tagma("run", *SMALL, *own, "hydra.run.dir=out", cwd=tmp_path).returncode != 0
    assert not (tmp_path / "out/metrics.json").exists()
    assert not (tmp_path / "out/report.html").exists()


def test_an_attack_that_is_none_is_refused(tmp_path):
    (tmp_path / "mine.py").write_text("class Odd:\n    def forge(self, honest, view): return 0\n")
    own = ["attack=sign_flip", "attack._target_=mine.Odd", "~attack.scale"]
    done = tagma("run", *SMALL, *own, cwd=tmp_path)
    assert "attack._target_=mine.Odd: must derive from LocalAttack" in done.stderr


def test_debug_shows_where_a_mistake_arose(tmp_path):
    assert "Traceback" in tagma("run", "rounds=-1", "--debug", cwd=tmp_path).stderr
    assert "Traceback" in tagma("run", "rounds=-1", cwd=tmp_path, HYDRA_FULL_ERROR="1").stderr


def test_as_many_samples_as_dimensions_run_with_one_warning(tmp_path):
    done = tagma("run", *SMALL, "task.samples=5", "hydra.run.dir=out", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.count("the variance of least squares is infinite there") == 1
    assert all(line.startswith("warning: ") for line in done.stderr.splitlines())
    assert json.loads((tmp_path / "out/metrics.json").read_text())["warnings"]


def test_a_beta_below_the_fraction_of_byzantine_clients_brings_a_warning(tmp_path):
    done = tagma("run", *SMALL, "aggregation.beta=0.1", cwd=tmp_path)
    assert "warning: aggregation.beta=0.1 is below the share 0.3 of Byzantine" in done.stderr


def test_several_runs_have_a_folder_each(tmp_path):
    done = tagma("run", "-m", *SMALL, "seed=1,2", "hydra.sweep.dir=out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    seeds = [json.loads(p.read_text())["seed"] for p in sorted(tmp_path.glob("out/*/metrics.json"))]
    assert seeds == [1, 2]


def test_a_plugin_of_the_users_own_is_found_where_the_user_works(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from tagma.attacks.base import LocalAttack\n"
        "class Nan(LocalAttack):\n"
        "    def forge(self, honest, view):\n"
        "        return honest * float('nan')\n"
    )
    own = ["attack=sign_flip", "attack._target_=mine.Nan", "~attack.scale"]
    done = tagma("run", *SMALL, *own, "hydra.run.dir=out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    metrics = json.loads((tmp_path / "out/metrics.json").read_text())
    assert metrics["replies"]["rejected"] == {"not finite": 6}


@pytest.mark.parametrize(
    "arguments", [["--help"], [], ["run", "--help"], ["bench", "--help"], ["list", "--help"],
                  ["report", "--help"], ["bench", "speed", "--help"],
                  ["resume", "--help"], ["compose", "--help"], ["keys", "--help"],
                  ["register", "--help"], ["node", "--help"], ["proxy", "--help"]],
)  # fmt: skip
def test_help_teaches(arguments, tmp_path):
    done = tagma(*arguments, cwd=tmp_path)
    assert done.returncode == 0
    assert "tagma " in done.stdout


@pytest.mark.parametrize(
    "arguments", [["rum"], ["bench", "rum"], ["list", "rum"], ["report", "rum"]]
)
def test_unknown_words_are_one_line_errors(arguments, tmp_path):
    done = tagma(*arguments, cwd=tmp_path)
    assert done.returncode != 0
    assert done.stderr.startswith("tagma: error: rum: ")
    assert done.stderr.count("\n") == 1


def test_list_shows_what_can_be_chosen(tmp_path):
    done = tagma("list", cwd=tmp_path)
    for word in ("trimmed_kmeans", "poisoned_regression", "inprocess", "mixture_regression"):
        assert word in done.stdout
    only = tagma("list", "attack", cwd=tmp_path).stdout
    assert "sign_flip" in only
    assert "kmeans" not in only


def test_a_report_can_be_made_again(tmp_path):
    tagma("run", *SMALL, "hydra.run.dir=out", cwd=tmp_path)
    page = tmp_path / "out/report.html"
    before = page.read_text()
    page.unlink()
    assert tagma("report", "out", cwd=tmp_path).returncode == 0
    assert page.read_text() == before
