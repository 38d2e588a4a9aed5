"""The own attack of the documentation does what the documentation says."""

import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from tagma.choices import CONF, choices
from tagma.errors import SettingError
from tagma.launch.run import check
from tagma.settings import compose
from tests.algorithms import ALGORITHMS, TINY
from tests.attacks.test_every_algorithm import NO_MEANING
from tests.command import tagma
from tests.conftest import SMALL

PAGE = (Path(__file__).parent.parent.parent / "docs" / "attacks.md").read_text()


def own_attack(folder):
    code, command = re.findall(r"```(?:python)?\n(.*?)```", PAGE.partition("ten lines")[2], re.S)[
        :2
    ]
    (folder / "mine.py").write_text(code)
    return shlex.split(command.strip())[1:]


def test_the_documented_attack_runs_as_documented(tmp_path):
    command = own_attack(tmp_path)
    done = tagma(*command, *SMALL, "hydra.run.dir=out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    metrics = json.loads((tmp_path / "out/metrics.json").read_text())
    assert sum(cluster["byzantine"] for cluster in metrics["clusters"]) == 4
    assert metrics["replies"]["rejected"] == {}
    without = tagma("run", "attack=none", *SMALL, "hydra.run.dir=without", cwd=tmp_path)
    assert without.returncode == 0
    honest = json.loads((tmp_path / "without/metrics.json").read_text())
    assert metrics["estimation_error"] != honest["estimation_error"]


def test_its_settings_are_checked(tmp_path):
    command = own_attack(tmp_path)
    wrong = tagma(*command[:-1], "attack.factor=-1", *SMALL, cwd=tmp_path)
    assert wrong.returncode == 2
    assert "attack.factor=-1" in wrong.stderr
    unknown = tagma(*command, "attack.factors=1", *SMALL, cwd=tmp_path)
    assert "attack.factors=1: there is no such setting; did you mean factor?" in unknown.stderr


SECTIONS = {
    "## Local attacks": "local",
    "## Attacks with a goal": "backdoor",
    "## Omniscient attacks": "omniscient",
    "## Attacks on the clustering": "on_clustering",
    "## Adaptive attacks": "adaptive",
}


def test_every_attack_stands_in_the_table_of_its_kind():
    documented = set()
    for heading, kind in SECTIONS.items():
        section = PAGE.partition(heading)[2].partition("\n## ")[0]
        documented |= {(name, kind) for name in re.findall(r"^\| `(\w+)` \|", section, re.M)}
    there = {("sleeper", "on_clustering")}  # in two phases, as those are
    for name in set(choices("attack")) - {"none", "mixed", "sleeper"}:
        target = yaml.safe_load((CONF / f"attack/{name}.yaml").read_text())["_target_"]
        there.add((name, target.split(".")[2]))
    assert documented == there
    assert "attack=mixed" in PAGE


def refused():
    """The pairs of attack and strategy that the page calls refused, each with its reason."""
    section = PAGE.partition("## What does not fit")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \| (`.*?) \| (.*) \|$", section, re.M)
    return {
        (attack, strategy): why
        for attacks, strategies, why in rows
        for attack in re.findall(r"`(\w+)`", attacks)
        for strategy in re.findall(r"`(\w+)`", strategies)
    }


def test_the_page_names_every_pair_that_is_refused_and_no_others():
    ours = {(attack, algorithm) for attack, algorithm in NO_MEANING if algorithm != "tagma"}
    assert refused().keys() == ours  # the same, with its settings, as three_stage
    assert {(attack, "three_stage") for attack, name in NO_MEANING if name == "tagma"} <= ours
    assert len(ours) == 72


def test_the_reason_on_the_page_is_the_one_that_a_user_reads():
    for (attack, strategy), why in refused().items():
        with pytest.raises(SettingError, match=re.escape(f": {why}; use ")):
            check(compose([*TINY, *ALGORITHMS[strategy], f"attack={attack}"]))


def test_the_list_of_attacks_tells_kind_threat_model_settings_and_source(tmp_path):
    shown = tagma("list", "attacks", cwd=tmp_path).stdout
    text = " ".join(shown.split())
    assert "alie (omniscient; Baruch et al. 2019)" in text
    assert "sees every update and group, changes its updates; all of them in concert" in text
    assert "settings: z=null, optimise=false" in text
    assert "sign_flip (local)" in text
    assert "neurotoxin (local, with a goal; Zhang et al. 2022)" in text
    assert "sees its own updates, changes its data and updates" in text
