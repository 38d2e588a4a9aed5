"""`tagma` as a user meets it: its exit code and what it prints."""

import errno
import json
import re
import shlex
import subprocess
import sys

import pytest

from tagma.launch.cli import _COMMANDS
from tagma.launch.run import check
from tagma.settings import compose
from tests.command import tagma, tagma_process
from tests.conftest import SMALL


@pytest.mark.multiprocess
def test_a_run_leaves_its_folder_and_a_table(tmp_path):
    done = tagma_process("run", *SMALL, "hydra.run.dir=out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        ".hydra", "metrics.json", "history.csv", "clusters.csv", "models.safetensors",
        "report.html", "run.log", "figures", "events.jsonl",
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
        (["attack.fraction=1.7"], "attack.fraction=1.7"),
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


def test_as_many_samples_as_dimensions_run_with_one_warning(tmp_path, monkeypatch):
    monkeypatch.setattr("tagma.launch.progress_bar._PAUSE", float("inf"))  # warnings only
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


@pytest.mark.parametrize("command", _COMMANDS)
def test_help_teaches_by_example(command, tmp_path):
    done = tagma(command, "--help", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(rf"^ *tagma {command}( |$)", done.stdout, re.MULTILINE)


def test_the_help_of_the_command_names_every_subcommand(tmp_path):
    shown = tagma(cwd=tmp_path).stdout
    assert shown == tagma("--help", cwd=tmp_path).stdout
    assert [name for name in _COMMANDS if not re.search(rf"(tagma|,) {name}\b", shown)] == []


@pytest.mark.parametrize("command", ["run", "compare"])
def test_settings_of_the_examples_are_accepted(command, tmp_path):
    shown = tagma(command, "--help", cwd=tmp_path).stdout
    examples = re.findall(rf"^ +tagma {command} (?!-m)(.*?)(?:   .*)?$", shown, re.MULTILINE)
    assert examples
    for example in examples:
        check(compose([text for text in shlex.split(example) if "hydra." not in text]))


@pytest.mark.multiprocess
def test_a_mistake_ends_a_process_with_code_2_and_one_line(tmp_path):
    done = tagma_process("run", "clustering.raduis=2", cwd=tmp_path)
    line = "clustering.raduis=2: there is no such setting; did you mean clustering.radius?"
    assert (done.returncode, done.stderr) == (2, f"tagma: error: {line}\n")
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["rum"], "rum: there is no such command; did you mean run?"),
        (["zzz"], f"zzz: there is no such command; known: {', '.join(_COMMANDS)}"),
        (["run", "--rounds", "5"], "--rounds: settings are written without dashes: rounds=5"),
        (["run", "--rounds=5"], "--rounds=5: settings are written without dashes: rounds=5"),
        (["run", "--task.dim", "5"], "--task.dim: settings are written without dashes: task.dim=5"),
        (["compare", "--seed"], "--seed: settings are written without dashes: seed=VALUE"),
        (["run", "--multi"], "--multi: there is no such option; did you mean --multirun?"),
        (["run", "--package"], "--package/-p: expected one argument"),
        (["run", "-x"], "-x: there is no such option; known: --help --hydra-help --version --cfg "
         "--resolve --package --run --multirun --shell-completion --config-path --config-name "
         "--config-dir --experimental-rerun --info"),
        (["run", "attack=signflip"],
         "attack=signflip: there is no such choice; did you mean sign_flip?"),
        (["run", "aggregation=krum,median"],
         "aggregation=krum,median: several values are several runs and need -m"),
        (["run", "presett=tagma"], "presett=tagma: there is no such setting; did you mean preset?"),
        (["run", "task._target_=.x.y"],
         "task._target_=.x.y: must be a whole path, as in package.module.name"),
        (["assign"], "tagma assign needs FOLDER, DATA; see tagma assign --help"),
        (["assign", "a", "b", "c"], "c: is one word too many; see tagma assign --help"),
        (["resume"], "tagma resume needs FOLDER; see tagma resume --help"),
        (["keys", "x"], "tagma keys needs --nodes; see tagma keys --help"),
        (["keys", "x", "--nodes", "-3"], "--nodes: -3: must be a whole number from 0 on"),
        (["keys", "x", "--node", "3"], "--node: there is no such option; did you mean --nodes?"),
        (["register", "x"], "tagma register needs --superlink; see tagma register --help"),
        (["proxy", "x"], "tagma proxy needs --superlink; see tagma proxy --help"),
        (["node", "x", "--superlink", "a:1", "--number", "0", "--of", "x"],
         "--of: x: must be a whole number from 1 on"),
        (["compose", "--nodes", "many"], "--nodes: invalid int value: 'many'"),
        (["compose", "three"], "three: is not of the form key=value"),
        (["list", "--all"], "--all: there is no such option; known: --help"),
        (["run", "-sc", "install=tcsh"],
         "-sc install=tcsh: must be one of install=bash, install=zsh, install=fish, "
         "uninstall=bash, uninstall=zsh, uninstall=fish"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_a_mistake_on_the_command_line_is_one_line_that_says_what_to_write(
    arguments, line, tmp_path
):
    done = tagma(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"tagma: error: {line}\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments", [["bench", "rum"], ["list", "rum"], ["report", "rum"]])
def test_unknown_words_are_one_line_errors(arguments, tmp_path):
    done = tagma(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("tagma: error: rum: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("setting", ["output", "hydra.run.dir"])
def test_a_file_where_the_run_folder_should_be_is_one_line(setting, tmp_path):
    (tmp_path / "file").write_text("mine")
    done = tagma("run", *SMALL, f"{setting}=file", f"hydra.sweep.dir={tmp_path}", cwd=tmp_path)
    assert done.returncode != 0
    assert re.fullmatch(r"tagma: error: .*file\b.*\n", done.stderr)
    assert "defect" not in done.stderr
    assert (tmp_path / "file").read_text() == "mine"


def test_a_full_disk_is_one_line(tmp_path, monkeypatch):
    def full(settings, folder):
        raise OSError(errno.ENOSPC, "No space left on device", str(folder / "history.csv"))

    monkeypatch.setattr("tagma.launch.run.run", full)
    done = tagma("run", *SMALL, "hydra.run.dir=out", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == f"tagma: error: {tmp_path}/out/history.csv: the disk is full\n"


def test_hydras_flags_may_stand_anywhere(tmp_path):
    done = tagma("run", "seed=3", "--cfg", "job", "rounds=4", "-p", "rounds", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "4\n")
    assert "Config search path" in tagma("run", "--info", "searchpath", cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("tagma re", ["resume", "reproduce", "report", "register"]),
        ("tagma run attack=si", ["attack=sign_flip"]),
        ("tagma compare seed=1 task.cl", ["task.clients=", "task.clusters="]),
        ("tagma run --no-such-flag at", []),
        ("tagma keys at", []),
    ],
)
def test_a_shell_is_told_what_may_follow(line, words, tmp_path):
    done = tagma("-sc", "query=bash", cwd=tmp_path, COMP_LINE=line)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, words, "")


def test_the_script_for_a_shell_is_for_this_command_and_bash_can_read_it(tmp_path):
    script = tagma("run", "-sc", "install=bash", cwd=tmp_path).stdout
    assert script.endswith("-F hydra_bash_completion tagma\n")
    shell = ["bash", "-c", 'eval "$1" && complete -p tagma', "bash", script]
    done = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "hydra_bash_completion tagma" in done.stdout


def test_own_choices_are_listed(tmp_path):
    (tmp_path / "own/attack").mkdir(parents=True)
    (tmp_path / "own/attack/crowd.yaml").write_text(
        "# Nobody is alone.\ndefaults: [_byzantine, _self_]\n_target_: mine.Crowd\nfactor: 2.0\n"
    )
    (tmp_path / "mine.py").write_text(
        "from tagma.attacks.base import OmniscientAttack\nclass Crowd(OmniscientAttack): pass\n"
    )
    place = f"hydra.searchpath=[file://{tmp_path}/own]"
    row = r"crowd\s+│ Nobody is alone\."
    assert re.search(row, tagma("list", place, cwd=tmp_path).stdout)
    assert not re.search(row, tagma("list", cwd=tmp_path).stdout)
    shown = " ".join(tagma("list", "attacks", place, cwd=tmp_path).stdout.split())
    assert "crowd (omniscient) Nobody is alone. " in shown
    assert " settings: factor=2.0 " in shown
    assert "sign_flip (local)" in shown


@pytest.mark.parametrize("place", ["file:///nowhere", "pkg://no.such.package"])
def test_a_place_for_own_choices_that_is_not_there_is_one_line(place, tmp_path):
    done = tagma("list", f"hydra.searchpath=[{place}]", cwd=tmp_path)
    line = f"hydra.searchpath=[{place}]: {place} is not a folder"
    assert (done.returncode, done.stderr) == (2, f"tagma: error: {line}\n")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["report"], "tagma report needs FOLDER; see tagma report --help"),
        (
            ["run", "strategy=_screened"],
            "strategy=_screened: there is no such choice; "
            "known: cfl, fedavg, fedprox, flower, ifca, local, oracle, own, three_stage, "
            "threshold",
        ),
        (
            ["bench", "quick", "strategy=[three_stage,_screened]", "--dry-run"],
            "strategy=_screened: there is no such choice; "
            "known: cfl, fedavg, fedprox, flower, ifca, local, oracle, own, three_stage, "
            "threshold",
        ),
    ],
)
def test_what_cannot_be_done_is_one_line_and_no_success(arguments, line, tmp_path):
    done = tagma(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"tagma: error: {line}\n")


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


def test_a_working_folder_that_is_gone_is_one_line(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    code = "import os; os.rmdir(os.getcwd()); from tagma.launch.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "list"], cwd=gone, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == "tagma: error: the working folder has been removed; go to another one\n"
